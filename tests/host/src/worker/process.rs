//! The task that owns a handler process.

use std::{
    collections::VecDeque,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::Child,
    sync::oneshot,
    task::JoinSet,
    time::timeout,
};
use uuid::Uuid;

use super::{
    LogLevel, LogLine, LogSource, Phase, Request, WorkerSettings, WorkerTask,
    client::Probe,
    command::{command, handler_environment, make_executable, resolve_executable},
    console::classify,
    group::Group,
    strikes::Strikes,
};

/// Exit code by which a handler asks for a restart that is not held against it.
const RESTART_CODE: i32 = 200;
/// How long the host waits for a killed process to go away.
const KILL_WAIT: Duration = Duration::from_secs(1);
/// How long output that is still in the pipes may take to arrive once the process is gone.
const DRAIN_WAIT: Duration = Duration::from_millis(200);
/// Lines of standard error quoted when a handler fails.
const QUOTED_LINES: usize = 3;

/// How one process ended.
enum End {
    Stop(String),
    Restart,
    Failed(String),
}

/// Runs the handler until this copy of the host stops.
pub(crate) async fn supervise(settings: WorkerSettings, task: WorkerTask) {
    let strikes = Strikes::new(settings.strike_limit);
    let mut supervisor = Supervisor { settings, task, strikes, killers: Vec::new() };
    let reason = loop {
        match supervisor.run_process().await {
            End::Stop(reason) => break reason,
            End::Restart => {}
            End::Failed(failure) => {
                supervisor.log(LogLevel::Error, &failure);
                if supervisor.strikes.is_out(Instant::now()) {
                    break format!("the handler failed too often, giving up: {failure}");
                }
            }
        }
        supervisor.task.status.send_modify(|status| status.phase = Phase::Restarting);
        supervisor.killers.clear();
    };
    supervisor.log(LogLevel::Information, &format!("host stopped: {reason}"));
    supervisor.task.status.send_modify(|status| status.phase = Phase::Stopped(reason));
}

struct Supervisor {
    settings: WorkerSettings,
    task: WorkerTask,
    strikes: Strikes,
    /// Callers of a kill. Dropping one answers it, which must come after the new phase is published: whoever asked for
    /// the kill and then waits for readiness must not see the readiness of the dead process.
    killers: Vec<oneshot::Sender<()>>,
}

/// A running process and the readers of its output.
struct Running {
    child: Child,
    /// Gone once the process was seen to end.
    group: Option<Group>,
    readers: JoinSet<()>,
    stderr_tail: Arc<Mutex<VecDeque<String>>>,
    started: Instant,
}

impl Supervisor {
    fn log(&self, level: LogLevel, text: &str) {
        self.settings.log.host(self.settings.copy, level, text);
    }

    async fn run_process(&mut self) -> End {
        let mut running = match self.spawn() {
            Ok(running) => running,
            Err(error) => {
                let executable = resolve_executable(&self.settings.description);
                self.log(LogLevel::Error, &format!("failed to start the handler process {executable}: {error}"));
                return self.without_process().await;
            }
        };
        let end = self.watch(&mut running).await;
        self.task.status.send_modify(|status| status.pid = None);
        running.put_down().await;
        end
    }

