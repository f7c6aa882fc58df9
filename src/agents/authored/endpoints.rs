//! `builtin_endpoints` and `http_auth`.

use schemars::JsonSchema;

use crate::agents::{AuthMode, ContextPolicy};
use crate::config::{Authored, Code, Decode, Node, Reader, Spanned, Text, Value, record};

/// The endpoints of an agent.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Endpoints {
    /// `true` is `debug_chat_ui`, `chat_api` and `mcp`, never `a2a`; `false` is none.
    Switch(bool),
    /// The endpoints one by one.
    Chosen(Box<EndpointFields>),
}

record! {
    /// The endpoints one by one.
    pub(crate) struct EndpointFields {
        /// The debug chat page. Not served by this program.
        #[schemars(extend("default" = false))]
        pub debug_chat_ui: Option<bool>,
        /// The chat API. Not served by this program.
        #[schemars(extend("default" = false))]
        pub chat_api: Option<bool>,
        /// The agent as an MCP tool. Not served by this program.
        #[schemars(extend("default" = false))]
        pub mcp: Option<bool>,
        /// The A2A endpoint and its agent card.
        pub a2a: Option<Spanned<A2aFields>>,
        /// Who may call the endpoints. Wins over `agents.config.yaml`, even where it is weaker; `null` is `function`.
        #[schemars(with = "Option<AuthField>")]
        pub http_auth: Authored<Spanned<AuthField>>,
    }
}

record! {
    /// The A2A endpoint.
    pub(crate) struct A2aFields {
        /// The profile.
        #[schemars(extend("default" = "simple"))]
        pub mode: Option<Mode>,
        /// The public address of the endpoint: https, or http on a loopback host; no credentials, query or fragment. It is
        /// published on the card as it stands.
        #[schemars(length(max = 2048))]
        pub url: Spanned<Text>,
        /// Who may continue a conversation. Left out, it is `capability` for `anonymous` and `principal` otherwise. Only in
        /// this program: the Python runtime refuses the field.
        pub context: Option<Spanned<ContextPolicy>>,
        /// Seconds that a turn waits while another turn of the same conversation runs; 0 refuses at once. Only in this
        /// program: the Python runtime refuses the field.
        #[schemars(range(min = 0, max = 600), extend("default" = 10))]
        pub context_wait: Option<Spanned<f64>>,
    }
}

/// The profile of an A2A endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// One direct message for each request.
    Simple,
}

impl Decode for Endpoints {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Map(_) => EndpointFields::decode(node, reader).map(|fields| Self::Chosen(Box::new(fields))),
            _ => bool::decode(node, reader).map(Self::Switch),
        }
    }
}

impl Decode for Mode {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if node.as_str() == Some("durable") {
            reader.report(
                Code::ModeNotServed,
                &node.span,
                "`durable` is not served by this version",
                "write `mode: simple`, which answers with one message",
            );
            return None;
        }
        reader.choice(node, &[("simple", Self::Simple)])
    }
}

impl Decode for ContextPolicy {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let words = [("principal", Self::Principal), ("capability", Self::Capability), ("shared", Self::Shared)];
        reader.choice(node, &words)
    }
}

/// Who may call: a mode, or a mode with settings.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum AuthField {
    /// The mode alone.
    Mode(AuthMode),
    /// The mode with its settings.
    Settings(AuthSettings),
}

record! {
    /// A mode with its settings.
    pub(crate) struct AuthSettings {
        /// The mode.
        #[schemars(extend("default" = "function"))]
        pub mode: Option<AuthMode>,
        /// Settings of `mode: entra`; other modes ignore them.
        pub entra: Option<Spanned<EntraSettings>>,
    }
}

record! {
    /// Settings of the `entra` mode.
    pub(crate) struct EntraSettings {
        /// The tenant that tokens must come from.
        pub tenant_id: Option<String>,
        /// Audiences that are accepted, compared exactly.
        pub allowed_audiences: Option<Vec<String>>,
        /// Client applications that are accepted; empty accepts all.
        pub allowed_client_ids: Option<Vec<String>>,
        /// App roles of which a token must carry one, unless it carries a required scope. Only in this program: the Python
        /// runtime refuses the field.
        pub required_roles: Option<Spanned<Vec<String>>>,
        /// Delegated permissions (scopes) of which a token must carry one, unless it carries a required role. Only in this
        /// program: the Python runtime refuses the field.
        pub required_scopes: Option<Spanned<Vec<String>>>,
    }
}

impl Decode for AuthMode {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let words = [
            ("function", Self::Function),
            ("admin", Self::Admin),
            ("anonymous", Self::Anonymous),
            ("entra", Self::Entra),
        ];
        reader.choice(node, &words)
    }
}

impl Decode for AuthField {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Map(_) => AuthSettings::decode(node, reader).map(Self::Settings),
            _ => AuthMode::decode(node, reader).map(Self::Mode),
        }
    }
}
