//! Where `a2a-functions serve` keeps its state: what cannot work is told at start, or as soon as it shows.

use std::fs;

use tokio::net::TcpListener;

use crate::support::{AGENT, Program, folder};

const KEY: &str = "canary-key-in-the-header";
const RING: (&str, &str) = ("A2A_FUNCTION_KEYS", "one=canary-key-in-the-header");

#[tokio::test]
async fn a_local_store_that_can_never_work_ends_the_program_with_the_reason() {
    let folder = folder(&[("main.agent.md", AGENT)]);
    let garbage = folder.path().join("notes.txt");
    fs::write(&garbage, "not a database\n".repeat(1000)).unwrap();
    for (path, reason) in [
        (folder.path().to_path_buf(), "it is not a file"),
        ("/dev/null".into(), "it is not a file"),
        (garbage.clone(), "not a database"),
        (garbage.join("state.sqlite"), "the store cannot be used"),
    ] {
        let store = format!("sqlite:{}", path.display());
        let mut program = Program::serve(folder.path(), &["--port", "0", "--store", &store], &[RING]);
        assert_eq!(program.ended().await.code(), Some(1), "{store}");
        let stderr = program.stderr.text();
        assert!(stderr.contains(reason) && stderr.contains(&*path.to_string_lossy()), "{store}: {stderr}");
        assert!(!stderr.contains("Serving"), "{stderr}");
    }
}

#[tokio::test]
async fn a_table_out_of_reach_is_found_by_the_first_turn_and_told_once() {
    let folder = folder(&[("main.agent.md", AGENT)]);
    // Whoever connects is hung up on.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let table = format!(
        "AccountName=a;AccountKey=Y2FuYXJ5LWtleS1vZi10aGUtdGFibGU=;TableEndpoint=http://127.0.0.1:{port}/account"
    );
    let variables = [RING, ("AzureWebJobsStorage", &table)];
    let mut program = Program::serve(folder.path(), &["--port", "0", "--store", "azure-table"], &variables);
    for text in ["one", "two"] {
        assert_ne!(program.call(KEY).await.say("ctx", text).await.code(), 0);
    }
    program.terminate().await;
    assert_eq!(program.ended().await.code(), Some(0));
    let log = program.stdout.text();
    assert_eq!(log.matches("the table store does not work").count(), 1, "{log}");
    assert!(log.contains(&format!("127.0.0.1:{port}/account/a2afunctions")) && !log.contains("Y2FuYXJ5"), "{log}");
}
