//! The wire types of A2A 1.0 with their `ProtoJSON` form, generated from the normative proto by the official crate.
//!
//! Why these types, and what [`decode`] adds to them: `docs/decisions/0001-wire-model.md`.

#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value as Json};

pub use a2a_pb::protojson::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, ApiKeySecurityScheme, CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, HttpAuthSecurityScheme, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Part,
    Role, SecurityRequirement, SecurityScheme, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
    StringList, SubscribeToTaskRequest, TaskPushNotificationConfig, part, security_scheme, send_message_response,
};
pub use pbjson_types::{Struct, Value, value::Kind};

/// Media type of text, the only one that agents read and write today.
pub const TEXT_PLAIN: &str = "text/plain";

/// Longest account of a decoding fault, in characters: it may quote what the client sent.
const MAX_REASON_CHARS: usize = 200;
/// Members that hold any JSON (`google.protobuf.Struct` and `Value`), where `null` is a value of its own.
const FREE_FORM: [&str; 4] = ["data", "header", "metadata", "params"];

/// Why JSON is not the `ProtoJSON` of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct WireError {
    /// Path to the fault in camelCase, empty at the root.
    pub field: String,
    /// What is wrong there.
    pub reason: String,
}

/// Reads the `ProtoJSON` of a message: camelCase or original names, enums by name or number, unknown members ignored,
/// `null` as unset, integers of free-form members rounded to doubles.
pub fn decode<T: DeserializeOwned>(json: &str) -> Result<T, WireError> {
    // The generated code refuses null for single strings, numbers and booleans, and free-form integers that a double cannot
    // hold. Both are rare, so only what it refuses is rewritten and read again; that is also where the path is found.
    serde_json::from_str(json).or_else(|_| decode_relaxed(json))
}

fn decode_relaxed<T: DeserializeOwned>(json: &str) -> Result<T, WireError> {
    let mut tree: Json =
        serde_json::from_str(json).map_err(|error| WireError { field: String::new(), reason: bounded(&error) })?;
    unset_nulls(&mut tree);
    serde_path_to_error::deserialize(tree).map_err(|error| {
        let field = match error.path().to_string() {
            root if root == "." => String::new(),
            path => camel_case(&path),
        };
        WireError { field, reason: bounded(error.inner()) }
    })
}

fn unset_nulls(value: &mut Json) {
    match value {
        Json::Array(elements) => elements.iter_mut().for_each(unset_nulls),
        Json::Object(members) => {
            members.retain(|name, member| !member.is_null() || FREE_FORM.contains(&name.as_str()));
            for (name, member) in members {
                if FREE_FORM.contains(&name.as_str()) { round_integers(member) } else { unset_nulls(member) }
            }
        }
        _ => {}
    }
}

fn round_integers(value: &mut Json) {
    match value {
        Json::Array(elements) => elements.iter_mut().for_each(round_integers),
        Json::Object(members) => members.values_mut().for_each(round_integers),
        Json::Number(number) => {
            if let Some(double) = number.as_f64().and_then(Number::from_f64) {
                *number = double;
            }
        }
        _ => {}
    }
}

/// A fault in the decoder's words, cut to a length that is safe to send.
fn bounded(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    if let Some(field) = reason.strip_prefix("duplicate field ") {
        return format!("{} is given twice, or beside another member of the same choice", field.replace('`', ""));
    }
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    }
}

fn camel_case(path: &str) -> String {
    let mut camel = String::with_capacity(path.len());
    let mut after_underscore = false;
    for character in path.chars() {
        match (character, after_underscore) {
            ('_', _) => after_underscore = true,
            (letter, true) => {
                camel.extend(letter.to_uppercase());
                after_underscore = false;
            }
            (letter, false) => camel.push(letter),
        }
    }
    camel
}

/// A reply of the agent: one text part, even when the text is empty.
pub fn text_reply(message_id: String, context_id: String, text: String) -> SendMessageResponse {
    let part = Part { content: Some(part::Content::Text(text)), ..Part::default() };
    let message = Message { message_id, context_id, role: Role::Agent as i32, parts: vec![part], ..Message::default() };
    SendMessageResponse { payload: Some(send_message_response::Payload::Message(message)) }
}
