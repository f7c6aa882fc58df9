//! Token limits: what an agent writes replaces what the app says, leaf by leaf, and `null` takes it away.

use std::num::NonZeroU32;

use super::agent_file::AgentFile;
use super::authored::AgentConfiguration;
use crate::config::{Authored, Code, Diagnostics, Severity, Spanned};

type Limit = Authored<Spanned<NonZeroU32>>;

/// The two limits of `agent_configuration`, each absent, taken away or set.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenLimits {
    output: Limit,
    context: Limit,
}

impl TokenLimits {
    /// The limits as written in one place.
    pub(super) fn of(authored: &Authored<AgentConfiguration>) -> Self {
        Self {
            output: authored.part(|configuration| configuration.max_output_tokens.clone()),
            context: authored.part(|configuration| {
                configuration.agent_framework.part(|framework| {
                    framework.compaction.part(|compaction| compaction.max_context_window_tokens.clone())
                })
            }),
        }
    }

    /// The largest reply of an agent, its own limits laid over those of the app.
    pub(super) fn max_output(&self, agent: &AgentFile, findings: &mut Diagnostics) -> Option<u32> {
        const FIELD: &str = "agent_configuration";
        let own = Self::of(&agent.fields.agent_configuration);
        let output = over(&own.output, &self.output);
        let context = over(&own.context, &self.context);
        if let Some(context) = context {
            let mut find = |severity, code, message: &str, help: &str| {
                findings.push(agent.finding(severity, code, &agent.start(), FIELD, message).help(help));
            };
            if output.is_none_or(|output| output >= context) {
                find(
                    Severity::Error,
                    Code::TokenLimits,
                    "`max_context_window_tokens` needs a `max_output_tokens` that is smaller",
                    "set `max_output_tokens` below it, or remove `max_context_window_tokens`",
                );
            }
            if agent.a2a().is_some() {
                find(
                    Severity::Warning,
                    Code::CompactionNotServed,
                    "history compaction is configured, but this version does not apply it",
                    "keep conversations short, or remove `agent_framework.compaction`",
                );
            }
        }
        output
    }
}

fn over(own: &Limit, app: &Limit) -> Option<u32> {
    let chosen = if *own == Authored::Absent { app } else { own };
    match chosen {
        Authored::Value(limit) => Some(limit.value.get()),
        Authored::Absent | Authored::Null => None,
    }
}
