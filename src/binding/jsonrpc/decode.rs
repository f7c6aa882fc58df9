//! From a body to an envelope, and from an envelope to a request.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::binding::methods;
use crate::protocol::bounds::{self, BoundedJson, BoundsError};
use crate::protocol::{ErrorKind, Request, ServiceError};

/// The id of a request as the JSON that the client wrote; replies repeat it byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId<'a>(&'a str);

impl<'a> RequestId<'a> {
    /// The id of replies to what could not be read as a request.
    pub const NULL: Self = Self("null");

    /// JSON-RPC allows strings, numbers and null, and warns of fractions. Fractions are refused because readers change them
    /// (`1.0`, `1e2`), and so the client could not match the reply.
    fn new(json: &'a str) -> Option<Self> {
        let allowed = match json.as_bytes().first()? {
            b'"' | b'n' => true,
            b'-' | b'0'..=b'9' => !json.contains(['.', 'e', 'E']),
            _ => false,
        };
        allowed.then_some(Self(json))
    }

    /// The id as JSON.
    pub fn as_json(self) -> &'a str {
        self.0
    }
}

/// A request whose method and parameters have not been looked at.
#[derive(Debug, Clone)]
pub struct Envelope<'a> {
    /// To be repeated in the reply.
    pub id: RequestId<'a>,
    /// The method's name as given.
    pub method: Cow<'a, str>,
    /// The parameters, when there are any.
    pub params: Option<&'a RawValue>,
}

/// A body that is not a request, with the id to answer under.
#[derive(Debug)]
pub struct Rejection<'a> {
    /// The client's id where it could be read.
    pub id: RequestId<'a>,
    /// What is wrong.
    pub error: ServiceError,
}

impl Rejection<'_> {
    fn anonymous(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { id: RequestId::NULL, error: ServiceError::new(kind, message) }
    }
}

/// The members of an envelope; others are ignored, as A2A has it for all unknown members.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
}

/// Keeps `null` apart from absence.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a body within [`bounds`] as one request.
pub fn decode(body: &[u8]) -> Result<Envelope<'_>, Rejection<'_>> {
    let json = bounds::check(body).map_err(|error| out_of_bounds(body, error))?;
    let members = members(json)?;
    let id = match members.id.map(|id| RequestId::new(id.get())) {
        Some(Some(id)) => Some(id),
        Some(None) => return Err(invalid(RequestId::NULL, "The id must be a string, an integer or null.")),
        None => None,
    };
    let reply_id = id.unwrap_or(RequestId::NULL);
    if members.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return Err(invalid(reply_id, "The member jsonrpc must be the string \"2.0\"."));
    }
    let Some(method) = members.method.and_then(string) else {
        return Err(invalid(reply_id, "The member method must be a string."));
    };
    if id.is_none() {
        // JSON-RPC's notifications ask for no answer. Every A2A operation exists for its answer, so a missing id is a
        // mistake, better found now than after the agent has run for nobody.
        return Err(invalid(reply_id, "The member id is missing, and A2A has no notifications."));
    }
    Ok(Envelope { id: reply_id, method, params: members.params })
}

fn members(json: BoundedJson<'_>) -> Result<Members<'_>, Rejection<'_>> {
    match json.as_str().trim_start().as_bytes().first() {
        Some(b'{') => serde_json::from_str(json.as_str())
            .map_err(|error| Rejection { id: RequestId::NULL, error: ServiceError::internal(error) }),
        Some(b'[') => Err(batch()),
        _ => Err(invalid(RequestId::NULL, "The request must be a JSON object.")),
    }
}

fn out_of_bounds(body: &[u8], error: BoundsError) -> Rejection<'static> {
    match error {
        // A batch is refused as such however much it holds.
        BoundsError::TooDeep | BoundsError::TooManyMembers | BoundsError::DuplicateMember
            if body.trim_ascii_start().starts_with(b"[") =>
        {
            batch()
        }
        _ => Rejection::anonymous(ErrorKind::ParseError, format!("The request was not read: {error}.")),
    }
}

fn batch() -> Rejection<'static> {
    Rejection::anonymous(ErrorKind::InvalidRequest, "Batches are not served: send one request object at a time.")
}

fn invalid<'a>(id: RequestId<'a>, fault: &str) -> Rejection<'a> {
    let message = format!(
        "{fault} A request is {{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"SendMessage\", \"params\": {{…}}}}."
    );
    Rejection { id, error: ServiceError::new(ErrorKind::InvalidRequest, message) }
}

/// The value of a JSON string, borrowed when it holds no escapes; `None` for other JSON.
fn string(json: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = json.get().strip_prefix('"')?.strip_suffix('"')?;
    if quoted.contains('\\') {
        serde_json::from_str(json.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(quoted))
    }
}

impl Envelope<'_> {
    /// The typed request. Absent parameters are empty ones; anything but an object is refused, for A2A names its parameters.
    pub fn request(&self) -> Result<Request, ServiceError> {
        let Some(row) = methods::find(&self.method) else {
            return Err(ServiceError::new(ErrorKind::MethodNotFound, "A2A 1.0 has no such method."));
        };
        let params = self.params.map_or("{}", RawValue::get);
        if !params.starts_with('{') {
            return Err(ServiceError::invalid_field(
                "params",
                "The parameters must be an object.",
                "Must be an object.",
            ));
        }
        Request::decode(row.operation, params)
    }
}
