//! What a turn costs at the store, counted over HTTP. `tests/store_contract` counts the same on every back end.

use std::path::Path;
use std::sync::Arc;

use a2a_functions::clock::SystemClock;
use a2a_functions::store::Store;
use a2a_functions::store::memory::MemoryStore;
use a2a_functions::store::observed::{ObservedStore, StoreCalls};
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};
use serde_json::json;

use crate::support::{AGENT, App, Script, TestRunner, agent};

/// One look, one commit to take the context, one to record the turn.
const TURN: StoreCalls = StoreCalls { gets: 0, scans: 1, commits: 2 };
const NOTHING: StoreCalls = StoreCalls { gets: 0, scans: 0, commits: 0 };

fn observed(folder: &Path) -> [Arc<ObservedStore>; 2] {
    let sqlite = SqliteStore::new(SqliteSettings::new(folder.join("state.sqlite")), Arc::new(SystemClock));
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new(Arc::new(SystemClock))), Arc::new(sqlite)];
    stores.map(|store| Arc::new(ObservedStore::new(store)))
}

#[tokio::test]
async fn a_turn_takes_three_round_trips_whatever_its_history() {
    let folder = tempfile::tempdir().unwrap();
    for store in observed(folder.path()) {
        let server = App::of(AGENT).store(store.clone()).start().await;
        for turn in 0..120 {
            let before = store.calls();
            server.call().say("ctx", &turn.to_string()).await.message();
            assert_eq!(store.calls().since(before), TURN, "turn {turn}");
        }
        for call in [server.call(), server.call().set("idempotency-key", "order-7")] {
            let before = store.calls();
            call.send(&json!({})).await.message();
            assert_eq!(store.calls().since(before), TURN, "a new context");
        }
    }
}

#[tokio::test]
async fn a_failed_turn_takes_three_round_trips_and_a_replay_takes_one() {
    let folder = tempfile::tempdir().unwrap();
    for store in observed(folder.path()) {
        let runner = TestRunner::new(Script::Fail("out of luck"));
        let server = App::of(AGENT).store(store.clone()).runner(&runner).start().await;
        let before = store.calls();
        assert_eq!(server.call().say("ctx", "one").await.code(), -32603);
        assert_eq!(store.calls().since(before), TURN);
        runner.act(Script::Witness);
        server.call().say("ctx", "one").await.message();
        let before = store.calls();
        server.call().say("ctx", "one").await.message();
        assert_eq!(store.calls().since(before), StoreCalls { scans: 1, ..NOTHING });
    }
}

#[tokio::test]
async fn a_turn_that_keeps_nothing_never_touches_the_store() {
    let folder = tempfile::tempdir().unwrap();
    for store in observed(folder.path()) {
        let server = App::of(&agent("anonymous", "")).store(store.clone()).start().await;
        for text in ["one", "two"] {
            server.call().say("my-own", text).await.message();
        }
        assert_eq!(store.calls(), NOTHING);
    }
}

#[tokio::test]
async fn requests_that_are_refused_never_touch_the_store() {
    let store = Arc::new(ObservedStore::new(Arc::new(MemoryStore::new(Arc::new(SystemClock)))));
    let server = App::of(AGENT).store(store.clone()).start().await;
    assert_eq!(server.call_without_key().say("ctx", "one").await.status, 401);
    assert_eq!(server.call().set("a2a-version", "2.0").say("ctx", "one").await.code(), -32009);
    assert_eq!(server.call().send(&json!({ "message": { "parts": [] } })).await.code(), -32602);
    server.get("/agents/main/.well-known/agent-card.json").nothing().await;
    server.get("/").nothing().await;
    assert_eq!(store.calls(), NOTHING);
}

#[tokio::test]
async fn the_bound_of_the_app_adds_three_round_trips() {
    let store = Arc::new(ObservedStore::new(Arc::new(MemoryStore::new(Arc::new(SystemClock)))));
    let bounded = App::of(AGENT).file("agents.config.yaml", "limits: {global_executions: 3}\n");
    let server = bounded.store(store.clone()).start().await;
    server.call().say("ctx", "one").await.message();
    assert_eq!(store.calls(), StoreCalls { gets: 0, scans: 2, commits: 4 });
}
