//! A custom handler for the host's own tests: it answers with what it was sent, or misbehaves as asked.
//!
//! At start: `--delay MS`, `--exit CODE`, `--never-listen`, `--silent` (accepts and never answers), `--stderr TEXT`,
//! `--refuse-first` (prints the first request and answers it 404).
//! Per request, in the header `x-behave`: see [`behave`]. An envelope is answered as its `Data.req.Body.reply` says.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "what a handler prints is under test")]

use std::{
    env,
    error::Error,
    pin::Pin,
    process,
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Full, combinators::UnsyncBoxBody};
use hyper::{
    body::{Body, Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc},
    time::sleep,
};

type BoxError = Box<dyn Error + Send + Sync>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Result<Response<AnyBody>, BoxError>;

/// Wakes the streams that wait for `x-behave: release`.
static RELEASE: LazyLock<Notify> = LazyLock::new(Notify::new);
/// Requests answered by `drop-first` so far.
static DROPPED: AtomicUsize = AtomicUsize::new(0);
/// Whether the first request is behind us.
static GREETED: AtomicBool = AtomicBool::new(false);
/// Trigger envelopes failed so far.
static FAILED: AtomicUsize = AtomicUsize::new(0);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str| arguments.iter().position(|argument| argument == name);
    let value = |name: &str| option(name).and_then(|index| arguments.get(index + 1)).map(String::as_str);
    println!("arguments {}", json!(arguments));
    if let Some(text) = value("--stderr") {
        eprintln!("{text}");
    }
    if let Some(delay) = value("--delay") {
        sleep(Duration::from_millis(delay.parse()?)).await;
    }
    if let Some(code) = value("--exit") {
        process::exit(code.parse()?);
    }
    if option("--never-listen").is_some() {
        std::future::pending::<()>().await;
    }
    let port: u16 = env::var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let silent = option("--silent").is_some();
    GREETED.store(option("--refuse-first").is_none(), Ordering::SeqCst);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(move |request| answer(request, silent));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, silent: bool) -> Answer {
    if silent {
        std::future::pending::<()>().await;
    }
    if !GREETED.swap(true, Ordering::SeqCst) {
        println!("first {} {} {:?}", request.method(), request.uri(), request.headers());
        return Ok(Response::builder().status(StatusCode::NOT_FOUND).body(empty())?);
    }
    let behaviour = request.headers().get("x-behave").and_then(|value| value.to_str().ok()).map(str::to_owned);
    match behaviour {
        Some(behaviour) => behave(&behaviour, request).await,
        None if is_envelope(&request) => answer_envelope(request).await,
        None => echo(request).await,
    }
}

/// The misbehaviours, by name.
async fn behave(behaviour: &str, request: Request<Incoming>) -> Answer {
    let (name, argument) = behaviour.split_once(':').unwrap_or((behaviour, ""));
    match name {
        "exit" => process::exit(argument.parse()?),
        "drop" => Err("connection dropped".into()),
        "drop-first" if DROPPED.fetch_add(1, Ordering::SeqCst) < argument.parse()? => Err("dropped for now".into()),
        "hang" => std::future::pending().await,
        "print" => {
            println!("{argument}");
            Ok(Response::new(empty()))
        }
        "status" => Ok(Response::builder().status(argument.parse::<u16>()?).body(full("as you wish"))?),
        "redirect" => Ok(Response::builder().status(302).header("location", "/elsewhere").body(empty())?),
        "reason" => {
            let mut response = Response::new(empty());
            response.extensions_mut().insert(hyper::ext::ReasonPhrase::from_static(b"Fine By Me"));
            Ok(response)
        }
        "headers" => Ok(Response::builder()
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("alt-svc", "h3")
            .header("keep-alive", "timeout=5")
            .header("content-encoding", "identity")
            .header("x-own", "kept")
            .body(full("with headers"))?),
        "cut" => {
            let (sender, body) = channel();
            sender.send(Ok(Bytes::from_static(b"partial"))).await?;
            tokio::spawn(async move { sender.send(Err("cut".into())).await });
            Ok(Response::new(body))
        }
        "spawn" => {
            // In the handler's own process group, as children are unless they ask for another.
            let child = process::Command::new("sleep").arg("1000").spawn()?;
            Ok(Response::new(full(child.id().to_string())))
        }
        "stream" => Ok(Response::builder().header("content-type", "text/event-stream").body(released_stream())?),
        "release" => {
            RELEASE.notify_waiters();
            Ok(Response::new(empty()))
        }
        "quiet" => Ok(Response::new(quiet_stream())),
        "mirror" => Ok(Response::new(request.into_body().map_err(Into::into).boxed_unsync())),
        _ => echo(request).await,
    }
}

