//! Whose a conversation is, and which identifier continues it: the context policies.

use std::sync::Arc;

use a2a_functions::clock::SystemClock;
use a2a_functions::store::Store;
use a2a_functions::store::memory::MemoryStore;
use serde_json::json;

use crate::client::{Call, Reply};
use crate::support::{AGENT, App, MASTER, OTHER_KEY, Server, agent, witnessed};

/// What the agent has seen of the conversation.
#[track_caller]
fn seen(reply: &Reply) -> Vec<String> {
    witnessed(&reply.said())
}

/// A first message without a context.
async fn open(call: Call) -> Reply {
    call.send(&json!({ "message": { "messageId": "opening", "parts": [{ "text": "opening" }] } })).await
}

fn anonymous(server: &Server) -> Call {
    server.call_without_key()
}

#[tokio::test]
async fn c041_principal_one_identifier_of_two_callers_is_two_conversations() {
    let server = App::of(AGENT).start().await;
    server.call().say("CTX", "of the first").await.message();
    let other = server.call().set("x-functions-key", OTHER_KEY);
    let foreign = other.clone().say("CTX", "of the second").await;
    assert_eq!(seen(&foreign), ["of the second"]);
    // The answer does not tell whether the context was there before.
    let unknown = other.say("UNKNOWN", "of the second").await;
    assert_eq!((foreign.status, foreign.code()), (unknown.status, unknown.code()));
    assert_eq!(seen(&unknown), ["of the second"]);
    assert_eq!(seen(&server.call().say("CTX", "again").await), ["of the first", "again"]);
}

#[tokio::test]
async fn c041_principal_a_foreign_caller_does_not_wait_for_the_owner_s_turn() {
    let (runner, gate) = crate::support::TestRunner::gated();
    let server = App::of(&agent("function", "context_wait: 0")).runner(&runner).start().await;
    let owner = server.call();
    let owner = tokio::spawn(async move { owner.say("CTX", "long").await });
    runner.started(1).await;
    let foreign = server.call().set("x-functions-key", OTHER_KEY);
    let foreign = tokio::spawn(async move { foreign.say("CTX", "short").await });
    runner.started(2).await;
    gate.add_permits(2);
    assert_eq!(seen(&foreign.await.unwrap()), ["short"]);
    assert_eq!(seen(&owner.await.unwrap()), ["long"]);
}

#[tokio::test]
async fn c042_an_issued_identifier_comes_back_and_continues() {
    for (mode, endpoint) in
        [("function", ""), ("anonymous", ""), ("function", "context: capability"), ("function", "context: shared")]
    {
        let server = App::of(&agent(mode, endpoint)).start().await;
        let (first, second) = (open(server.call()).await, open(server.call()).await);
        let issued = first.context_id();
        assert!(!issued.is_empty() && issued != second.context_id(), "{mode} {endpoint}");
        let next = server.call().say(&issued, "next").await;
        assert_eq!((next.context_id(), seen(&next)), (issued, vec!["opening".to_owned(), "next".to_owned()]));
    }
}

#[tokio::test]
async fn c043_a_client_s_own_identifier_comes_back_as_it_was() {
    for (mode, endpoint) in [("function", ""), ("anonymous", ""), ("function", "context: shared")] {
        let server = App::of(&agent(mode, endpoint)).start().await;
        for id in ["my-own", "../unsafe\u{0} é", &"x".repeat(100_000)] {
            assert_eq!(server.call().say(id, "hello").await.context_id(), id, "{mode} {endpoint}");
        }
    }
}

#[tokio::test]
async fn c044_empty_identifiers_are_absent_ones() {
    for mode in ["function", "anonymous"] {
        let server = App::of(&agent(mode, "")).start().await;
        let empties = json!({ "tenant": "", "message": { "contextId": "", "taskId": "" } });
        let (first, second) = (server.call().send(&empties).await, server.call().send(&empties).await);
        assert!(!first.context_id().is_empty(), "{mode}");
        assert_ne!(first.context_id(), second.context_id(), "{mode}");
        // No conversation named "" is shared.
        assert_eq!((seen(&first).len(), seen(&second).len()), (1, 1), "{mode}");
    }
}

