//! How many turns run at a time: of an agent in a process, and of an app over its processes.

use std::path::Path;
use std::sync::Arc;

use a2a_functions::clock::SystemClock;
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::{Call, Reply, params};
use crate::support::{AGENT, App, MASTER, Server, TestRunner, agent};

/// Starts so many turns, each in a context of its own.
fn begin(server: &Server, turns: usize) -> Vec<JoinHandle<Reply>> {
    (0..turns)
        .map(|_| {
            let call = server.call();
            tokio::spawn(async move { call.send(&json!({})).await })
        })
        .collect()
}

#[track_caller]
fn assert_full(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (200, -32004), "{reply:?}");
    assert_eq!(reply.reasons(), ["a2a-protocol.org UNSUPPORTED_OPERATION", "a2a-functions AGENT_AT_CAPACITY"]);
    assert_eq!(reply.details("google.rpc.RetryInfo")[0]["retryDelay"], "1s");
    assert_eq!(reply.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn golden_5_9_case_2_the_thirty_third_turn_is_refused_and_the_others_finish() {
    let (runner, gate) = TestRunner::gated();
    let server = App::of(AGENT).runner(&runner).start().await;
    let turns = begin(&server, 32);
    runner.started(32).await;
    let refused =
        server.call().body(crate::client::rpc("SendMessage", &params(&json!({}))).replace("\"id\":1", "\"id\":33"));
    let refused = refused.await;
    assert_full(&refused);
    assert_eq!((refused.id(), runner.runs()), (json!(33), 32));
    // What is refused for itself says so, however full the agent is.
    assert_eq!(server.call().send(&json!({ "message": { "role": "ROLE_AGENT" } })).await.code(), -32602);
    gate.add_permits(33);
    for turn in turns {
        assert_eq!(turn.await.unwrap().code(), 0);
    }
    assert_eq!(server.call().send(&json!({})).await.code(), 0);
}

#[tokio::test]
async fn turns_that_wait_for_their_context_count() {
    let (runner, gate) = TestRunner::gated();
    let app = App::of(AGENT).file("agents.config.yaml", "limits: {executions_per_agent: 2}\n");
    let server = app.runner(&runner).start().await;
    let first = server.call();
    let first = tokio::spawn(async move { first.say("ctx", "one").await });
    runner.started(1).await;
    // One of these waits for the context; the other finds no room.
    let pair = ["two", "three"].map(|text| {
        let call = server.call();
        tokio::spawn(async move { call.say("ctx", text).await })
    });
    let (refused, _, rest) = futures::future::select_all(pair).await;
    assert_full(&refused.unwrap());
    gate.add_permits(2);
    assert_eq!(first.await.unwrap().code(), 0);
    for turn in rest {
        assert_eq!(turn.await.unwrap().code(), 0);
    }
}

#[tokio::test]
async fn agents_have_a_share_each() {
    let (runner, gate) = TestRunner::gated();
    let second = agent("function", "").replace("Main", "Second");
    let app = App::of(AGENT).file("second.agent.md", &second);
    let app = app.file("agents.config.yaml", "limits: {executions_per_agent: 1}\n");
    let server = app.runner(&runner).start().await;
    let first = begin(&server, 1);
    runner.started(1).await;
    assert_full(&server.call().send(&json!({})).await);
    let second = Call::post(server.url("/agents/second/a2a")).set("x-functions-key", MASTER);
    let second = tokio::spawn(async move { second.send(&json!({})).await });
    runner.started(2).await;
    gate.add_permits(2);
    for turn in first.into_iter().chain([second]) {
        assert_eq!(turn.await.unwrap().code(), 0);
    }
}

fn sharing(state: &Path, agent: &str, runner: &Arc<TestRunner>) -> App {
    let store = SqliteStore::new(SqliteSettings::new(state), Arc::new(SystemClock));
    App::of(agent).file("agents.config.yaml", "limits: {global_executions: 2}\n").store(Arc::new(store)).runner(runner)
}

#[tokio::test]
async fn a_bound_of_the_app_holds_over_the_processes_of_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.sqlite");
    // Contexts without history ask for room like all others.
    for agent in [AGENT.to_owned(), agent("anonymous", "")] {
        let (runner, gate) = TestRunner::gated();
        let one = sharing(&state, &agent, &runner).start().await;
        let two = sharing(&state, &agent, &runner).start().await;
        let turns = [begin(&one, 1), begin(&two, 1)].into_iter().flatten();
        runner.started(2).await;
        for server in [&one, &two] {
            assert_full(&server.call().say("foreign", "more").await);
        }
        assert_eq!(runner.runs(), 2);
        gate.add_permits(2);
        for turn in turns {
            assert_eq!(turn.await.unwrap().code(), 0);
        }
        // Both places came free with the answers, not with the lapse of a lease.
        let turns = begin(&two, 2);
        runner.started(4).await;
        gate.add_permits(2);
        for turn in turns {
            assert_eq!(turn.await.unwrap().code(), 0);
        }
    }
}

#[tokio::test]
async fn places_of_the_app_come_free_however_a_turn_ends() {
    let folder = tempfile::tempdir().unwrap();
    let runner = TestRunner::new(crate::support::Script::Fail("out of luck"));
    let server = sharing(&folder.path().join("state.sqlite"), AGENT, &runner).start().await;
    for _ in 0..5 {
        assert_eq!(server.call().send(&json!({})).await.code(), -32603);
    }
    runner.act(crate::support::Script::Witness);
    assert_eq!(server.call().send(&json!({})).await.code(), 0);
}
