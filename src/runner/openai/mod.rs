//! OpenAI, Azure OpenAI, Foundry projects and compatible servers: one streamed request per turn.
//!
//! A client of our own, small because it speaks of one operation only; `docs/decisions/0004-model-client.md` says why.

mod chat;
mod credential;
mod failure;
mod redact;
mod reply;
mod responses;
mod retry;
mod sse;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_stream::{stream, try_stream};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

pub use retry::RetryPolicy;

use self::credential::Credential;
use self::failure::Failure;
use self::redact::Secrets;
use self::reply::{Counts, Progress, Reader, Request};
use self::sse::EventReader;
use super::deadline::until;
use super::settings::{Api, ModelSettings};
use super::{Runner, RunnerError, RunnerEvent, Turn, Usage};
use crate::clock::{Clock, Random};
use crate::http::HttpClient;

/// The longest reply, in bytes; far above what any binding passes on.
const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// How much of an error response is read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
/// How long an error response is read: what it says is only for the log.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the counts of a reply are waited for once all of its text has come.
const COUNTS_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of a model's name is kept, in characters.
const MAX_MODEL_CHARS: usize = 128;

/// Runs turns on a provider that speaks one of OpenAI's APIs.
#[derive(Debug, Clone)]
pub struct OpenAiRunner(Arc<Client>);

#[derive(Debug)]
struct Client {
    settings: ModelSettings,
    url: Url,
    http: HttpClient,
    credential: Credential,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl OpenAiRunner {
    /// A runner for `settings`; nothing is connected or authenticated before the first turn.
    pub fn new(
        settings: ModelSettings,
        retry: RetryPolicy,
        http: HttpClient,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        let url = request_url(&settings);
        let credential = Credential::new(&settings.auth, &http);
        Self(Arc::new(Client { settings, url, http, credential, retry, clock, random }))
    }
}

impl Runner for OpenAiRunner {
    fn run(&self, turn: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>> {
        let deadline = turn.deadline;
        until(deadline, Arc::clone(&self.0).attempts(turn)).boxed()
    }
}

impl Client {
    /// Attempts until one succeeds, or has shown text to the caller, or none is left.
    fn attempts(self: Arc<Self>, turn: Turn) -> impl Stream<Item = Result<RunnerEvent, RunnerError>> {
        stream! {
            for number in 1.. {
                let mut has_spoken = false;
                let mut failure = None;
                let mut events = pin!(self.attempt(&turn));
                while let Some(event) = events.next().await {
                    match event {
                        Ok(event) => {
                            has_spoken |= matches!(event, RunnerEvent::TextDelta(_));
                            yield Ok(event);
                        }
                        Err(error) => failure = Some(error),
                    }
                }
                let Some(failure) = failure else { return };
                let pause = if has_spoken { None } else { self.pause(number, &failure, turn.deadline) };
                let Some(pause) = pause else {
                    yield Err(failure.error);
                    return;
                };
                tokio::time::sleep(pause).await;
            }
        }
    }

    fn pause(&self, attempt: u32, failure: &Failure, deadline: Instant) -> Option<Duration> {
        let left = deadline.saturating_duration_since(Instant::now());
        let pause = self.retry.pause(attempt, failure.retry, self.random.unit(), left)?;
        tracing::warn!(
            event_name = "model_request_retry",
            provider = self.settings.provider.name(),
            attempt,
            pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            error = %failure.error,
            "The model provider failed; the request is sent again"
        );
        Some(pause)
    }

    /// One request and the events of its reply.
    fn attempt<'a>(&'a self, turn: &'a Turn) -> impl Stream<Item = Result<RunnerEvent, Failure>> + 'a {
        try_stream! {
            let header = self.credential.header().await?;
            let secrets = Secrets::of_request(header.as_ref().map(|(_, value)| value), &self.url, turn);
            let mut events = EventReader::new(self.send(turn, header, &secrets).await?, self.settings.idle_timeout);
            let mut reader = Reader::new(self.settings.api);
            let mut bytes_left = MAX_REPLY_BYTES;
            let mut counts_by = None;
            while let Some(progress) = advance(&mut events, &mut reader, &secrets, counts_by).await? {
                match progress {
                    Progress::None => {}
                    Progress::Text(text) => {
                        bytes_left =
                            bytes_left.checked_sub(text.len()).ok_or_else(|| Failure::too_large("the reply"))?;
                        // A server that says too early that it has finished gets time for the rest.
                        counts_by = None;
                        yield RunnerEvent::TextDelta(text);
                    }
                    Progress::Complete => {
                        events.drain().await;
                        break;
                    }
                }
                if reader.is_finished() && counts_by.is_none() {
                    counts_by = Some(Instant::now() + COUNTS_TIMEOUT);
                }
            }
            let counts = reader.finish().ok_or_else(Failure::cut)?;
            if let Some(usage) = self.usage(&counts, turn, &secrets) {
                usage.log(&turn.agent.slug);
                yield RunnerEvent::Usage(usage);
            }
            yield RunnerEvent::Done;
        }
    }

