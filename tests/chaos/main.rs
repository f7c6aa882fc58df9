//! Several processes of the real binary behind a round robin, one table, and SIGKILL at random moments.
//!
//! What must hold: history never interleaves, every acknowledged turn is there exactly once, and a context whose owner was
//! killed can be used again.

#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

#[path = "../support/azurite.rs"]
mod azurite;
mod deployment;
mod model;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt as _;

use deployment::{Answer, Deployment};

const PROCESSES: usize = 3;
const CONTEXTS: usize = 4;
const CLIENTS: usize = 12;
const TURNS_PER_CLIENT: usize = 8;
/// A turn that has no answer after this many attempts will never get one.
const ATTEMPTS: usize = 400;

/// A turn that a client was told about: where it was, what it said, and what the model had seen by then.
#[derive(Debug)]
struct Acknowledged {
    context: usize,
    prompt: String,
    seen: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_killed_at_random_lose_no_acknowledged_turn_and_never_mix_histories() {
    let deployment = Arc::new(Deployment::start(PROCESSES).await);
    let done = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn(kill_at_random(deployment.clone(), done.clone()));
    let clients: Vec<_> = (0..CLIENTS).map(|client| tokio::spawn(converse(deployment.clone(), client))).collect();
    let mut acknowledged = Vec::new();
    for client in clients {
        acknowledged.extend(client.await.expect("a client finishes"));
    }
    done.store(true, Ordering::Relaxed);
    let kills = killer.await.expect("the killer finishes");
    assert!(kills >= 5, "only {kills} processes were killed: the clients were done too early to prove anything");

    assert_eq!(acknowledged.len(), CLIENTS * TURNS_PER_CLIENT);
    for (context, history) in final_histories(&deployment).await {
        for turn in acknowledged.iter().filter(|turn| turn.context == context) {
            let places: Vec<_> = (0..history.len()).filter(|place| history[*place] == turn.prompt).collect();
            let [place] = places[..] else {
                panic!("{} stands {} times in context {context}: {history:?}", turn.prompt, places.len());
            };
            assert_eq!(turn.seen, history[..=place], "{} saw another history than the one that stands", turn.prompt);
        }
    }
}

/// Kills one process after the other until the clients are done; says how many.
async fn kill_at_random(deployment: Arc<Deployment>, done: Arc<AtomicBool>) -> usize {
    let mut kills = 0;
    while !done.load(Ordering::Relaxed) {
        let (pause, victim) = {
            let mut rng = rand::rng();
            (rng.random_range(100..600), rng.random_range(0..PROCESSES))
        };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        deployment.kill(victim).await;
        kills += 1;
    }
    kills
}

/// One client: its turns in contexts drawn at random, each repeated with the same message until it is answered.
async fn converse(deployment: Arc<Deployment>, client: usize) -> Vec<Acknowledged> {
    let mut acknowledged = Vec::new();
    for turn in 0..TURNS_PER_CLIENT {
        let context = rand::rng().random_range(0..CONTEXTS);
        let prompt = format!("client {client} turn {turn}");
        let seen = insist(&deployment, context, &prompt).await;
        acknowledged.push(Acknowledged { context, prompt, seen });
    }
    acknowledged
}

async fn insist(deployment: &Deployment, context: usize, prompt: &str) -> Vec<String> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match deployment.send(&format!("context-{context}"), prompt).await {
            Answer::Reply(text) => return serde_json::from_str(&text).expect("the model lists what it saw"),
            Answer::TryAgain(why) => last = why,
            Answer::Wrong(what) => panic!("{prompt}: {what}"),
        }
        let pause = rand::rng().random_range(20..120);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    panic!("{prompt} was never answered; last: {last}\n{}", deployment.logs());
}

/// The history of each context as it stands when all is over, told by the model in one more turn.
async fn final_histories(deployment: &Deployment) -> BTreeMap<usize, Vec<String>> {
    let mut histories = BTreeMap::new();
    for context in 0..CONTEXTS {
        let mut history = insist(deployment, context, "the end").await;
        assert_eq!(history.pop().as_deref(), Some("the end"));
        histories.insert(context, history);
    }
    histories
}
