//! Which names a request may call us by (`Host`), and which pages may send it (`Origin`).
//!
//! The first stops a foreign name that was pointed at a local port (DNS rebinding); the second stops a web page from
//! driving an agent with a visitor's cookies. Both are checked before anything else about a request.

use std::collections::HashSet;
use std::net::IpAddr;

use http::header::{ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use url::Url;

const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, x-functions-key, a2a-version, a2a-extensions, idempotency-key, if-none-match, \
     if-modified-since",
);
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("etag, last-modified, retry-after, www-authenticate, a2a-extensions");
/// How long a browser may remember a preflight, in seconds.
const PREFLIGHT_MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// A fault in the lists of names and origins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// An entry of `A2A_ALLOWED_HOSTS` is not a host name.
    #[error("A2A_ALLOWED_HOSTS: {0:?} is not a host name; give names or addresses without scheme, port or path")]
    Host(String),
    /// An entry of `A2A_ALLOWED_ORIGINS` is not an origin.
    #[error("A2A_ALLOWED_ORIGINS: {0:?} is not an origin; give scheme and host, such as https://console.example.com")]
    Origin(String),
}

/// Why a request was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misdirected {
    /// `Host` is missing, stands twice or cannot be read.
    BadHost,
    /// The name is none of ours.
    ForeignHost,
    /// The page that sent it is not listed.
    ForeignOrigin,
}

impl Misdirected {
    /// Status and text of the answer.
    pub fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::BadHost => (StatusCode::BAD_REQUEST, "The request needs exactly one valid Host header."),
            Self::ForeignHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "This host name is not served here. List it in A2A_ALLOWED_HOSTS if it should be.",
            ),
            Self::ForeignOrigin => (
                StatusCode::FORBIDDEN,
                "Pages of this origin may not call this server. List it in A2A_ALLOWED_ORIGINS if they should.",
            ),
        }
    }
}

/// The names and origins that are ours.
#[derive(Debug, Clone)]
pub struct Authorities {
    check_hosts: bool,
    forwarded: bool,
    hosts: HashSet<String>,
    origins: HashSet<String>,
}

