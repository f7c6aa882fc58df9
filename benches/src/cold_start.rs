//! Cold start: from the start of a process to its first answer, alone and under the Functions test host.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use functions_test_host::{FunctionsHost, Keys, Profile};

use crate::figure::{Bar, Figure, Unit, median};
use crate::program::{Programs, sqlite};
use crate::request::{KEY, Target, body};

/// How many times the echo's time a cold start may take.
const MOST: f64 = 3.0;

/// Measures `starts` starts of each program, in turns.
pub(crate) async fn measure(programs: &Programs, starts: usize) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut plain = Times::default();
    let mut file = Times::default();
    for _ in 0..starts {
        let echo = first_answer(programs, Target::Echo, "")?;
        plain.push(echo, first_answer(programs, Target::Conversation, "memory")?);
        let folder = tempfile::tempdir()?;
        file.push(echo, first_answer(programs, Target::Conversation, &sqlite(folder.path()))?);
    }
    figures.push(plain.figure("cold start to the first answer", Some(MOST)));
    figures.push(file.figure("cold start to the first answer, store in a file", None));

    let app = function_app(programs)?;
    let mut ready = Times::default();
    for _ in 0..starts {
        let echo = ready_under_host(&programs.echo, &app).await?;
        ready.push(echo, ready_under_host(&programs.server, &app).await?);
    }
    figures.push(ready.figure("cold start to ready, Functions test host", Some(MOST)));
    Ok(figures)
}

/// Milliseconds of the echo and of the server, in pairs.
#[derive(Default)]
struct Times {
    echo: Vec<f64>,
    server: Vec<f64>,
}

impl Times {
    fn push(&mut self, echo: Duration, server: Duration) {
        self.echo.push(echo.as_secs_f64() * 1e3);
        self.server.push(server.as_secs_f64() * 1e3);
    }

    fn figure(self, name: &'static str, most: Option<f64>) -> Figure {
        let (echo, value) = (median(self.echo), median(self.server));
        Figure {
            name,
            unit: Unit::Milliseconds,
            value,
            echo: Some(echo),
            ratio: Some(value / echo),
            bar: most.map(Bar::Ratio),
        }
    }
}

/// From the start of the process to the last byte of the answer to a message.
fn first_answer(programs: &Programs, target: Target, store: &str) -> anyhow::Result<Duration> {
    let program = programs.spawn(target, store)?;
    let mut stream = program.connect()?;
    let body = body("context", "message");
    write!(
        stream,
        "POST {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n\
         x-functions-key: {KEY}\r\ncontent-length: {}\r\n\r\n{body}",
        target.path(),
        program.address,
        body.len(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let time = program.spawned.elapsed();
    ensure!(answer.starts_with("HTTP/1.1 200") && !answer.contains("\"error\""), "{target:?} answered: {answer}");
    Ok(time)
}

/// The app folder with the files that make it a Functions app, written by the server's own command.
fn function_app(programs: &Programs) -> anyhow::Result<PathBuf> {
    let folder = programs.scratch.path().join("functions");
    std::fs::create_dir(&folder)?;
    for entry in std::fs::read_dir(&programs.app)? {
        let entry = entry?;
        std::fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    let written = Command::new(&programs.server).args(["functions", "init", "--force"]).arg(&folder).output()?;
    ensure!(written.status.success(), "functions init: {}", String::from_utf8_lossy(&written.stderr));
    Ok(folder)
}

/// From spawn to ready, as the host sees it.
async fn ready_under_host(program: &Path, app: &Path) -> anyhow::Result<Duration> {
    let host = FunctionsHost::builder(app)
        .executable_override(program)
        .without_inherited_env()
        .env("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo")
        .env("A2A_STORE", "memory")
        .profile(Profile::Azure)
        .keys(Keys { host: BTreeMap::from([("default".to_owned(), KEY.to_owned())]), ..Keys::default() })
        .start()
        .await?;
    let ready = host.ready().await?;
    host.stop().await;
    Ok(ready)
}
