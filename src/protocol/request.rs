//! A call as a value: the operation with its typed parameters.

use serde::de::DeserializeOwned;

use super::error::{ErrorKind, ServiceError};
use super::operation::Operation;
use super::wire;

/// An operation and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// [`Operation::SendMessage`].
    SendMessage(Box<wire::SendMessageRequest>),
    /// [`Operation::SendStreamingMessage`].
    SendStreamingMessage(Box<wire::SendMessageRequest>),
    /// [`Operation::GetTask`].
    GetTask(wire::GetTaskRequest),
    /// [`Operation::ListTasks`].
    ListTasks(wire::ListTasksRequest),
    /// [`Operation::CancelTask`].
    CancelTask(wire::CancelTaskRequest),
    /// [`Operation::SubscribeToTask`].
    SubscribeToTask(wire::SubscribeToTaskRequest),
    /// [`Operation::CreateTaskPushNotificationConfig`].
    CreateTaskPushNotificationConfig(wire::TaskPushNotificationConfig),
    /// [`Operation::GetTaskPushNotificationConfig`].
    GetTaskPushNotificationConfig(wire::GetTaskPushNotificationConfigRequest),
    /// [`Operation::ListTaskPushNotificationConfigs`].
    ListTaskPushNotificationConfigs(wire::ListTaskPushNotificationConfigsRequest),
    /// [`Operation::DeleteTaskPushNotificationConfig`].
    DeleteTaskPushNotificationConfig(wire::DeleteTaskPushNotificationConfigRequest),
    /// [`Operation::GetExtendedAgentCard`].
    GetExtendedAgentCard(wire::GetExtendedAgentCardRequest),
}

impl Request {
    /// Reads the parameters of `operation` from a JSON object. Rules beyond the types are the services'.
    pub fn decode(operation: Operation, params: &str) -> Result<Self, ServiceError> {
        use Operation as Op;
        Ok(match operation {
            Op::SendMessage => Self::SendMessage(message(operation, params)?),
            Op::SendStreamingMessage => Self::SendStreamingMessage(message(operation, params)?),
            Op::GetTask => Self::GetTask(message(operation, params)?),
            Op::ListTasks => Self::ListTasks(message(operation, params)?),
            Op::CancelTask => Self::CancelTask(message(operation, params)?),
            Op::SubscribeToTask => Self::SubscribeToTask(message(operation, params)?),
            Op::CreateTaskPushNotificationConfig => Self::CreateTaskPushNotificationConfig(message(operation, params)?),
            Op::GetTaskPushNotificationConfig => Self::GetTaskPushNotificationConfig(message(operation, params)?),
            Op::ListTaskPushNotificationConfigs => Self::ListTaskPushNotificationConfigs(message(operation, params)?),
            Op::DeleteTaskPushNotificationConfig => Self::DeleteTaskPushNotificationConfig(message(operation, params)?),
            Op::GetExtendedAgentCard => Self::GetExtendedAgentCard(message(operation, params)?),
        })
    }

    /// The operation that is asked for.
    pub fn operation(&self) -> Operation {
        match self {
            Self::SendMessage(_) => Operation::SendMessage,
            Self::SendStreamingMessage(_) => Operation::SendStreamingMessage,
            Self::GetTask(_) => Operation::GetTask,
            Self::ListTasks(_) => Operation::ListTasks,
            Self::CancelTask(_) => Operation::CancelTask,
            Self::SubscribeToTask(_) => Operation::SubscribeToTask,
            Self::CreateTaskPushNotificationConfig(_) => Operation::CreateTaskPushNotificationConfig,
            Self::GetTaskPushNotificationConfig(_) => Operation::GetTaskPushNotificationConfig,
            Self::ListTaskPushNotificationConfigs(_) => Operation::ListTaskPushNotificationConfigs,
            Self::DeleteTaskPushNotificationConfig(_) => Operation::DeleteTaskPushNotificationConfig,
            Self::GetExtendedAgentCard(_) => Operation::GetExtendedAgentCard,
        }
    }
}

fn message<T: DeserializeOwned>(operation: Operation, params: &str) -> Result<T, ServiceError> {
    wire::decode(params).map_err(|error| {
        let field = if error.field.is_empty() { "params".to_owned() } else { error.field };
        let message = format!("The parameters of {} cannot be read.", operation.name());
        ServiceError::new(ErrorKind::InvalidParams, message).with_violation(field, error.reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_reads_empty_parameters() {
        for operation in Operation::ALL {
            assert_eq!(Request::decode(operation, "{}").unwrap().operation(), operation);
        }
    }

    #[test]
    fn a_fault_names_the_operation_and_the_path() {
        let error = Request::decode(Operation::GetTask, r#"{"id":[]}"#).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::InvalidParams, "The parameters of GetTask cannot be read.")
        );
        assert_eq!(serde_json::to_value(error.details()).unwrap()[1]["fieldViolations"][0]["field"], "id");
    }
}
