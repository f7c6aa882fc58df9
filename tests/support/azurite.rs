//! Starts the pinned Azure storage emulator of `tests/emulators` for the tests of one process.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const ACCOUNT: &str = "devstoreaccount1";
/// The emulator's well-known key, the same everywhere.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running emulator; it ends with this value, or with the test process.
#[derive(Debug)]
pub(crate) struct Azurite {
    process: Child,
    /// Kept open: the emulator would fail to print into a closed pipe.
    _output: BufReader<ChildStdout>,
    connection_string: String,
}

#[allow(dead_code, reason = "each test binary uses a part of it")]
impl Azurite {
    /// Starts an empty emulator on free loopback ports and waits until all of its services listen.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// The same with further arguments of the emulator.
    pub(crate) async fn start_with(arguments: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulators");
        assert!(
            folder.join("node_modules/azurite").is_dir(),
            "the storage emulator is not installed; run: npm ci --ignore-scripts --prefix tests/emulators"
        );
        // The pipe to its standard input is what ties the emulator's life to ours.
        let mut process = Command::new("node")
            .arg(folder.join("azurite.cjs"))
            .args(["--blobPort", "0", "--queuePort", "0", "--tablePort", "0"])
            .args(["--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node runs the storage emulator");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let ready = tokio::task::spawn_blocking(|| read_connection_string(output));
        let ready = tokio::time::timeout(START_TIMEOUT, ready).await.expect("the storage emulator starts in time");
        let (output, connection_string) = ready.expect("the storage emulator starts");
        Self { process, _output: output, connection_string }
    }

    /// What `AzureWebJobsStorage` says to use it.
    pub(crate) fn connection_string(&self) -> &str {
        &self.connection_string
    }

    /// Where its table service is, with the account's name as the path.
    pub(crate) fn table_endpoint(&self) -> &str {
        let (_, rest) = self.connection_string.split_once("TableEndpoint=").expect("a table service");
        rest.trim_end_matches(';')
    }
}

/// Reads where the services listen until the last of them does.
fn read_connection_string(mut output: BufReader<ChildStdout>) -> (BufReader<ChildStdout>, String) {
    let mut connection_string = format!("AccountName={ACCOUNT};AccountKey={KEY};");
    for service in ["Blob", "Queue", "Table"] {
        let prefix = format!("Azurite {service} service is successfully listening at ");
        let address = loop {
            let mut line = String::new();
            let length = output.read_line(&mut line).expect("the storage emulator prints text");
            assert!(length > 0, "the storage emulator ended before its {service} service was ready");
            if let Some(address) = line.trim_end().strip_prefix(&prefix) {
                break address.to_owned();
            }
        };
        write!(connection_string, "{service}Endpoint={address}/{ACCOUNT};").expect("a text can grow");
    }
    (output, connection_string)
}

impl Drop for Azurite {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
