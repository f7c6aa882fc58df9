//! A commit happens as a whole or not at all.

use std::future::poll_fn;
use std::task::Poll;

use a2a_functions::store::{Op, RowRange};

use crate::bench::{Bench, assert_conflict, check, delete, insert, replace, upsert};

super::contracts![
    all_steps_of_a_commit_happen_together,
    one_refused_step_undoes_all_others,
    a_conflict_names_the_step_wherever_it_stands,
    versions_come_back_in_the_order_of_the_steps,
    a_commit_of_one_hundred_steps_is_still_atomic,
    a_dropped_commit_happens_as_a_whole_or_not_at_all,
];

async fn all_steps_of_a_commit_happen_together(bench: Bench) {
    let replaced = bench.put(insert("replaced", "1")).await;
    let deleted = bench.put(insert("deleted", "1")).await;
    let checked = bench.put(insert("checked", "1")).await;
    let ops = [
        insert("inserted", "2"),
        replace("replaced", "2", &replaced),
        upsert("upserted", "2"),
        delete("deleted", &deleted),
        check("checked", &checked),
    ];
    bench.commit(&ops).await.expect("every step is allowed");
    for (key, value) in [
        ("inserted", Some("2")),
        ("replaced", Some("2")),
        ("upserted", Some("2")),
        ("deleted", None),
        ("checked", Some("1")),
    ] {
        assert_eq!(bench.text(key).await.as_deref(), value, "{key}");
    }
}

async fn one_refused_step_undoes_all_others(bench: Bench) {
    let replaced = bench.put(insert("replaced", "1")).await;
    let deleted = bench.put(insert("deleted", "1")).await;
    bench.put(insert("taken", "1")).await;
    bench.put(insert("upserted", "1")).await;
    let ops = [
        insert("inserted", "2"),
        replace("replaced", "2", &replaced),
        upsert("upserted", "2"),
        delete("deleted", &deleted),
        insert("taken", "2"),
    ];
    assert_conflict(bench.commit(&ops).await, 4);
    for (key, value) in [
        ("inserted", None),
        ("replaced", Some("1")),
        ("upserted", Some("1")),
        ("deleted", Some("1")),
        ("taken", Some("1")),
    ] {
        assert_eq!(bench.text(key).await.as_deref(), value, "{key}");
    }
    assert_eq!(bench.get("replaced").await.map(|record| record.etag), Some(replaced), "not even its version changed");
}

async fn a_conflict_names_the_step_wherever_it_stands(bench: Bench) {
    let stale = bench.stale_etag("taken").await;
    let refused: [fn(&a2a_functions::store::Etag) -> Op; 4] = [
        |_| insert("taken", "x"),
        |stale| replace("taken", "x", stale),
        |stale| delete("taken", stale),
        |stale| check("taken", stale),
    ];
    for refused in refused {
        for index in 0..3 {
            let mut ops = vec![insert("a", "1"), insert("b", "1")];
            ops.insert(index, refused(&stale));
            assert_conflict(bench.commit(&ops).await, index);
        }
    }
    assert_eq!(bench.rows(&RowRange::default(), 10).await, ["taken"]);
}

async fn versions_come_back_in_the_order_of_the_steps(bench: Bench) {
    let gone = bench.put(insert("gone", "1")).await;
    let etags = bench.commit(&[insert("z", "1"), delete("gone", &gone), upsert("a", "1")]).await.expect("allowed");
    assert_eq!(etags.len(), 3);
    assert_eq!(etags[0], bench.get("z").await.map(|record| record.etag));
    assert_eq!(etags[1], None);
    assert_eq!(etags[2], bench.get("a").await.map(|record| record.etag));
}

async fn a_commit_of_one_hundred_steps_is_still_atomic(bench: Bench) {
    bench.put(insert("r99", "taken")).await;
    let ops: Vec<Op> = (0..100).map(|index| insert(&format!("r{index:02}"), "1")).collect();
    assert_conflict(bench.commit(&ops).await, 99);
    assert_eq!(bench.rows(&RowRange::default(), 1000).await, ["r99"]);
}

async fn a_dropped_commit_happens_as_a_whole_or_not_at_all(bench: Bench) {
    for round in 0..20 {
        let ops: Vec<Op> = (0..10).map(|index| insert(&format!("r{round}-{index}"), "1")).collect();
        let mut commit = Box::pin(bench.commit(&ops));
        // Polled a few times, so that it stops at different points of its way.
        for _ in 0..round {
            let done = poll_fn(|context| Poll::Ready(commit.as_mut().poll(context).is_ready())).await;
            if done {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(commit);
        let seen = bench.rows(&crate::bench::range(&format!("r{round}-"), &format!("r{round}_")), 100).await.len();
        assert!(seen == 0 || seen == 10, "{seen} of 10 steps happened");
    }
}
