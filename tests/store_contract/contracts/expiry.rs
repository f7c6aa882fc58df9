//! From its expiry on, a record is absent to every reader and every step.

use std::time::Duration;

use a2a_functions::store::{Etag, Op, RowRange};

use crate::bench::{Bench, assert_conflict, check, delete, insert, replace, upsert};

super::contracts![
    a_record_is_there_until_its_last_millisecond,
    an_expired_record_is_left_out_of_scans,
    an_insert_over_an_expired_record_wins,
    an_insert_over_an_expired_record_wins_among_other_steps,
    many_expired_records_can_be_inserted_over_at_once,
    an_upsert_over_an_expired_record_wins,
    a_replace_of_an_expired_record_loses_with_the_right_version,
    a_delete_of_an_expired_record_loses_with_the_right_version,
    a_check_of_an_expired_record_loses_with_the_right_version,
    a_rewrite_moves_the_expiry,
    a_rewrite_without_expiry_keeps_the_record,
    a_check_leaves_the_expiry_alone,
    an_expiry_in_the_past_makes_an_absent_record,
];

const LIFE: Duration = Duration::from_secs(60);
const MILLISECOND: Duration = Duration::from_millis(1);
const ALMOST: Duration = Duration::from_millis(59_999);

/// A row `a` whose life is over.
async fn expired(bench: &Bench) -> Etag {
    let etag = bench.put(Op::Insert(bench.mortal("a", "old", LIFE))).await;
    bench.clock.advance(LIFE);
    etag
}

async fn a_record_is_there_until_its_last_millisecond(bench: Bench) {
    bench.put(Op::Insert(bench.mortal("a", "1", LIFE))).await;
    bench.clock.advance(ALMOST);
    assert_eq!(bench.text("a").await.as_deref(), Some("1"));
    bench.clock.advance(MILLISECOND);
    assert_eq!(bench.get("a").await, None);
}

async fn an_expired_record_is_left_out_of_scans(bench: Bench) {
    expired(&bench).await;
    bench.put(Op::Insert(bench.mortal("b", "1", LIFE))).await;
    bench.put(insert("c", "1")).await;
    assert_eq!(bench.rows(&RowRange::default(), 10).await, ["b", "c"]);
    assert_eq!(bench.rows(&RowRange::default(), 1).await, ["b", "c"], "an expired record takes no room in a page");
}

async fn an_insert_over_an_expired_record_wins(bench: Bench) {
    expired(&bench).await;
    let etag = bench.put(insert("a", "new")).await;
    let record = bench.get("a").await.expect("the new record is there");
    assert_eq!((&record.value[..], record.etag), (&b"new"[..], etag));
    assert_conflict(bench.commit(&[insert("a", "newer")]).await, 0);
}

async fn an_insert_over_an_expired_record_wins_among_other_steps(bench: Bench) {
    expired(&bench).await;
    bench.put(insert("taken", "1")).await;
    assert_conflict(bench.commit(&[insert("a", "new"), insert("taken", "2")]).await, 1);
    assert_eq!(bench.get("a").await, None, "a refused commit does not revive what expired");
    bench.commit(&[insert("b", "1"), insert("a", "new"), insert("c", "1")]).await.expect("all rows are free");
    assert_eq!(bench.rows(&RowRange::default(), 10).await, ["a", "b", "c", "taken"]);
}

async fn many_expired_records_can_be_inserted_over_at_once(bench: Bench) {
    let key = |index| format!("r{index:02}");
    let first: Vec<Op> = (0..30).map(|index| Op::Insert(bench.mortal(&key(index), "1", LIFE))).collect();
    bench.commit(&first).await.expect("all rows are free");
    bench.clock.advance(LIFE);
    let second: Vec<Op> = (0..40).map(|index| insert(&key(index), "2")).collect();
    bench.commit(&second).await.expect("all rows are free again");
    assert_eq!(bench.rows(&RowRange::default(), 100).await.len(), 40);
}

async fn an_upsert_over_an_expired_record_wins(bench: Bench) {
    expired(&bench).await;
    bench.put(upsert("a", "new")).await;
    assert_eq!(bench.text("a").await.as_deref(), Some("new"));
}

async fn a_replace_of_an_expired_record_loses_with_the_right_version(bench: Bench) {
    let etag = expired(&bench).await;
    assert_conflict(bench.commit(&[insert("b", "1"), replace("a", "new", &etag)]).await, 1);
    assert_eq!(bench.rows(&RowRange::default(), 10).await, [""; 0]);
}

async fn a_delete_of_an_expired_record_loses_with_the_right_version(bench: Bench) {
    let etag = expired(&bench).await;
    assert_conflict(bench.commit(&[delete("a", &etag)]).await, 0);
}

async fn a_check_of_an_expired_record_loses_with_the_right_version(bench: Bench) {
    let etag = expired(&bench).await;
    assert_conflict(bench.commit(&[insert("b", "1"), check("a", &etag)]).await, 1);
    assert_eq!(bench.get("b").await, None);
}

async fn a_rewrite_moves_the_expiry(bench: Bench) {
    let etag = bench.put(Op::Insert(bench.mortal("a", "1", LIFE))).await;
    bench.clock.advance(LIFE / 2);
    bench.put(Op::Replace { write: bench.mortal("a", "2", LIFE), etag }).await;
    bench.clock.advance(ALMOST);
    assert_eq!(bench.text("a").await.as_deref(), Some("2"));
    bench.clock.advance(MILLISECOND);
    assert_eq!(bench.get("a").await, None);
}

async fn a_rewrite_without_expiry_keeps_the_record(bench: Bench) {
    let etag = bench.put(Op::Insert(bench.mortal("a", "1", LIFE))).await;
    let etag = bench.put(replace("a", "2", &etag)).await;
    bench.clock.advance(LIFE * 1000);
    assert_eq!(bench.get("a").await.map(|record| record.etag), Some(etag.clone()));
    bench.put(replace("a", "3", &etag)).await;
}

async fn a_check_leaves_the_expiry_alone(bench: Bench) {
    let etag = bench.put(Op::Insert(bench.mortal("a", "1", LIFE))).await;
    let etag = bench.put(check("a", &etag)).await;
    bench.clock.advance(LIFE);
    assert_eq!(bench.get("a").await, None);
    assert_conflict(bench.commit(&[check("a", &etag)]).await, 0);
}

async fn an_expiry_in_the_past_makes_an_absent_record(bench: Bench) {
    let past = bench.mortal("a", "1", Duration::ZERO);
    bench.commit(&[Op::Insert(past)]).await.expect("the row is free");
    assert_eq!(bench.get("a").await, None);
    bench.put(insert("a", "2")).await;
}
