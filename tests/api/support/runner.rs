//! Runners that tests look into and hold back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use a2a_functions::runner::{Runner, RunnerError, RunnerEvent, Speaker, Turn};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::PATIENCE;

/// What the agent does.
#[derive(Debug)]
pub(crate) enum Script {
    /// Answers with all that the caller has said so far, as a JSON list.
    Witness,
    /// The same, one turn for each permit of the semaphore.
    Gated(Arc<Semaphore>),
    /// Answers this.
    Reply(String),
    /// Fails with words that are meant for the log alone.
    Fail(&'static str),
    /// Panics with such words.
    Panic(&'static str),
}

/// A runner that keeps every turn it was given.
#[derive(Debug)]
pub(crate) struct TestRunner {
    script: Mutex<Arc<Script>>,
    turns: Mutex<Vec<Turn>>,
    started: watch::Sender<usize>,
    at_once: Arc<Mutex<AtOnce>>,
}

/// How many turns of each session run, and the most that ever did.
#[derive(Debug, Default)]
struct AtOnce {
    running: HashMap<String, usize>,
    most: usize,
}

impl TestRunner {
    pub(crate) fn new(script: Script) -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::new(Arc::new(script)),
            turns: Mutex::default(),
            started: watch::Sender::new(0),
            at_once: Arc::default(),
        })
    }

    /// A witness whose turns wait for permits of the semaphore.
    pub(crate) fn gated() -> (Arc<Self>, Arc<Semaphore>) {
        let gate = Arc::new(Semaphore::new(0));
        (Self::new(Script::Gated(Arc::clone(&gate))), gate)
    }

    /// Does something else from now on.
    pub(crate) fn act(&self, script: Script) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    /// How many turns were started.
    pub(crate) fn runs(&self) -> usize {
        *self.started.borrow()
    }

    /// Waits until so many turns were started.
    pub(crate) async fn started(&self, runs: usize) {
        let mut started = self.started.subscribe();
        let started = timeout(PATIENCE, started.wait_for(|started| *started >= runs)).await;
        started.unwrap_or_else(|_| panic!("{runs} turns were never started")).unwrap();
    }

    /// The prompt of the latest turn.
    pub(crate) fn prompt(&self) -> String {
        self.turns.lock().unwrap().last().expect("a turn").prompt.clone()
    }

    /// The sessions of all turns.
    pub(crate) fn sessions(&self) -> Vec<String> {
        self.turns.lock().unwrap().iter().map(|turn| turn.session_id.clone()).collect()
    }

    /// The most turns of one session that ran at a time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.at_once.lock().unwrap().most
    }
}

/// What a witness says that it has seen.
pub(crate) fn witnessed(reply: &str) -> Vec<String> {
    serde_json::from_str(reply).unwrap_or_else(|_| panic!("not a witness: {reply}"))
}

impl Runner for TestRunner {
    fn run(&self, turn: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>> {
        let script = Arc::clone(&self.script.lock().unwrap());
        let running = Running::enter(&self.at_once, &turn.session_id);
        self.turns.lock().unwrap().push(turn.clone());
        self.started.send_modify(|started| *started += 1);
        stream::once(async move {
            let text = perform(&script, &turn).await;
            drop(running);
            text
        })
        .flat_map(|text| match text {
            Ok(text) => stream::iter(vec![Ok(RunnerEvent::TextDelta(text)), Ok(RunnerEvent::Done)]),
            Err(error) => stream::iter(vec![Err(error)]),
        })
        .boxed()
    }
}

async fn perform(script: &Script, turn: &Turn) -> Result<String, RunnerError> {
    match script {
        Script::Witness => {}
        Script::Gated(gate) => gate.acquire().await.unwrap().forget(),
        Script::Reply(text) => return Ok(text.clone()),
        Script::Fail(words) => return Err(RunnerError::Refused((*words).to_owned())),
        Script::Panic(words) => panic!("{words}"),
    }
    let earlier = turn.history.iter().filter(|entry| entry.speaker == Speaker::User);
    let seen: Vec<_> = earlier.map(|entry| entry.text.as_str()).chain([turn.prompt.as_str()]).collect();
    Ok(serde_json::to_string(&seen).unwrap())
}

/// Counts a turn of a session while it runs.
struct Running {
    at_once: Arc<Mutex<AtOnce>>,
    session: String,
}

impl Running {
    fn enter(at_once: &Arc<Mutex<AtOnce>>, session: &str) -> Self {
        let mut counts = at_once.lock().unwrap();
        let running = counts.running.entry(session.to_owned()).or_default();
        *running += 1;
        let now = *running;
        counts.most = counts.most.max(now);
        Self { at_once: Arc::clone(at_once), session: session.to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut counts = self.at_once.lock().unwrap();
        *counts.running.get_mut(&self.session).expect("entered before") -= 1;
    }
}
