//! The claims of an access token, and what an agent demands of them.

use serde::{Deserialize, Deserializer};

use crate::agents::EntraAuth;
use crate::auth::Refusal;
use crate::clock::Timestamp;

/// How far the clocks of issuer and server may differ, in seconds.
const LEEWAY_SECONDS: i64 = 5 * 60;
/// The end of the year 9999: no honest token is good beyond it.
const LAST_SECOND: i64 = 253_402_300_799;

/// The claims that are read ("Access token claims reference" of the Microsoft identity platform).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Claims {
    pub(super) iss: String,
    #[serde(deserialize_with = "one_or_many")]
    aud: Vec<String>,
    pub(super) tid: String,
    ver: String,
    oid: Option<String>,
    appid: Option<String>,
    azp: Option<String>,
    scp: Option<String>,
    roles: Vec<String>,
    exp: Option<i64>,
    nbf: Option<i64>,
}

/// The two forms of Entra's tokens; they differ in issuer and in the name of the client's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TokenVersion {
    V1,
    V2,
}

/// `aud` is one text or several (RFC 7519 section 4.1.3).
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

impl Claims {
    pub(super) fn version(&self) -> Result<TokenVersion, Refusal> {
        match self.ver.as_str() {
            "1.0" => Ok(TokenVersion::V1),
            "2.0" => Ok(TokenVersion::V2),
            _ => Err(Refusal::TokenVersion),
        }
    }

    /// The client application: the claim that belongs to the token's version. The other one can be an optional claim
    /// that its owner chose.
    fn client(&self, version: TokenVersion) -> Option<&str> {
        let client = match version {
            TokenVersion::V1 => &self.appid,
            TokenVersion::V2 => &self.azp,
        };
        client.as_deref().filter(|client| !client.is_empty())
    }

    /// Whether the token is meant for the agent, and good now: all that can be said before its signature is checked.
    pub(super) fn meant_for(&self, policy: &EntraAuth, now: Timestamp) -> Result<(), Refusal> {
        if !policy.allowed_audiences.iter().any(|allowed| self.aud.contains(allowed)) {
            return Err(Refusal::WrongAudience);
        }
        if !policy.tenant_id.as_deref().is_some_and(|tenant| tenant.eq_ignore_ascii_case(&self.tid)) {
            return Err(Refusal::WrongTenant);
        }
        let now = i64::try_from(now.as_millis() / 1000).unwrap_or(i64::MAX);
        match self.exp {
            Some(exp) if exp > LAST_SECOND => return Err(Refusal::MalformedToken),
            Some(exp) if exp.saturating_add(LEEWAY_SECONDS) > now => {}
            Some(_) => return Err(Refusal::Expired),
            None => return Err(Refusal::MalformedToken),
        }
        match self.nbf {
            Some(nbf) if nbf.saturating_sub(LEEWAY_SECONDS) > now => Err(Refusal::NotYetValid),
            _ => Ok(()),
        }
    }

    /// Whether the caller may use the agent.
    pub(super) fn may_call(&self, policy: &EntraAuth) -> Result<(), Refusal> {
        let client = self.client(self.version()?);
        let listed = client.is_some_and(|client| policy.allowed_client_ids.iter().any(|allowed| allowed == client));
        if !listed && !policy.allowed_client_ids.is_empty() {
            return Err(Refusal::WrongClient);
        }
        let mut scopes = self.scp.as_deref().unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
        let demands_nothing = policy.required_roles.is_empty() && policy.required_scopes.is_empty();
        let permitted = if demands_nothing {
            // An ID token, or a token of an application that nobody gave a permission, has neither.
            listed || !self.roles.is_empty() || scopes.next().is_some()
        } else {
            scopes.any(|scope| policy.required_scopes.iter().any(|required| required == scope))
                || policy.required_roles.iter().any(|required| self.roles.contains(required))
        };
        if permitted { Ok(()) } else { Err(Refusal::MissingPermission) }
    }

