//! The error table against the specification, and the JSON of the details.

use std::error::Error as _;

use serde_json::json;

use super::*;

#[test]
fn the_table_is_the_specification_s() {
    use ErrorKind as Kind;
    for (kind, code, http, grpc, reason) in [
        (Kind::TaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        (Kind::TaskNotCancelable, -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
        (Kind::PushNotificationNotSupported, -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        (Kind::UnsupportedOperation, -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
        (Kind::ContentTypeNotSupported, -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
        (Kind::InvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
        (
            Kind::ExtendedAgentCardNotConfigured,
            -32007,
            400,
            "FAILED_PRECONDITION",
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        ),
        (Kind::ExtensionSupportRequired, -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
        (Kind::VersionNotSupported, -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
        (Kind::ParseError, -32700, 400, "INVALID_ARGUMENT", "PARSE_ERROR"),
        (Kind::InvalidRequest, -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
        (Kind::MethodNotFound, -32601, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
        (Kind::InvalidParams, -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
        (Kind::Internal, -32603, 500, "INTERNAL", "INTERNAL_ERROR"),
    ] {
        let row = kind.row();
        assert_eq!((row.json_rpc, row.http.as_u16(), row.grpc, row.reason), (code, http, grpc, reason), "{kind:?}");
        assert_eq!(row.own_reason, None, "{kind:?}");
    }
}

#[test]
fn all_lists_every_kind_once() {
    let mut seen = std::collections::HashSet::new();
    assert!(ErrorKind::ALL.into_iter().all(|kind| seen.insert(kind)));
    // The last variant's position counts the variants: a new one after it, or a forgotten one, breaks the equality.
    assert_eq!(ErrorKind::Unavailable as usize + 1, ErrorKind::ALL.len());
}

#[test]
fn codes_of_our_own_stay_outside_the_range_that_json_rpc_reserves() {
    let reserved = -32768..=-32000;
    let a2a = [
        -32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004, -32005, -32006, -32007, -32008, -32009,
    ];
    for kind in ErrorKind::ALL {
        let code = kind.row().json_rpc;
        assert!(!reserved.contains(&code) || a2a.contains(&code), "{kind:?} has {code}");
    }
}

#[test]
fn c130_kinds_that_share_a_status_are_told_apart_by_their_reasons() {
    let mut seen = std::collections::HashMap::new();
    for kind in ErrorKind::ALL {
        let row = kind.row();
        if let Some(other) = seen.insert((row.reason, row.own_reason, row.http), kind) {
            panic!("{kind:?} and {other:?} look the same");
        }
    }
}

#[test]
fn a_plain_error_has_one_error_info_without_empty_metadata() {
    let error = ServiceError::new(ErrorKind::TaskNotFound, "No such task.");
    assert_eq!(
        serde_json::to_value(error.details()).unwrap(),
        json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND",
            "domain": "a2a-protocol.org",
        }])
    );
}

#[test]
fn busy_errors_say_in_our_own_domain_what_is_busy_and_when_to_come_back() {
    for (kind, reason) in [(ErrorKind::AgentAtCapacity, "AGENT_AT_CAPACITY"), (ErrorKind::ContextBusy, "CONTEXT_BUSY")]
    {
        let error = ServiceError::new(kind, "Busy.").retry_after(Duration::from_millis(1_500));
        assert_eq!(error.row().json_rpc, -32004);
        assert_eq!(error.row().http, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(
            serde_json::to_value(error.details()).unwrap(),
            json!([
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "UNSUPPORTED_OPERATION",
                    "domain": "a2a-protocol.org",
                },
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": reason,
                    "domain": "a2a-functions",
                },
                { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s" },
            ])
        );
    }
}

#[test]
fn violations_and_metadata_reach_the_details() {
    let error = ServiceError::invalid_field("message.parts", "Wrong.", "Needs an element.")
        .with_violation("message.role", "Is required.")
        .with_metadata("limit", "16")
        .retry_after(Duration::from_secs(2));
    assert_eq!(
        serde_json::to_value(error.details()).unwrap(),
        json!([
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "INVALID_PARAMS",
                "domain": "a2a-protocol.org",
                "metadata": { "limit": "16" },
            },
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [
                    { "field": "message.parts", "description": "Needs an element." },
                    { "field": "message.role", "description": "Is required." },
                ],
            },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s" },
        ])
    );
}

#[test]
fn the_cause_is_for_the_log_alone() {
    let error = ServiceError::internal("table account key rejected");
    let public = format!("{error} {}", serde_json::to_string(&error.details()).unwrap());
    assert!(!public.contains("account"), "{public}");
    assert_eq!(error.source().unwrap().to_string(), "table account key rejected");
}

#[test]
fn a_refusal_names_the_scheme_that_is_asked_for() {
    let error = ServiceError::unauthenticated("function_key");
    assert_eq!((error.row().json_rpc, error.row().http), (-31401, StatusCode::UNAUTHORIZED));
    assert_eq!(serde_json::to_value(error.details()).unwrap()[0]["metadata"], json!({ "scheme": "function_key" }));
}