impl Authorities {
    /// Takes the names of `public_urls` (the cards' addresses) and the entries of two comma-separated lists.
    ///
    /// `check_hosts` is off where the platform routes by host name; `forwarded` says that the host sets
    /// `X-Forwarded-Host` itself.
    pub fn new<'a>(
        public_urls: impl IntoIterator<Item = &'a str>,
        extra_hosts: &str,
        extra_origins: &str,
        check_hosts: bool,
        forwarded: bool,
    ) -> Result<Self, AuthorityError> {
        let mut hosts = HashSet::new();
        let mut origins = HashSet::new();
        for url in public_urls.into_iter().filter_map(|url| Url::parse(url).ok()) {
            hosts.extend(url.host_str().map(normal_host));
            origins.insert(url.origin().ascii_serialization());
        }
        for entry in entries(extra_hosts) {
            let url = Url::parse(&format!("http://{entry}/")).ok();
            let host = url.as_ref().filter(|url| url.port().is_none() && url.path() == "/").and_then(Url::host_str);
            let whole = host.is_some_and(|host| normal_host(host) == normal_host(entry) || !entry.is_ascii());
            match host {
                Some(host) if whole => hosts.insert(normal_host(host)),
                _ => return Err(AuthorityError::Host(entry.to_owned())),
            };
        }
        for entry in entries(extra_origins) {
            let origin = Url::parse(entry).ok().filter(|url| url.host_str().is_some() && url.path() == "/");
            match origin {
                Some(url) if url.query().is_none() && url.fragment().is_none() && url.username().is_empty() => {
                    origins.insert(url.origin().ascii_serialization())
                }
                _ => return Err(AuthorityError::Origin(entry.to_owned())),
            };
        }
        Ok(Self { check_hosts, forwarded, hosts, origins })
    }

    /// Judges a request; the origin that passed is handed back, for [`Authorities::share`].
    pub fn admit<B>(&self, request: &Request<B>) -> Result<Option<HeaderValue>, Misdirected> {
        if self.check_hosts {
            self.check_host(request)?;
        }
        let mut origins = request.headers().get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(None) };
        let known = origin.to_str().is_ok_and(|origin| self.origins.contains(origin));
        if known && origins.next().is_none() { Ok(Some(origin.clone())) } else { Err(Misdirected::ForeignOrigin) }
    }

    fn check_host<B>(&self, request: &Request<B>) -> Result<(), Misdirected> {
        let mut named = request.headers().get_all(HOST).iter();
        let host = named.next().ok_or(Misdirected::BadHost)?;
        if named.next().is_some() {
            return Err(Misdirected::BadHost);
        }
        self.check_name(host.to_str().map_err(|_| Misdirected::BadHost)?)?;
        if let Some(authority) = request.uri().authority() {
            self.check_name(authority.as_str())?;
        }
        if self.forwarded {
            for name in request.headers().get_all(X_FORWARDED_HOST) {
                self.check_name(name.to_str().map_err(|_| Misdirected::BadHost)?)?;
            }
        }
        Ok(())
    }

    fn check_name(&self, authority: &str) -> Result<(), Misdirected> {
        if authority.contains('@') {
            return Err(Misdirected::BadHost);
        }
        let authority: http::uri::Authority = authority.parse().map_err(|_| Misdirected::BadHost)?;
        let host = normal_host(authority.host());
        if is_loopback(&host) || self.hosts.contains(&host) { Ok(()) } else { Err(Misdirected::ForeignHost) }
    }

    /// The answer to a preflight of an origin that passed; `None` when the request is not a preflight.
    pub fn preflight<R: Default>(request: &Parts, origin: Option<&HeaderValue>) -> Option<Response<R>> {
        let is_preflight =
            request.method == Method::OPTIONS && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        origin.filter(|_| is_preflight)?;
        let mut response = Response::new(R::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert("access-control-allow-methods", ALLOWED_METHODS);
        headers.insert("access-control-allow-headers", ALLOWED_HEADERS);
        headers.insert("access-control-max-age", PREFLIGHT_MAX_AGE);
        Some(response)
    }

    /// Lets pages of `origin` read an answer.
    pub fn share(headers: &mut HeaderMap, origin: HeaderValue) {
        headers.insert("access-control-allow-origin", origin);
        headers.insert("access-control-expose-headers", EXPOSED_HEADERS);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn normal_host(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorities(forwarded: bool) -> Authorities {
        let urls = ["https://gw.example.com/a2a/x"];
        Authorities::new(urls, "app.azurewebsites.net, [fd00::1]", "https://console.example.com", true, forwarded)
            .unwrap()
    }

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().uri("/agents/main/a2a");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn c138_foreign_hosts_are_turned_away() {
        for (host, expected) in [
            ("gw.example.com", Ok(())),
            ("GW.example.com.:443", Ok(())),
            ("127.0.0.1:7071", Ok(())),
            ("localhost:7071", Ok(())),
            ("[::1]:7071", Ok(())),
            ("[fd00::1]", Ok(())),
            ("app.azurewebsites.net", Ok(())),
            ("evil.example", Err(Misdirected::ForeignHost)),
            ("gw.example.com.evil.example", Err(Misdirected::ForeignHost)),
            ("127.0.0.1.evil.example", Err(Misdirected::ForeignHost)),
            ("user@gw.example.com", Err(Misdirected::BadHost)),
            ("gw.example.com/x", Err(Misdirected::BadHost)),
            ("", Err(Misdirected::BadHost)),
        ] {
            assert_eq!(authorities(false).admit(&request(&[("host", host)])).map(drop), expected, "{host}");
        }
    }

    #[test]
    fn a_request_names_one_host_exactly() {
        assert_eq!(authorities(false).admit(&request(&[])), Err(Misdirected::BadHost));
        let twice = request(&[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(authorities(false).admit(&twice), Err(Misdirected::BadHost));
    }

    #[test]
    fn the_forwarded_host_counts_only_where_the_host_sets_it() {
        let request = request(&[("host", "127.0.0.1:9"), ("x-forwarded-host", "evil.example")]);
        assert_eq!(authorities(true).admit(&request), Err(Misdirected::ForeignHost));
        assert_eq!(authorities(false).admit(&request), Ok(None));
    }

    #[test]
    fn an_absolute_target_is_judged_like_a_host() {
        let mut request = request(&[("host", "localhost")]);
        *request.uri_mut() = "http://evil.example/agents/main/a2a".parse().unwrap();
        assert_eq!(authorities(false).admit(&request), Err(Misdirected::ForeignHost));
    }

    #[test]
    fn c138_origins_are_denied_unless_listed() {
        for (origins, expected) in [
            (&["https://gw.example.com"][..], true),
            (&["https://console.example.com"], true),
            (&["https://evil.example"], false),
            (&["http://gw.example.com"], false),
            (&["null"], false),
            (&["https://gw.example.com", "https://gw.example.com"], false),
        ] {
            let mut headers = vec![("host", "localhost")];
            headers.extend(origins.iter().map(|origin| ("origin", *origin)));
            assert_eq!(authorities(false).admit(&request(&headers)).is_ok(), expected, "{origins:?}");
        }
    }

    #[test]
    fn entries_that_are_no_names_are_refused() {
        for hosts in ["https://x.example", "x.example:80", "x.example/path", "a b"] {
            let result = Authorities::new([], hosts, "", true, false);
            assert_eq!(result.unwrap_err(), AuthorityError::Host(hosts.to_owned()));
        }
        for origins in ["console.example.com", "https://x.example/path", "null"] {
            let result = Authorities::new([], "", origins, true, false);
            assert_eq!(result.unwrap_err(), AuthorityError::Origin(origins.to_owned()));
        }
    }
}
