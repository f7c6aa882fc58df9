//! Microsoft Entra ID: who a bearer token, or the principal of App Service Authentication, says the caller is.

mod bearer;
mod claims;
mod keys;
mod metadata;
mod principal;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use http::HeaderMap;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{Validation, decode, decode_header};

pub use metadata::{AuthorityHost, AuthorityHostError};

use self::bearer::bearer_token;
use self::claims::{Claims, TokenVersion};
use self::keys::Keys;
use self::metadata::Discovery;
use super::Refusal;
use crate::agents::EntraAuth;
use crate::clock::Clock;
use crate::http::HttpClient;

/// Checks callers of agents with `http_auth: entra`.
#[derive(Debug)]
pub struct Entra {
    keys: HashMap<(String, TokenVersion), Keys>,
    clock: Arc<dyn Clock>,
    trusts_principals: bool,
}

impl Entra {
    /// A check for tokens of `tenants`, whose keys are read from `authority` when the first token comes.
    ///
    /// `trusts_principals`: the platform sets `x-ms-client-principal` itself, and takes a client's own away.
    pub fn new<'a>(
        tenants: impl IntoIterator<Item = &'a str>,
        authority: &AuthorityHost,
        http: &HttpClient,
        clock: &Arc<dyn Clock>,
        trusts_principals: bool,
    ) -> Self {
        let mut keys = HashMap::new();
        for tenant in tenants {
            let tenant = tenant.to_ascii_lowercase();
            for version in [TokenVersion::V1, TokenVersion::V2] {
                let discovery = Discovery::new(http.clone(), authority.clone(), &tenant, version);
                keys.insert((tenant.clone(), version), Keys::new(Box::new(discovery), Arc::clone(clock)));
            }
        }
        Self { keys, clock: Arc::clone(clock), trusts_principals }
    }

    /// The scope of the caller. A token is checked whenever there is one; a principal alone is enough where the platform
    /// vouches for it; when both are there, they must name the same caller.
    pub(super) async fn authenticate(&self, policy: &EntraAuth, headers: &HeaderMap) -> Result<String, Refusal> {
        let principal = if self.trusts_principals { principal::scope(policy, headers)? } else { None };
        match (bearer_token(headers)?, principal) {
            (None, None) => Err(Refusal::NoToken),
            (None, Some(principal)) => Ok(principal),
            (Some(token), None) => self.by_token(policy, token).await,
            (Some(token), Some(principal)) => {
                let scope = self.by_token(policy, token).await?;
                if scope == principal { Ok(scope) } else { Err(Refusal::Disagreement) }
            }
        }
    }

    async fn by_token(&self, policy: &EntraAuth, token: &str) -> Result<String, Refusal> {
        let header = decode_header(token).map_err(|_| Refusal::MalformedToken)?;
        if !keys::is_allowed(header.alg) {
            return Err(Refusal::Algorithm);
        }
        // Nothing of this is believed yet. It spares the issuer requests for tokens that are not for us, and a log that
        // says "wrong audience" helps more than one that says "bad signature".
        let claimed: Claims = insecure_decode_claims(token).map_err(|_| Refusal::MalformedToken)?;
        claimed.meant_for(policy, self.clock.now())?;
        let tenant = claimed.tid.to_ascii_lowercase();
        let keys = self.keys.get(&(tenant.clone(), claimed.version()?)).ok_or(Refusal::WrongTenant)?;
        let id = header.kid.as_deref().ok_or(Refusal::UnknownKey)?;
        let set = keys.with(id).await?;
        if claimed.iss != set.issuer {
            return Err(Refusal::WrongIssuer);
        }
        let key = set.get(id).filter(|key| key.is_for(header.alg, &claimed.iss, &tenant));
        let key = key.ok_or(Refusal::WrongIssuer)?;
        let verified = decode::<Claims>(token, &key.decoding, &signature_only(header.alg));
        let claims = verified.map_err(|_| Refusal::BadSignature)?.claims;
        claims.may_call(policy)?;
        claims.scope()
    }
}

/// The library checks the signature; the claims are checked by the app's own clock and settings.
fn signature_only(algorithm: jsonwebtoken::Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}
