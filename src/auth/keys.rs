//! The key ring: function keys of our own, for hosts that check none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER_PERMISSIVE;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::clock::Random;

/// Name of the key that opens agents with `http_auth: admin`, as the Functions host names it.
const MASTER: &str = "_master";
/// Shortest key that is accepted, in characters.
const MIN_KEY_CHARS: usize = 16;
/// Most keys of a ring: each is compared on every request.
const MAX_KEYS: usize = 64;
const HASH_PREFIX: &str = "sha256:";

/// What a key opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Agents with `http_auth: function`.
    Function,
    /// Every agent.
    Admin,
}

/// Named keys, kept as hashes only.
#[derive(Clone, Default)]
pub struct KeyRing {
    keys: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    name: String,
    digest: [u8; 32],
    level: Level,
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.keys.iter().map(|key| &key.name)).finish()
    }
}

/// A fault in `A2A_FUNCTION_KEYS`. Positions count entries from 1; no text of an entry is repeated, it could be a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyRingError {
    /// An entry is not `name=key`.
    #[error("A2A_FUNCTION_KEYS: entry {0} is not of the form name=key or name=sha256:<64 hexadecimal digits>")]
    Shape(usize),
    /// A name is empty or has a character outside `[A-Za-z0-9_.-]`.
    #[error("A2A_FUNCTION_KEYS: the name of entry {0} must have 1 to 64 characters of [A-Za-z0-9_.-]")]
    Name(usize),
    /// Two entries have one name.
    #[error("A2A_FUNCTION_KEYS: the name {0:?} stands twice")]
    Twice(String),
    /// A key is short enough to be guessed.
    #[error("A2A_FUNCTION_KEYS: the key of entry {0} is shorter than {MIN_KEY_CHARS} characters")]
    Short(usize),
    /// A hash is not 64 hexadecimal digits.
    #[error("A2A_FUNCTION_KEYS: the hash of entry {0} is not 64 hexadecimal digits")]
    Hash(usize),
    /// There are too many entries.
    #[error("A2A_FUNCTION_KEYS holds more than {MAX_KEYS} keys")]
    Many,
}

impl KeyRing {
    /// Reads entries `name=key` or `name=sha256:<hash of the key>`, separated by commas, semicolons or white space. The
    /// name `_master` is that of the master key.
    pub fn parse(text: &str) -> Result<Self, KeyRingError> {
        let separators = |c: char| c == ',' || c == ';' || c.is_whitespace();
        let mut keys: Vec<Key> = Vec::new();
        for (index, entry) in text.split(separators).filter(|entry| !entry.is_empty()).enumerate() {
            let position = index + 1;
            let (name, secret) = entry.split_once('=').ok_or(KeyRingError::Shape(position))?;
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
            if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
                return Err(KeyRingError::Name(position));
            }
            if keys.iter().any(|key| key.name == name) {
                return Err(KeyRingError::Twice(name.to_owned()));
            }
            if keys.len() == MAX_KEYS {
                return Err(KeyRingError::Many);
            }
            let digest = match secret.strip_prefix(HASH_PREFIX) {
                Some(hash) => parse_hash(hash).ok_or(KeyRingError::Hash(position))?,
                None if secret.chars().count() < MIN_KEY_CHARS => return Err(KeyRingError::Short(position)),
                None => Sha256::digest(secret).into(),
            };
            let level = if name == MASTER { Level::Admin } else { Level::Function };
            keys.push(Key { name: name.to_owned(), digest, level });
        }
        Ok(Self { keys })
    }

    /// A ring with one fresh master key named for a developer's run, and that key.
    pub fn ephemeral(random: &dyn Random) -> (Self, String) {
        let secret = URL_SAFE_NO_PAD.encode([random.bytes16(), random.bytes16()].concat());
        let digest = Sha256::digest(&secret).into();
        (Self { keys: vec![Key { name: MASTER.to_owned(), digest, level: Level::Admin }] }, secret)
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The name and level of `presented`. All keys are compared, in a time that depends on their number alone.
    pub fn find(&self, presented: &[u8]) -> Option<(&str, Level)> {
        let digest: [u8; 32] = Sha256::digest(presented).into();
        let mut found = Choice::from(0);
        let mut index = 0_u32;
        for (position, key) in (0_u32..).zip(&self.keys) {
            let same = key.digest.ct_eq(&digest);
            index.conditional_assign(&position, same);
            found |= same;
        }
        if !bool::from(found) {
            return None;
        }
        self.keys.get(index as usize).map(|key| (key.name.as_str(), key.level))
    }
}

fn parse_hash(hash: &str) -> Option<[u8; 32]> {
    HEXLOWER_PERMISSIVE.decode(hash.as_bytes()).ok()?.try_into().ok()
}
