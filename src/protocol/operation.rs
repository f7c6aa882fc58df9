//! The operations of A2A 1.0 (specification section 5.3).

/// An operation, whatever binding it is called over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Says something to the agent and waits for its answer.
    SendMessage,
    /// The same, with the answer as a stream.
    SendStreamingMessage,
    /// Reads one task.
    GetTask,
    /// Lists tasks of the caller.
    ListTasks,
    /// Ends a task early.
    CancelTask,
    /// Follows a task that is running.
    SubscribeToTask,
    /// Adds a webhook to a task.
    CreateTaskPushNotificationConfig,
    /// Reads a webhook of a task.
    GetTaskPushNotificationConfig,
    /// Lists the webhooks of a task.
    ListTaskPushNotificationConfigs,
    /// Removes a webhook from a task.
    DeleteTaskPushNotificationConfig,
    /// Reads the card that only authenticated callers see.
    GetExtendedAgentCard,
}

impl Operation {
    /// All operations, in the specification's order.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreateTaskPushNotificationConfig,
        Self::GetTaskPushNotificationConfig,
        Self::ListTaskPushNotificationConfigs,
        Self::DeleteTaskPushNotificationConfig,
        Self::GetExtendedAgentCard,
    ];

    /// The name of the gRPC method, which is the JSON-RPC method too; case matters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendMessage => "SendMessage",
            Self::SendStreamingMessage => "SendStreamingMessage",
            Self::GetTask => "GetTask",
            Self::ListTasks => "ListTasks",
            Self::CancelTask => "CancelTask",
            Self::SubscribeToTask => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }
}
