//! The principal that App Service Authentication puts into a request ("Access user claims", App Service).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::{Map, Value};

use crate::agents::EntraAuth;
use crate::auth::Refusal;

/// Header with the claims, as base64 of JSON.
pub(in crate::auth) const PRINCIPAL_HEADER: &str = "x-ms-client-principal";
/// Longest header that is looked at, in bytes.
const MAX_BYTES: usize = 48 * 1024;

/// The claims of a principal under their short names.
struct Principal(Vec<(String, String)>);

/// The scope of the request's principal; `None` when there is none.
pub(super) fn scope(policy: &EntraAuth, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(PRINCIPAL_HEADER).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(Refusal::MalformedPrincipal),
    };
    if value.is_empty() {
        return Ok(None);
    }
    let principal = Principal::parse(value.as_bytes()).ok_or(Refusal::MalformedPrincipal)?;
    principal.may_call(policy)?;
    principal.scope().map(Some)
}

impl Principal {
    fn parse(header: &[u8]) -> Option<Self> {
        if header.len() > MAX_BYTES {
            return None;
        }
        let document: Map<String, Value> = serde_json::from_slice(&STANDARD.decode(header).ok()?).ok()?;
        let provider = document.get("auth_typ")?.as_str()?;
        if !["aad", "azureactivedirectory"].iter().any(|known| provider.eq_ignore_ascii_case(known)) {
            return None;
        }
        let claims = match document.get("claims") {
            Some(Value::Array(claims)) => claims.iter().filter_map(listed).collect(),
            _ => document.iter().flat_map(|(name, value)| top_level(name, value)).collect(),
        };
        Some(Self(claims))
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(claim, _)| claim == name).map(|(_, value)| value.as_str())
    }

    fn has_one_of(&self, names: &[&str], accepted: &[String]) -> bool {
        names.iter().any(|name| self.all(name).any(|value| accepted.iter().any(|accepted| accepted == value)))
    }

    fn may_call(&self, policy: &EntraAuth) -> Result<(), Refusal> {
        let tenant = policy.tenant_id.as_deref().unwrap_or_default();
        if !self.all("tid").any(|tid| tid.eq_ignore_ascii_case(tenant)) {
            return Err(Refusal::PrincipalTenant);
        }
        if !self.has_one_of(&["aud"], &policy.allowed_audiences) {
            return Err(Refusal::PrincipalAudience);
        }
        let clients = &policy.allowed_client_ids;
        if !clients.is_empty() && !self.has_one_of(&["appid", "azp"], clients) {
            return Err(Refusal::WrongClient);
        }
        let (roles, scopes) = (&policy.required_roles, &policy.required_scopes);
        let mut granted = self.all("scp").flat_map(|scp| scp.split(' '));
        let by_scope = granted.any(|scope| scopes.iter().any(|required| required == scope));
        if (roles.is_empty() && scopes.is_empty()) || by_scope || self.has_one_of(&["roles", "role"], roles) {
            Ok(())
        } else {
            Err(Refusal::MissingPermission)
        }
    }

    fn scope(&self) -> Result<String, Refusal> {
        let first = |name| self.all(name).next().filter(|value| !value.is_empty());
        let tenant = first("tid").ok_or(Refusal::NoIdentity)?;
        let identity = first("oid").or_else(|| first("appid")).or_else(|| first("azp")).ok_or(Refusal::NoIdentity)?;
        Ok(format!("entra:{tenant}:{identity}"))
    }
}

/// One entry of `claims`; those of another shape count for nothing.
fn listed(claim: &Value) -> Option<(String, String)> {
    let name = claim.get("typ")?.as_str()?;
    Some((short_name(name).to_owned(), claim.get("val")?.as_str()?.to_owned()))
}

fn top_level(name: &str, value: &Value) -> Vec<(String, String)> {
    let pair = |value: &str| (short_name(name).to_owned(), value.to_owned());
    match value {
        Value::String(value) => vec![pair(value)],
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(pair).collect(),
        _ => Vec::new(),
    }
}