/// Sends `one`, then `two` once another request releases it.
fn released_stream() -> AnyBody {
    let (sender, body) = channel();
    let released = RELEASE.notified();
    tokio::spawn(async move {
        // A failure to send means that the client went away.
        println!("stream opened");
        let _ = sender.send(Ok(Bytes::from_static(b"one\n"))).await;
        released.await;
        let _ = sender.send(Ok(Bytes::from_static(b"two\n"))).await;
    });
    body
}

/// Sends `one` and then nothing; says so on standard output when the client goes away.
fn quiet_stream() -> AnyBody {
    let (sender, body) = channel();
    tokio::spawn(async move {
        let _ = sender.send(Ok(Bytes::from_static(b"one\n"))).await;
        sender.closed().await;
        println!("client went away");
    });
    body
}

async fn echo(request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let headers: Vec<(String, String)> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let shown = ["FUNCTIONS_", "WEBSITE_", "ECHO_", "AZURE_"];
    let variables: Value = env::vars()
        .filter(|(name, _)| shown.iter().any(|prefix| name.starts_with(prefix)))
        .map(|(name, value)| (name, Value::String(value)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    Ok(json_response(&json!({
        "pid": process::id(),
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
        "arguments": env::args().skip(1).collect::<Vec<_>>(),
        "directory": env::current_dir()?,
        "environment": variables,
    })))
}

fn is_envelope<B>(request: &Request<B>) -> bool {
    let is = |name, start: &str| {
        request.headers().get(name).is_some_and(|value: &HeaderValue| value.as_bytes().starts_with(start.as_bytes()))
    };
    request.method() == Method::POST
        && is(header::USER_AGENT, "Azure-Functions-Host/")
        && is(header::CONTENT_TYPE, "application/json; charset=utf-8")
        && !request.headers().contains_key("x-ms-invocation-id")
}

async fn answer_envelope(request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    let raw = body.collect().await?.to_bytes();
    let envelope: Value = serde_json::from_slice(&raw)?;
    let http = &envelope["Data"]["req"];
    if http.is_null() {
        println!("envelope {} {envelope}", parts.uri.path());
        return answer_trigger();
    }
    let asked: Value = http["Body"].as_str().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
    let Some(reply) = asked.get("reply") else {
        let has_length = parts.headers.contains_key(header::CONTENT_LENGTH);
        let seen = json!({"path": parts.uri.path(), "has_length": has_length, "envelope": envelope});
        return Ok(json_response(&json!({"Outputs": {"res": {"body": seen}}})));
    };
    let status = reply["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
    let media_type = reply["type"].as_str().unwrap_or("application/json");
    let text = reply["text"].as_str().unwrap_or_default().to_owned();
    Ok(Response::builder().status(status).header(header::CONTENT_TYPE, media_type).body(full(text))?)
}

/// Fails as often as `ECHO_FAILURES` says, then writes `ECHO_OUTPUTS`.
fn answer_trigger() -> Answer {
    let failures = env::var("ECHO_FAILURES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    if FAILED.fetch_add(1, Ordering::SeqCst) < failures {
        return Ok(Response::builder().status(StatusCode::INTERNAL_SERVER_ERROR).body(empty())?);
    }
    let outputs: Value = serde_json::from_str(&env::var("ECHO_OUTPUTS").unwrap_or_else(|_| "{}".to_owned()))?;
    Ok(json_response(&json!({"Outputs": outputs})))
}

fn json_response(document: &Value) -> Response<AnyBody> {
    let mut response = Response::new(full(document.to_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty() -> AnyBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

fn full(text: impl Into<Bytes>) -> AnyBody {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

fn channel() -> (mpsc::Sender<Result<Bytes, BoxError>>, AnyBody) {
    let (sender, receiver) = mpsc::channel(1);
    (sender, Received(receiver).boxed_unsync())
}

struct Received(mpsc::Receiver<Result<Bytes, BoxError>>);

impl Body for Received {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.poll_recv(context).map(|next| next.map(|chunk| chunk.map(Frame::data)))
    }
}
