//! Scans: order, ranges, limits and cursors.

use a2a_functions::store::{Cursor, Op, RowRange};

use crate::bench::{Bench, assert_out_of_bounds, delete, insert, partition, range};

super::contracts![
    an_empty_partition_has_no_rows,
    rows_come_in_the_byte_order_of_their_keys,
    a_range_takes_its_start_and_leaves_out_its_end,
    a_range_that_ends_before_it_starts_is_empty,
    pages_follow_each_other_without_gap_or_overlap,
    a_page_with_room_left_ends_the_scan,
    a_scan_goes_on_where_a_row_was_removed,
    a_scan_goes_on_past_rows_written_meanwhile,
    a_scan_returns_values_and_versions,
    a_cursor_of_another_origin_is_refused,
];

const MIXED: [&str; 9] = ["-", "0", "10", "9", "A", "Z", "_", "a", "a-b"];

async fn fill(bench: &Bench, keys: &[&str]) {
    let ops: Vec<Op> = keys.iter().rev().map(|key| insert(key, key)).collect();
    bench.commit(&ops).await.expect("the rows are free");
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("r{index:03}")).collect()
}

async fn an_empty_partition_has_no_rows(bench: Bench) {
    let page = bench.scan(&RowRange::default(), 10).await;
    assert!(page.records.is_empty());
    assert_eq!(page.next, None);
}

async fn rows_come_in_the_byte_order_of_their_keys(bench: Bench) {
    fill(&bench, &MIXED).await;
    for limit in [1, 2, 3, 1000] {
        assert_eq!(bench.rows(&RowRange::default(), limit).await, MIXED, "limit {limit}");
    }
}

async fn a_range_takes_its_start_and_leaves_out_its_end(bench: Bench) {
    fill(&bench, &MIXED).await;
    for (from, to, expected) in [
        ("10", "_", &MIXED[2..6]),
        ("1", "_", &MIXED[2..6]),
        ("Z", "", &MIXED[5..]),
        ("", "9", &MIXED[..3]),
        ("a", "a-", &MIXED[7..8]),
        ("b", "", &[]),
    ] {
        for limit in [1, 2, 1000] {
            assert_eq!(bench.rows(&range(from, to), limit).await, expected, "{from}..{to}, limit {limit}");
        }
    }
}

async fn a_range_that_ends_before_it_starts_is_empty(bench: Bench) {
    fill(&bench, &["a", "b", "c"]).await;
    assert_eq!(bench.rows(&range("c", "a"), 10).await, [""; 0]);
    assert_eq!(bench.rows(&range("b", "b"), 10).await, [""; 0]);
}

async fn pages_follow_each_other_without_gap_or_overlap(bench: Bench) {
    let keys = numbered(95);
    let ops: Vec<Op> = keys.iter().map(|key| insert(key, key)).collect();
    bench.commit(&ops).await.expect("the rows are free");
    bench.store.commit(&partition("q"), &[insert("r050", "another partition's")]).await.expect("the row is free");
    for limit in [1, 7, 94, 95, 96] {
        assert_eq!(bench.rows(&RowRange::default(), limit).await, keys, "limit {limit}");
        assert_eq!(bench.rows(&range("r010", "r090"), limit).await, keys[10..90], "limit {limit}");
    }
}

async fn a_page_with_room_left_ends_the_scan(bench: Bench) {
    fill(&bench, &["a", "b"]).await;
    let page = bench.scan(&RowRange::default(), 3).await;
    assert_eq!((page.records.len(), page.next), (2, None));
}

async fn a_scan_goes_on_where_a_row_was_removed(bench: Bench) {
    fill(&bench, &["a", "b", "c", "d"]).await;
    let page = bench.scan(&RowRange::default(), 2).await;
    let (b, next) = (page.records[1].etag.clone(), page.next.expect("there is more"));
    let c = bench.get("c").await.expect("the row is there").etag;
    bench.commit(&[delete("b", &b), delete("c", &c)]).await.expect("the versions are current");
    let page = bench.store.scan(&bench.partition, &RowRange::default(), 2, Some(&next)).await.expect("goes on");
    assert_eq!(page.records.iter().map(|record| record.row.as_str()).collect::<Vec<_>>(), ["d"]);
}

async fn a_scan_goes_on_past_rows_written_meanwhile(bench: Bench) {
    fill(&bench, &["b", "d", "f"]).await;
    let page = bench.scan(&RowRange::default(), 1).await;
    let next = page.next.expect("there is more");
    bench.commit(&[insert("a", "late"), insert("e", "late")]).await.expect("the rows are free");
    let page = bench.store.scan(&bench.partition, &RowRange::default(), 10, Some(&next)).await.expect("goes on");
    assert_eq!(page.records.iter().map(|record| record.row.as_str()).collect::<Vec<_>>(), ["d", "e", "f"]);
}

async fn a_scan_returns_values_and_versions(bench: Bench) {
    let etag = bench.put(insert("a", "value")).await;
    let page = bench.scan(&RowRange::default(), 10).await;
    assert_eq!((&page.records[0].value[..], &page.records[0].etag), (&b"value"[..], &etag));
}

async fn a_cursor_of_another_origin_is_refused(bench: Bench) {
    fill(&bench, &["a"]).await;
    let cursor = Cursor("not a cursor/of any store".to_owned());
    assert_out_of_bounds(&bench.store.scan(&bench.partition, &RowRange::default(), 10, Some(&cursor)).await);
}
