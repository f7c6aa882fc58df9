//! App Service Authentication ("Easy Auth"), as far as a handler can tell.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use serde_json::json;

/// Headers that only the platform may set while authentication is on.
const OWNED_PREFIXES: [&str; 2] = ["x-ms-client-principal", "x-ms-token-"];

/// The platform's authentication module, switched on. Without it the host passes identity headers of the client
/// through untouched, which is what makes forging them testable.
#[derive(Clone, Debug, Default)]
pub struct EasyAuth {
    /// Who a request without a known bearer token is; `None` means that anonymous requests are let in.
    pub default: Option<Principal>,
    /// Who the bearer of a token is.
    pub by_token: BTreeMap<String, Principal>,
}

/// A signed-in caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Identity provider, such as `aad`.
    pub provider: String,
    /// The caller's id, `X-MS-CLIENT-PRINCIPAL-ID`.
    pub id: String,
    /// The caller's name, `X-MS-CLIENT-PRINCIPAL-NAME`.
    pub name: String,
    /// Claims as type and value.
    pub claims: Vec<(String, String)>,
}

impl EasyAuth {
    /// Removes identity headers of the client and sets those of the platform. The bearer token stays.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        let is_owned = |name: &&HeaderName| OWNED_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix));
        let forged: Vec<HeaderName> = headers.keys().filter(is_owned).cloned().collect();
        for name in forged {
            headers.remove(name);
        }
        let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let principal = token.and_then(|token| self.by_token.get(token)).or(self.default.as_ref());
        let Some(principal) = principal else { return };
        let set = [
            ("x-ms-client-principal", principal.encoded()),
            ("x-ms-client-principal-id", principal.id.clone()),
            ("x-ms-client-principal-name", principal.name.clone()),
            ("x-ms-client-principal-idp", principal.provider.clone()),
        ];
        for (name, value) in set {
            // A value that no header can carry is left out, as no platform could send it either.
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
    }
}

impl Principal {
    fn encoded(&self) -> String {
        let claims: Vec<_> = self.claims.iter().map(|(kind, value)| json!({"typ": kind, "val": value})).collect();
        let document = json!({
            "auth_typ": self.provider,
            "name_typ": "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
            "role_typ": "http://schemas.microsoft.com/ws/2008/06/identity/claims/role",
            "claims": claims,
        });
        STANDARD.encode(document.to_string())
    }
}
