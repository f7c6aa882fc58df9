//! An app folder read once: files in, a frozen catalogue of agents out.

mod address;
mod agent_file;
mod app_settings;
mod authored;
pub mod card;
mod discover;
mod document;
mod front_matter;
mod inventory;
mod load;
mod relations;
mod resolve;
mod schema;
mod slug;
#[cfg(test)]
mod tests;
mod tokens;
mod unserved;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

pub use load::{Loaded, load};
pub use schema::{app_schema, front_matter_schema};

/// One agent, merged and validated.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Route segment and identity, derived from the file name.
    pub slug: String,
    /// Display name; also the name on the card.
    pub name: String,
    /// What it does; also the description on the card.
    pub description: String,
    /// The system prompt: the file's body.
    pub instructions: String,
    /// Where it was read from, relative to the app folder.
    pub source_file: String,
    /// Model chosen by the agent, the app or the environment; `None` leaves it to the provider.
    pub model: Option<String>,
    /// How long one turn may take, waiting for the context included.
    pub timeout: Duration,
    /// Upper bound for the tokens of one reply, when configured.
    pub max_output_tokens: Option<u32>,
    /// Who may call it.
    pub http_auth: HttpAuth,
    /// Its A2A endpoint, when it declares one.
    pub a2a: Option<A2aEndpoint>,
}

/// How callers of an agent's routes are authenticated (`http_auth`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpAuth {
    /// The mode.
    pub mode: AuthMode,
    /// Settings of the `entra` mode; kept and ignored with other modes.
    pub entra: Option<EntraAuth>,
}

/// The modes of `http_auth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// A function key or host key.
    #[default]
    Function,
    /// The master key.
    Admin,
    /// Nobody is asked.
    Anonymous,
    /// A Microsoft Entra ID token.
    Entra,
}

/// Settings of the `entra` mode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntraAuth {
    /// The tenant that tokens must come from.
    pub tenant_id: Option<String>,
    /// Audiences that are accepted, compared exactly.
    pub allowed_audiences: Vec<String>,
    /// Client applications that are accepted; empty accepts all.
    pub allowed_client_ids: Vec<String>,
    /// App roles of which a token must carry one, unless it carries a required scope.
    pub required_roles: Vec<String>,
    /// Delegated permissions of which a token must carry one, unless it carries a required role.
    pub required_scopes: Vec<String>,
}

/// `builtin_endpoints.a2a` of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct A2aEndpoint {
    /// The public address of the JSON-RPC endpoint, published verbatim on the card.
    pub url: String,
    /// Who may continue a conversation.
    pub context: ContextPolicy,
    /// How long a turn waits while another turn of its context runs; zero refuses at once.
    pub context_wait: Duration,
}

/// Who may continue a conversation (`builtin_endpoints.a2a.context`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextPolicy {
    /// The caller who began it: contexts are private to the authenticated scope.
    Principal,
    /// Whoever holds the signed identifier that we issued; other identifiers are echoed and keep no history.
    Capability,
    /// Everyone who passes authentication, as the Python runtime does it.
    Shared,
}

/// Bounds of the whole app (`limits` of `agents.config.yaml`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Turns of one agent that one process runs at a time.
    pub executions_per_agent: usize,
    /// Turns of all agents in all processes at a time; `None` sets no bound.
    pub global_executions: Option<usize>,
    /// How long an idle conversation is kept.
    pub context_retention: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            executions_per_agent: 32,
            global_executions: None,
            context_retention: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// All that an app folder says, after every check has passed.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The app folder.
    pub root: PathBuf,
    /// `extensions.http.routePrefix` of `host.json`, without slashes at its ends; empty when there is none.
    pub route_prefix: String,
    /// The agents, in load order, each slug once.
    pub agents: Vec<Arc<Agent>>,
    /// Bounds of the app.
    pub limits: Limits,
}

impl A2aEndpoint {
    /// The public address of the card: beside the endpoint, when its path ends as ours does. Behind a gateway with paths of
    /// its own nobody but the gateway knows it.
    pub fn card_url(&self) -> Option<String> {
        let base = self.url.trim_end_matches('/').strip_suffix("/a2a")?;
        Some(format!("{base}/.well-known/agent-card.json"))
    }

    /// Whether the public address has the path `route`, a slash at its end aside.
    pub fn path_is(&self, route: &str) -> bool {
        Url::parse(&self.url).is_ok_and(|url| url.path().trim_end_matches('/') == route)
    }
}

impl Catalog {
    /// The route of an agent's A2A endpoint, with its leading slash.
    pub fn a2a_route(&self, agent: &Agent) -> String {
        format!("{}/a2a", self.agent_route(agent))
    }

    /// The route of an agent's card, with its leading slash.
    pub fn card_route(&self, agent: &Agent) -> String {
        format!("{}/.well-known/agent-card.json", self.agent_route(agent))
    }

    fn agent_route(&self, agent: &Agent) -> String {
        let separator = if self.route_prefix.is_empty() { "" } else { "/" };
        format!("{separator}{}/agents/{}", self.route_prefix, agent.slug)
    }
}
