//! The simple profile: text in, one Message out, no tasks. Everything else of A2A gets its exact refusal.

#[cfg(test)]
mod tests;
mod text;

use crate::protocol::extensions::IDEMPOTENT_SEND;
use crate::protocol::wire::{Message, Role, SendMessageConfiguration, SendMessageRequest, TEXT_PLAIN};
use crate::protocol::{ErrorKind, Operation, Request, ServiceError};
use crate::service::fingerprint::message_hash;

/// Longest `messageId`, in bytes: it is kept with the history.
pub const MAX_MESSAGE_ID_BYTES: usize = 1024;

/// A request of the simple profile that passed every check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleTurn {
    /// What the caller says: the texts of all parts, joined by one space, not trimmed.
    pub prompt: String,
    /// `contextId` of the message as sent, of any length and alphabet; never empty.
    pub context_id: Option<String>,
    /// `messageId` of the message, not empty, at most [`MAX_MESSAGE_ID_BYTES`].
    pub message_id: String,
    /// SHA-256 over all that the message says, the same for every way of writing it.
    pub payload_hash: [u8; 32],
}

/// Accepts a request as a turn, or refuses it as the simple profile does. Checks run in a fixed order, so that a request
/// with several faults always gets the same refusal.
pub fn accept(request: Request) -> Result<SimpleTurn, ServiceError> {
    match request {
        Request::SendMessage(request) => accept_message(*request),
        other => Err(refuse(other.operation())),
    }
}

/// The refusal of an operation that the profile lacks. Push notifications have a refusal of their own (specification
/// section 3.3.4).
fn refuse(operation: Operation) -> ServiceError {
    let kind = match operation {
        Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => ErrorKind::PushNotificationNotSupported,
        _ => ErrorKind::UnsupportedOperation,
    };
    ServiceError::new(kind, format!("This agent answers SendMessage only; {} is not offered.", operation.name()))
}

fn accept_message(request: SendMessageRequest) -> Result<SimpleTurn, ServiceError> {
    let message = required_fields(request.message)?;
    check_message(&message)?;
    text::check(&message.parts)?;
    if let Some(configuration) = &request.configuration {
        check_configuration(configuration)?;
    }
    let prompt = text::join(&message.parts);
    if prompt.trim().is_empty() {
        return Err(ServiceError::invalid_field(
            "message.parts",
            "The message holds nothing but white space.",
            "Needs text that is not blank.",
        ));
    }
    let payload_hash = message_hash(&message, request.metadata.as_ref());
    Ok(SimpleTurn {
        prompt,
        context_id: Some(message.context_id).filter(|id| !id.is_empty()),
        message_id: message.message_id,
        payload_hash,
    })
}

/// Checks the fields that the proto marks REQUIRED and reports all that are missing.
fn required_fields(message: Option<Message>) -> Result<Message, ServiceError> {
    const MISSING: &str = "Is required.";
    let invalid = || ServiceError::new(ErrorKind::InvalidParams, "Required fields of the message are missing.");
    let Some(message) = message else {
        return Err(invalid().with_violation("message", MISSING));
    };
    let mut missing = Vec::new();
    if message.message_id.is_empty() {
        missing.push(("message.messageId", MISSING));
    }
    if message.role == Role::Unspecified as i32 {
        missing.push(("message.role", MISSING));
    }
    if message.parts.is_empty() {
        missing.push(("message.parts", "Needs at least one element."));
    }
    if missing.is_empty() {
        return Ok(message);
    }
    Err(missing.into_iter().fold(invalid(), |error, (field, fault)| error.with_violation(field, fault)))
}

fn check_message(message: &Message) -> Result<(), ServiceError> {
    if message.message_id.len() > MAX_MESSAGE_ID_BYTES {
        return Err(ServiceError::invalid_field(
            "message.messageId",
            format!("The messageId is longer than {MAX_MESSAGE_ID_BYTES} bytes."),
            "Is too long.",
        ));
    }
    if message.role != Role::User as i32 {
        return Err(ServiceError::invalid_field(
            "message.role",
            "Only a user's message can be sent to an agent.",
            "Must be ROLE_USER.",
        ));
    }
    if !message.task_id.is_empty() || !message.reference_task_ids.is_empty() {
        return Err(unsupported(
            "This agent answers at once and keeps no tasks: leave out taskId and referenceTaskIds.",
        ));
    }
    if message.extensions.iter().any(|uri| uri != IDEMPOTENT_SEND) {
        return Err(unsupported("The message uses an extension that this agent's card does not declare."));
    }
    Ok(())
}

fn check_configuration(configuration: &SendMessageConfiguration) -> Result<(), ServiceError> {
    if configuration.task_push_notification_config.is_some() {
        return Err(ServiceError::new(
            ErrorKind::PushNotificationNotSupported,
            "This agent sends no push notifications: leave out configuration.taskPushNotificationConfig.",
        ));
    }
    let modes = &configuration.accepted_output_modes;
    if modes.is_empty() || modes.iter().any(|mode| mode.to_lowercase() == TEXT_PLAIN) {
        return Ok(());
    }
    Err(ServiceError::invalid_field(
        "configuration.acceptedOutputModes",
        "This agent answers in text/plain, which the client does not accept.",
        "Must be empty or name text/plain.",
    ))
}

fn unsupported(message: &'static str) -> ServiceError {
    ServiceError::new(ErrorKind::UnsupportedOperation, message)
}
