//! What a client may do to its connection, on a clock that does not wait.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::{Instant, sleep};

use super::*;

const GET: &str = "GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Serves one client, after `work` for each request, and tells when the connection was over.
fn serve_one(work: Duration, room: usize) -> (DuplexStream, tokio::task::JoinHandle<Duration>) {
    let (near, far) = duplex(room);
    let service = tower::service_fn(move |_: Request<Body>| async move {
        sleep(work).await;
        Ok::<_, Infallible>(Response::new(Body::from("x".repeat(2000))))
    });
    let started = Instant::now();
    let served = tokio::spawn(async move {
        let _ = connection(near, service).await;
        started.elapsed()
    });
    (far, served)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_loses_its_place() {
    for requests in [1, 200] {
        let (mut client, served) = serve_one(Duration::ZERO, 1000);
        let sending = tokio::spawn(async move {
            let _ = client.write_all(GET.repeat(requests).as_bytes()).await;
            std::future::pending::<()>().await;
        });
        let ended = tokio::time::timeout(ANSWER_DEADLINE * 3, served).await.expect("the connection is closed").unwrap();
        assert!(ended >= ANSWER_DEADLINE, "{ended:?}");
        sending.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_turn_keeps_its_connection() {
    let work = Duration::from_secs(15 * 60);
    let (mut client, _served) = serve_one(work, 1000);
    client.write_all(GET.replace("host:", "connection: close\r\nhost:").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(&"x".repeat(2000)), "{answer}");
}
