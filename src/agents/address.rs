//! The rules for the public address of an A2A endpoint.

use url::{Host, Url};

/// The longest address that is accepted, in bytes.
const MAX_LENGTH: usize = 2048;

/// A rule that an address breaks, and the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// What is wrong.
    pub message: &'static str,
    /// What to do.
    pub help: &'static str,
    /// The address may hold a secret and must not be repeated.
    pub secret: bool,
}

const fn fault(message: &'static str, help: &'static str) -> Fault {
    Fault { message, help, secret: false }
}

const LENGTH: Fault = fault("the address is longer than 2048 bytes", "shorten it");
const CHARACTERS: Fault = fault(
    "the address holds a character that no address may hold as it stands",
    "use ASCII without spaces and backslashes; encode other characters",
);
const NOT_ABSOLUTE: Fault = fault(
    "this is not an absolute address",
    "write the full address, such as `https://example.com/agents/my_agent/a2a`",
);
const SCHEME: Fault = fault(
    "the address must begin with `https://`; `http://` is allowed on a loopback host only",
    "use https, or `http://localhost:7071/…` for a local run",
);
const HOST: Fault =
    fault("the host of the address is not a host name", "check the host, and that every variable in it is set");
const PATH: Fault = fault(
    "the path of the address is not what clients would make of it",
    "encode what a path may not hold, with two hexadecimal digits after each `%`, and leave out `.` and `..` segments",
);
const CREDENTIALS: Fault = Fault {
    message: "the address holds a user name or a password, and the card would publish it",
    help: "remove everything between `//` and `@`; callers authenticate as `http_auth` says",
    secret: true,
};
const QUERY: Fault = Fault {
    message: "the address has a query, and the card would publish it",
    help: "remove the `?` and what follows; a key does not belong on the card",
    secret: true,
};
const FRAGMENT: Fault = fault("the address has a fragment", "remove the `#` and what follows");

/// Parses an address that the card will publish as it stands. Any path is accepted: gateways rewrite paths.
///
/// # Errors
/// Every rule that it breaks.
pub(super) fn parse(text: &str) -> Result<Url, Vec<Fault>> {
    if text.len() > MAX_LENGTH {
        return Err(vec![LENGTH]);
    }
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    if !text.chars().all(plain) {
        return Err(vec![CHARACTERS]);
    }
    let Some((_, after_scheme)) = text.split_once("://") else {
        return Err(vec![NOT_ABSOLUTE]);
    };
    let Ok(url) = Url::parse(text) else {
        return Err(vec![NOT_ABSOLUTE]);
    };
    let authority = after_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let path = after_scheme[authority.len()..].split(['?', '#']).next().unwrap_or_default();
    let rules = [
        (scheme_is_allowed(&url), SCHEME),
        (host_is_plain(&url) && host_is_as_written(&url, authority), HOST),
        // Without a host nobody knows where the path begins.
        (authority.is_empty() || path_is_as_written(&url, path), PATH),
        (!authority.contains('@'), CREDENTIALS),
        (url.query().is_none(), QUERY),
        (url.fragment().is_none(), FRAGMENT),
    ];
    let broken: Vec<_> = rules.into_iter().filter_map(|(holds, fault)| (!holds).then_some(fault)).collect();
    if broken.is_empty() { Ok(url) } else { Err(broken) }
}

fn scheme_is_allowed(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => match url.host() {
            Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        },
        _ => false,
    }
}

/// The parser accepts signs in a host that no name has, such as the `$` of a variable that is not set.
fn host_is_plain(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_')),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

/// Parsers of browsers take `https:///host`, `https://0x7f.1` and `https://%61` and make other hosts of them; others do not.
fn host_is_as_written(url: &Url, authority: &str) -> bool {
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    let after_host = host_and_port.get(..host.len()).filter(|written| written.eq_ignore_ascii_case(host));
    let Some(port) = after_host.map(|written| &host_and_port[written.len()..]) else { return false };
    port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A path of RFC 3986 that no parser changes.
fn path_is_as_written(url: &Url, path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
    let is_escape =
        |text: &[u8]| matches!(text, [b'%', high, low, ..] if [high, low].iter().all(|it| it.is_ascii_hexdigit()));
    let bytes = path.as_bytes();
    let is_valid = (0..bytes.len()).all(|at| is_plain(bytes[at]) || is_escape(&bytes[at..]));
    is_valid && (url.path() == path || (path.is_empty() && url.path() == "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_keep_the_rules_are_accepted_with_any_path() {
        let cases = [
            "https://example.com/agents/main/a2a",
            "https://example.com/agents/main/a2a/",
            "https://gateway.example.com:8443/ops/triage",
            "https://example.com",
            "HTTPS://Example.COM/a2a",
            "http://localhost:7071/agents/main/a2a",
            "http://LOCALHOST/agents/main/a2a",
            "http://127.0.0.1:7071/api/agents/main/a2a",
            "http://127.9.9.9/x",
            "http://[::1]:7071/agents/main/a2a/",
            "https://10.0.0.1/x",
            "https://example.com:443/x",
            "https://example.com/a%20b/%C3%A9//c;d=1/:e@f",
        ];
        for text in cases {
            assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn addresses_that_break_a_rule_name_it() {
        let long = format!("https://example.com/{}", "a".repeat(2048));
        let cases: [(&str, &[Fault]); 34] = [
            ("http://example.com/a2a", &[SCHEME]),
            ("http://localhost.example.com/a2a", &[SCHEME]),
            ("http://10.0.0.1/a2a", &[SCHEME]),
            ("http://[::2]/a2a", &[SCHEME]),
            ("http://0.0.0.0/a2a", &[SCHEME]),
            ("ftp://example.com/a2a", &[SCHEME]),
            ("https://user:pw@example.com/a2a", &[CREDENTIALS]),
            ("https://@example.com/a2a", &[CREDENTIALS]),
            ("https://example.com/a2a?token=x", &[QUERY]),
            ("https://example.com/a2a?", &[QUERY]),
            ("https://example.com/a2a#top", &[FRAGMENT]),
            ("http://u@example.com/?q#f", &[SCHEME, CREDENTIALS, QUERY, FRAGMENT]),
            ("https://$HOST/a2a", &[HOST]),
            ("/agents/main/a2a", &[NOT_ABSOLUTE]),
            ("https:example.com/a2a", &[NOT_ABSOLUTE]),
            ("https://example.com:99999/a2a", &[NOT_ABSOLUTE]),
            ("https://exa mple.com/a2a", &[CHARACTERS]),
            ("https://example.com\\a2a", &[CHARACTERS]),
            ("https:///example.com/x", &[HOST]),
            ("https:////example.com/x", &[HOST]),
            ("https://0x7f.1/x", &[HOST]),
            ("https://127.1/x", &[HOST]),
            ("https://%65xample.com/x", &[HOST]),
            ("https://[0:0::1]/x", &[HOST]),
            ("https://example.com/%", &[PATH]),
            ("https://example.com/%2", &[PATH]),
            ("https://example.com/%zz", &[PATH]),
            ("https://example.com/a/../b", &[PATH]),
            ("https://example.com/a/%2E%2e/b", &[PATH]),
            ("https://example.com/./a2a", &[PATH]),
            ("https://example.com/{slug}/a2a", &[PATH]),
            ("https://example.com/a|b", &[PATH]),
            ("https://u:p@127.1/%?q", &[HOST, PATH, CREDENTIALS, QUERY]),
            (&long, &[LENGTH]),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn a_path_may_hold_an_at_sign() {
        assert!(parse("https://example.com/@ops/a2a").is_ok());
    }
}
