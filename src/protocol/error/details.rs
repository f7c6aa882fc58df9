//! The typed details of an error in their JSON form (`google.rpc` messages with `@type`).

use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};

use super::{FieldViolation, ServiceError};

/// Domain of the reasons that A2A defines.
pub const A2A_DOMAIN: &str = "a2a-protocol.org";
/// Domain of the reasons that are ours.
pub const OWN_DOMAIN: &str = "a2a-functions";

/// Details of one error: an array of `ErrorInfo`, a second one for reasons of our own, `BadRequest` and `RetryInfo`, each
/// only when there is something to say.
#[derive(Debug)]
pub struct Details<'a> {
    error: &'a ServiceError,
}

impl<'a> Details<'a> {
    pub(super) fn new(error: &'a ServiceError) -> Self {
        Self { error }
    }
}

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.error.row();
        let extra = &self.error.extra;
        let mut details = serializer.serialize_seq(None)?;
        details.serialize_element(&Detail::ErrorInfo {
            reason: row.reason,
            domain: A2A_DOMAIN,
            metadata: Metadata(&extra.metadata),
        })?;
        if let Some(reason) = row.own_reason {
            details.serialize_element(&Detail::ErrorInfo { reason, domain: OWN_DOMAIN, metadata: Metadata(&[]) })?;
        }
        if !extra.violations.is_empty() {
            details.serialize_element(&Detail::BadRequest { field_violations: &extra.violations })?;
        }
        if let Some(delay) = extra.retry_after {
            details.serialize_element(&Detail::RetryInfo { retry_delay: proto_duration(delay) })?;
        }
        details.end()
    }
}

#[derive(Serialize)]
#[serde(tag = "@type")]
enum Detail<'a> {
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo {
        reason: &'static str,
        domain: &'static str,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata<'a>,
    },
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest", rename_all = "camelCase")]
    BadRequest { field_violations: &'a [FieldViolation] },
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo", rename_all = "camelCase")]
    RetryInfo { retry_delay: String },
}

struct Metadata<'a>(&'a [(&'static str, String)]);

impl Metadata<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A duration in `ProtoJSON`: seconds with an `s`, and three decimals when it is not whole.
fn proto_duration(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, millis) => format!("{seconds}.{millis:03}s"),
    }
}
