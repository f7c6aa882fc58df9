//! A turn of a conversation, as the rules of contexts write it on top of a back end.

use std::sync::Arc;
use std::time::Duration;

use a2a_functions::context::{Acquired, CompletedTurn, Conversation, LeaseTimes, StoredReply, TurnKey, session_id};
use a2a_functions::store::Store;
use a2a_functions::store::observed::{ObservedStore, StoreCalls};

use crate::bench::Bench;

super::contracts![
    a_turn_takes_three_round_trips_whatever_its_history,
    c048_of_two_claims_of_one_context_exactly_one_wins,
];

const TIMES: LeaseTimes =
    LeaseTimes { duration: Duration::from_secs(15), retention: Duration::from_secs(24 * 60 * 60) };

/// The context `name` as a process sees it through `store`.
pub(crate) fn conversation(bench: &Bench, store: Arc<dyn Store>, name: &str) -> Conversation {
    let session = session_id("key:one", "main", name);
    Conversation::new(store, bench.clock.clone(), TIMES, &session).expect("a session id is a legal key")
}

/// Looks, takes the context and records a turn; answers how many turns were there before.
pub(crate) async fn turn(conversation: &Conversation, number: usize) -> usize {
    let look = conversation.look().await.expect("the store answers");
    let Acquired::Lease(mut lease) = conversation.acquire(look, &format!("owner-{number}")).await.expect("answers")
    else {
        panic!("nobody else wants the context");
    };
    let before = lease.take_history().len();
    let key = TurnKey { message_id: format!("m{number}"), payload_hash: [7; 32] };
    let reply = StoredReply { message_id: format!("r{number}"), text: "x".repeat(10_000) };
    let done = CompletedTurn { key, prompt: "hello".to_owned(), reply };
    lease.commit(done).await.expect("the context is ours");
    before
}

async fn a_turn_takes_three_round_trips_whatever_its_history(bench: Bench) {
    let store = Arc::new(ObservedStore::new(bench.open_again()));
    let conversation = conversation(&bench, store.clone(), "ctx");
    // Long enough for old turns to be removed on the way.
    for number in 0..120 {
        let before = store.calls();
        turn(&conversation, number).await;
        assert_eq!(store.calls().since(before), StoreCalls { gets: 0, scans: 1, commits: 2 }, "turn {number}");
    }
    assert!(turn(&conversation, 120).await < 120, "old turns are removed");
}

async fn c048_of_two_claims_of_one_context_exactly_one_wins(bench: Bench) {
    let [one, two] = [bench.open_again(), bench.open_again()].map(|store| conversation(&bench, store, "ctx"));
    // The first claim creates the rows, the second takes what was given back, and the third what a dead owner held.
    for round in ["absent", "released", "lapsed"] {
        let looks = (one.look().await.expect("answers"), two.look().await.expect("answers"));
        let (first, second) = (format!("{round} one"), format!("{round} two"));
        let (first, second) = tokio::join!(one.acquire(looks.0, &first), two.acquire(looks.1, &second));
        let claims = [first.expect("the store answers"), second.expect("the store answers")];
        let mut leases = Vec::new();
        for claim in claims {
            if let Acquired::Lease(lease) = claim {
                leases.push(lease);
            }
        }
        assert_eq!(leases.len(), 1, "{round}");
        if round == "absent" {
            leases.remove(0).release().await.expect("the context is ours");
        } else {
            bench.clock.advance(TIMES.duration + Duration::from_secs(1));
        }
    }
}
