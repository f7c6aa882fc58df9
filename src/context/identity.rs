//! Which conversation a request belongs to: the policies behind `contextId`.
//!
//! A context is never found by the client's identifier alone: the stored key is a hash over the caller's scope, the agent
//! and the identifier. Under the `capability` policy, where callers have no identity, the identifier itself is the proof:
//! we sign those that we issue, and keep nothing under any other.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::agents::ContextPolicy;

/// The scope that all callers share under [`ContextPolicy::Shared`]; the Python runtime's name for it, so that transcripts
/// line up.
const SHARED_SCOPE: &str = "functions-app";
/// What identifiers issued under the `capability` policy begin with.
const CAPABILITY_PREFIX: &str = "c2-";
/// Random bytes and authentication code of such an identifier.
const CAPABILITY_BYTES: usize = 16 + 32;

/// What a request says about its context.
#[derive(Debug, Clone, Copy)]
pub struct ContextRequest<'a> {
    /// Scope of the authenticated caller.
    pub scope: &'a str,
    /// The agent.
    pub slug: &'a str,
    /// `contextId` of the message; empty counts as absent.
    pub requested: Option<&'a str>,
    /// Randomness for a new identifier. A repeat of the same request carries the same bytes, and so names the same context.
    pub seed: [u8; 16],
}

/// The context that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedContext {
    /// `contextId` of the reply.
    pub id: String,
    /// Name of the conversation in the store and towards the provider.
    pub session_id: String,
    /// What may be done with it.
    pub kind: ResolvedKind,
}

/// What may be done with a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedKind {
    /// The request named it: history is read and kept.
    Continued,
    /// It begins with this request, under an identifier of ours.
    Issued,
    /// Nothing is read or kept.
    Stateless,
}

/// Resolves contexts of one agent.
#[derive(Clone)]
pub(super) struct ContextIds {
    secret: [u8; 32],
}

impl std::fmt::Debug for ContextIds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ContextIds { .. }")
    }
}

/// The name of a conversation: `a2a-` and the hexadecimal SHA-256 of scope, slug and context id, separated by NUL.
///
/// It equals the Python runtime's session id for the same three values.
pub fn session_id(scope: &str, slug: &str, context_id: &str) -> String {
    let digest = Sha256::new()
        .chain_update(scope)
        .chain_update([0])
        .chain_update(slug)
        .chain_update([0])
        .chain_update(context_id)
        .finalize();
    let mut name = String::with_capacity(4 + 64);
    name.push_str("a2a-");
    HEXLOWER.encode_append(&digest, &mut name);
    name
}

/// Whether an identifier could be one that [`ContextIds`] issued, so that its signature is worth checking.
pub(super) fn looks_issued(context_id: &str) -> bool {
    context_id.starts_with(CAPABILITY_PREFIX)
}

/// Resolves a context without a signature: policies `principal` and `shared`, and foreign identifiers under `capability`.
pub(super) fn resolve_unsigned(policy: ContextPolicy, request: &ContextRequest<'_>) -> ResolvedContext {
    let scope = if policy == ContextPolicy::Shared { SHARED_SCOPE } else { request.scope };
    let (id, kind) = match request.requested.filter(|id| !id.is_empty()) {
        Some(id) if policy == ContextPolicy::Capability => (id.to_owned(), ResolvedKind::Stateless),
        Some(id) => (id.to_owned(), ResolvedKind::Continued),
        None => (format!("{:032x}", u128::from_be_bytes(request.seed)), ResolvedKind::Issued),
    };
    ResolvedContext { session_id: session_id(scope, request.slug, &id), id, kind }
}

impl ContextIds {
    /// Signs and checks with `secret`; all processes of an app must use the same.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Resolves a context under the `capability` policy. Identifiers that are foreign, forged or of another agent are told
    /// apart by nothing: all of them are echoed and stateless.
    pub(super) fn resolve(&self, request: &ContextRequest<'_>) -> ResolvedContext {
        let (id, kind) = match request.requested.filter(|id| !id.is_empty()) {
            Some(id) if self.is_valid(request.slug, id) => (id.to_owned(), ResolvedKind::Continued),
            Some(id) => (id.to_owned(), ResolvedKind::Stateless),
            None => (self.issue(request.slug, request.seed), ResolvedKind::Issued),
        };
        ResolvedContext { session_id: session_id(request.scope, request.slug, &id), id, kind }
    }

