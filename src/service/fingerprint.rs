//! One hash for everything that a message says, so that a repeat of it is recognised however it is written.
//!
//! The form is fixed, for stored hashes of one release are compared with those of the next. Every value is a tag byte, a
//! length (8 bytes, big-endian) and its bytes; lists and objects give their number of entries as the length, and objects go
//! in the order of their names. Nothing depends on separators, so no two messages share a form.
//!
//! The message goes in as it was understood, not as it was written: names and enums in either form, order of members,
//! `null` and absence, and members that A2A does not know make no difference. `configuration` and `tenant` are left out: a
//! repeat may ask for the same answer in another way.

use sha2::{Digest as _, Sha256};

use crate::protocol::wire::part::Content;
use crate::protocol::wire::{Kind, Message, Part, Struct, Value};

const LABEL: &str = "a2a-functions message v1";

/// SHA-256 over a message and the metadata of the request that carries it.
pub fn message_hash(message: &Message, request_metadata: Option<&Struct>) -> [u8; 32] {
    let mut form = Form(Sha256::new());
    form.text(LABEL);
    form.text(&message.message_id);
    form.text(&message.context_id);
    form.text(&message.task_id);
    form.put(b'r', &message.role.to_be_bytes());
    form.open(b'l', message.parts.len());
    for part in &message.parts {
        form.part(part);
    }
    form.optional_object(message.metadata.as_ref());
    form.texts(&message.extensions);
    form.texts(&message.reference_task_ids);
    form.optional_object(request_metadata);
    form.0.finalize().into()
}

/// The form as it is hashed.
struct Form(Sha256);

impl Form {
    fn open(&mut self, tag: u8, length: usize) {
        self.0.update([tag]);
        self.0.update((length as u64).to_be_bytes());
    }

    fn put(&mut self, tag: u8, bytes: &[u8]) {
        self.open(tag, bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.put(b's', text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.open(b'l', texts.len());
        for text in texts {
            self.text(text);
        }
    }

    fn part(&mut self, part: &Part) {
        match &part.content {
            None => self.null(),
            Some(Content::Text(text)) => self.text(text),
            Some(Content::Raw(bytes)) => self.put(b'b', bytes),
            Some(Content::Url(url)) => self.put(b'u', url.as_bytes()),
            Some(Content::Data(data)) => {
                self.open(b'd', 1);
                self.value(data);
            }
        }
        self.text(&part.filename);
        self.text(&part.media_type);
        self.optional_object(part.metadata.as_ref());
    }

    fn null(&mut self) {
        self.open(b'z', 0);
    }

    /// Empty metadata says as little as none.
    fn optional_object(&mut self, object: Option<&Struct>) {
        match object {
            Some(object) if !object.fields.is_empty() => self.object(object),
            _ => self.null(),
        }
    }

    fn object(&mut self, object: &Struct) {
        let mut members: Vec<_> = object.fields.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        self.open(b'o', members.len());
        for (name, value) in members {
            self.text(name);
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match &value.kind {
            None | Some(Kind::NullValue(_)) => self.null(),
            Some(Kind::BoolValue(truth)) => self.put(b't', &[u8::from(*truth)]),
            // Adding zero turns minus zero into zero, which JSON writers do not tell apart.
            Some(Kind::NumberValue(number)) => self.put(b'n', &(number + 0.0).to_be_bytes()),
            Some(Kind::StringValue(text)) => self.text(text),
            Some(Kind::ListValue(list)) => {
                self.open(b'l', list.values.len());
                for value in &list.values {
                    self.value(value);
                }
            }
            Some(Kind::StructValue(object)) => self.object(object),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::protocol::wire::{self, SendMessageRequest};

    fn hash(request: &str) -> [u8; 32] {
        let request: SendMessageRequest = wire::decode(request).unwrap();
        message_hash(request.message.as_ref().unwrap(), request.metadata.as_ref())
    }

    const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"text":"hi"}],
        "metadata":{"a":1,"b":{"c":[null,true,"x",0],"d":{}}}}}"#;

    #[test]
    fn the_form_never_changes() {
        // Computed from the description above by another program.
        assert_eq!(STANDARD.encode(hash(MESSAGE)), "BOerkjPRyphC3YEz72YGdi5Db8evgED1mWw7XtYQuVo=");
    }

    #[test]
    fn how_a_message_is_written_makes_no_difference() {
        for same in [
            r#"{"message":{"parts":[{"text":"hi"}],"metadata":{"b":{"d":{},"c":[null,true,"x",-0.0]},"a":1.0},"context_id":"c",
                "role":1,"message_id":"m"}}"#,
            r#"{"metadata":{},"configuration":{"returnImmediately":true},"tenant":"t","unknown":[1],"message":{
                "messageId":"m","role":"ROLE_USER","contextId":"c","taskId":null,"extensions":null,"kind":"message",
                "parts":[{"kind":"text","text":"\u0068i","mediaType":"","metadata":null}],
                "metadata":{"a":1e0,"b":{"c":[null,true,"x",0.0],"d":{}}}}}"#,
        ] {
            assert_eq!(hash(same), hash(MESSAGE), "{same}");
        }
    }

    #[test]
    fn whatever_a_message_says_makes_a_difference() {
        let other = [
            MESSAGE.replace(r#""messageId":"m""#, r#""messageId":"n""#),
            MESSAGE.replace(r#""contextId":"c""#, r#""contextId":"cc""#),
            MESSAGE.replace("ROLE_USER", "ROLE_AGENT"),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"text":"h"},{"text":"i"}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"url":"hi"}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"raw":"aGk="}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"data":"hi"}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, "{}"),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"text":"hi","filename":"f"}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"text":"hi","mediaType":"f"}"#),
            MESSAGE.replace(r#"{"text":"hi"}"#, r#"{"text":"hi","metadata":{"a":1}}"#),
            MESSAGE.replace("true", "false"),
            MESSAGE.replace("null", "[]"),
            MESSAGE.replace(r#""d":{}"#, r#""d":[]"#),
            MESSAGE.replace(r#""a":1"#, r#""a":"1""#),
            MESSAGE.replace(r#"{"message""#, r#"{"metadata":{"a":1},"message""#),
            MESSAGE.replace(r#""role""#, r#""extensions":["e"],"role""#),
            MESSAGE.replace(r#""role""#, r#""referenceTaskIds":["e"],"role""#),
            MESSAGE.replace(r#""role""#, r#""taskId":"e","role""#),
        ];
        let mut seen = std::collections::HashSet::from([hash(MESSAGE)]);
        for message in other {
            assert!(seen.insert(hash(&message)), "{message}");
        }
    }
}