/// Claims come under long names of the SOAP era or under those of the token.
fn short_name(name: &str) -> &str {
    match name {
        "http://schemas.microsoft.com/identity/claims/tenantid" => "tid",
        "http://schemas.microsoft.com/identity/claims/objectidentifier" => "oid",
        "http://schemas.microsoft.com/identity/claims/scope" => "scp",
        _ => name.rsplit('/').next().unwrap_or(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy() -> EntraAuth {
        EntraAuth {
            tenant_id: Some("tenant".to_owned()),
            allowed_audiences: vec!["api://app".to_owned()],
            ..EntraAuth::default()
        }
    }

    fn judge(policy: &EntraAuth, document: &Value) -> Result<Option<String>, Refusal> {
        judge_bytes(policy, document.to_string().as_bytes())
    }

    fn judge_bytes(policy: &EntraAuth, document: &[u8]) -> Result<Option<String>, Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(PRINCIPAL_HEADER, STANDARD.encode(document).parse().unwrap());
        scope(policy, &headers)
    }

    fn claims(extra: &[(&str, &str)]) -> Value {
        let mut claims = vec![
            json!({ "typ": "http://schemas.microsoft.com/identity/claims/tenantid", "val": "tenant" }),
            json!({ "typ": "aud", "val": "api://app" }),
            json!({ "typ": 7, "val": "skipped" }),
            json!("skipped"),
        ];
        claims.extend(extra.iter().map(|(name, value)| json!({ "typ": name, "val": value })));
        json!({ "auth_typ": "AAD", "name_typ": "n", "role_typ": "r", "claims": claims })
    }

    const OID: (&str, &str) = ("http://schemas.microsoft.com/identity/claims/objectidentifier", "object");

    #[test]
    fn a_principal_is_its_tenant_and_object_else_its_application() {
        let flat = json!({ "auth_typ": "azureActiveDirectory", "tid": "tenant", "aud": ["api://app"], "oid": "o" });
        for (document, expected) in [
            (claims(&[OID]), Ok("entra:tenant:object")),
            (claims(&[("appid", "a"), ("azp", "z")]), Ok("entra:tenant:a")),
            (claims(&[("azp", "z")]), Ok("entra:tenant:z")),
            (claims(&[]), Err(Refusal::NoIdentity)),
            (flat, Ok("entra:tenant:o")),
        ] {
            assert_eq!(judge(&policy(), &document), expected.map(|scope| Some(scope.to_owned())), "{document}");
        }
    }

    #[test]
    fn c056_principals_of_another_shape_are_refused() {
        let static_web_app = json!({ "identityProvider": "aad", "userId": "u", "userRoles": ["authenticated"] });
        let mut other_provider = claims(&[OID]);
        other_provider["auth_typ"] = json!("github");
        for document in [static_web_app, other_provider, json!([]), json!("text"), json!({})] {
            assert_eq!(judge(&policy(), &document), Err(Refusal::MalformedPrincipal), "{document}");
        }
        assert_eq!(judge_bytes(&policy(), b"\xff\xfe"), Err(Refusal::MalformedPrincipal));
        let long = format!("{{\"auth_typ\":\"aad\",\"x\":\"{}\"}}", "x".repeat(MAX_BYTES));
        assert_eq!(judge_bytes(&policy(), long.as_bytes()), Err(Refusal::MalformedPrincipal));
        let mut headers = HeaderMap::new();
        headers.insert(PRINCIPAL_HEADER, "not base64!".parse().unwrap());
        assert_eq!(scope(&policy(), &headers), Err(Refusal::MalformedPrincipal));
        let encoded = STANDARD.encode(claims(&[OID]).to_string());
        headers.insert(PRINCIPAL_HEADER, encoded.parse().unwrap());
        headers.append(PRINCIPAL_HEADER, encoded.parse().unwrap());
        assert_eq!(scope(&policy(), &headers), Err(Refusal::MalformedPrincipal));
    }

    #[test]
    fn a_principal_must_be_of_the_tenant_for_the_audience_and_of_a_known_client() {
        let clients = EntraAuth { allowed_client_ids: vec!["known".to_owned()], ..policy() };
        let tenant = EntraAuth { tenant_id: Some("other".to_owned()), ..policy() };
        let audience = EntraAuth { allowed_audiences: vec!["other".to_owned()], ..policy() };
        let role = EntraAuth { required_roles: vec!["Agent.Invoke".to_owned()], ..policy() };
        let scoped = EntraAuth { required_scopes: vec!["Agent.Invoke".to_owned()], ..policy() };
        let scope_claim = ("http://schemas.microsoft.com/identity/claims/scope", "other Agent.Invoke");
        let good = Ok(Some("entra:tenant:object".to_owned()));
        for (policy, document, expected) in [
            (&tenant, claims(&[OID]), Err(Refusal::PrincipalTenant)),
            (&audience, claims(&[OID]), Err(Refusal::PrincipalAudience)),
            (&clients, claims(&[OID]), Err(Refusal::WrongClient)),
            (&clients, claims(&[OID, ("azp", "known")]), good.clone()),
            (&role, claims(&[OID]), Err(Refusal::MissingPermission)),
            (&role, claims(&[OID, ("roles", "Agent.Invoke")]), good.clone()),
            (&scoped, claims(&[OID, ("scp", "Agent.InvokeAll")]), Err(Refusal::MissingPermission)),
            (&scoped, claims(&[OID, scope_claim]), good),
        ] {
            assert_eq!(judge(policy, &document), expected, "{document}");
        }
    }
}
