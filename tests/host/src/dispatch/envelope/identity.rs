//! `Identities` of an envelope: what the host found out about the caller.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::{dispatch::Invocation, function::AuthLevel};

const LEVEL_CLAIM: &str = "http://schemas.microsoft.com/2017/07/functions/claims/authlevel";
const KEY_CLAIM: &str = "http://schemas.microsoft.com/2017/07/functions/claims/keyid";

/// The identity of the key, and the Easy Auth principal when the platform vouches for it.
pub(super) fn identities(invocation: &Invocation<'_>, headers: &HeaderMap) -> Value {
    let identity = &invocation.identity;
    let mut found = Vec::new();
    if identity.level != AuthLevel::Anonymous {
        let mut claims = vec![claim(LEVEL_CLAIM, &format!("{:?}", identity.level))];
        claims.extend(identity.key_name.as_ref().map(|name| claim(KEY_CLAIM, name)));
        found.push(serialized("WebJobsAuthLevel", &claims));
    }
    if invocation.app.environment.is_true("WEBSITE_AUTH_ENABLED") {
        found.extend(easy_auth(headers));
    }
    Value::Array(found)
}

fn easy_auth(headers: &HeaderMap) -> Option<Value> {
    let principal = STANDARD.decode(headers.get("x-ms-client-principal")?.as_bytes()).ok()?;
    let principal: Value = serde_json::from_slice(&principal).ok()?;
    let claims = principal["claims"].as_array()?;
    let claims: Vec<Value> =
        claims.iter().filter_map(|entry| Some(claim(entry["typ"].as_str()?, entry["val"].as_str()?))).collect();
    Some(serialized(principal["auth_typ"].as_str()?, &claims))
}

fn claim(kind: &str, value: &str) -> Value {
    json!({
        "Issuer": "LOCAL AUTHORITY",
        "OriginalIssuer": "LOCAL AUTHORITY",
        "Properties": {},
        "Subject": null,
        "Type": kind,
        "Value": value,
        "ValueType": "http://www.w3.org/2001/XMLSchema#string",
    })
}

fn serialized(authentication_type: &str, claims: &[Value]) -> Value {
    json!({
        "AuthenticationType": authentication_type,
        "IsAuthenticated": true,
        "Actor": null,
        "BootstrapContext": null,
        "Claims": claims,
        "Label": null,
        "Name": null,
        "NameClaimType": "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
        "RoleClaimType": "http://schemas.microsoft.com/ws/2008/06/identity/claims/role",
    })
}
