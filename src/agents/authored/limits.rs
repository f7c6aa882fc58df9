//! Token limits of agents, and limits of the whole app.

use std::num::NonZeroU32;

use crate::config::{Authored, Spanned, record};

record! {
    /// Token limits of an agent.
    pub(crate) struct AgentConfiguration {
        /// The most tokens of one reply.
        #[schemars(with = "Option<NonZeroU32>")]
        pub max_output_tokens: Authored<Spanned<NonZeroU32>>,
        /// Settings of the agent framework.
        #[schemars(with = "Option<AgentFramework>")]
        pub agent_framework: Authored<AgentFramework>,
    }
}

record! {
    /// Settings of the agent framework.
    pub(crate) struct AgentFramework {
        /// History compaction. Not applied by this version.
        #[schemars(with = "Option<Compaction>")]
        pub compaction: Authored<Compaction>,
    }
}

record! {
    /// History compaction.
    pub(crate) struct Compaction {
        /// The size of the model's context window; needs a smaller `max_output_tokens`.
        #[schemars(with = "Option<NonZeroU32>")]
        pub max_context_window_tokens: Authored<Spanned<NonZeroU32>>,
    }
}

record! {
    /// Limits of the app. Only in this program: the Python runtime refuses the field.
    pub(crate) struct LimitFields {
        /// Turns of one agent that one process runs at a time.
        #[schemars(range(min = 1, max = 10_000), extend("default" = 32))]
        pub executions_per_agent: Option<Spanned<u32>>,
        /// Turns of all agents in all processes at a time. Left out, there is no such bound.
        #[schemars(range(min = 1, max = 1000))]
        pub global_executions: Option<Spanned<u32>>,
        /// Days that an idle conversation is kept, and each turn of it at the most.
        #[schemars(range(min = 1, max = 3650), extend("default" = 30))]
        pub context_retention_days: Option<Spanned<u32>>,
    }
}
