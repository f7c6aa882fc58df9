//! The client against scripted replies of a provider.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::clock::SystemClock;
use crate::runner::fixtures::{agent, reply_text, turn};
use crate::runner::settings::RunnerSettings;
use crate::runner::{Speaker, Utterance};

const KEY: &str = "sk-very-secret";

/// Jitter without chance.
#[derive(Debug)]
struct Half;

impl Random for Half {
    fn bytes16(&self) -> [u8; 16] {
        [0x80; 16]
    }
}

fn runner(variables: &[(&str, &str)]) -> OpenAiRunner {
    let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let Ok(RunnerSettings::Model(settings)) = RunnerSettings::from_env(&environment) else {
        panic!("no provider in {variables:?}")
    };
    let retry = RetryPolicy { attempts: 3, base: Duration::from_millis(2), cap: Duration::from_millis(4) };
    OpenAiRunner::new(*settings, retry, HttpClient::from_env(&environment), Arc::new(SystemClock), Arc::new(Half))
}

fn responses_runner(server: &MockServer) -> OpenAiRunner {
    runner(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &server.uri()), ("A2A_OPENAI_API", "responses")])
}

fn events(events: &[Value]) -> ResponseTemplate {
    let body: Vec<_> = events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect();
    ResponseTemplate::new(200).set_body_raw(body.concat(), "text/event-stream; charset=utf-8")
}

fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "delta": text})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"status": "completed", "model": "gpt-x-2026",
        "usage": {"input_tokens": 7, "output_tokens": 3}}})
}

/// A server that gives the answers in order, each once.
async fn server(answers: impl IntoIterator<Item = ResponseTemplate>) -> MockServer {
    // Not one of the shared servers: a request that another test has given up may still be on its way to those.
    let server = MockServer::builder().start().await;
    for answer in answers {
        Mock::given(any()).respond_with(answer).up_to_n_times(1).mount(&server).await;
    }
    server
}

async fn request_count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// What is logged while the value lives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

/// With one subscriber alive, `tracing` asks the thread that comes first to a log line whether anybody listens to it, and
/// remembers a no for all threads. A second subscriber, never used, makes it ask all of them.
static SECOND: LazyLock<tracing::Dispatch> = LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));

impl Log {
    fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        LazyLock::force(&SECOND);
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn third_turn() -> Turn {
    let mut turn = turn("and now?");
    turn.agent =
        Arc::new(crate::agents::Agent { model: Some("gpt-x".to_owned()), max_output_tokens: Some(512), ..agent() });
    for (speaker, text) in
        [(Speaker::User, "one"), (Speaker::Agent, "two"), (Speaker::User, "three"), (Speaker::Agent, "")]
    {
        turn.history.push(Utterance { speaker, text: text.to_owned() });
    }
    turn
}

/// The request that `variables` cause: path with query, headers, body.
async fn request_of(variables: &[(&str, &str)], turn: Turn) -> (String, http::HeaderMap, Value) {
    let server = server([ResponseTemplate::new(400)]).await;
    let uri = server.uri();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.replace("{server}", &uri))).collect();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    reply_text(runner(&variables).run(turn)).await.unwrap_err();
    let request = server.received_requests().await.unwrap().remove(0);
    let path = request.url[url::Position::BeforePath..].to_owned();
    let body = request.body_json().unwrap();
    (path, request.headers, body)
}

#[tokio::test]
async fn a_responses_request_carries_instructions_history_and_options_and_stores_nothing() {
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", "{server}/v1"),
        ("A2A_OPENAI_API", "responses"),
        ("AZURE_FUNCTIONS_AGENTS_REASONING_EFFORT", "low"),
        ("AZURE_FUNCTIONS_AGENTS_REASONING_SUMMARY", "auto"),
    ];
    let (path, headers, body) = request_of(&variables, third_turn()).await;
    assert_eq!(path, "/v1/responses");
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(headers["accept"], "text/event-stream");
    assert_eq!(
        body,
        json!({
            "model": "gpt-x",
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "two"},
                {"role": "user", "content": "three"},
                {"role": "user", "content": "and now?"},
            ],
            "stream": true,
            "store": false,
            "max_output_tokens": 512,
            "reasoning": {"effort": "low", "summary": "auto"},
        })
    );
}

