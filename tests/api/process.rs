//! `a2a-functions serve` as a process: how it starts, what it writes, how it stops, and what survives it.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use crate::client::Call;
use crate::support::{AGENT, Model, Program, agent, folder, witnessed};

const KEY: &str = "canary-key-in-the-header";
const RING: (&str, &str) = ("A2A_FUNCTION_KEYS", "one=canary-key-in-the-header");
const PROVIDER_KEY: &str = "canary-key-of-the-provider";

/// An agent that is reached, but not over A2A.
const CHAT: &str = "---\nname: Chat\ndescription: Talks.\nbuiltin_endpoints: true\n---\nTalk.\n";

fn app() -> TempDir {
    folder(&[("main.agent.md", AGENT)])
}

/// Serves a folder on a free port with a model of the test's.
fn serve_with(folder: &Path, model: &Model, store: &str) -> Program {
    let variables = [
        RING,
        ("OPENAI_BASE_URL", model.url.as_str()),
        ("OPENAI_API_KEY", PROVIDER_KEY),
        ("A2A_OPENAI_API", "chat"),
        ("A2A_CONTEXT_LEASE_SECONDS", "2"),
    ];
    Program::serve(folder, &["--port", "0", "--store", store], &variables)
}

#[tokio::test]
async fn the_ready_line_has_the_addresses_and_a_command_that_works() {
    let folder = app();
    // No key, no provider: what a newcomer starts.
    let program = Program::serve(folder.path(), &["--port", "0"], &[]);
    let endpoint = program.endpoint().await;
    let curl = program.stderr.wait_for(|line| line.trim_start().starts_with("curl ")).await;
    let card = program.stderr.wait_for(|line| line.trim_start().starts_with("card ")).await;
    assert!(card.ends_with("/agents/main/.well-known/agent-card.json"), "{card}");
    let quoted: Vec<&str> = curl.split('\'').collect();
    let header =
        |name: &str| quoted.iter().find_map(|text| text.strip_prefix(name)).unwrap_or_else(|| panic!("{curl}"));
    let body = quoted.iter().find(|text| text.starts_with('{')).unwrap();
    let reply = Call::post(endpoint)
        .set("content-type", header("Content-Type: "))
        .set("a2a-version", header("A2A-Version: "))
        .set("x-functions-key", header("x-functions-key: "))
        .body((*body).to_owned())
        .await;
    assert!(reply.said().contains("no model is configured"), "{reply:?}");
    // The key that was made up is for this person's eyes, not for the log.
    assert!(!program.stdout.text().contains(header("x-functions-key: ")));
}

#[tokio::test]
async fn a_port_in_use_is_a_clear_error_and_nothing_is_served() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = app();
    let mut program = Program::serve(folder.path(), &["--port", &port], &[RING]);
    assert_eq!(program.ended().await.code(), Some(1));
    let stderr = program.stderr.text();
    assert!(stderr.contains(&format!("port {port} of 127.0.0.1 is taken")) && stderr.contains("--port"), "{stderr}");
    assert!(!stderr.contains("Serving"), "{stderr}");
}

#[tokio::test]
async fn c055_c096_c100_a_folder_that_may_not_be_served_ends_the_program_with_the_reason() {
    let entra = agent("entra", "");
    let misspelt = agent("entraid", "");
    let ring = [RING];
    let one_slug = [("daily-report.agent.md", AGENT), ("daily_report.agent.md", AGENT)];
    let main = |text| [("main.agent.md", text)];
    let (good, misspelt, entra, chat) = (main(AGENT), main(&misspelt), main(&entra), main(CHAT));
    let short_key = [("A2A_FUNCTION_KEYS", "one=short")];
    let (bad_store, bad_filter) = ([RING, ("A2A_STORE", "etcd")], [RING, ("A2A_LOG", "a=b=c")]);
    for (files, arguments, variables, status, words) in [
        (&one_slug[..], &[][..], &ring[..], 1, &["daily-report.agent.md", "daily_report.agent.md"][..]),
        (&misspelt, &[], &ring, 1, &["entraid", "main.agent.md"]),
        (&entra, &[], &ring, 1, &["entra", "main.agent.md"]),
        (&chat, &[], &ring, 1, &["nothing to serve"]),
        (&good, &["--host", "0.0.0.0"], &[], 1, &["A2A_FUNCTION_KEYS"]),
        (&good, &[], &short_key, 1, &["entry 1", "shorter"]),
        (&good, &["--store", "etcd"], &ring, 2, &["etcd", "sqlite:PATH"]),
        (&good, &[], &bad_store, 2, &["A2A_STORE", "etcd"]),
        (&good, &[], &bad_filter, 2, &["A2A_LOG"]),
    ] {
        let folder = folder(files);
        let arguments: Vec<&str> = ["--port", "0"].into_iter().chain(arguments.iter().copied()).collect();
        let mut program = Program::serve(folder.path(), &arguments, variables);
        assert_eq!(program.ended().await.code(), Some(status), "{words:?}: {}", program.stderr.text());
        for word in words {
            assert!(program.stderr.text().contains(word), "{word}: {}", program.stderr.text());
        }
        assert!(!program.stderr.text().contains("Serving"), "{words:?}");
    }
}

