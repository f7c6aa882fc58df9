//! Envelope mode: a JSON document is posted to `/<FunctionName>` and a JSON document comes back.

mod http_call;
mod identity;
mod reply;

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request,
    header::{CONTENT_TYPE, HOST, USER_AGENT},
};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(super) use self::http_call::HttpCall;
use self::reply::EnvelopeReply;
pub(crate) use self::reply::Outputs;
pub use self::reply::{Output, OutputValue};
use super::{
    Failure, HOST_AGENT, HOST_VERSION, Invocation, add_trace_context, await_handler, deadline::Deadline, within,
};
use crate::{
    app::App,
    function::Function,
    http_types::{Body, Reply, full},
    worker::{LogLevel, Worker},
};

/// What a trigger hands to the handler, already encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct TriggerCall {
    pub(crate) value: Value,
    pub(crate) metadata: Map<String, Value>,
}

/// Runs an HTTP function through an envelope.
pub(super) async fn run_http(invocation: &Invocation<'_>, call: HttpCall) -> Result<Reply, Failure> {
    let Invocation { app, worker, function, .. } = invocation;
    let trigger = TriggerCall { value: call.value, metadata: call.metadata };
    let reply = exchange(app, worker, function, invocation.id, trigger).await?;
    let answer = reply.http_answer(function)?;
    app.outputs.record(function, &reply);
    Ok(answer)
}

/// Runs a function that is not called over HTTP, once.
pub(crate) async fn run_trigger(
    app: &App,
    worker: &Worker,
    function: &Function,
    call: TriggerCall,
) -> Result<(), Failure> {
    await_handler(app, worker).await?;
    let deadline = Deadline::start(app.function_timeout(), worker.clone());
    let reply = within(&deadline, exchange(app, worker, function, Uuid::new_v4(), call)).await?;
    app.outputs.record(function, &reply);
    Ok(())
}

async fn exchange(
    app: &App,
    worker: &Worker,
    function: &Function,
    id: Uuid,
    call: TriggerCall,
) -> Result<EnvelopeReply, Failure> {
    let envelope = envelope(app, function, call);
    let request = request(worker, &function.name, id, &envelope, app.knobs.chunked_envelopes)?;
    let response = worker.client.send(request).await?;
    let (parts, body) = response.into_parts();
    let reply = EnvelopeReply::read(&parts, &body.collect().await?.to_bytes())?;
    let Some(reply) = reply else {
        // The host never completes a run that is answered with nothing; only the function timeout ends it.
        return std::future::pending().await;
    };
    for line in &reply.logs {
        app.log.host(worker.copy, LogLevel::Information, line.as_str());
    }
    Ok(reply)
}

fn envelope(app: &App, function: &Function, call: TriggerCall) -> Value {
    let mut data = Map::new();
    data.insert(function.trigger_name.clone(), call.value);
    for input in &function.inputs {
        let given = app.inputs.get(&(function.name.clone(), input.name.clone()));
        data.insert(input.name.clone(), encode(given.unwrap_or(&Value::Null)));
    }
    let mut metadata = call.metadata;
    metadata.insert(
        "sys".to_owned(),
        json!({"MethodName": function.name, "UtcNow": jiff::Timestamp::now().to_string(), "RandGuid": Uuid::new_v4()}),
    );
    json!({"Data": data, "Metadata": metadata})
}

fn request(worker: &Worker, path: &str, id: Uuid, envelope: &Value, chunked: bool) -> Result<Request<Body>, Failure> {
    let bytes = Bytes::from(envelope.to_string());
    // A body of unknown length is sent in chunks.
    let body = if chunked { full(bytes).map_frame(|frame| frame).boxed_unsync() } else { full(bytes) };
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("http://{}/{path}", worker.client.authority()).parse()?;
    let headers = request.headers_mut();
    headers.insert(HOST, worker.client.authority().parse()?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert(USER_AGENT, HeaderValue::from_static(HOST_AGENT));
    headers.insert("x-azure-functions-hostversion", HeaderValue::from_static(HOST_VERSION));
    headers.insert("x-azure-functions-invocationid", id.to_string().parse()?);
    add_trace_context(headers)?;
    Ok(request)
}

/// Encodes a binding value: an object stays an object, anything else becomes a text holding its JSON. A text is
/// therefore encoded twice.
pub(crate) fn encode(value: &Value) -> Value {
    match value {
        Value::Object(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}
