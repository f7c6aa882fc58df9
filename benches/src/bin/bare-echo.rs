//! What everything is compared with: axum, a JSON body parsed into a tree, and the tree sent back. No checks, no log.

use axum::extract::Json;
use axum::routing::{get, post};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // The Functions host's variable, so that the test host can start this program as a handler.
    let port: u16 = std::env::var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let routes = axum::Router::new()
        .route("/", get(async || ()))
        .fallback(post(async |Json(body): Json<serde_json::Value>| Json(body)));
    axum::serve(listener, routes).await?;
    Ok(())
}
