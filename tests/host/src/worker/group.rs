//! The process group of a handler: whatever the handler starts goes down with it.

use std::{io, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Waits for the end of its input and kills the group then. The signals of a terminal do not reach it first.
const WATCH: &str = r#"trap '' INT TERM HUP; read -r line; kill -9 "-$0""#;

/// Kills every process of the group when dropped, and also when this process ends without a chance to drop anything:
/// Ctrl-C on a test run, or a SIGKILL.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    // Its input closes with this process. Killed on drop, after the group.
    _watch: Child,
}

impl Group {
    /// Takes charge of the group that `leader` leads.
    pub(super) fn of(leader: &Child) -> io::Result<Self> {
        let id = leader.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let leader = id.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the process is gone already"))?;
        let watch = Command::new("/bin/sh")
            .args(["-c", WATCH, &leader.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { leader, _watch: watch })
    }

    /// SIGKILL, which is the only signal the host knows.
    pub(super) fn kill(&self) {
        // Fails only when nothing is left of the group.
        let _ = kill_process_group(self.leader, Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
