//! What the handler answers to an envelope.

use std::sync::{Mutex, PoisonError};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
    response::Parts,
};
use serde_json::{Map, Value};

use crate::{
    dispatch::Failure,
    function::{Binding, Function},
    http_types::{Reply, empty, full},
};

/// Name of the binding that takes `ReturnValue`.
const RETURN: &str = "$return";

/// A valid answer to an envelope.
#[derive(Debug, Default)]
pub(super) struct EnvelopeReply {
    outputs: Option<Map<String, Value>>,
    pub(super) logs: Vec<String>,
    return_value: Option<Value>,
}

impl EnvelopeReply {
    /// Reads an answer; `None` for an empty one or JSON `null`, which the host never takes as an answer.
    pub(super) fn read(parts: &Parts, body: &[u8]) -> Result<Option<Self>, Failure> {
        if !parts.status.is_success() {
            return Err(Failure::EnvelopeStatus(parts.status));
        }
        let media_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !matches!(essence.as_str(), "application/json" | "text/json") {
            return Err(Failure::EnvelopeType(media_type.to_owned()));
        }
        if body.trim_ascii().is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(body).map_err(|error| Failure::Envelope(error.to_string()))? {
            Value::Null => Ok(None),
            Value::Object(members) => Self::from_members(members).map(Some),
            _ => Err(Failure::Envelope("it is not an object".to_owned())),
        }
    }

    fn from_members(members: Map<String, Value>) -> Result<Self, Failure> {
        let mut reply = Self::default();
        for (name, value) in members {
            match (name.to_ascii_lowercase().as_str(), value) {
                (_, Value::Null) => {}
                ("outputs", Value::Object(outputs)) => reply.outputs = Some(outputs),
                ("outputs", _) => return Err(Failure::Envelope("Outputs is not an object".to_owned())),
                ("logs", value) => {
                    reply.logs = serde_json::from_value(value)
                        .map_err(|_| Failure::Envelope("Logs is not a list of texts".to_owned()))?;
                }
                ("returnvalue", value) => reply.return_value = Some(value),
                _ => {}
            }
        }
        Ok(reply)
    }

    /// The value for an output binding: from `Outputs`, from `ReturnValue` for `$return`, or from a member of
    /// `ReturnValue` when nothing is bound to `$return`.
    fn output(&self, function: &Function, name: &str) -> Option<&Value> {
        if name == RETURN {
            return self.return_value.as_ref();
        }
        let direct = self.outputs.as_ref().and_then(|outputs| member(outputs, name));
        direct.or_else(|| {
            let has_return = function.outputs.iter().any(|output| output.name == RETURN);
            let members = self.return_value.as_ref().filter(|_| !has_return)?.as_object()?;
            member(members, name)
        })
    }

    /// The answer to the HTTP client of a function with an `http` output.
    pub(super) fn http_answer(&self, function: &Function) -> Result<Reply, Failure> {
        let binding = function.outputs.iter().find(|output| output.kind.eq_ignore_ascii_case("http"));
        let Some(binding) = binding else { return Ok(Response::new(empty())) };
        match self.output(function, &binding.name) {
            Some(Value::Object(output)) => http_reply(output),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(output)) => http_reply(&output),
                _ => Err(Failure::Envelope(format!("output {} is a text without an object in it", binding.name))),
            },
            Some(_) => Err(Failure::Envelope(format!("output {} is neither an object nor a text", binding.name))),
            None if self.outputs.is_some() => Ok(text_reply("{}")),
            None => Ok(Response::new(empty())),
        }
    }
}

fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn text_reply(text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(full(text));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    reply
}

fn http_reply(output: &Map<String, Value>) -> Result<Reply, Failure> {
    let mut reply = match member(output, "body") {
        None | Some(Value::Null) => Response::new(empty()),
        Some(body) => text_reply(body_text(body)),
    };
    *reply.status_mut() = status(output)?;
    if let Some(headers) = member(output, "headers").and_then(Value::as_object) {
        set_headers(reply.headers_mut(), headers)?;
    }
    Ok(reply)
}

/// `statusCode`, else `status`, else 200; a number or a text holding one.
fn status(output: &Map<String, Value>) -> Result<StatusCode, Failure> {
    let Some(given) = member(output, "statusCode").or_else(|| member(output, "status")) else {
        return Ok(StatusCode::OK);
    };
    let number = match given {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let status = number.and_then(|number| u16::try_from(number).ok()).and_then(|n| StatusCode::from_u16(n).ok());
    status.ok_or_else(|| Failure::Envelope(format!("{given} is no HTTP status")))
}

/// Text as it is; objects and lists indented; the rest as .NET prints it.
fn body_text(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => format!("{other:#}"),
    }
}

fn set_headers(headers: &mut HeaderMap, given: &Map<String, Value>) -> Result<(), Failure> {
    for (name, value) in given {
        let text = match value {
            Value::Null if name.eq_ignore_ascii_case("content-type") => {
                return Err(Failure::Envelope("the content type is null".to_owned()));
            }
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let name: HeaderName = name.parse().map_err(http::Error::from)?;
        if name != CONTENT_LENGTH && name != TRANSFER_ENCODING {
            headers.insert(name, text.parse()?);
        }
    }
    Ok(())
}

/// A value that a function wrote to a binding other than `http`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The function.
    pub function: String,
    /// The name of the binding.
    pub binding: String,
    /// Its type, such as `queue`.
    pub kind: String,
    /// What was written.
    pub value: OutputValue,
}

/// What reaches an output binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputValue {
    /// The value as given.
    Json(Value),
    /// A text that happened to be base64: the host decodes it before a binding that is not binary sees it.
    Bytes(Vec<u8>),
}

/// Everything written to output bindings so far.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    written: Mutex<Vec<Output>>,
}

impl Outputs {
    pub(super) fn record(&self, function: &Function, reply: &EnvelopeReply) {
        let others = function.outputs.iter().filter(|output| !output.kind.eq_ignore_ascii_case("http"));
        let written = others.filter_map(|binding| {
            let value = reply.output(function, &binding.name).filter(|value| !value.is_null())?;
            Some(Output {
                function: function.name.clone(),
                binding: binding.name.clone(),
                kind: binding.kind.clone(),
                value: output_value(binding, value),
            })
        });
        self.written.lock().unwrap_or_else(PoisonError::into_inner).extend(written);
    }

    pub(crate) fn all(&self) -> Vec<Output> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn output_value(binding: &Binding, value: &Value) -> OutputValue {
    let decoded = value.as_str().filter(|_| !binding.binary).and_then(|text| STANDARD.decode(text).ok());
    decoded.map_or_else(|| OutputValue::Json(value.clone()), OutputValue::Bytes)
}