    /// Time has no part in it: a repeat of a request must get the same identifier whenever it comes, and what is forgotten
    /// when is up to the stored rows.
    fn issue(&self, slug: &str, seed: [u8; 16]) -> String {
        let mut bytes = Vec::with_capacity(CAPABILITY_BYTES);
        bytes.extend_from_slice(&seed);
        let code = self.code(slug, &seed).finalize().into_bytes();
        bytes.extend_from_slice(&code);
        format!("{CAPABILITY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    fn is_valid(&self, slug: &str, id: &str) -> bool {
        let Some(encoded) = id.strip_prefix(CAPABILITY_PREFIX) else { return false };
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(encoded) else { return false };
        if bytes.len() != CAPABILITY_BYTES {
            return false;
        }
        let (seed, code) = bytes.split_at(CAPABILITY_BYTES - 32);
        self.code(slug, seed).verify_slice(code).is_ok()
    }

    fn code(&self, slug: &str, seed: &[u8]) -> Hmac<Sha256> {
        let mut code = new_hmac(&self.secret);
        code.update(b"a2a-functions context v2\0");
        code.update(slug.as_bytes());
        code.update(&[0]);
        code.update(seed);
        code
    }
}

fn new_hmac(secret: &[u8; 32]) -> Hmac<Sha256> {
    // A key of the block size is taken as it is; 32 bytes are padded to it, which is what HMAC does anyway (RFC 2104).
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    Hmac::new(&block.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(scope: &'a str, slug: &'a str, requested: Option<&'a str>, seed: u8) -> ContextRequest<'a> {
        ContextRequest { scope, slug, requested, seed: [seed; 16] }
    }

    #[test]
    fn session_ids_equal_the_python_runtime() {
        for (scope, slug, context, expected) in [
            (
                "functions-app",
                "main",
                "incident-7",
                "a2a-ef7d76d965a875561c3bf65ddee91ddc1820ef7e700c950b85eb8b1f973b54b5",
            ),
            (
                "entra:tenant-1:caller-1",
                "incident_triage",
                "ctx",
                "a2a-a85f24db360b7ccf41455b8cd302daab15843a9f9b6b9f80abed2a68e15a6beb",
            ),
        ] {
            assert_eq!(session_id(scope, slug, context), expected);
        }
    }

    #[test]
    fn c041_the_same_identifier_of_two_callers_is_two_conversations() {
        let of = |scope| resolve_unsigned(ContextPolicy::Principal, &request(scope, "main", Some("CTX"), 1));
        let (a, b) = (of("key:a"), of("key:b"));
        assert_eq!((a.id.as_str(), a.kind), ("CTX", ResolvedKind::Continued));
        assert_eq!((b.id.as_str(), b.kind), ("CTX", ResolvedKind::Continued));
        assert_ne!(a.session_id, b.session_id);
    }

    #[test]
    fn the_shared_policy_puts_all_callers_into_one_scope() {
        let of =
            |scope| resolve_unsigned(ContextPolicy::Shared, &request(scope, "main", Some("incident-7"), 1)).session_id;
        assert_eq!(of("key:a"), of("anonymous"));
        assert_eq!(of("key:a"), session_id("functions-app", "main", "incident-7"));
    }

    #[test]
    fn c044_an_empty_identifier_is_an_absent_one() {
        let context = resolve_unsigned(ContextPolicy::Principal, &request("key:a", "main", Some(""), 0xab));
        assert_eq!((context.id.as_str(), context.kind), ("abababababababababababababababab", ResolvedKind::Issued));
    }

    #[test]
    fn an_issued_capability_continues_its_own_conversation_only() {
        let ids = ContextIds::new([1; 32]);
        let issued = ids.resolve(&request("anonymous", "main", None, 9));
        assert_eq!(issued.kind, ResolvedKind::Issued);
        let mut forged = issued.id.clone();
        forged.replace_range(5..6, if &forged[5..6] == "A" { "B" } else { "A" });
        for (name, ids, slug, id, expected) in [
            ("own", &ids, "main", issued.id.as_str(), ResolvedKind::Continued),
            ("other agent", &ids, "other", issued.id.as_str(), ResolvedKind::Stateless),
            ("forged", &ids, "main", forged.as_str(), ResolvedKind::Stateless),
            ("cut", &ids, "main", &issued.id[..20], ResolvedKind::Stateless),
            ("foreign", &ids, "main", "my-own", ResolvedKind::Stateless),
            ("other secret", &ContextIds::new([2; 32]), "main", issued.id.as_str(), ResolvedKind::Stateless),
        ] {
            let context = ids.resolve(&request("anonymous", slug, Some(id), 3));
            assert_eq!((context.id.as_str(), context.kind), (id, expected), "{name}");
        }
    }
}
