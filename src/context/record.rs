//! The rows of a conversation's partition and their bytes.
//!
//! One partition holds one context: row `head` says who may write, rows `t-…` hold one turn each, the newest first in key
//! order so that one bounded scan reads the head and the latest turns. Values are `MessagePack` maps: fields may be added
//! without breaking older readers, and text is not inflated by escapes.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::store::{PartitionKey, RowKey, StoreError};

/// Version of the row format; rows of a later version are refused, not guessed at.
const FORMAT: u16 = 1;
/// Turns of a context that are kept; older ones are removed by later commits.
pub(super) const MAX_TURNS: usize = 90;
/// Bytes of turns that are kept of a context.
pub(super) const MAX_HISTORY_BYTES: usize = 1024 * 1024;

/// What makes two requests the same turn: the client's message id and the hash of all it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnKey {
    /// `messageId` as the client sent it.
    pub message_id: String,
    /// SHA-256 over the canonical form of the message.
    #[serde(with = "bytes32")]
    pub payload_hash: [u8; 32],
}

/// The reply to a turn, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReply {
    /// `messageId` of the reply.
    pub message_id: String,
    /// Its text.
    pub text: String,
}

/// A turn that was answered and acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedTurn {
    /// Identity of the request.
    pub key: TurnKey,
    /// What the caller said.
    pub prompt: String,
    /// What the agent answered.
    pub reply: StoredReply,
}

/// Row `head`: who may write to the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) format: u16,
    /// Counts ownerships; each one has a turn row of its own number.
    pub(super) epoch: u64,
    /// Random token of the owner, `None` when nobody runs.
    pub(super) owner: Option<String>,
    /// When the ownership lapses.
    pub(super) lease_ends: Timestamp,
    /// The first turn that was answered: a repeat of it is told from another message when its row is long gone.
    pub(super) opened_by: Option<PayloadHash>,
}

/// [`TurnKey::payload_hash`] on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PayloadHash(#[serde(with = "bytes32")] pub(super) [u8; 32]);

/// Row `t-…`: a turn that was begun, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TurnRow {
    pub(super) format: u16,
    /// Random token of the owner that began it.
    pub(super) owner: String,
    /// Absent while the turn runs, and for ever when its owner was lost.
    pub(super) done: Option<CompletedTurn>,
}

impl Head {
    pub(super) fn held(epoch: u64, owner: &str, lease_ends: Timestamp, opened_by: Option<PayloadHash>) -> Self {
        Self { format: FORMAT, epoch, owner: Some(owner.to_owned()), lease_ends, opened_by }
    }

    pub(super) fn released(epoch: u64, now: Timestamp, opened_by: Option<PayloadHash>) -> Self {
        Self { format: FORMAT, epoch, owner: None, lease_ends: now, opened_by }
    }

    pub(super) fn decode(value: &[u8]) -> Result<Self, StoreError> {
        let head: Self = decode(value)?;
        check_format(head.format)?;
        Ok(head)
    }
}

impl TurnRow {
    pub(super) fn claim(owner: &str) -> Self {
        Self { format: FORMAT, owner: owner.to_owned(), done: None }
    }

    pub(super) fn done(owner: &str, turn: CompletedTurn) -> Self {
        Self { format: FORMAT, owner: owner.to_owned(), done: Some(turn) }
    }

    pub(super) fn decode(value: &[u8]) -> Result<Self, StoreError> {
        let row: Self = decode(value)?;
        check_format(row.format)?;
        Ok(row)
    }
}

pub(super) fn encode<T: Serialize>(row: &T) -> Result<Bytes, StoreError> {
    rmp_serde::to_vec_named(row).map(Bytes::from).map_err(|error| StoreError::Corrupt(error.to_string()))
}

fn decode<T: for<'de> Deserialize<'de>>(value: &[u8]) -> Result<T, StoreError> {
    rmp_serde::from_slice(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}

fn check_format(format: u16) -> Result<(), StoreError> {
    if format > FORMAT {
        return Err(StoreError::Corrupt(format!(
            "the row has format {format}, this version reads up to {FORMAT}: a newer version wrote it"
        )));
    }
    Ok(())
}

pub(super) fn partition(session_id: &str) -> Result<PartitionKey, StoreError> {
    PartitionKey::new(session_id).map_err(|_| StoreError::OutOfBounds("a session id is not a legal partition key"))
}

pub(super) fn head_row() -> Result<RowKey, StoreError> {
    row_key("head".to_owned())
}

/// The row of the turn that ownership `epoch` began. Later turns sort first.
pub(super) fn turn_row(epoch: u64) -> Result<RowKey, StoreError> {
    row_key(format!("t-{:016x}", u64::MAX - epoch))
}

/// The first key after all rows of a context.
pub(super) fn end_row() -> Result<RowKey, StoreError> {
    row_key("u".to_owned())
}

fn row_key(key: String) -> Result<RowKey, StoreError> {
    RowKey::new(key).map_err(|_| StoreError::OutOfBounds("a row key is not legal"))
}

/// A hash as one `MessagePack` binary instead of an array of numbers.
mod bytes32 {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        struct Bytes32;

        impl Visitor<'_> for Bytes32 {
            type Value = [u8; 32];

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("32 bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))
            }
        }

        deserializer.deserialize_bytes(Bytes32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> CompletedTurn {
        CompletedTurn {
            key: TurnKey { message_id: "m1".into(), payload_hash: [7; 32] },
            prompt: "hi".into(),
            reply: StoredReply { message_id: "r1".into(), text: "\u{0}".repeat(10) },
        }
    }

    #[test]
    fn rows_survive_their_encoding() {
        let row = TurnRow::done("owner", turn());
        assert_eq!(TurnRow::decode(&encode(&row).unwrap()).unwrap(), row);
        let head = Head::held(3, "owner", Timestamp::from_millis(9), Some(PayloadHash([7; 32])));
        assert_eq!(Head::decode(&encode(&head).unwrap()).unwrap(), head);
    }

    #[test]
    fn the_largest_turn_fits_a_record_whatever_its_characters() {
        let mut turn = turn();
        turn.prompt = "\u{1}".repeat(65_536);
        turn.reply.text = "\"".repeat(262_144);
        turn.key.message_id = "m".repeat(4_096);
        assert!(encode(&TurnRow::done("o", turn)).unwrap().len() <= crate::store::MAX_VALUE_BYTES);
    }

    #[test]
    fn rows_of_a_later_format_are_refused() {
        let mut head = Head::released(1, Timestamp::from_millis(0), None);
        head.format = FORMAT + 1;
        let error = Head::decode(&encode(&head).unwrap()).unwrap_err();
        assert!(error.to_string().contains("newer version"), "{error}");
    }

    #[test]
    fn later_turns_sort_first_and_after_the_head() {
        let (head, second, first) = (head_row().unwrap(), turn_row(2).unwrap(), turn_row(1).unwrap());
        assert!(head < second && second < first && first < end_row().unwrap());
    }
}
