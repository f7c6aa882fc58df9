# shellcheck shell=bash
# Sourced by `test` and `.ci/run`: runs named steps, says how long each took, and which one ended the script.

running_step=

step() {
  running_step=$1
  local started=$SECONDS
  shift
  printf '\n==> %s\n' "$running_step"
  "$@"
  printf '    %s: ok in %d s\n' "$running_step" $((SECONDS - started))
  running_step=
}

# For the EXIT trap: names the step that failed, if one did.
report_failed_step() {
  [[ -z $running_step ]] || printf '\n    %s: FAILED\n' "$running_step" >&2
}
