//! How the handler gets ready, whatever is out of reach.

use std::time::{Duration, Instant};

use functions_test_host::FunctionsHost;
use tokio::net::TcpListener;

use crate::app::App;
use crate::client::Call;

/// Short of every time-out of a connection, and generous to a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

fn lines(host: &FunctionsHost) -> Vec<String> {
    host.logs().into_iter().map(|line| line.text).collect()
}

#[tokio::test]
async fn c074_the_handler_is_ready_while_storage_and_model_do_not_answer() {
    // Accepts connections, as a broken network may, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let storage = format!("AccountName=a;AccountKey=a2V5;TableEndpoint=http://{address}/a;");
    let app = App::new("function")
        .start(|host| {
            host.env("A2A_STORE", "azure-table")
                .env("AzureWebJobsStorage", storage)
                .env("AZURE_FUNCTIONS_AGENTS_PROVIDER", "openai")
                .env("OPENAI_BASE_URL", format!("http://{address}/v1"))
                .env("OPENAI_API_KEY", "unused")
        })
        .await;
    assert!(app.host.ready_after(0).unwrap() < AT_ONCE);
    // The card needs neither.
    let started = Instant::now();
    assert_eq!(app.get("/agents/main/.well-known/agent-card.json").nothing().await.status, 200);
    assert!(started.elapsed() < AT_ONCE);
    assert_eq!(app.host.starts(0), 1);
}

#[tokio::test]
async fn c074_the_probe_is_an_answer_without_work_or_alarm() {
    let app = App::new("function").start(|host| host).await;
    let handler = app.host.handler_url(0).unwrap();
    let before = lines(&app.host).len();
    let started = Instant::now();
    for _ in 0..20 {
        assert_eq!(Call::get(format!("{handler}/")).nothing().await.status, 200);
    }
    assert!(started.elapsed() < AT_ONCE);
    // A request that is logged comes after all that the probes could have written.
    app.get("/agents/main/.well-known/agent-card.json").nothing().await;
    app.host.wait_for_log(|line| line.text.contains("\"verb\":\"GET\"")).await;
    let written = lines(&app.host).split_off(before);
    assert!(!written.iter().any(|line| line.contains("refused") || line.contains("\"WARN\"")), "{written:?}");
    assert_eq!(written.iter().filter(|line| line.contains("\"message\":\"request\"")).count(), 1, "{written:?}");
}

#[tokio::test]
async fn c074_the_handler_listens_on_loopback_alone() {
    let app = App::new("function").start(|host| host).await;
    let handler = app.host.handler_url(0).unwrap();
    let port = handler.rsplit(':').next().unwrap();
    assert!(app.logs().contains(&format!("127.0.0.1:{port}")), "{}", app.logs());
}

#[tokio::test]
async fn the_handler_refuses_the_reserved_paths_of_the_host() {
    let app = App::new("function").start(|host| host).await;
    let handler = app.host.handler_url(0).unwrap();
    for path in ["/admin/host/status", "/runtime/webhooks/mcp", "/agent_main_a2a_rpc"] {
        let reply = Call::post(format!("{handler}{path}")).body("{}").await;
        assert_eq!(reply.status, 404, "{path}");
    }
}
