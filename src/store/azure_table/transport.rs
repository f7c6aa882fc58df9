//! The last step of the pipeline: this crate's HTTP client, with bounded answers and errors that show no address.

use std::time::Duration;

use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::{AsyncRawResponse, HttpClient as AzureHttpClient, Request};
use bytes::BytesMut;
use futures::TryStreamExt as _;

use crate::http::HttpClient;

/// Most bytes of an answer. A full page of a query is far below; a longer answer is not from the table service.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Transport {
    http: HttpClient,
    attempt_timeout: Duration,
}

impl Transport {
    /// Sends through `http`, and waits for a whole answer for at most `attempt_timeout`.
    pub(super) fn new(http: HttpClient, attempt_timeout: Duration) -> Self {
        Self { http, attempt_timeout }
    }
}

#[async_trait]
impl AzureHttpClient for Transport {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let late = |_| Error::with_message(ErrorKind::Io, "no answer in time");
        tokio::time::timeout(self.attempt_timeout, self.exchange(request)).await.map_err(late)?
    }
}

impl Transport {
    async fn exchange(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let client = self.http.get().map_err(|error| Error::new(ErrorKind::Other, error))?;
        let answer = client.execute_request(request).await.map_err(|error| anonymous(&error))?;
        let (status, headers, mut stream) = answer.deconstruct();
        let mut body = BytesMut::new();
        while let Some(chunk) = stream.try_next().await.map_err(|error| anonymous(&error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(Error::with_message(ErrorKind::Other, "the answer is too long"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(AsyncRawResponse::from_bytes(status, headers, body.freeze()))
    }
}

/// The same error without the request's address, which may carry a signature and which the pipeline logs.
fn anonymous(error: &Error) -> Error {
    Error::with_message(error.kind().clone(), root_cause(error))
}

/// The innermost cause of `error`, as text without addresses.
pub(super) fn root_cause(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    if text.contains("://") { error.kind().to_string() } else { text }
}
