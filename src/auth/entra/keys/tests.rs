//! When key sets are asked for, and how long they are good for.

use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;

use super::*;

#[derive(Debug, Default)]
struct Hands(AtomicU64);

impl Hands {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + self.0.load(Ordering::SeqCst))
    }
}

/// An issuer that publishes these key ids, or is out of reach.
#[derive(Debug, Clone, Default)]
struct Issuer(Arc<IssuerState>);

#[derive(Debug, Default)]
struct IssuerState {
    published: StdMutex<Option<Vec<&'static str>>>,
    asked: AtomicUsize,
}

impl Issuer {
    fn publish(&self, ids: &[&'static str]) {
        *self.0.published.lock().unwrap() = Some(ids.to_vec());
    }

    fn go_down(&self) {
        *self.0.published.lock().unwrap() = None;
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Fetch for Issuer {
    async fn fetch(&self) -> Result<Published, FetchError> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let ids = self.0.published.lock().unwrap().clone().ok_or_else(|| FetchError("down".to_owned()))?;
        let keys = ids.iter().map(|id| (jwk(&json!({ "kid": id })), None)).collect();
        Ok(Published { issuer: "issuer".to_owned(), keys })
    }
}

/// A key of the curve P-256 (RFC 7517 appendix A.1) with further members.
fn jwk(members: &serde_json::Value) -> Jwk {
    let mut key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    });
    key.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    serde_json::from_value(key).unwrap()
}

fn keys(ids: &[&'static str]) -> (Issuer, Arc<Hands>, Keys) {
    let (issuer, clock) = (Issuer::default(), Arc::new(Hands::default()));
    issuer.publish(ids);
    let keys = Keys::new(Box::new(issuer.clone()), clock.clone());
    (issuer, clock, keys)
}

async fn find(keys: &Keys, id: &str) -> Result<(), Refusal> {
    keys.with(id).await.map(drop)
}

#[tokio::test]
async fn many_callers_at_a_time_ask_once() {
    let (issuer, _, keys) = keys(&["k1"]);
    let found = futures::future::join_all((0..20).map(|_| find(&keys, "k1"))).await;
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn c063_a_new_key_is_found_by_the_request_that_brings_it() {
    let (issuer, clock, keys) = keys(&["k1"]);
    find(&keys, "k1").await.unwrap();
    issuer.publish(&["k1", "k2"]);
    clock.advance(INTERVAL);
    find(&keys, "k2").await.unwrap();
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn names_that_callers_make_up_do_not_lead_to_a_request_each() {
    let (issuer, clock, keys) = keys(&["k1"]);
    for name in 0..50 {
        assert_eq!(find(&keys, &format!("made up {name}")).await, Err(Refusal::UnknownKey));
    }
    assert_eq!(issuer.asked(), 1);
    clock.advance(INTERVAL);
    assert_eq!(find(&keys, "made up").await, Err(Refusal::UnknownKey));
    assert_eq!(issuer.asked(), 2);
    find(&keys, "k1").await.unwrap();
}

#[tokio::test]
async fn c063_an_outage_of_the_issuer_is_bridged_for_a_day() {
    let (issuer, clock, keys) = keys(&["k1"]);
    find(&keys, "k1").await.unwrap();
    issuer.go_down();
    clock.advance(FRESH);
    find(&keys, "k1").await.unwrap();
    assert_eq!(issuer.asked(), 2, "an old set is due for a look");
    clock.advance(USABLE.saturating_sub(FRESH + Duration::from_secs(1)));
    find(&keys, "k1").await.unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(find(&keys, "k1").await, Err(Refusal::KeysUnavailable));
    issuer.publish(&["k1"]);
    clock.advance(INTERVAL);
    find(&keys, "k1").await.unwrap();
}

#[tokio::test]
async fn a_withdrawn_key_is_gone_with_the_next_look() {
    let (issuer, clock, keys) = keys(&["k1", "k2"]);
    find(&keys, "k1").await.unwrap();
    issuer.publish(&["k2"]);
    clock.advance(FRESH);
    assert_eq!(find(&keys, "k1").await, Err(Refusal::UnknownKey));
}

#[tokio::test]
async fn an_issuer_that_was_never_reached_is_asked_again_after_a_while() {
    let (issuer, clock, keys) = keys(&[]);
    issuer.go_down();
    for _ in 0..10 {
        assert_eq!(find(&keys, "k1").await, Err(Refusal::KeysUnavailable));
    }
    assert_eq!(issuer.asked(), 1);
    issuer.publish(&["k1"]);
    clock.advance(INTERVAL);
    find(&keys, "k1").await.unwrap();
}

#[test]
fn only_keys_for_signatures_with_an_id_are_kept() {
    for (members, kept) in [
        (json!({ "kid": "k", "use": "sig" }), true),
        (json!({ "kid": "k" }), true),
        (json!({ "kid": "k", "use": "enc" }), false),
        (json!({ "use": "sig" }), false),
        (json!({ "kid": "k", "x": "!" }), false),
    ] {
        assert_eq!(key(&jwk(&members), None).is_some(), kept, "{members}");
    }
}

#[test]
fn a_key_verifies_its_own_algorithm_for_its_own_issuer() {
    let template = Some("https://login/{tenantid}/v2.0".to_owned());
    for (members, issuer, algorithm, fits) in [
        (json!({}), None, Algorithm::ES256, true),
        (json!({}), None, Algorithm::RS256, false),
        (json!({}), None, Algorithm::HS256, false),
        (json!({ "alg": "ES256" }), None, Algorithm::ES256, true),
        (json!({ "alg": "ES384" }), None, Algorithm::ES256, false),
        (json!({}), template.clone(), Algorithm::ES256, true),
        (json!({}), Some("https://login/other/v2.0".to_owned()), Algorithm::ES256, false),
        (json!({}), Some("https://login/tenant/v2.0".to_owned()), Algorithm::ES256, true),
    ] {
        let mut members = members;
        members["kid"] = json!("k");
        let (_, key) = key(&jwk(&members), issuer.clone()).unwrap();
        assert_eq!(key.is_for(algorithm, "https://login/tenant/v2.0", "tenant"), fits, "{members} {issuer:?}");
    }
}
