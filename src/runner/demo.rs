//! The runner that needs no model: offline, deterministic, and honest about what it is.

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use super::{Runner, RunnerError, RunnerEvent, Speaker, Turn};

/// How much of the prompt a reply repeats, in characters.
const ECHOED_CHARS: usize = 160;

/// Answers every turn with a canned text that says so, repeats the prompt and counts the turns that it can see.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoRunner;

impl Runner for DemoRunner {
    fn run(&self, turn: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>> {
        let number = 1 + turn.history.iter().filter(|entry| entry.speaker == Speaker::User).count();
        let deltas = [
            format!("This is a demo reply of {}: no model is configured.", turn.agent.name),
            format!(" Turn {number} of this conversation. You said: \"{}\".", essence(&turn.prompt)),
            " Set AZURE_FUNCTIONS_AGENTS_PROVIDER and the provider's variables to talk to a model.".to_owned(),
        ];
        stream::iter(deltas.map(RunnerEvent::TextDelta).into_iter().chain([RunnerEvent::Done]).map(Ok)).boxed()
    }
}

/// The beginning of `prompt`, cut between two characters.
fn essence(prompt: &str) -> std::borrow::Cow<'_, str> {
    let prompt = prompt.trim();
    match prompt.char_indices().nth(ECHOED_CHARS) {
        Some((end, _)) => format!("{}…", &prompt[..end]).into(),
        None => prompt.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Utterance;
    use crate::runner::fixtures::{reply_text, turn};

    async fn reply(turn: Turn) -> String {
        reply_text(DemoRunner.run(turn)).await.unwrap()
    }

    #[tokio::test]
    async fn a_reply_says_that_there_is_no_model_and_repeats_the_prompt() {
        let text = reply(turn("is the database down?")).await;
        assert!(text.contains("no model is configured"), "{text}");
        assert!(text.contains("\"is the database down?\""), "{text}");
    }

    #[tokio::test]
    async fn the_turn_number_counts_what_the_caller_said_before() {
        let mut third = turn("and now?");
        for (speaker, text) in
            [(Speaker::User, "a"), (Speaker::Agent, "b"), (Speaker::User, "c"), (Speaker::Agent, "d")]
        {
            third.history.push(Utterance { speaker, text: text.to_owned() });
        }
        assert!(reply(turn("first")).await.contains("Turn 1 of"));
        assert!(reply(third).await.contains("Turn 3 of"));
    }

    #[tokio::test]
    async fn a_reply_comes_in_several_deltas_and_ends_with_done() {
        let events: Vec<_> = DemoRunner.run(turn("hello")).map(Result::unwrap).collect().await;
        let deltas = events.iter().filter(|event| matches!(event, RunnerEvent::TextDelta(_))).count();
        assert!(deltas > 1, "{events:?}");
        assert_eq!(events.last(), Some(&RunnerEvent::Done));
    }

    #[tokio::test]
    async fn the_same_turn_gets_the_same_reply() {
        assert_eq!(reply(turn("again")).await, reply(turn("again")).await);
    }

    #[test]
    fn long_prompts_are_cut_between_characters() {
        let cut = essence(&"ü".repeat(ECHOED_CHARS + 1)).into_owned();
        assert_eq!(cut, format!("{}…", "ü".repeat(ECHOED_CHARS)));
        assert_eq!(essence(&"ü".repeat(ECHOED_CHARS)), "ü".repeat(ECHOED_CHARS));
    }
}
