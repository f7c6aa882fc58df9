//! Which callers get in, and as whom.

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::config::Environment;
use crate::http::HttpClient;

const KEY: &str = "0123456789abcdef-ci";
const MASTER: &str = "0123456789abcdef-master";

fn ring() -> Arc<KeyRing> {
    Arc::new(KeyRing::parse(&format!("ci={KEY}, _master={MASTER}")).unwrap())
}

const HOST_CHECKS: HostTraits = HostTraits {
    checks_keys: true,
    sets_invocation_id: true,
    forwards_host: true,
    checks_authority: true,
    vouches_for_principals: false,
    development: false,
};
const WE_CHECK: HostTraits = HostTraits {
    checks_keys: false,
    sets_invocation_id: false,
    forwards_host: false,
    checks_authority: true,
    vouches_for_principals: false,
    development: false,
};

fn authenticate(host: HostTraits, mode: AuthMode, header: Option<&str>, uri: &str) -> Result<String, Refusal> {
    let mut headers = HeaderMap::new();
    if let Some(value) = header {
        headers.insert(KEY_HEADER, value.parse().unwrap());
    }
    let auth = HttpAuth { mode, entra: None };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let http = HttpClient::from_env(&Environment::default());
    let entra = Entra::new([], &AuthorityHost::parse(None).unwrap(), &http, &clock, false);
    let authenticator = Authenticator::new(host, ring(), Arc::new(entra));
    let caller = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(authenticator.authenticate(
        &auth,
        &headers,
        &uri.parse().unwrap(),
    ));
    caller.map(|caller| caller.scope().to_owned())
}

#[test]
fn our_own_ring_opens_agents_by_level() {
    let wrong = "0123456789abcdef-no";
    let by_query = format!("/?code={KEY}");
    for (mode, header, uri, expected) in [
        (AuthMode::Function, Some(KEY), "/", Ok("key:ci")),
        (AuthMode::Function, Some(MASTER), "/", Ok("admin")),
        (AuthMode::Function, None, by_query.as_str(), Ok("key:ci")),
        (AuthMode::Function, Some(wrong), by_query.as_str(), Err(Refusal::WrongKey)),
        (AuthMode::Function, Some(""), by_query.as_str(), Err(Refusal::NoKey)),
        (AuthMode::Function, None, "/", Err(Refusal::NoKey)),
        (AuthMode::Anonymous, None, "/", Ok("anonymous")),
        (AuthMode::Entra, Some(MASTER), "/", Err(Refusal::NotConfigured)),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(authenticate(WE_CHECK, mode, header, uri), expected, "{mode:?} {header:?} {uri}");
    }
}

#[test]
fn c054_admin_mode_takes_the_master_key_only() {
    for (key, expected) in [(KEY, Err(Refusal::WrongKey)), (MASTER, Ok("admin".to_owned()))] {
        assert_eq!(authenticate(WE_CHECK, AuthMode::Admin, Some(key), "/"), expected);
    }
}

#[test]
fn behind_a_host_that_checks_keys_two_unknown_keys_are_two_callers() {
    let of = |key| authenticate(HOST_CHECKS, AuthMode::Function, Some(key), "/").unwrap();
    let (a, b) = (of("host-key-one"), of("host-key-two"));
    assert_ne!(a, b);
    assert_eq!(a, of("host-key-one"));
    assert!(a.starts_with("key:") && !a.contains("host-key"), "{a}");
    assert_eq!(of(KEY), "key:ci");
}

#[test]
fn a_missing_key_behind_a_host_is_let_in_under_developer_tools_only() {
    assert_eq!(authenticate(HOST_CHECKS, AuthMode::Function, None, "/"), Err(Refusal::NoKey));
    let development = HostTraits { development: true, ..HOST_CHECKS };
    assert_eq!(authenticate(development, AuthMode::Function, None, "/").unwrap(), "key:development");
    let exposed = HostTraits { development: true, ..WE_CHECK };
    assert_eq!(authenticate(exposed, AuthMode::Function, None, "/"), Err(Refusal::NoKey));
}

#[test]
fn faults_in_the_ring_are_named_without_repeating_a_key() {
    for (text, expected) in [
        ("ci", KeyRingError::Shape(1)),
        ("=0123456789abcdef", KeyRingError::Name(1)),
        ("a=0123456789abcdef a=0123456789abcdeg", KeyRingError::Twice("a".into())),
        ("a=short", KeyRingError::Short(1)),
        ("a=0123456789abcdef;b=sha256:12", KeyRingError::Hash(2)),
    ] {
        assert_eq!(KeyRing::parse(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_hashed_entry_opens_for_the_key_behind_it() {
    let hash = sha256_hex(KEY);
    let ring = KeyRing::parse(&format!("ci=sha256:{hash}")).unwrap();
    assert_eq!(ring.find(KEY.as_bytes()), Some(("ci", Level::Function)));
    assert_eq!(ring.find(hash.as_bytes()), None);
}

fn sha256_hex(text: &str) -> String {
    use sha2::Digest as _;
    HEXLOWER.encode(&Sha256::digest(text))
}