    /// The unit of isolation of a caller: its tenant and its object, else its application.
    pub(super) fn scope(&self) -> Result<String, Refusal> {
        let object = self.oid.as_deref().filter(|oid| !oid.is_empty());
        let identity = match object {
            Some(object) => object,
            None => self.client(self.version()?).ok_or(Refusal::NoIdentity)?,
        };
        Ok(format!("entra:{}:{identity}", self.tid))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn claims(extra: &Value) -> Claims {
        let mut claims = json!({
            "iss": "i", "aud": "api://app", "tid": "tenant", "ver": "2.0", "oid": "object", "azp": "client",
            "scp": "Agent.Invoke", "exp": NOW + 3600, "nbf": NOW - 5,
        });
        for (name, value) in extra.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        serde_json::from_value(claims).unwrap()
    }

    fn policy() -> EntraAuth {
        EntraAuth {
            tenant_id: Some("tenant".to_owned()),
            allowed_audiences: vec!["api://app".to_owned()],
            ..EntraAuth::default()
        }
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(u64::try_from(NOW).unwrap() * 1000)
    }

    #[test]
    fn c060_audiences_match_exactly() {
        for (aud, expected) in [
            (json!("api://app"), Ok(())),
            (json!(["other", "api://app"]), Ok(())),
            (json!("app"), Err(Refusal::WrongAudience)),
            (json!("api://app/"), Err(Refusal::WrongAudience)),
            (json!("API://app"), Err(Refusal::WrongAudience)),
            (json!([]), Err(Refusal::WrongAudience)),
            (json!("00000003-0000-0000-c000-000000000000"), Err(Refusal::WrongAudience)),
        ] {
            assert_eq!(claims(&json!({ "aud": aud })).meant_for(&policy(), now()), expected, "{aud}");
        }
    }

    #[test]
    fn c061_tokens_of_another_tenant_are_refused() {
        for (tid, expected) in [
            ("tenant", Ok(())),
            ("TENANT", Ok(())),
            ("other", Err(Refusal::WrongTenant)),
            ("", Err(Refusal::WrongTenant)),
        ] {
            assert_eq!(claims(&json!({ "tid": tid })).meant_for(&policy(), now()), expected, "{tid}");
        }
        let without_tenant = EntraAuth { tenant_id: None, ..policy() };
        assert_eq!(claims(&json!({ "tid": "" })).meant_for(&without_tenant, now()), Err(Refusal::WrongTenant));
    }

    #[test]
    fn c067_clocks_may_differ_by_five_minutes() {
        for (times, expected) in [
            (json!({ "nbf": NOW + 30 }), Ok(())),
            (json!({ "nbf": NOW + 300 }), Ok(())),
            (json!({ "nbf": NOW + 301 }), Err(Refusal::NotYetValid)),
            (json!({ "nbf": null }), Ok(())),
            (json!({ "exp": NOW - 30 }), Ok(())),
            (json!({ "exp": NOW - 299 }), Ok(())),
            (json!({ "exp": NOW - 300 }), Err(Refusal::Expired)),
            (json!({ "exp": NOW - 600 }), Err(Refusal::Expired)),
            (json!({ "exp": null }), Err(Refusal::MalformedToken)),
            (json!({ "exp": i64::MAX }), Err(Refusal::MalformedToken)),
            (json!({ "exp": i64::MIN }), Err(Refusal::Expired)),
            (json!({ "nbf": i64::MIN }), Ok(())),
        ] {
            assert_eq!(claims(&times).meant_for(&policy(), now()), expected, "{times}");
        }
    }

    #[test]
    fn c067_times_that_are_no_whole_numbers_are_no_claims() {
        for exp in [json!("1800003600"), json!(1e300), json!(9_223_372_036_854_775_808_u64), json!([1])] {
            let parsed = serde_json::from_value::<Claims>(json!({ "aud": "a", "exp": exp }));
            assert!(parsed.is_err(), "{exp}");
        }
    }

    #[test]
    fn c065_the_client_is_in_the_claim_of_the_token_s_version() {
        let policy = EntraAuth { allowed_client_ids: vec!["known".to_owned()], ..policy() };
        for (client, expected) in [
            (json!({ "ver": "1.0", "azp": null, "appid": "known" }), Ok(())),
            (json!({ "ver": "2.0", "azp": "known" }), Ok(())),
            (json!({ "ver": "2.0", "azp": "other", "appid": "known" }), Err(Refusal::WrongClient)),
            (json!({ "ver": "1.0", "azp": "known", "appid": "other" }), Err(Refusal::WrongClient)),
            (json!({ "ver": "2.0", "azp": null }), Err(Refusal::WrongClient)),
            (json!({ "ver": "3.0", "azp": "known" }), Err(Refusal::TokenVersion)),
            (json!({ "ver": null, "azp": "known" }), Err(Refusal::TokenVersion)),
        ] {
            assert_eq!(claims(&client).may_call(&policy), expected, "{client}");
        }
    }

    #[test]
    fn c064_permissions_are_whole_words_of_scp_or_entries_of_roles() {
        let demanding = EntraAuth {
            required_scopes: vec!["Agent.Invoke".to_owned()],
            required_roles: vec!["Agent.Invoke".to_owned()],
            ..policy()
        };
        let by_scope = EntraAuth { required_roles: Vec::new(), ..demanding.clone() };
        let listing = EntraAuth { allowed_client_ids: vec!["client".to_owned()], ..policy() };
        let refused = Err(Refusal::MissingPermission);
        for (permissions, policy, expected) in [
            (json!({ "scp": null, "roles": ["Agent.Invoke"] }), &demanding, Ok(())),
            (json!({ "scp": "Agent.Invoke other" }), &demanding, Ok(())),
            (json!({ "scp": "Agent.InvokeAll other" }), &demanding, refused),
            (json!({ "scp": "agent.invoke" }), &demanding, refused),
            (json!({ "scp": null }), &demanding, refused),
            (json!({ "scp": null, "roles": ["Agent.Invoke"] }), &by_scope, refused),
            (json!({ "scp": "anything" }), &policy(), Ok(())),
            (json!({ "scp": null, "roles": ["anything"] }), &policy(), Ok(())),
            (json!({ "scp": null }), &policy(), refused),
            (json!({ "scp": " " }), &policy(), refused),
            (json!({ "scp": null }), &listing, Ok(())),
        ] {
            assert_eq!(claims(&permissions).may_call(policy), expected, "{permissions}");
        }
    }

    #[test]
    fn a_caller_is_its_object_else_its_application() {
        for (identity, expected) in [
            (json!({}), Ok("entra:tenant:object")),
            (json!({ "oid": null }), Ok("entra:tenant:client")),
            (json!({ "oid": "", "ver": "1.0", "appid": "first" }), Ok("entra:tenant:first")),
            (json!({ "oid": null, "azp": null, "appid": "first" }), Err(Refusal::NoIdentity)),
        ] {
            assert_eq!(claims(&identity).scope(), expected.map(str::to_owned), "{identity}");
        }
    }
}
