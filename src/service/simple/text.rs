//! The text of a message: which parts are read, how much of them, and how they become a prompt.

use crate::protocol::wire::{Part, TEXT_PLAIN, part::Content};
use crate::protocol::{ErrorKind, ServiceError};

/// Most parts of a message.
const MAX_PARTS: usize = 16;
/// Longest text of one part, in UTF-8 bytes.
const MAX_PART_BYTES: usize = 32_768;
/// Longest text of a message, in UTF-8 bytes.
const MAX_TEXT_BYTES: usize = 65_536;

/// Checks that all parts are text within bounds. What a text part says about its media type does not matter: it is text.
pub(super) fn check(parts: &[Part]) -> Result<(), ServiceError> {
    if parts.len() > MAX_PARTS {
        return Err(invalid(format!("A message has at most {MAX_PARTS} parts."), "Has too many elements."));
    }
    let mut total = 0;
    for (index, part) in parts.iter().enumerate() {
        let text = text_of(index, part)?;
        if text.len() > MAX_PART_BYTES {
            return Err(ServiceError::invalid_field(
                format!("message.parts[{index}].text"),
                format!("The text of a part has at most {MAX_PART_BYTES} bytes."),
                "Is too long.",
            ));
        }
        total += text.len();
    }
    if total == 0 {
        return Err(invalid("The message has no text.".to_owned(), "Needs text."));
    }
    if total > MAX_TEXT_BYTES {
        return Err(invalid(format!("The text of a message has at most {MAX_TEXT_BYTES} bytes."), "Is too long."));
    }
    Ok(())
}

fn text_of(index: usize, part: &Part) -> Result<&str, ServiceError> {
    let kind = match &part.content {
        Some(Content::Text(text)) => return Ok(text),
        Some(Content::Raw(_)) => "raw",
        Some(Content::Url(_)) => "url",
        Some(Content::Data(_)) => "data",
        None => {
            return Err(ServiceError::invalid_field(
                format!("message.parts[{index}]"),
                "A part of the message has no content.",
                "Needs text.",
            ));
        }
    };
    Err(ServiceError::new(ErrorKind::ContentTypeNotSupported, "This agent reads text parts only.")
        .with_metadata("supportedMediaTypes", TEXT_PLAIN)
        .with_violation(format!("message.parts[{index}].{kind}"), "Is not text."))
}

fn invalid(message: String, description: &'static str) -> ServiceError {
    ServiceError::invalid_field("message.parts", message, description)
}

/// The texts of all parts, joined by one space.
pub(super) fn join(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match &part.content {
            Some(Content::Text(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join(" ")
}
