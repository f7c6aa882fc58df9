//! What both APIs have in common: a conversation goes in, text and counts come out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::failure::Failure;
use super::redact::Secrets;
use super::{chat, responses};
use crate::runner::settings::{Api, ModelSettings};
use crate::runner::{Speaker, Turn};

/// One entry of the conversation, as both APIs write it.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> Message<'a> {
    pub(super) fn system(content: &'a str) -> Self {
        Self { role: "system", content }
    }
}

/// The conversation up to and including the prompt. Empty replies are left out: several servers refuse empty messages.
pub(super) fn messages(turn: &Turn) -> impl Iterator<Item = Message<'_>> {
    let history = turn.history.iter().filter(|entry| !entry.text.is_empty()).map(|entry| Message {
        role: match entry.speaker {
            Speaker::User => "user",
            Speaker::Agent => "assistant",
        },
        content: &entry.text,
    });
    history.chain([Message { role: "user", content: &turn.prompt }])
}

/// The body of a request, in the API that the settings choose.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Request<'a> {
    Responses(responses::Request<'a>),
    Chat(chat::Request<'a>),
}

impl<'a> Request<'a> {
    pub(super) fn new(turn: &'a Turn, settings: &'a ModelSettings) -> Self {
        let model = turn.agent.model.as_deref().unwrap_or(&settings.default_model);
        match settings.api {
            Api::Responses => Self::Responses(responses::Request::new(turn, model, settings)),
            Api::Chat => Self::Chat(chat::Request::new(turn, model, settings)),
        }
    }
}

/// What one event brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing for the caller.
    None,
    /// More text.
    Text(String),
    /// The end: no later event matters.
    Complete,
}

/// The provider's account of a reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// The model that answered; empty when the provider does not say.
    pub(super) model: String,
    /// Input and output tokens, when the provider counts them.
    pub(super) usage: Option<(u64, u64)>,
}

/// Follows the events of one reply, in the API that the settings choose.
pub(super) enum Reader {
    Responses(responses::Reader),
    Chat(chat::Reader),
}

impl Reader {
    pub(super) fn new(api: Api) -> Self {
        match api {
            Api::Responses => Self::Responses(responses::Reader::default()),
            Api::Chat => Self::Chat(chat::Reader::default()),
        }
    }

    /// Takes the data of one event; `secrets` are never repeated in a failure.
    pub(super) fn read(&mut self, data: &str, secrets: &Secrets) -> Result<Progress, Failure> {
        match self {
            Self::Responses(reader) => reader.read(data, secrets),
            Self::Chat(reader) => reader.read(data, secrets),
        }
    }

    /// Whether the whole reply has come; only its counts may be missing.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Responses(reader) => reader.is_finished(),
            Self::Chat(reader) => reader.is_finished(),
        }
    }

    /// What the reply cost, or nothing when the stream ended before the reply did.
    pub(super) fn finish(self) -> Option<Counts> {
        match self {
            Self::Responses(reader) => reader.finish(),
            Self::Chat(reader) => reader.finish(),
        }
    }
}

/// Reads a member that the reply can do without: one that is null, or not what the API says, counts as missing.
pub(super) fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// Reads a member that may hold parts of the reply: null counts as missing, anything else must be what the API says.
pub(super) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Tokens, out of whatever number a server writes.
#[derive(Deserialize)]
#[serde(from = "serde_json::Number")]
pub(super) struct Tokens(pub(super) u64);

impl From<serde_json::Number> for Tokens {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
    fn from(number: serde_json::Number) -> Self {
        Self(number.as_u64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as u64))
    }
}
