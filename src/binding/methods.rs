//! The table of methods: one row per operation, for every binding.

use http::Method;

use crate::protocol::Operation;

/// How an operation is called.
#[derive(Debug, Clone, Copy)]
pub struct MethodRow {
    /// The operation; its name is the JSON-RPC method and the gRPC method.
    pub operation: Operation,
    /// Verbs and paths of the HTTP+JSON binding, without a tenant's prefix.
    pub http: &'static [(Method, &'static str)],
    /// Whether the answer is a stream.
    pub streaming: bool,
}

const CONFIGS: &str = "/tasks/{id}/pushNotificationConfigs";
const CONFIG: &str = "/tasks/{id}/pushNotificationConfigs/{configId}";

/// All rows, in the specification's order (section 5.3). `SubscribeToTask` has two verbs because the proto says GET and the
/// text says POST.
pub const METHODS: [MethodRow; 11] = [
    unary(Operation::SendMessage, &[(Method::POST, "/message:send")]),
    streaming(Operation::SendStreamingMessage, &[(Method::POST, "/message:stream")]),
    unary(Operation::GetTask, &[(Method::GET, "/tasks/{id}")]),
    unary(Operation::ListTasks, &[(Method::GET, "/tasks")]),
    unary(Operation::CancelTask, &[(Method::POST, "/tasks/{id}:cancel")]),
    streaming(
        Operation::SubscribeToTask,
        &[(Method::POST, "/tasks/{id}:subscribe"), (Method::GET, "/tasks/{id}:subscribe")],
    ),
    unary(Operation::CreateTaskPushNotificationConfig, &[(Method::POST, CONFIGS)]),
    unary(Operation::GetTaskPushNotificationConfig, &[(Method::GET, CONFIG)]),
    unary(Operation::ListTaskPushNotificationConfigs, &[(Method::GET, CONFIGS)]),
    unary(Operation::DeleteTaskPushNotificationConfig, &[(Method::DELETE, CONFIG)]),
    unary(Operation::GetExtendedAgentCard, &[(Method::GET, "/extendedAgentCard")]),
];

const fn unary(operation: Operation, http: &'static [(Method, &'static str)]) -> MethodRow {
    MethodRow { operation, http, streaming: false }
}

const fn streaming(operation: Operation, http: &'static [(Method, &'static str)]) -> MethodRow {
    MethodRow { operation, http, streaming: true }
}

/// The row of a JSON-RPC method; names are compared exactly.
pub fn find(name: &str) -> Option<&'static MethodRow> {
    METHODS.iter().find(|row| row.operation.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5.3 of the specification, with the proto's second verb for subscriptions.
    const SPECIFICATION: &str = "
        SendMessage POST /message:send
        SendStreamingMessage POST /message:stream
        GetTask GET /tasks/{id}
        ListTasks GET /tasks
        CancelTask POST /tasks/{id}:cancel
        SubscribeToTask POST /tasks/{id}:subscribe
        SubscribeToTask GET /tasks/{id}:subscribe
        CreateTaskPushNotificationConfig POST /tasks/{id}/pushNotificationConfigs
        GetTaskPushNotificationConfig GET /tasks/{id}/pushNotificationConfigs/{configId}
        ListTaskPushNotificationConfigs GET /tasks/{id}/pushNotificationConfigs
        DeleteTaskPushNotificationConfig DELETE /tasks/{id}/pushNotificationConfigs/{configId}
        GetExtendedAgentCard GET /extendedAgentCard";

    #[test]
    fn the_table_is_the_specification_s() {
        let rows = METHODS
            .iter()
            .flat_map(|row| row.http.iter().map(|(verb, path)| format!("{} {verb} {path}", row.operation.name())));
        let expected = SPECIFICATION.lines().map(str::trim).filter(|line| !line.is_empty());
        assert!(rows.eq(expected));
    }

    #[test]
    fn every_operation_has_one_row() {
        assert!(METHODS.iter().map(|row| row.operation).eq(Operation::ALL));
        let streaming = METHODS.iter().filter(|row| row.streaming).map(|row| row.operation.name());
        assert!(streaming.eq(["SendStreamingMessage", "SubscribeToTask"]));
    }

    #[test]
    fn c010_names_are_those_of_1_0_and_case_matters() {
        for operation in Operation::ALL {
            assert_eq!(find(operation.name()).map(|row| row.operation), Some(operation));
        }
        for name in
            ["message/send", "message/stream", "tasks/get", "sendMessage", "SENDMESSAGE", "SendMessage ", "", "DoMagic"]
        {
            assert!(find(name).is_none(), "{name}");
        }
    }
}
