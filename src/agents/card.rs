//! The agent card: what a client must know to call an agent, built once from its files.

use std::collections::HashMap;
use std::time::SystemTime;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::{A2aEndpoint, Agent, AuthMode};
use crate::protocol::extensions::IDEMPOTENT_SEND;
use crate::protocol::wire::security_scheme::Scheme;
use crate::protocol::wire::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, ApiKeySecurityScheme,
    HttpAuthSecurityScheme, SecurityRequirement, SecurityScheme, StringList, TEXT_PLAIN,
};

/// A card as it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedCard {
    /// The JSON, the same bytes on every request.
    pub body: Bytes,
    /// A strong entity tag over exactly these bytes, with its quotes. It changes whenever they do.
    pub etag: String,
    /// When the files behind the card last changed. The same in every process that serves the same files.
    pub last_modified: SystemTime,
    /// Request header that decides who may read the card; `None` when everybody may.
    pub credential_header: Option<&'static str>,
}

/// Why there is no card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// A field that every card must have is blank.
    #[error("{file}: the agent's {field} is blank, and its A2A card needs one")]
    Blank {
        /// The agent's file.
        file: String,
        /// The field, as front matter names it.
        field: &'static str,
    },
    /// The card cannot be written as JSON.
    #[error("the card of {slug} cannot be written")]
    Json {
        /// The agent.
        slug: String,
        /// What the writer says.
        source: serde_json::Error,
    },
}

impl ServedCard {
    /// Builds the card of `agent`, served at `endpoint`, from files that last changed at `last_modified`.
    pub fn build(agent: &Agent, endpoint: &A2aEndpoint, last_modified: SystemTime) -> Result<Self, CardError> {
        for (field, value) in [("name", &agent.name), ("description", &agent.description)] {
            if value.trim().is_empty() {
                return Err(CardError::Blank { file: agent.source_file.clone(), field });
            }
        }
        let body = serde_json::to_vec(&card(agent, endpoint))
            .map_err(|source| CardError::Json { slug: agent.slug.clone(), source })?;
        let etag = entity_tag(&body);
        let credential_header = match agent.http_auth.mode {
            AuthMode::Anonymous => None,
            AuthMode::Function | AuthMode::Admin => Some("x-functions-key"),
            AuthMode::Entra => Some("authorization"),
        };
        Ok(Self { body: body.into(), etag, last_modified, credential_header })
    }
}

fn entity_tag(body: &[u8]) -> String {
    format!("\"{}\"", HEXLOWER.encode(&Sha256::digest(body)))
}

fn card(agent: &Agent, endpoint: &A2aEndpoint) -> AgentCard {
    let security = security_scheme(agent.http_auth.mode);
    AgentCard {
        name: agent.name.clone(),
        description: agent.description.clone(),
        supported_interfaces: vec![AgentInterface {
            url: endpoint.url.clone(),
            protocol_binding: "JSONRPC".to_owned(),
            protocol_version: "1.0".to_owned(),
            ..AgentInterface::default()
        }],
        // The program's version, as in the Python runtime: agents have none of their own.
        version: env!("CARGO_PKG_VERSION").to_owned(),
        capabilities: Some(capabilities(agent.http_auth.mode)),
        security_requirements: security.iter().map(|(name, _)| requirement(name)).collect(),
        security_schemes: security.into_iter().collect(),
        default_input_modes: vec![TEXT_PLAIN.to_owned()],
        default_output_modes: vec![TEXT_PLAIN.to_owned()],
        skills: vec![AgentSkill {
            id: agent.slug.clone(),
            name: agent.name.clone(),
            description: agent.description.clone(),
            tags: vec!["agent".to_owned()],
            input_modes: vec![TEXT_PLAIN.to_owned()],
            output_modes: vec![TEXT_PLAIN.to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}

fn capabilities(mode: AuthMode) -> AgentCapabilities {
    let idempotent_send = AgentExtension {
        uri: IDEMPOTENT_SEND.to_owned(),
        description: "A message that is sent again under the same messageId gets its first answer again.".to_owned(),
        ..AgentExtension::default()
    };
    // Callers without an identity share one scope, where one could ask for the answer to another's message.
    let extensions = if mode == AuthMode::Anonymous { Vec::new() } else { vec![idempotent_send] };
    AgentCapabilities {
        streaming: Some(false),
        push_notifications: Some(false),
        extended_agent_card: Some(false),
        extensions,
    }
}

/// The one scheme of a mode, under the name that the Python runtime gives it.
fn security_scheme(mode: AuthMode) -> Option<(String, SecurityScheme)> {
    let (name, scheme) = match mode {
        AuthMode::Anonymous => return None,
        AuthMode::Function => ("function_key", api_key("A function key or host key of the function app.")),
        AuthMode::Admin => ("function_key", api_key("The master key of the function app.")),
        AuthMode::Entra => (
            "entra",
            Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
                description: "An access token of Microsoft Entra ID for this agent.".to_owned(),
                scheme: "Bearer".to_owned(),
                bearer_format: "JWT".to_owned(),
            }),
        ),
    };
    Some((name.to_owned(), SecurityScheme { scheme: Some(scheme) }))
}

fn api_key(description: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        description: description.to_owned(),
        location: "header".to_owned(),
        name: "x-functions-key".to_owned(),
    })
}

fn requirement(name: &str) -> SecurityRequirement {
    SecurityRequirement { schemes: HashMap::from([(name.to_owned(), StringList::default())]) }
}

#[cfg(test)]
mod tests;
