//! The one table of protocol errors: what each is called on every binding, and the error value that services return.

mod details;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

pub use details::{A2A_DOMAIN, Details, OWN_DOMAIN};

/// Every way in which a request can fail, as callers may learn of it.
///
/// The first nine are A2A's own (specification 5.4), the next five JSON-RPC's; the rest are conditions that A2A leaves to
/// the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The task does not exist, or not for this caller.
    TaskNotFound,
    /// The task has already ended.
    TaskNotCancelable,
    /// The agent sends no push notifications.
    PushNotificationNotSupported,
    /// The operation, or an aspect of it, is not offered.
    UnsupportedOperation,
    /// A part of the message is of a kind that the agent does not read.
    ContentTypeNotSupported,
    /// The agent answered something that may not be sent on.
    InvalidAgentResponse,
    /// The extended card is declared but there is none.
    ExtendedAgentCardNotConfigured,
    /// The client did not declare an extension that the agent requires.
    ExtensionSupportRequired,
    /// The requested protocol version is not served.
    VersionNotSupported,
    /// The body is not JSON, or more of it than is read.
    ParseError,
    /// The JSON is not a request.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The method's parameters are wrong.
    InvalidParams,
    /// A fault of the server.
    Internal,
    /// The caller proved no identity.
    Unauthenticated,
    /// The caller's identity is not allowed to do this.
    Forbidden,
    /// The request's own `Content-Type` is not JSON.
    UnsupportedMediaType,
    /// The body is larger than is read.
    PayloadTooLarge,
    /// The agent, or the app, runs its most turns already.
    AgentAtCapacity,
    /// Another turn of the same context is still running.
    ContextBusy,
    /// A part of the server that the request needs is out of reach for now.
    Unavailable,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorRow {
    /// JSON-RPC error code.
    pub json_rpc: i32,
    /// Status of the HTTP+JSON binding. JSON-RPC answers use it only for what never became a request.
    pub http: StatusCode,
    /// Name of the gRPC status.
    pub grpc: &'static str,
    /// `reason` of the `ErrorInfo` in A2A's domain.
    pub reason: &'static str,
    /// `reason` of a second `ErrorInfo` in our own domain, where A2A's reason says too little.
    pub own_reason: Option<&'static str>,
}

impl ErrorKind {
    /// All kinds, in the table's order.
    pub const ALL: [Self; 21] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::UnsupportedMediaType,
        Self::PayloadTooLarge,
        Self::AgentAtCapacity,
        Self::ContextBusy,
        Self::Unavailable,
    ];

    /// The table: A2A specification v1.0.1 sections 5.4 and 9.5. Authentication has no JSON-RPC code there; ours lie
    /// outside the range that JSON-RPC reserves, and so outside the codes that A2A may still assign.
    #[rustfmt::skip]
    pub const fn row(self) -> ErrorRow {
        match self {
            Self::TaskNotFound => row(-32001, StatusCode::NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => row(-32002, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
            Self::PushNotificationNotSupported => row(-32003, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            Self::UnsupportedOperation => row(-32004, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => row(-32005, StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::InvalidAgentResponse => row(-32006, StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "INVALID_AGENT_RESPONSE"),
            Self::ExtendedAgentCardNotConfigured => row(-32007, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
            Self::ExtensionSupportRequired => row(-32008, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
            Self::VersionNotSupported => row(-32009, StatusCode::BAD_REQUEST, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
            Self::ParseError => row(-32700, StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", "PARSE_ERROR"),
            Self::InvalidRequest => row(-32600, StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", "INVALID_REQUEST"),
            Self::MethodNotFound => row(-32601, StatusCode::NOT_FOUND, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
            Self::InvalidParams => row(-32602, StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", "INVALID_PARAMS"),
            Self::Internal => row(-32603, StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "INTERNAL_ERROR"),
            Self::Unauthenticated => row(-31401, StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "UNAUTHENTICATED"),
            Self::Forbidden => row(-31403, StatusCode::FORBIDDEN, "PERMISSION_DENIED", "PERMISSION_DENIED"),
            Self::UnsupportedMediaType => row(-32005, StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::PayloadTooLarge => row(-32600, StatusCode::PAYLOAD_TOO_LARGE, "RESOURCE_EXHAUSTED", "INVALID_REQUEST").also("PAYLOAD_TOO_LARGE"),
            Self::AgentAtCapacity => row(-32004, StatusCode::TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED", "UNSUPPORTED_OPERATION").also("AGENT_AT_CAPACITY"),
            Self::ContextBusy => row(-32004, StatusCode::TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED", "UNSUPPORTED_OPERATION").also("CONTEXT_BUSY"),
            Self::Unavailable => row(-32603, StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", "INTERNAL_ERROR").also("UNAVAILABLE"),
        }
    }
}

const fn row(json_rpc: i32, http: StatusCode, grpc: &'static str, reason: &'static str) -> ErrorRow {
    ErrorRow { json_rpc, http, grpc, reason, own_reason: None }
}

impl ErrorRow {
    const fn also(mut self, own_reason: &'static str) -> Self {
        self.own_reason = Some(own_reason);
        self
    }
}

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FieldViolation {
    /// Path from the request's root in the wire's own names, such as `message.parts[0].text`.
    pub field: String,
    /// What is wrong with it.
    pub description: Cow<'static, str>,
}

/// Why a request failed: what the caller is told, and apart from it what only the log is told.
///
/// `Display` and every binding show the public message; the cause is reachable only through
/// [`std::error::Error::source`].
#[derive(Debug)]
pub struct ServiceError {
    kind: ErrorKind,
    message: Cow<'static, str>,
    extra: Box<Extra>,
}

/// The parts that few errors have.
#[derive(Debug, Default)]
struct Extra {
    metadata: Vec<(&'static str, String)>,
    violations: Vec<FieldViolation>,
    retry_after: Option<Duration>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ServiceError {
    /// An error that tells callers `message`, which therefore holds nothing internal.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into(), extra: Box::default() }
    }

    /// An internal fault: callers learn that there was one, the log learns `cause`.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, "The server failed to handle the request.").caused_by(cause)
    }

    /// A fault in one field of the request.
    pub fn invalid_field(
        field: impl Into<String>,
        message: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(ErrorKind::InvalidParams, message).with_violation(field, description)
    }

    /// A refusal for want of an identity; `scheme` names the card's security scheme that is asked for.
    pub fn unauthenticated(scheme: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unauthenticated, "The request carries no valid credentials for this agent.")
            .with_metadata("scheme", scheme)
    }

    /// Adds a fact to the `ErrorInfo`.
    #[must_use]
    pub fn with_metadata(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.extra.metadata.push((key, value.into()));
        self
    }

    /// Adds a field to the `BadRequest`.
    #[must_use]
    pub fn with_violation(mut self, field: impl Into<String>, description: impl Into<Cow<'static, str>>) -> Self {
        self.extra.violations.push(FieldViolation { field: field.into(), description: description.into() });
        self
    }

    /// Says when a repeat may succeed.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.extra.retry_after = Some(delay);
        self
    }

    /// Keeps what went wrong for the log.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.extra.source = Some(cause.into());
        self
    }

    /// What it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Its row of the table.
    pub fn row(&self) -> ErrorRow {
        self.kind.row()
    }

    /// What callers are told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How long to wait before a repeat, where that helps.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.extra.retry_after
    }

    /// The typed details, as every JSON binding carries them.
    pub fn details(&self) -> Details<'_> {
        Details::new(self)
    }
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause: &(dyn std::error::Error + Send + Sync) = self.extra.source.as_deref()?;
        Some(cause)
    }
}
