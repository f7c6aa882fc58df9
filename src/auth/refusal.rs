//! Why a caller is not let in, and what it is told: little, while the log names the reason.

/// Why a caller was refused; the name is for the log, never for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No key was presented.
    #[error("no_key")]
    NoKey,
    /// The key is not one of ours, or not for this level.
    #[error("wrong_key")]
    WrongKey,
    /// No token was presented.
    #[error("no_token")]
    NoToken,
    /// The credential is of another scheme than `Bearer`.
    #[error("not_bearer")]
    NotBearer,
    /// The token is no JSON Web Token with the claims of an access token.
    #[error("malformed_token")]
    MalformedToken,
    /// The token is signed in a way that proves nothing, or not at all.
    #[error("algorithm")]
    Algorithm,
    /// The token's `ver` is neither 1.0 nor 2.0.
    #[error("token_version")]
    TokenVersion,
    /// The token is for another audience.
    #[error("wrong_audience")]
    WrongAudience,
    /// The token is of another tenant.
    #[error("wrong_tenant")]
    WrongTenant,
    /// The token's issuer is not that of its tenant, or not that of the key.
    #[error("wrong_issuer")]
    WrongIssuer,
    /// The token has expired.
    #[error("expired")]
    Expired,
    /// The token is not valid yet.
    #[error("not_yet_valid")]
    NotYetValid,
    /// The token's key is not published.
    #[error("unknown_key")]
    UnknownKey,
    /// The signature is not the key's.
    #[error("bad_signature")]
    BadSignature,
    /// The issuer's keys cannot be read: a repeat may succeed.
    #[error("keys_unavailable")]
    KeysUnavailable,
    /// The principal is not what App Service Authentication sends.
    #[error("malformed_principal")]
    MalformedPrincipal,
    /// The principal is of another tenant.
    #[error("principal_tenant")]
    PrincipalTenant,
    /// The principal is for another audience.
    #[error("principal_audience")]
    PrincipalAudience,
    /// Token and principal name different callers.
    #[error("disagreement")]
    Disagreement,
    /// Neither object nor application is named.
    #[error("no_identity")]
    NoIdentity,
    /// The client application is not one of those that are let in.
    #[error("wrong_client")]
    WrongClient,
    /// The token carries none of the roles and scopes that are asked for.
    #[error("missing_permission")]
    MissingPermission,
    /// The agent asks for tokens, and the settings to check them are not there.
    #[error("not_configured")]
    NotConfigured,
}

/// What a refused caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Come back with a credential that counts.
    Unauthenticated,
    /// Nothing: the credential counts, and is not enough.
    Forbidden,
    /// Come back later with the same credential.
    TryAgain,
}

impl Refusal {
    /// What the caller is told.
    pub fn answer(self) -> Answer {
        match self {
            Self::KeysUnavailable => Answer::TryAgain,
            Self::WrongClient | Self::MissingPermission | Self::PrincipalTenant | Self::PrincipalAudience => {
                Answer::Forbidden
            }
            _ => Answer::Unauthenticated,
        }
    }

    /// The challenge to a caller that should have sent a token (RFC 6750 section 3): no error code when it sent none.
    pub fn bearer_challenge(self) -> Option<&'static str> {
        match (self, self.answer()) {
            (_, Answer::TryAgain) => None,
            (_, Answer::Forbidden) => Some("Bearer realm=\"a2a-functions\", error=\"insufficient_scope\""),
            (Self::NoToken | Self::NotBearer | Self::NotConfigured, _) => Some("Bearer realm=\"a2a-functions\""),
            _ => Some("Bearer realm=\"a2a-functions\", error=\"invalid_token\""),
        }
    }
}
