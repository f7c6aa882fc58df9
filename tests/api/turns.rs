//! One turn at a time per context: within a process, and over the processes that share a store.

use std::sync::Arc;

use a2a_functions::clock::SystemClock;
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};

use crate::client::Reply;
use crate::support::{App, Script, Server, TestRunner, agent, witnessed};

/// Starts a turn and leaves it to itself.
fn begin(server: &Server, context: &'static str, text: &'static str) -> tokio::task::JoinHandle<Reply> {
    let call = server.call();
    tokio::spawn(async move { call.say(context, text).await })
}

#[track_caller]
fn assert_busy(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (200, -32004), "{reply:?}");
    assert_eq!(reply.reasons(), ["a2a-protocol.org UNSUPPORTED_OPERATION", "a2a-functions CONTEXT_BUSY"]);
    assert_eq!(reply.details("google.rpc.RetryInfo")[0]["retryDelay"], "1s");
    assert_eq!(reply.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn c050_two_turns_of_one_context_run_one_after_the_other() {
    let (runner, gate) = TestRunner::gated();
    let server = App::of(&agent("function", "")).runner(&runner).start().await;
    let turns = [begin(&server, "ctx", "one"), begin(&server, "ctx", "two")];
    runner.started(1).await;
    gate.add_permits(2);
    let mut seen = Vec::new();
    for turn in turns {
        seen.push(witnessed(&turn.await.unwrap().said()));
    }
    seen.sort_by_key(Vec::len);
    // Whichever came second saw the first, whole.
    assert_eq!(seen[0].len(), 1);
    assert_eq!(seen[1].len(), 2);
    assert_eq!(seen[1][0], seen[0][0]);
    assert_eq!(runner.most_at_once(), 1);
}

#[tokio::test]
async fn c050_turns_of_different_contexts_run_at_the_same_time() {
    let (runner, gate) = TestRunner::gated();
    let server = App::of(&agent("function", "")).runner(&runner).start().await;
    let turns = [begin(&server, "a", "one"), begin(&server, "b", "two")];
    runner.started(2).await;
    gate.add_permits(2);
    for turn in turns {
        assert_eq!(witnessed(&turn.await.unwrap().said()).len(), 1);
    }
}

#[tokio::test]
async fn c050_a_turn_that_does_not_wait_learns_that_the_context_is_busy() {
    for wait in ["context_wait: 0", "context_wait: 0.05"] {
        let (runner, gate) = TestRunner::gated();
        let server = App::of(&agent("function", wait)).runner(&runner).start().await;
        let first = begin(&server, "ctx", "one");
        runner.started(1).await;
        assert_busy(&server.call().say("ctx", "two").await);
        gate.add_permits(1);
        assert_eq!(first.await.unwrap().code(), 0);
        // The refused turn left no trace, and the context is free.
        gate.add_permits(1);
        assert_eq!(witnessed(&server.call().say("ctx", "three").await.said()), ["one", "three"]);
        assert_eq!(runner.runs(), 2);
    }
}

#[tokio::test]
async fn c050_a_panic_in_a_turn_leaves_the_context_free() {
    let runner = TestRunner::new(Script::Panic("words for the log alone"));
    let server = App::of(&agent("function", "context_wait: 0")).runner(&runner).start().await;
    assert_eq!(server.call().say("ctx", "one").await.code(), -32603);
    runner.act(Script::Witness);
    assert_eq!(witnessed(&server.call().say("ctx", "two").await.said()), ["two"]);
}

#[tokio::test]
async fn c050_processes_that_share_a_store_share_its_leases() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, gate) = TestRunner::gated();
    let app = || {
        let store = SqliteStore::new(SqliteSettings::new(folder.path().join("state.sqlite")), Arc::new(SystemClock));
        App::of(&agent("function", "context_wait: 0")).store(Arc::new(store)).runner(&runner)
    };
    let (one, two) = (app().start().await, app().start().await);
    let first = begin(&one, "ctx", "one");
    runner.started(1).await;
    assert_busy(&two.call().say("ctx", "two").await);
    gate.add_permits(2);
    assert_eq!(first.await.unwrap().code(), 0);
    assert_eq!(witnessed(&two.call().say("ctx", "two").await.said()), ["one", "two"]);
}

#[tokio::test]
async fn a_turn_ends_at_its_timeout_and_frees_its_context() {
    let (runner, _gate) = TestRunner::gated();
    let hasty = agent("function", "context_wait: 0").replace("description:", "timeout: 0.1\ndescription:");
    let server = App::of(&hasty).runner(&runner).start().await;
    let reply = server.call().say("ctx", "one").await;
    assert_eq!((reply.status, reply.code()), (200, -32603));
    runner.act(Script::Witness);
    assert_eq!(witnessed(&server.call().say("ctx", "two").await.said()), ["two"]);
}

#[tokio::test]
async fn a_failed_turn_leaves_no_history_and_frees_its_context() {
    let runner = TestRunner::new(Script::Fail("out of luck"));
    let server = App::of(&agent("function", "context_wait: 0")).runner(&runner).start().await;
    assert_eq!(server.call().say("ctx", "one").await.code(), -32603);
    runner.act(Script::Witness);
    assert_eq!(witnessed(&server.call().say("ctx", "two").await.said()), ["two"]);
}

#[tokio::test]
async fn a_context_whose_owner_died_comes_free_when_its_lease_lapses() {
    let runner = TestRunner::new(Script::Panic("a fault of the agent's"));
    let app = App::of(&agent("function", "context_wait: 10")).variable("A2A_CONTEXT_LEASE_SECONDS", "2");
    let server = app.runner(&runner).start().await;
    // A panic is as sudden as a crash: nothing is released.
    assert_eq!(server.call().say("ctx", "one").await.code(), -32603);
    runner.act(Script::Witness);
    assert_eq!(witnessed(&server.call().say("ctx", "two").await.said()), ["two"]);
}
