//! How many requests the table service gets, counted on the wire: a storage call must not turn into several.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{Request, Response, header};
use http_body_util::BodyExt as _;
use tokio::net::TcpListener;

use crate::backends::{Backend, emulator, fresh_table, table_settings, table_store};
use crate::bench::Bench;
use crate::contracts::turns::{conversation, turn};

/// The whole test, under the name of its back end.
pub(crate) async fn a_turn_is_three_requests() {
    let counted = Counted::before(emulator().await.table_endpoint()).await;
    let bench = Bench::new(Backend::AzureTable).await;
    let connection_string = emulator().await.connection_string();
    let (accounts, endpoint) = connection_string.split_once("TableEndpoint=").expect("a table service");
    let path = endpoint.trim_end_matches(';').rsplit('/').next().expect("an account");
    let through = format!("{accounts}TableEndpoint={}/{path};", counted.url);
    let store = Arc::new(table_store(table_settings(&through, &fresh_table()), bench.clock.clone()));
    let conversation = conversation(&bench, store, "ctx");
    // The first turn of a process may have to make the table.
    turn(&conversation, 0).await;
    for number in 1..10 {
        let before = counted.requests();
        assert_eq!(turn(&conversation, number).await, number);
        assert_eq!(counted.requests() - before, 3, "turn {number}");
    }
}

/// A proxy that counts what passes it.
struct Counted {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Counted {
    /// Stands before the service at `endpoint`.
    async fn before(endpoint: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let service = endpoint.rsplit_once('/').expect("an account").0.to_owned();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let app = axum::Router::new().fallback(async move |request: Request<Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            pass(&client, &service, request).await
        });
        tokio::spawn(std::future::IntoFuture::into_future(axum::serve(listener, app)));
        Self { url, requests }
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

async fn pass(client: &reqwest::Client, service: &str, request: Request<Body>) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await.expect("a whole request").to_bytes();
    parts.headers.remove(header::HOST);
    let url = format!("{service}{}", parts.uri);
    let answer = client.request(parts.method, url).headers(parts.headers).body(body).send().await.expect("an answer");
    let (status, mut headers) = (answer.status(), answer.headers().clone());
    headers.remove(header::TRANSFER_ENCODING);
    let mut response = Response::new(Body::from(answer.bytes().await.expect("a whole answer")));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