#[tokio::test]
async fn a_graceful_stop_finishes_the_turn_in_flight_and_takes_no_other() {
    let folder = app();
    let model = Model::start().await;
    let mut program = serve_with(folder.path(), &model, "memory");
    let endpoint = program.endpoint().await;
    let call = program.call(KEY).await;
    let turn = tokio::spawn(async move { call.say("ctx", "one").await });
    model.started(1).await;
    program.terminate().await;
    program.stdout.wait_for(|line| line.contains("\"stopping\"")).await;
    let address = endpoint.strip_prefix("http://").unwrap().split('/').next().unwrap();
    // The listener closes as soon as the stop begins; until then a connection may still get in.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    model.answer(1);
    assert_eq!(turn.await.unwrap().said(), r#"["one"]"#);
    assert_eq!(program.ended().await.code(), Some(0));
}

#[tokio::test]
async fn the_log_is_json_lines_and_holds_no_key_no_text_and_no_identifier_of_a_client() {
    let folder = app();
    let model = Model::start().await;
    model.answer(100);
    let mut program = serve_with(folder.path(), &model, "memory");
    let principal = "canary-principal";
    let call = program.call(KEY).await.set("x-ms-client-principal", principal);
    call.clone().say("canary-context", "canary-prompt").await.message();
    let by_query = call.clone().without("x-functions-key");
    by_query.clone().at(&format!("?code={KEY}")).say("canary-context", "canary-prompt").await.message();
    // What is refused is not repeated either.
    by_query.clone().at("?code=canary-wrong-key").say("canary-context", "canary-prompt").await;
    by_query.set("x-functions-key", "canary-wrong-key").set("authorization", "Bearer canary-token").say("x", "y").await;
    call.clone().at("/canary-path").say("x", "y").await;
    call.body("{\"canary-body\"").await;
    assert_eq!(model.authorizations(), [format!("Bearer {PROVIDER_KEY}")], "the provider did get its key");
    program.terminate().await;
    assert_eq!(program.ended().await.code(), Some(0));
    let lines = program.stdout.all();
    let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<_> = parsed.iter().filter(|line| line["message"] == "request").collect();
    let told: Vec<_> =
        requests.iter().map(|line| (line["status"].as_u64().unwrap(), line["outcome"].as_str().unwrap())).collect();
    let expected = [
        (200, "success"),
        (200, "replayed"),
        (401, "UNAUTHENTICATED"),
        (401, "UNAUTHENTICATED"),
        (404, ""),
        (400, "PARSE_ERROR"),
    ];
    assert_eq!(told, expected);
    for line in &requests {
        assert!(line["invocation_id"].as_str().is_some_and(|id| id.len() == 32), "{line}");
        assert!(line["duration_ms"].is_number(), "{line}");
    }
    assert_eq!((&requests[0]["agent"], &requests[0]["method"]), (&json!("main"), &json!("SendMessage")));
    for text in [program.stdout.text(), program.stderr.text()] {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn conversations_and_answers_survive_a_restart_and_a_kill() {
    let folder = app();
    let state = folder.path().join("kept/state.sqlite");
    let store = format!("sqlite:{}", state.display());
    let model = Model::start().await;
    model.answer(3);
    let mut program = serve_with(folder.path(), &model, &store);
    let first = program.call(KEY).await.say("ctx", "one").await;
    first.message();
    program.terminate().await;
    assert_eq!(program.ended().await.code(), Some(0));

    let mut program = serve_with(folder.path(), &model, &store);
    assert_eq!(program.call(KEY).await.say("ctx", "one").await.message(), first.message(), "answered, not run again");
    let second = program.call(KEY).await.say("ctx", "two").await;
    assert_eq!(witnessed(&second.said()), ["one", "two"]);
    program.kill().await;

    let program = serve_with(folder.path(), &model, &store);
    assert_eq!(witnessed(&program.call(KEY).await.say("ctx", "three").await.said()), ["one", "two", "three"]);
    assert_eq!(program.call(KEY).await.say("ctx", "two").await.message(), second.message());
    assert_eq!(model.turns(), 3);
}

#[tokio::test]
async fn a_turn_that_was_killed_leaves_its_context_usable_and_no_trace() {
    let folder = app();
    let store = format!("sqlite:{}", folder.path().join("state.sqlite").display());
    let model = Model::start().await;
    let mut program = serve_with(folder.path(), &model, &store);
    let call = program.call(KEY).await;
    let lost = tokio::spawn(async move { call.say("ctx", "lost").await });
    model.started(1).await;
    program.kill().await;
    assert!(lost.await.unwrap_err().is_panic(), "the caller lost its connection");

    let program = serve_with(folder.path(), &model, &store);
    model.answer(2);
    // Waits for the dead process's lease, and no longer.
    assert_eq!(witnessed(&program.call(KEY).await.say("ctx", "next").await.said()), ["next"]);
}

#[tokio::test]
async fn without_a_store_named_state_is_kept_below_the_app_folder() {
    let folder = app();
    let program = Program::serve(folder.path(), &["--port", "0"], &[RING]);
    program.call(KEY).await.say("ctx", "one").await.message();
    drop(program);
    assert!(folder.path().join(".a2a/state.sqlite").is_file());
    let program = Program::serve(folder.path(), &["--port", "0"], &[RING]);
    let reply = program.call(KEY).await.say("ctx", "two").await;
    assert!(reply.said().contains("Turn 2 of this conversation"), "{reply:?}");
}

#[tokio::test]
async fn a_deployment_without_a_provider_says_so_in_the_log_and_not_to_the_caller() {
    let folder = app();
    // Off loopback no canned replies stand in for a model.
    let program = Program::serve(folder.path(), &["--port", "0", "--host", "0.0.0.0", "--store", "memory"], &[RING]);
    let reply = program.call(KEY).await.say("ctx", "one").await;
    assert_eq!((reply.status, reply.code()), (200, -32603));
    assert!(!reply.text.contains("AZURE_"), "{reply:?}");
    let line = program.stdout.wait_for(|line| line.contains("OPENAI_API_KEY")).await;
    assert!(line.contains("not configured"), "{line}");
}