    /// The response to the turn's request, once it is known to be an event stream.
    async fn send(
        &self,
        turn: &Turn,
        credential: Option<(HeaderName, HeaderValue)>,
        secrets: &Secrets<'_>,
    ) -> Result<reqwest::Response, Failure> {
        let http = self.http.get().map_err(|error| Failure::lasting(RunnerError::NotConfigured(error.to_string())))?;
        let mut request = http.post(self.url.clone()).header(ACCEPT, "text/event-stream");
        if let Some((name, value)) = credential {
            request = request.header(name, value);
        }
        let request = request.json(&Request::new(turn, &self.settings));
        let idle_timeout = self.settings.idle_timeout;
        let response = timeout(idle_timeout, request.send()).await.map_err(|_| Failure::stalled(idle_timeout))?;
        let response = response.map_err(Failure::unreachable)?;
        if !response.status().is_success() {
            return Err(self.error_response(response, secrets).await);
        }
        match response.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase()) {
            Some(kind) if kind.starts_with(b"text/event-stream") => Ok(response),
            // Some servers report an error with status 200.
            Some(kind) if kind.starts_with(b"application/json") => {
                let body = String::from_utf8_lossy(&short_body(response).await).into_owned();
                Err(Failure::not_streamed(&body, secrets))
            }
            _ => Err(Failure::not_streamed("", secrets)),
        }
    }

    async fn error_response(&self, response: reqwest::Response, secrets: &Secrets<'_>) -> Failure {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now().as_millis());
        let after = retry::retry_after(response.headers(), now);
        let status = response.status();
        Failure::status(status, &short_body(response).await, after, secrets)
    }

    fn usage(&self, counts: &Counts, turn: &Turn, secrets: &Secrets<'_>) -> Option<Usage> {
        let (input_tokens, output_tokens) = counts.usage?;
        let asked = turn.agent.model.as_ref().unwrap_or(&self.settings.default_model);
        let model = secrets.clean(&counts.model, MAX_MODEL_CHARS).unwrap_or_else(|| asked.clone());
        Some(Usage { input_tokens, output_tokens, model, provider: self.settings.provider.name() })
    }
}

/// What the next event brings, or `None` at the end of the stream. From `counts_by` on, when the text is there, neither a
/// silence nor a failure makes the reply worse: both are the end.
async fn advance(
    events: &mut EventReader,
    reader: &mut Reader,
    secrets: &Secrets<'_>,
    counts_by: Option<Instant>,
) -> Result<Option<Progress>, Failure> {
    let mut next = async || match events.next().await? {
        Some(data) => reader.read(&data, secrets).map(Some),
        None => Ok(None),
    };
    match counts_by {
        Some(by) => Ok(timeout_at(by, next()).await.ok().and_then(Result::ok).flatten()),
        None => next().await,
    }
}

/// What can be read of a small body in a short time.
async fn short_body(mut response: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let by = Instant::now() + ERROR_BODY_TIMEOUT;
    while let Ok(Ok(Some(chunk))) = timeout_at(by, response.chunk()).await {
        let room = MAX_ERROR_BODY_BYTES.saturating_sub(body.len());
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            break;
        }
    }
    body
}

fn request_url(settings: &ModelSettings) -> Url {
    let path = match settings.api {
        Api::Responses => "responses",
        Api::Chat => "chat/completions",
    };
    let mut url = settings.base_url.clone();
    url.set_path(&format!("{}{path}", settings.base_url.path()));
    if let Some(version) = &settings.api_version {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    url
}

#[cfg(test)]
mod tests;
