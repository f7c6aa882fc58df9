//! OpenAI, Azure OpenAI, Foundry projects and compatible servers: one streamed request per turn.
//!
//! A client of our own, small because it speaks of one operation only; `docs/decisions/0004-model-client.md` says why.

mod chat;
mod credential;
mod failure;
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
use http::header::{ACCEPT, CONTENT_TYPE};
use tokio::time::{Instant, timeout};
use url::Url;

pub use retry::RetryPolicy;

use self::credential::Credential;
use self::failure::Failure;
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
            let secrets = self.secrets(turn);
            let mut events = EventReader::new(self.send(turn, &secrets).await?, self.settings.idle_timeout);
            let mut reader = Reader::new(self.settings.api);
            let mut bytes_left = MAX_REPLY_BYTES;
            while let Some(data) = events.next().await? {
                match reader.read(&data, &secrets)? {
                    Progress::None => {}
                    Progress::Text(text) => {
                        bytes_left =
                            bytes_left.checked_sub(text.len()).ok_or_else(|| Failure::too_large("the reply"))?;
                        yield RunnerEvent::TextDelta(text);
                    }
                    Progress::Complete => {
                        events.drain().await;
                        break;
                    }
                }
            }
            let counts = reader.finish().ok_or_else(Failure::cut)?;
            if let Some(usage) = self.usage(counts, turn) {
                usage.log(&turn.agent.slug);
                yield RunnerEvent::Usage(usage);
            }
            yield RunnerEvent::Done;
        }
    }

    /// The response to the turn's request, once it is known to be an event stream.
    async fn send(&self, turn: &Turn, secrets: &[&str]) -> Result<reqwest::Response, Failure> {
        let http = self.http.get().map_err(|error| Failure::lasting(RunnerError::NotConfigured(error.to_string())))?;
        let mut request = http.post(self.url.clone()).header(ACCEPT, "text/event-stream");
        if let Some((name, value)) = self.credential.header().await? {
            request = request.header(name, value);
        }
        let request = request.json(&Request::new(turn, &self.settings));
        let idle_timeout = self.settings.idle_timeout;
        let response = timeout(idle_timeout, request.send()).await.map_err(|_| Failure::stalled(idle_timeout))?;
        let response = response.map_err(Failure::unreachable)?;
        if !response.status().is_success() {
            return Err(self.error_response(response, secrets).await);
        }
        match response.headers().get(CONTENT_TYPE).map(http::HeaderValue::as_bytes) {
            Some(kind) if kind.to_ascii_lowercase().starts_with(b"text/event-stream") => Ok(response),
            _ => Err(Failure::malformed("the answer is not an event stream".to_owned())),
        }
    }

    async fn error_response(&self, mut response: reqwest::Response, secrets: &[&str]) -> Failure {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now().as_millis());
        let after = retry::retry_after(response.headers(), now);
        let mut body = Vec::new();
        while let Ok(Ok(Some(chunk))) = timeout(self.settings.idle_timeout, response.chunk()).await {
            let room = MAX_ERROR_BODY_BYTES.saturating_sub(body.len());
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() >= room {
                break;
            }
        }
        Failure::status(response.status(), &body, after, secrets)
    }

    /// What a provider may repeat in an error, and the log must not.
    fn secrets<'a>(&'a self, turn: &'a Turn) -> [&'a str; 2] {
        let key = match &self.credential {
            Credential::Fixed(_, value) => value.to_str().unwrap_or_default(),
            _ => "",
        };
        [key.strip_prefix("Bearer ").unwrap_or(key), &turn.prompt]
    }

    fn usage(&self, counts: Counts, turn: &Turn) -> Option<Usage> {
        let (input_tokens, output_tokens) = counts.usage?;
        let asked = turn.agent.model.as_ref().unwrap_or(&self.settings.default_model);
        let model = if counts.model.is_empty() { asked.clone() } else { counts.model };
        Some(Usage { input_tokens, output_tokens, model, provider: self.settings.provider.name() })
    }
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