#[tokio::test]
async fn options_that_are_not_set_are_not_sent() {
    let mut turn = turn("hello");
    turn.agent = Arc::new(crate::agents::Agent { instructions: String::new(), ..agent() });
    let base = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "{server}")];
    let input = json!([{"role": "user", "content": "hello"}]);

    let (_, _, body) = request_of(&[&base[..], &[("A2A_OPENAI_API", "responses")]].concat(), turn.clone()).await;
    assert_eq!(body, json!({"model": "gpt-4o-mini", "input": input, "stream": true, "store": false}));

    let (_, _, body) = request_of(&base, turn).await;
    assert_eq!(
        body,
        json!({"model": "gpt-4o-mini", "messages": input, "stream": true, "stream_options": {"include_usage": true}})
    );
}

#[tokio::test]
async fn a_chat_request_names_the_token_limit_as_the_server_knows_it() {
    let compatible = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "{server}/v1")];
    let (path, _, body) = request_of(&compatible, third_turn()).await;
    assert_eq!(path, "/v1/chat/completions");
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be brief."}));
    assert_eq!(body["messages"].as_array().unwrap().len(), 5);
    assert_eq!((&body["max_tokens"], body.get("max_completion_tokens")), (&json!(512), None));

    let azure = [("AZURE_OPENAI_ENDPOINT", "{server}"), ("AZURE_OPENAI_API_KEY", KEY), ("A2A_OPENAI_API", "chat")];
    let (_, _, body) = request_of(&azure, third_turn()).await;
    assert_eq!((body.get("max_tokens"), &body["max_completion_tokens"]), (None, &json!(512)));
}

#[tokio::test]
async fn azure_gets_its_key_header_its_path_and_the_api_version_that_is_set() {
    let azure = [("AZURE_OPENAI_ENDPOINT", "{server}"), ("AZURE_OPENAI_API_KEY", KEY)];
    let (path, headers, _) = request_of(&azure, turn("hello")).await;
    assert_eq!(path, "/openai/v1/responses");
    assert_eq!(headers["api-key"], KEY);
    assert!(!headers.contains_key("authorization"));

    let versioned = [&azure[..], &[("AZURE_OPENAI_API_VERSION", "preview")]].concat();
    let (path, _, _) = request_of(&versioned, turn("hello")).await;
    assert_eq!(path, "/openai/v1/responses?api-version=preview");
}

