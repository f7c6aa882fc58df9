//! What a provider says, made fit for the log: without keys, without the conversation, without control characters.

use http::HeaderValue;

use crate::runner::Turn;

/// How many characters of a key in a row give it away, also when the rest is left out.
const KEY_RUN: usize = 8;
/// How many characters of the conversation in a row are no coincidence.
const SPEECH_RUN: usize = 32;
/// Below this a match says nothing: the prompt "a" occurs in every message.
const MIN_SPEECH_CHARS: usize = 4;
/// What stands in for a word that was taken out.
const REDACTED: &str = "[redacted]";

/// What a provider may repeat, and the log must not.
#[derive(Default)]
pub(super) struct Secrets<'a> {
    /// In lower case.
    keys: Vec<String>,
    /// What was said in the conversation, instructions included.
    speech: Vec<&'a str>,
}

impl<'a> Secrets<'a> {
    /// The secrets of a request: the value of its credential header, whatever its address carries, and the conversation.
    pub(super) fn of_request(credential: Option<&HeaderValue>, url: &url::Url, turn: &'a Turn) -> Self {
        let credential = credential.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let credential = credential.map(|value| value.strip_prefix("Bearer ").unwrap_or(&value).to_owned());
        let parameters =
            url.query_pairs().filter(|(name, _)| name != "api-version").map(|(_, value)| value.into_owned());
        let history = turn.history.iter().map(|entry| entry.text.as_str());
        Self {
            keys: credential.into_iter().chain(parameters).map(|key| key.to_ascii_lowercase()).collect(),
            speech: history.chain([turn.prompt.as_str(), turn.agent.instructions.as_str()]).collect(),
        }
    }

    /// At most `limit` characters of `text`, or nothing when it is empty or repeats the conversation.
    pub(super) fn clean(&self, text: &str, limit: usize) -> Option<String> {
        // No secret is recognised by a piece that the limit left of it.
        let text: Vec<char> =
            text.chars().take(limit.saturating_mul(2)).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let whole: String = text.iter().collect();
        if whole.trim().is_empty() || self.speech.iter().any(|said| repeats_speech(&text, &whole, said)) {
            return None;
        }
        let words = whole.split(' ').map(|word| if self.is_key(word) { REDACTED } else { word });
        Some(words.collect::<Vec<_>>().join(" ").chars().take(limit).collect())
    }

    fn is_key(&self, word: &str) -> bool {
        let word: Vec<char> = word.chars().map(|c| c.to_ascii_lowercase()).collect();
        self.keys
            .iter()
            .filter(|key| !key.is_empty())
            .any(|key| shares_run(&word, key, key.chars().count().min(KEY_RUN)))
    }
}

fn repeats_speech(text: &[char], whole: &str, said: &str) -> bool {
    let said = said.trim();
    let length = said.chars().take(SPEECH_RUN).count();
    if length < SPEECH_RUN {
        length >= MIN_SPEECH_CHARS && whole.contains(said)
    } else {
        shares_run(text, said, SPEECH_RUN)
    }
}

/// Whether `length` characters in a row of `text` occur in `secret`.
fn shares_run(text: &[char], secret: &str, length: usize) -> bool {
    text.windows(length).any(|run| secret.contains(&run.iter().collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::fixtures::{agent, turn};
    use crate::runner::{Speaker, Utterance};

    const KEY: &str = "Bearer sk-CANARYPROVIDERKEY1234567890";

    #[test]
    fn pieces_of_a_key_are_taken_out_and_the_rest_of_the_message_is_kept() {
        let turn = turn("hello");
        let key = HeaderValue::from_static(KEY);
        let url = url::Url::parse("https://x.example/?code=QUERYSECRET&api-version=2024-10-21-preview").unwrap();
        let secrets = Secrets::of_request(Some(&key), &url, &turn);
        for (text, expected) in [
            ("key sk-CANARYPROVIDERKEY1234567890 is bad", "key [redacted] is bad"),
            ("key: sk-CANARYPROVIDERKEY123456...", "key: [redacted]"),
            ("key:sk-CANARY*****, again", "[redacted] again"),
            ("KEY=sk-canaryproviderkey", "[redacted]"),
            ("ends in\t34567890", "ends in [redacted]"),
            ("ends in 4567890", "ends in 4567890"),
            ("code querysecret", "code [redacted]"),
            ("version 2024-10-21-preview", "version 2024-10-21-preview"),
        ] {
            assert_eq!(secrets.clean(text, 500).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_key_that_the_limit_cuts_is_still_known() {
        let turn = turn("hello");
        let key = HeaderValue::from_static(KEY);
        let secrets = Secrets::of_request(Some(&key), &url::Url::parse("https://x.example").unwrap(), &turn);
        assert_eq!(secrets.clean("12345 sk-CANARYPROVIDERKEY1234567890", 13).as_deref(), Some("12345 [redact"));
    }

    #[test]
    fn messages_that_repeat_the_conversation_are_dropped() {
        let mut turn = turn("the secret prompt");
        let long = "My name is Ada Lovelace and I live at 12 St James's Square, London.";
        turn.history.push(Utterance { speaker: Speaker::User, text: long.to_owned() });
        turn.history.push(Utterance { speaker: Speaker::Agent, text: "ok".to_owned() });
        let agent = crate::agents::Agent { instructions: "Keep quiet.".to_owned(), ..agent() };
        turn.agent = std::sync::Arc::new(agent);
        let secrets = Secrets::of_request(None, &url::Url::parse("https://x.example").unwrap(), &turn);
        for text in [
            "cannot answer: the secret prompt",
            "flagged: ...Ada Lovelace and I live at 12 St James's...",
            "bad instructions 'Keep quiet.'",
            "  ",
        ] {
            assert_eq!(secrets.clean(text, 500), None, "{text}");
        }
        assert_eq!(
            secrets.clean("My name is a token that is not ok", 500).as_deref(),
            Some("My name is a token that is not ok")
        );
    }
}
