//! What each kind of step demands and does.

use a2a_functions::store::{Etag, RowRange};

use crate::bench::{Bench, assert_conflict, check, delete, insert, partition, replace, row, upsert};

super::contracts![
    an_absent_row_reads_as_none,
    an_inserted_row_is_read_back_with_the_version_of_its_commit,
    an_insert_loses_to_a_row_that_is_there,
    a_replace_with_the_version_that_was_read_wins,
    a_replace_with_a_stale_version_loses,
    a_replace_of_an_absent_row_loses,
    a_tag_that_no_store_made_loses,
    an_upsert_writes_whatever_is_there,
    a_delete_with_the_version_that_was_read_removes_the_row,
    a_delete_with_a_stale_version_loses,
    a_delete_of_an_absent_row_loses,
    a_check_changes_nothing_that_a_reader_sees,
    a_check_with_a_stale_version_loses,
    a_check_of_an_absent_row_loses,
    a_deleted_row_can_be_inserted_again,
    partitions_keep_their_rows_apart,
    records_survive_the_handle_that_wrote_them,
];

async fn an_absent_row_reads_as_none(bench: Bench) {
    assert_eq!(bench.get("a").await, None);
    bench.put(insert("b", "1")).await;
    assert_eq!(bench.get("a").await, None);
}

async fn an_inserted_row_is_read_back_with_the_version_of_its_commit(bench: Bench) {
    let etag = bench.put(insert("a", "one")).await;
    let record = bench.get("a").await.expect("the row is there");
    assert_eq!((record.row, &record.value[..], record.etag), (row("a"), &b"one"[..], etag));
}

async fn an_insert_loses_to_a_row_that_is_there(bench: Bench) {
    bench.put(insert("a", "first")).await;
    assert_conflict(bench.commit(&[insert("a", "second")]).await, 0);
    assert_eq!(bench.text("a").await.as_deref(), Some("first"));
}

async fn a_replace_with_the_version_that_was_read_wins(bench: Bench) {
    let first = bench.put(insert("a", "1")).await;
    let second = bench.put(replace("a", "2", &first)).await;
    let record = bench.get("a").await.expect("the row is there");
    assert_eq!((&record.value[..], record.etag), (&b"2"[..], second));
}

async fn a_replace_with_a_stale_version_loses(bench: Bench) {
    let stale = bench.stale_etag("a").await;
    assert_conflict(bench.commit(&[replace("a", "lost", &stale)]).await, 0);
    assert_eq!(bench.text("a").await.as_deref(), Some("current"));
}

async fn a_replace_of_an_absent_row_loses(bench: Bench) {
    let etag = bench.put(insert("b", "1")).await;
    assert_conflict(bench.commit(&[replace("a", "2", &etag)]).await, 0);
    assert_eq!(bench.get("a").await, None);
}

async fn a_tag_that_no_store_made_loses(bench: Bench) {
    bench.put(insert("a", "1")).await;
    for text in ["", "*", "nonsense", "W/\"x\"", "\"\r\nIf-Match: *"] {
        let etag = Etag(text.to_owned());
        assert_conflict(bench.commit(&[replace("a", "2", &etag)]).await, 0);
        assert_conflict(bench.commit(&[insert("b", "2"), delete("a", &etag)]).await, 1);
        assert_conflict(bench.commit(&[check("a", &etag)]).await, 0);
    }
    assert_eq!(bench.text("a").await.as_deref(), Some("1"));
    assert_eq!(bench.get("b").await, None);
}

async fn an_upsert_writes_whatever_is_there(bench: Bench) {
    let first = bench.put(upsert("a", "1")).await;
    assert_eq!(bench.text("a").await.as_deref(), Some("1"));
    bench.next_tick(&first).await;
    let second = bench.put(upsert("a", "2")).await;
    assert_ne!(first, second);
    assert_eq!(bench.get("a").await.map(|record| record.etag), Some(second));
    assert_eq!(bench.text("a").await.as_deref(), Some("2"));
}

async fn a_delete_with_the_version_that_was_read_removes_the_row(bench: Bench) {
    let etag = bench.put(insert("a", "1")).await;
    assert_eq!(bench.commit(&[delete("a", &etag)]).await.expect("the version is current"), [None]);
    assert_eq!(bench.get("a").await, None);
}

async fn a_delete_with_a_stale_version_loses(bench: Bench) {
    let stale = bench.stale_etag("a").await;
    assert_conflict(bench.commit(&[delete("a", &stale)]).await, 0);
    assert_eq!(bench.text("a").await.as_deref(), Some("current"));
}

async fn a_delete_of_an_absent_row_loses(bench: Bench) {
    let etag = bench.put(insert("b", "1")).await;
    assert_conflict(bench.commit(&[delete("a", &etag)]).await, 0);
}

async fn a_check_changes_nothing_that_a_reader_sees(bench: Bench) {
    let etag = bench.put(insert("a", "1")).await;
    let etags = bench.commit(&[check("a", &etag), insert("b", "2")]).await.expect("the version is current");
    let record = bench.get("a").await.expect("the row is there");
    assert_eq!(&record.value[..], b"1");
    assert_eq!(etags[0].as_ref(), Some(&record.etag), "the commit answers the version after the check");
    bench.put(replace("a", "3", &record.etag)).await;
}

async fn a_check_with_a_stale_version_loses(bench: Bench) {
    let stale = bench.stale_etag("a").await;
    assert_conflict(bench.commit(&[insert("b", "1"), check("a", &stale)]).await, 1);
    assert_eq!(bench.get("b").await, None);
}

async fn a_check_of_an_absent_row_loses(bench: Bench) {
    let etag = bench.put(insert("b", "1")).await;
    assert_conflict(bench.commit(&[check("a", &etag)]).await, 0);
}

async fn a_deleted_row_can_be_inserted_again(bench: Bench) {
    let first = bench.put(insert("a", "1")).await;
    bench.commit(&[delete("a", &first)]).await.expect("the version is current");
    bench.next_tick(&first).await;
    let second = bench.put(insert("a", "2")).await;
    assert_ne!(first, second, "a version is not used again");
    assert_conflict(bench.commit(&[replace("a", "3", &first)]).await, 0);
}

async fn partitions_keep_their_rows_apart(bench: Bench) {
    let other = partition("q");
    let etag = bench.put(insert("a", "p")).await;
    assert_eq!(bench.store.get(&other, &row("a")).await.expect("the store answers"), None);
    assert_conflict(bench.store.commit(&other, &[replace("a", "x", &etag)]).await, 0);
    bench.store.commit(&other, &[insert("a", "q")]).await.expect("the row is free in this partition");
    assert_eq!(bench.text("a").await.as_deref(), Some("p"));
    assert_eq!(bench.rows(&RowRange::default(), 10).await, ["a"]);
}

async fn records_survive_the_handle_that_wrote_them(mut bench: Bench) {
    let etag = bench.put(insert("a", "1")).await;
    bench.store = bench.open_again();
    assert_eq!(bench.get("a").await.map(|record| record.etag), Some(etag));
}