#[tokio::test]
async fn a_server_without_a_key_gets_no_authorization() {
    let local = [("AZURE_FUNCTIONS_AGENTS_PROVIDER", "openai"), ("OPENAI_BASE_URL", "{server}/v1")];
    let (_, headers, _) = request_of(&local, turn("hello")).await;
    assert!(!headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_reply_is_its_deltas_then_the_usage_then_done() {
    let server = server([events(&[delta("Hel"), delta("lo"), completed()])]).await;
    let events: Vec<_> = responses_runner(&server).run(turn("hello")).map(Result::unwrap).collect().await;
    let usage = Usage { input_tokens: 7, output_tokens: 3, model: "gpt-x-2026".to_owned(), provider: "openai" };
    assert_eq!(
        events,
        [
            RunnerEvent::TextDelta("Hel".to_owned()),
            RunnerEvent::TextDelta("lo".to_owned()),
            RunnerEvent::Usage(usage),
            RunnerEvent::Done,
        ]
    );
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let server = server([events(&[completed()])]).await;
    drop(responses_runner(&server).run(turn("hello")));
    assert_eq!(request_count(&server).await, 0);
}

#[tokio::test]
async fn passing_failures_are_retried_as_long_as_nothing_was_said() {
    for failure in [
        ResponseTemplate::new(429).insert_header("retry-after-ms", "1"),
        ResponseTemplate::new(429).insert_header("retry-after", "0"),
        ResponseTemplate::new(408),
        ResponseTemplate::new(503),
        events(&[]),
        events(&[json!({"type": "error", "code": "server_error"})]),
    ] {
        let server = server([failure, events(&[delta("ok"), completed()])]).await;
        assert_eq!(reply_text(responses_runner(&server).run(turn("hello"))).await.unwrap(), "ok");
        assert_eq!(request_count(&server).await, 2);
    }
}

#[tokio::test]
async fn a_reply_that_breaks_after_its_first_words_is_not_begun_again() {
    let server = server([events(&[delta("half")]), events(&[delta("whole"), completed()])]).await;
    let seen: Vec<_> = responses_runner(&server).run(turn("hello")).collect().await;
    assert!(matches!(&seen[..], [Ok(RunnerEvent::TextDelta(_)), Err(RunnerError::Unavailable(_))]), "{seen:?}");
    assert_eq!(request_count(&server).await, 1);
}

#[tokio::test]
async fn lasting_failures_are_not_retried() {
    for failure in [
        ResponseTemplate::new(400),
        ResponseTemplate::new(401),
        ResponseTemplate::new(302).insert_header("location", "/elsewhere"),
        ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
        ResponseTemplate::new(200),
    ] {
        let server = server([failure, events(&[completed()])]).await;
        reply_text(responses_runner(&server).run(turn("hello"))).await.unwrap_err();
        assert_eq!(request_count(&server).await, 1);
    }
}

#[tokio::test]
async fn attempts_are_bounded() {
    let server = server(std::iter::repeat_n(ResponseTemplate::new(500), 9)).await;
    let error = reply_text(responses_runner(&server).run(turn("hello"))).await.unwrap_err();
    assert!(matches!(error, RunnerError::Unavailable(_)), "{error:?}");
    assert_eq!(request_count(&server).await, 3);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let server = server([ResponseTemplate::new(429).insert_header("retry-after", "3600")]).await;
    let error = reply_text(responses_runner(&server).run(turn("hello"))).await.unwrap_err();
    assert!(error.to_string().contains("HTTP 429"), "{error}");
    assert_eq!(request_count(&server).await, 1);
}

#[tokio::test]
async fn an_unreachable_server_is_unavailable_and_named_without_its_address() {
    // Bound but not listening: the port is refused, and nobody else can get it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let uri = format!("http://{}", socket.local_addr().unwrap());
    let runner = runner(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &uri)]);
    let error = reply_text(runner.run(turn("hello"))).await.unwrap_err();
    assert!(matches!(error, RunnerError::Unavailable(_)), "{error:?}");
    assert!(!error.to_string().contains(&uri), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_run_whatever_it_waits_for() {
    let server = server([events(&[completed()]).set_delay(Duration::from_secs(60))]).await;
    let mut turn = turn("hello");
    turn.deadline = Instant::now() + Duration::from_secs(1);
    let error = reply_text(responses_runner(&server).run(turn)).await.unwrap_err();
    assert!(matches!(error, RunnerError::DeadlineExceeded), "{error:?}");
}

#[tokio::test]
async fn the_usage_is_logged_under_the_names_of_the_python_runtime() {
    let server = server([events(&[completed()])]).await;
    let (log, _guard) = Log::start();
    assert_eq!(reply_text(responses_runner(&server).run(turn("hello"))).await.unwrap(), "");
    let text = log.text();
    let line = text.lines().find(|line| line.contains("agent_token_usage")).expect("a usage line");
    let fields = serde_json::from_str::<Value>(line).unwrap()["fields"].clone();
    let expected = json!({
        "message": "Agent token usage",
        "event_name": "agent_token_usage",
        "agent_name": "triage",
        "execution_role": "primary",
        "input_tokens": 7,
        "output_tokens": 3,
        "model": "gpt-x-2026",
        "provider": "openai",
    });
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn neither_key_nor_prompt_reaches_the_log_or_an_error() {
    let echo = json!({"error": {"message": format!("key {KEY} cannot ask: the secret prompt"), "code": "c"}});
    let answers = [ResponseTemplate::new(500).set_body_json(&echo), ResponseTemplate::new(401).set_body_json(&echo)];
    let server = server(answers).await;
    let (log, _guard) = Log::start();
    let runner = responses_runner(&server);
    let error = reply_text(runner.run(turn("the secret prompt"))).await.unwrap_err();
    let text = format!("{} {error} {error:?} {runner:?}", log.text());
    assert!(text.contains("model_request_retry") && text.contains("code: c"), "{text}");
    for secret in [KEY, "the secret prompt"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}
