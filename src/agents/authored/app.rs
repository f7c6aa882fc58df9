//! The shape of `agents.config.yaml`.

use schemars::JsonSchema;

use super::{AgentConfiguration, AuthField, Exclusion, LimitFields};
use crate::config::{Authored, Decode, Node, Reader, Spanned, Value, record};

record! {
    /// `agents.config.yaml`: what holds for all agents of the folder.
    #[derive(Default)]
    pub(crate) struct AppFields {
        /// The model of agents that name none. Falls back to `AZURE_FUNCTIONS_AGENTS_MODEL`, then the provider's own.
        pub model: Option<String>,
        /// Seconds that one turn may take. Falls back to `AZURE_FUNCTIONS_AGENTS_TIMEOUT_SECONDS`.
        #[schemars(range(max = 86_400), extend("default" = 900, "exclusiveMinimum" = 0))]
        pub timeout: Option<Spanned<f64>>,
        /// Python tools that no agent may use.
        pub tools: Option<Exclusion>,
        /// Who may call the endpoints of agents that do not say so themselves.
        #[schemars(extend("default" = "function"))]
        pub http_auth: Option<AuthField>,
        /// Tools that the runtime brings.
        pub system_tools: Option<AppSystemTools>,
        /// Token limits of agents that do not set their own.
        #[schemars(with = "Option<AgentConfiguration>")]
        pub agent_configuration: Authored<AgentConfiguration>,
        /// Limits of the app. Only in this program: the Python runtime refuses the field.
        pub limits: Option<Spanned<LimitFields>>,
    }
}

record! {
    /// Tools that the runtime brings.
    #[derive(Default)]
    pub(crate) struct AppSystemTools {
        /// The code interpreter. Not served by this version.
        pub dynamic_sessions_code_interpreter: Option<Sandbox>,
        /// The `web_request` tool. Not offered by this version.
        #[schemars(extend("default" = true))]
        pub web_request: Option<WebRequest>,
    }
}

record! {
    /// The code interpreter.
    pub(crate) struct Sandbox {
        /// The endpoint of the session pool.
        pub endpoint: String,
        /// The client id of a user-assigned identity.
        pub client_id: Option<String>,
    }
}

/// The `web_request` tool: on, off, or on with settings.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum WebRequest {
    /// On with defaults, or off.
    Switch(bool),
    /// On with settings.
    Settings(WebRequestSettings),
}

record! {
    /// Settings of the `web_request` tool.
    pub(crate) struct WebRequestSettings {
        /// Hosts that may be called; left out, all public ones may.
        pub allowed_hosts: Option<Vec<String>>,
        /// Whether only https is allowed.
        #[schemars(extend("default" = true))]
        pub require_https: Option<bool>,
        /// Seconds that a call may take.
        pub timeout_seconds: Option<f64>,
        /// The most bytes of a response.
        pub max_response_bytes: Option<u32>,
        /// The most bytes of a request.
        pub max_request_bytes: Option<u32>,
    }
}

impl Decode for WebRequest {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Map(_) => WebRequestSettings::decode(node, reader).map(Self::Settings),
            _ => bool::decode(node, reader).map(Self::Switch),
        }
    }
}
