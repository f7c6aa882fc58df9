//! From a request to the agent and the binding that answer it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};

use super::authority::Authorities;
use super::log::RequestLog;
use crate::agents::card::ServedCard;
use crate::auth::Authenticator;
use crate::binding::{card, jsonrpc};
use crate::host_traits::HostTraits;
use crate::service::{ServedAgent, Service};

const WELL_KNOWN_CARD: &str = ".well-known/agent-card.json";

/// An agent at its address.
#[derive(Debug)]
pub struct Site {
    /// The agent.
    pub agent: Arc<ServedAgent>,
    /// Its card.
    pub card: ServedCard,
}

/// All that requests are answered with. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: HostTraits,
    prefix: String,
    authorities: Authorities,
    authenticator: Authenticator,
    sites: Vec<Site>,
    service: Arc<Service>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    /// `/`: the readiness probe of the Functions host, which takes any answer.
    Probe,
    Endpoint(&'a Site),
    Card(&'a Site),
    Nothing,
}

impl Door {
    /// Serves `sites` below `prefix`, the host's route prefix without slashes at its ends.
    pub fn new(
        host: HostTraits,
        prefix: &str,
        authorities: Authorities,
        authenticator: Authenticator,
        sites: Vec<Site>,
        service: Arc<Service>,
    ) -> Self {
        let prefix = prefix.to_owned();
        Self(Arc::new(Inner { host, prefix, authorities, authenticator, sites, service }))
    }

    /// Whether an address leads anywhere.
    pub fn knows(&self, path: &str) -> bool {
        !matches!(self.0.target(path), Target::Nothing)
    }

    /// Answers one request.
    pub async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let door = &*self.0;
        let target = door.target(request.uri().path());
        if matches!(target, Target::Probe) && request.method() == Method::GET {
            return Response::new(Body::empty());
        }
        let origin = door.authorities.admit(&request);
        let (mut parts, body) = request.into_parts();
        if !door.host.vouches_for_principals {
            drop_principals(&mut parts.headers);
        }
        let log = RequestLog::open(&parts, target.slug(), door.host, &*door.service.random);
        let response = match origin {
            Err(misdirected) => {
                let (status, text) = misdirected.answer();
                plain(status, text)
            }
            Ok(origin) => {
                let mut response = match Authorities::preflight(&parts, origin.as_ref()) {
                    Some(preflight) => preflight,
                    None => door.dispatch(target, &parts, body).await,
                };
                if let Some(origin) = origin {
                    Authorities::share(response.headers_mut(), origin);
                }
                response
            }
        };
        log.close(&response);
        response
    }
}

impl Inner {
    fn target(&self, path: &str) -> Target<'_> {
        let path = path.strip_prefix('/').unwrap_or(path);
        if path.is_empty() {
            return Target::Probe;
        }
        // The domain's own card stands outside the prefix on hosts that can serve it there.
        if path == WELL_KNOWN_CARD {
            return self.only_card();
        }
        let below = match self.prefix.as_str() {
            "" => Some(path),
            prefix => path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')),
        };
        match below {
            Some(WELL_KNOWN_CARD) => self.only_card(),
            Some(below) => self.agent_target(below),
            None => Target::Nothing,
        }
    }

    fn only_card(&self) -> Target<'_> {
        match self.sites.as_slice() {
            [only] => Target::Card(only),
            _ => Target::Nothing,
        }
    }

    fn agent_target(&self, path: &str) -> Target<'_> {
        let Some((slug, rest)) = path.strip_prefix("agents/").and_then(|path| path.split_once('/')) else {
            return Target::Nothing;
        };
        let Some(site) = self.sites.iter().find(|site| site.agent.agent().slug == slug) else {
            return Target::Nothing;
        };
        match rest {
            "a2a" | "a2a/" => Target::Endpoint(site),
            WELL_KNOWN_CARD => Target::Card(site),
            // Gateways look for the card below the address that they were given.
            _ if rest.strip_prefix("a2a/") == Some(WELL_KNOWN_CARD) => Target::Card(site),
            _ => Target::Nothing,
        }
    }

    async fn dispatch(&self, target: Target<'_>, parts: &Parts, body: Body) -> Response<Body> {
        match target {
            Target::Endpoint(site) if parts.method == Method::POST => {
                let auth = &site.agent.agent().http_auth;
                let caller = self.authenticator.authenticate(auth, &parts.headers, &parts.uri).await;
                let trusts_invocation_id = self.host.sets_invocation_id;
                jsonrpc::answer(&self.service, &site.agent, caller, (parts, body), trusts_invocation_id).await
            }
            Target::Endpoint(_) => not_allowed("POST"),
            Target::Card(site) if parts.method == Method::GET || parts.method == Method::HEAD => {
                self.card(site, parts).await
            }
            Target::Card(_) => not_allowed("GET, HEAD"),
            Target::Probe => not_allowed("GET"),
            Target::Nothing => plain(StatusCode::NOT_FOUND, "There is nothing at this address."),
        }
    }

    async fn card(&self, site: &Site, parts: &Parts) -> Response<Body> {
        let auth = &site.agent.agent().http_auth;
        if let Err(refusal) = self.authenticator.authenticate(auth, &parts.headers, &parts.uri).await {
            return jsonrpc::refuse(refusal, auth);
        }
        match card::respond(&site.card, &parts.method, &parts.headers) {
            Ok(response) => response.map(Body::from),
            Err(error) => {
                tracing::error!(%error, "a card could not be served");
                plain(StatusCode::INTERNAL_SERVER_ERROR, "The card cannot be served.")
            }
        }
    }
}

impl Target<'_> {
    fn slug(&self) -> Option<&str> {
        match self {
            Self::Endpoint(site) | Self::Card(site) => Some(&site.agent.agent().slug),
            Self::Probe | Self::Nothing => None,
        }
    }
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "This address does not serve this method.");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Takes away what only the platform may say: who the caller is, and the caller's tokens for others.
fn drop_principals(headers: &mut HeaderMap) {
    let of_the_platform = |name: &&HeaderName| {
        name.as_str().starts_with("x-ms-client-principal") || name.as_str().starts_with("x-ms-token-")
    };
    let names: Vec<HeaderName> = headers.keys().filter(of_the_platform).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// An answer outside any binding.
fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let body = serde_json::json!({ "error": { "code": status.as_u16(), "message": text } });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl tower::Service<Request<Body>> for Door {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move { Ok(door.answer(request).await) })
    }
}
