//! The programs under test as processes of their own.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::request::{KEYS, Target};

/// How long a program may take to listen.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two attempts to connect: short beside a cold start.
const CONNECT_PAUSE: Duration = Duration::from_micros(100);

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) server: PathBuf,
    pub(crate) echo: PathBuf,
    /// The app folder of the agents.
    pub(crate) app: PathBuf,
    /// For logs and stores; removed at the end.
    pub(crate) scratch: tempfile::TempDir,
}

/// A process that runs; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) spawned: Instant,
}

impl Programs {
    /// The programs that were built along with this one.
    pub(crate) fn locate() -> anyhow::Result<Self> {
        let own = std::env::current_exe()?;
        let folder = own.parent().context("this program stands in no folder")?;
        let built = |name: &str| {
            let path = folder.join(name);
            ensure!(path.is_file(), "{} is missing: start the measurement with benches/run", path.display());
            Ok(path)
        };
        Ok(Self {
            server: built("a2a-functions")?,
            echo: built("bare-echo")?,
            app: Path::new(env!("CARGO_MANIFEST_DIR")).join("app"),
            scratch: tempfile::tempdir()?,
        })
    }

    /// Starts the program that answers `target`, its log in a file, and does not wait for it.
    pub(crate) fn spawn(&self, target: Target, store: &str) -> anyhow::Result<Running> {
        let address = free_address()?;
        let mut command = match target {
            Target::Echo => {
                let mut command = Command::new(&self.echo);
                command.env_clear().env("FUNCTIONS_CUSTOMHANDLER_PORT", address.port().to_string());
                command
            }
            Target::Stateless | Target::Conversation => {
                let mut command = Command::new(&self.server);
                command.arg("serve").arg(&self.app).args(["--store", store, "--port", &address.port().to_string()]);
                command.env_clear().env("A2A_FUNCTION_KEYS", KEYS).env("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo");
                command
            }
        };
        let log = File::create(self.scratch.path().join(format!("{}.log", address.port())))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let spawned = Instant::now();
        let child = command.spawn().with_context(|| format!("{} does not start", command.get_program().display()))?;
        Ok(Running { child, address, spawned })
    }
}

/// The name of a store in a file of `folder`.
pub(crate) fn sqlite(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("state.sqlite").display())
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Connects as soon as the program listens.
    pub(crate) fn connect(&self) -> anyhow::Result<TcpStream> {
        loop {
            match TcpStream::connect(self.address) {
                Ok(stream) => return Ok(stream),
                Err(error) if self.spawned.elapsed() > START_LIMIT => {
                    return Err(error).with_context(|| format!("nothing listens on {}", self.address));
                }
                Err(_) => std::thread::sleep(CONNECT_PAUSE),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> anyhow::Result<SocketAddr> {
    // Nobody else asks for ports while this runs, and a collision ends the measurement with an error, not a wrong figure.
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
