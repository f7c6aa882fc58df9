//! The command line of the handler: one argument text, split the way .NET splits it.

use std::{io, path::Path, process::Stdio};

use tokio::process::Command;
use uuid::Uuid;

use crate::config::{Description, Environment};

/// Builds the command for one start. `environment` must already hold the variables of [`handler_environment`].
pub(crate) fn command(description: &Description, environment: &Environment) -> Command {
    let mut command = Command::new(resolve_executable(description));
    command
        .args(split_arguments(&environment.expand(&joined_arguments(description))))
        .current_dir(&description.working_directory)
        .env_clear()
        .envs(environment.iter())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// The environment of one start: what the host has plus its five variables.
pub(crate) fn handler_environment(base: &Environment, app_root: &Path, port: u16, worker_id: Uuid) -> Environment {
    let mut environment = base.clone();
    environment.set("FUNCTIONS_CUSTOMHANDLER_PORT", port.to_string());
    environment.set("FUNCTIONS_HTTPWORKER_PORT", port.to_string());
    environment.set("FUNCTIONS_CUSTOMHANDLER_WORKER_ID", worker_id.to_string());
    environment.set("FUNCTIONS_HTTPWORKER_ID", worker_id.to_string());
    environment.set("FUNCTIONS_APP_ROOT_PATH", app_root.to_string_lossy());
    environment
}

/// Adds the execute bits that a deployment lost, as the host does on Linux Consumption and Flex Consumption.
pub(crate) fn make_executable(description: &Description) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let path = resolve_executable(description);
    let mut permissions = std::fs::metadata(&path)?.permissions();
    permissions.set_mode(permissions.mode() | 0o111);
    std::fs::set_permissions(&path, permissions)
}

/// An executable that exists under the worker directory is used from there; any other is looked up on `PATH`.
pub(crate) fn resolve_executable(description: &Description) -> String {
    let candidate = description.worker_directory.join(&description.executable);
    match candidate.canonicalize() {
        Ok(path) if path.is_file() => path.to_string_lossy().into_owned(),
        _ => description.executable.clone(),
    }
}

fn joined_arguments(description: &Description) -> String {
    let mut arguments = description.arguments.clone();
    arguments.extend(description.worker_path.as_ref().map(|path| format!("\"{path}\"")));
    arguments.extend(description.worker_arguments.iter().cloned());
    arguments.join(" ")
}

/// Splits at spaces and tabs outside of double quotes. A backslash escapes a quote; two backslashes before a quote are
/// one; a doubled quote inside quotes is a quote.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t']).chars().peekable();
    while rest.peek().is_some() {
        arguments.push(next_argument(&mut rest));
        while rest.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
    }
    arguments
}

fn next_argument(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut argument = String::new();
    let mut quoted = false;
    while let Some(character) = rest.next_if(|character| quoted || !matches!(character, ' ' | '\t')) {
        match character {
            '\\' => {
                let mut slashes = 1;
                while rest.next_if_eq(&'\\').is_some() {
                    slashes += 1;
                }
                let before_quote = rest.peek() == Some(&'"');
                let kept = if before_quote { slashes / 2 } else { slashes };
                argument.extend(std::iter::repeat_n('\\', kept));
                if before_quote && slashes % 2 == 1 {
                    argument.extend(rest.next());
                }
            }
            '"' if quoted && rest.next_if_eq(&'"').is_some() => argument.push('"'),
            '"' => quoted = !quoted,
            other => argument.push(other),
        }
    }
    argument
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_split_at_spaces_outside_of_double_quotes() {
        let cases: [(&str, &[&str]); 8] = [
            ("serve --port 1", &["serve", "--port", "1"]),
            ("  a   b  ", &["a", "b"]),
            (r#""two words" x"#, &["two words", "x"]),
            (r#"--name="a b""#, &["--name=a b"]),
            (r#"a\"b"#, &["a\"b"]),
            (r"C:\x\y", &[r"C:\x\y"]),
            (r#""say ""hi""""#, &["say \"hi\""]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(split_arguments(text), expected, "{text}");
        }
    }

    #[test]
    fn an_argument_with_a_space_splits_unless_it_carries_its_own_quotes() {
        let description = Description {
            executable: "handler".to_owned(),
            worker_path: Some("app dir/main".to_owned()),
            arguments: vec!["a b".to_owned(), "\"c d\"".to_owned()],
            worker_arguments: vec!["--last".to_owned()],
            worker_directory: ".".into(),
            working_directory: ".".into(),
            stderr_is_errors: true,
        };
        let split = split_arguments(&joined_arguments(&description));
        assert_eq!(split, ["a", "b", "c d", "app dir/main", "--last"]);
    }
}