    fn spawn(&mut self) -> std::io::Result<Running> {
        let settings = &self.settings;
        if settings.make_executable {
            make_executable(&settings.description)?;
        }
        let environment = handler_environment(&settings.environment, &settings.app_root, settings.port, Uuid::new_v4());
        let started = Instant::now();
        let mut child = command(&settings.description, &environment).spawn()?;
        let group = Some(Group::of(&child)?);
        let mut readers = JoinSet::new();
        let stderr_tail = Arc::default();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(read_lines(stdout, LogSource::Stdout, self.line_sink(&stderr_tail)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(read_lines(stderr, LogSource::Stderr, self.line_sink(&stderr_tail)));
        }
        self.task.status.send_modify(|status| {
            status.pid = child.id();
            status.starts += 1;
            status.ready_after = None;
        });
        Ok(Running { child, group, readers, stderr_tail, started })
    }

    fn line_sink(&self, stderr_tail: &Arc<Mutex<VecDeque<String>>>) -> impl Fn(LogSource, String) + use<> {
        let log = Arc::clone(&self.settings.log);
        let tail = Arc::clone(stderr_tail);
        let (copy, stderr_is_errors) = (self.settings.copy, self.settings.description.stderr_is_errors);
        move |source, text| {
            if source == LogSource::Stderr {
                let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
                tail.push_back(text.clone());
                if tail.len() > QUOTED_LINES {
                    tail.pop_front();
                }
            }
            let level = classify(source, &text, stderr_is_errors);
            log.add(LogLine { copy, source, level, text });
        }
    }

    /// Watches a process until it must be replaced. Exit code 0 is no reason: the host keeps sending requests, which
    /// are refused.
    async fn watch(&mut self, running: &mut Running) -> End {
        let client = self.task.client.clone();
        let probe = client.probe(self.settings.initialization_timeout, self.settings.probe_timeout);
        tokio::pin!(probe);
        let mut probing = true;
        loop {
            tokio::select! {
                status = running.child.wait(), if running.group.is_some() => {
                    running.group = None;
                    running.drain().await;
                    match status.map(exit_code) {
                        Ok(0) => {
                            self.killers.clear();
                            self.task.status.send_modify(|status| status.pid = None);
                            self.log(LogLevel::Information, "the handler exited with code 0 and is not restarted");
                        }
                        Ok(RESTART_CODE) => return End::Restart,
                        Ok(code) => return End::Failed(running.failure(&format!("exited with code {code}"))),
                        Err(error) => return End::Failed(running.failure(&format!("cannot be waited for: {error}"))),
                    }
                }
                outcome = &mut probe, if probing => {
                    probing = false;
                    if outcome == Probe::TimedOut {
                        return End::Failed(running.failure("did not answer in time"));
                    }
                    let after = running.started.elapsed();
                    self.task.status.send_modify(|status| {
                        status.ready_after = Some(after);
                        status.phase = Phase::Ready;
                    });
                }
                request = self.task.requests.recv() => match request {
                    // Dropping the sender answers it: there is no process to wait for.
                    Some(Request::Kill(_)) if running.group.is_none() => {}
                    Some(Request::Kill(done)) => {
                        self.killers.push(done);
                        running.group.iter().for_each(Group::kill);
                    }
                    Some(Request::Restart) => return End::Restart,
                    Some(Request::Stop(reason)) => return End::Stop(reason),
                    None => return End::Stop("the host was dropped".to_owned()),
                }
            }
        }
    }

    /// After a spawn failure nothing is retried and nothing is counted: only a stop or a restart gets out of here.
    async fn without_process(&mut self) -> End {
        loop {
            match self.task.requests.recv().await {
                Some(Request::Kill(_)) => {}
                Some(Request::Restart) => return End::Restart,
                Some(Request::Stop(reason)) => return End::Stop(reason),
                None => return End::Stop("the host was dropped".to_owned()),
            }
        }
    }
}

impl Running {
    async fn put_down(&mut self) {
        if let Some(group) = self.group.take() {
            drop(group);
            let _ = timeout(KILL_WAIT, self.child.wait()).await;
            self.drain().await;
        }
    }

    async fn drain(&mut self) {
        // A process that left the group may hold the pipes open, so this wait is bounded.
        let _ = timeout(DRAIN_WAIT, async { while self.readers.join_next().await.is_some() {} }).await;
    }

    fn failure(&self, what: &str) -> String {
        let tail = self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        let quoted: Vec<&str> = tail.iter().map(String::as_str).collect();
        let detail = if quoted.is_empty() { String::new() } else { format!(": {}", quoted.join(" | ")) };
        format!("the handler {what}{detail}")
    }
}

/// The exit code, or 128 plus the signal number.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

async fn read_lines(stream: impl AsyncRead + Unpin, source: LogSource, sink: impl Fn(LogSource, String)) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    // A read error is the end of the stream for the host.
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        sink(source, String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned());
        line.clear();
    }
}