#[tokio::test]
async fn capability_an_anonymous_caller_s_own_identifier_keeps_nothing() {
    let server = App::of(&agent("anonymous", "")).start().await;
    for text in ["one", "two"] {
        let reply = anonymous(&server).say("my-own", text).await;
        assert_eq!((reply.context_id().as_str(), seen(&reply)), ("my-own", vec![text.to_owned()]));
    }
}

#[tokio::test]
async fn capability_a_forged_identifier_is_answered_like_a_foreign_one() {
    let server = App::of(&agent("anonymous", "")).start().await;
    let issued = open(anonymous(&server)).await.context_id();
    let mut forged = issued.clone();
    let last = if forged.pop() == Some('A') { 'E' } else { 'A' };
    forged.push(last);
    for id in [forged.as_str(), &issued[..issued.len() - 1], "c1-", "c1-AAAA"] {
        let reply = anonymous(&server).say(id, "let me in").await;
        assert_eq!((reply.context_id().as_str(), seen(&reply)), (id, vec!["let me in".to_owned()]));
    }
}

#[tokio::test]
async fn capability_identifiers_are_known_to_every_process_of_the_store_or_of_the_secret() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let secret = "a secret of more than thirty-two characters";
    for secret in [None, Some(secret)] {
        let app = || {
            let app = App::of(&agent("anonymous", "")).store(Arc::clone(&store));
            secret.into_iter().fold(app, |app, secret| app.variable("A2A_CONTEXT_SECRET", secret))
        };
        let (one, two) = (app().start().await, app().start().await);
        let issued = open(anonymous(&one)).await.context_id();
        assert_eq!(seen(&anonymous(&two).say(&issued, "next").await), ["opening", "next"]);
    }
    let stranger =
        App::of(&agent("anonymous", "")).store(store).variable("A2A_CONTEXT_SECRET", &secret.replace('a', "b"));
    let issued = open(anonymous(&stranger.start().await)).await.context_id();
    let server = App::of(&agent("anonymous", "")).start().await;
    assert_eq!(seen(&anonymous(&server).say(&issued, "next").await), ["next"]);
}

#[tokio::test]
async fn capability_of_a_caller_with_a_key_is_still_private_to_the_key() {
    let server = App::of(&agent("function", "context: capability")).start().await;
    let issued = open(server.call()).await.context_id();
    let other = server.call().set("x-functions-key", OTHER_KEY);
    assert_eq!(seen(&other.say(&issued, "mine?").await), ["mine?"]);
    assert_eq!(seen(&server.call().say(&issued, "next").await), ["opening", "next"]);
}

#[tokio::test]
async fn shared_all_callers_of_one_identifier_are_in_one_conversation() {
    let server = App::of(&agent("function", "context: shared")).start().await;
    server.call().say("CTX", "one").await.message();
    let other = server.call().set("x-functions-key", OTHER_KEY);
    assert_eq!(seen(&other.say("CTX", "two").await), ["one", "two"]);
    let anonymous_app = App::of(&agent("anonymous", "context: shared")).start().await;
    anonymous(&anonymous_app).say("CTX", "one").await.message();
    assert_eq!(seen(&anonymous(&anonymous_app).say("CTX", "two").await), ["one", "two"]);
}

#[tokio::test]
async fn two_agents_never_share_a_conversation() {
    let second = agent("function", "context: shared").replace("Main", "Second");
    let server = App::of(&agent("function", "context: shared")).file("second.agent.md", &second).start().await;
    server.call().say("CTX", "to the first").await.message();
    let call = Call::post(server.url("/agents/second/a2a")).set("x-functions-key", MASTER);
    assert_eq!(seen(&call.say("CTX", "to the second").await), ["to the second"]);
}
