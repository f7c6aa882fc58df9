//! What authors may write: the shape of front matter and of `agents.config.yaml`, field by field.
//!
//! The doc comment of a field is its description in the published schema and in `docs/configuration.md`.

mod app;
mod choices;
mod endpoints;
mod limits;

use crate::config::{Authored, FreeForm, Spanned, Text, record};

pub(super) use app::{AppFields, WebRequest};
pub(super) use choices::{Exclusion, Lenient, Selection};
pub(super) use endpoints::{A2aFields, AuthField, EndpointFields, Endpoints};
pub(super) use limits::{AgentConfiguration, LimitFields};

record! {
    /// The front matter of an agent file.
    pub(super) struct FrontMatter {
        /// Display name, and the name on the agent card. The slug comes from the file name, not from here.
        pub name: Text,
        /// What the agent does; also the description on the agent card.
        pub description: Text,
        /// What starts the agent, other than a request to one of its endpoints. Not served by this program.
        pub trigger: Option<Spanned<Trigger>>,
        /// The endpoints of the agent. `true` means the three classic ones and never `a2a`.
        pub builtin_endpoints: Option<Endpoints>,
        /// The model. Falls back to `agents.config.yaml`, then `AZURE_FUNCTIONS_AGENTS_MODEL`, then the provider's own.
        pub model: Option<String>,
        /// Seconds that one turn may take, the wait for its conversation included. Falls back to `agents.config.yaml`, then
        /// `AZURE_FUNCTIONS_AGENTS_TIMEOUT_SECONDS`.
        #[schemars(range(max = 86_400), extend("default" = 900, "exclusiveMinimum" = 0))]
        pub timeout: Option<Spanned<f64>>,
        /// Whether the responses of a triggered agent are logged.
        #[schemars(extend("default" = true))]
        pub logger: Option<bool>,
        /// Whether `$NAME` and `%NAME%` are replaced in the front matter and the prompt of this agent.
        #[schemars(extend("default" = true))]
        pub substitute_variables: Option<Lenient>,
        /// Opts out of tools that the runtime brings; `true` does not turn on what the app has turned off.
        pub system_tools: Option<SystemTools>,
        /// The MCP servers of `mcp.json` that the agent may use: all, none, or all but some.
        #[schemars(extend("default" = true))]
        pub mcp: Option<Spanned<Selection>>,
        /// The skills that the agent may use: all, none, or all but some.
        #[schemars(extend("default" = true))]
        pub skills: Option<Spanned<Selection>>,
        /// The Python tools that the agent may use. `false` also turns off the code interpreter and `web_request`.
        #[schemars(extend("default" = true))]
        pub tools: Option<Spanned<Selection>>,
        /// Other agents to which this one may delegate.
        pub subagents: Option<Vec<Subagent>>,
        /// Dynamic workflows; honoured on the main agent only.
        pub workflows: Option<Workflows>,
        /// JSON Schema of the request of an `http_trigger`. Does not apply to A2A.
        pub input_schema: Option<FreeForm>,
        /// JSON Schema of the response of an `http_trigger`. Does not apply to A2A.
        pub response_schema: Option<FreeForm>,
        /// Example of the response of an `http_trigger`. Does not apply to A2A.
        pub response_example: Option<String>,
        /// Free notes.
        pub metadata: Option<FreeForm>,
        /// Token limits; each one that is written here replaces that of `agents.config.yaml`, and `null` removes it.
        #[schemars(with = "Option<AgentConfiguration>")]
        pub agent_configuration: Authored<AgentConfiguration>,
    }
}

record! {
    /// A trigger.
    pub(super) struct Trigger {
        /// The kind of trigger, such as `timer_trigger`.
        pub r#type: Spanned<Text>,
        /// Settings of the trigger.
        pub args: Option<FreeForm>,
    }
}

record! {
    /// Opt-outs of tools that the runtime brings.
    pub(super) struct SystemTools {
        /// `false` takes the code interpreter away.
        pub dynamic_sessions_code_interpreter: Option<bool>,
        /// `false` takes the `web_request` tool away.
        pub web_request: Option<bool>,
    }
}

record! {
    /// An agent to which work may be delegated.
    pub(super) struct Subagent {
        /// Its slug.
        pub agent: Spanned<Text>,
        /// When to delegate; falls back to the description of that agent.
        pub when: Option<String>,
    }
}

record! {
    /// Dynamic workflows.
    pub(super) struct Workflows {
        /// Whether they are on.
        #[schemars(extend("default" = false))]
        pub enabled: Option<Spanned<bool>>,
        /// Workflow tools that are left out.
        pub exclude: Option<Vec<Text>>,
        /// Agents that workflows may use.
        pub subagents: Option<Vec<Subagent>>,
    }
}
