//! The limits of the trait: what just fits is stored whole, what does not fit is refused before anything happens.

use a2a_functions::store::{
    MAX_COMMIT_BYTES, MAX_SCAN_LIMIT, MAX_VALUE_BYTES, Op, PartitionKey, RowKey, RowRange, Write,
};
use bytes::Bytes;

use crate::bench::{Bench, assert_out_of_bounds, delete, insert, row};

super::contracts![
    values_of_all_sizes_come_back_byte_for_byte,
    a_value_over_the_limit_is_refused,
    a_commit_of_one_hundred_steps_is_taken,
    a_commit_of_one_hundred_and_one_steps_is_refused,
    a_commit_without_steps_is_refused,
    a_commit_of_the_most_bytes_is_taken,
    a_commit_of_too_many_bytes_is_refused,
    a_row_twice_in_one_commit_is_refused,
    scan_limits_have_bounds,
    a_scan_over_many_large_values_finds_them_all,
    keys_of_all_lengths_and_characters_are_taken,
];

/// Bytes that compress badly and show when they are swapped, cut or turned into text.
fn value(length: usize) -> Bytes {
    let mut state = 0x2545_f491_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn upsert_bytes(key: &str, value: Bytes) -> Op {
    Op::Upsert(Write { row: row(key), value, expires: None })
}

async fn values_of_all_sizes_come_back_byte_for_byte(bench: Bench) {
    const CHUNK: usize = 64 * 1024;
    // Large before small: a rewrite leaves nothing of the longer value behind.
    let lengths = [MAX_VALUE_BYTES, MAX_VALUE_BYTES - 1, 3 * CHUNK + 5, CHUNK + 1, CHUNK, CHUNK - 1, 1, 0];
    for length in lengths {
        let written = value(length);
        bench.put(upsert_bytes("a", written.clone())).await;
        let read = bench.get("a").await.expect("the row is there").value;
        assert!(read == written, "{length} bytes came back as {} or changed", read.len());
        let page = bench.scan(&RowRange::default(), 1).await;
        assert!(page.records[0].value == written, "{length} bytes changed in a scan");
    }
}

async fn a_value_over_the_limit_is_refused(bench: Bench) {
    assert_out_of_bounds(&bench.commit(&[upsert_bytes("a", value(MAX_VALUE_BYTES + 1))]).await);
    assert_eq!(bench.get("a").await, None);
}

async fn a_commit_of_one_hundred_steps_is_taken(bench: Bench) {
    let ops: Vec<Op> = (0..100).map(|index| insert(&format!("r{index:02}"), "1")).collect();
    let etags = bench.commit(&ops).await.expect("one hundred steps fit");
    assert_eq!(etags.iter().flatten().count(), 100);
    assert_eq!(bench.rows(&RowRange::default(), 1000).await.len(), 100);
}

async fn a_commit_of_one_hundred_and_one_steps_is_refused(bench: Bench) {
    let ops: Vec<Op> = (0..101).map(|index| insert(&format!("r{index:03}"), "1")).collect();
    assert_out_of_bounds(&bench.commit(&ops).await);
    assert_eq!(bench.rows(&RowRange::default(), 1000).await.len(), 0);
}

async fn a_commit_without_steps_is_refused(bench: Bench) {
    assert_out_of_bounds(&bench.commit(&[]).await);
}

async fn a_commit_of_the_most_bytes_is_taken(bench: Bench) {
    let most = value(MAX_VALUE_BYTES);
    let count = MAX_COMMIT_BYTES / MAX_VALUE_BYTES;
    let mut ops: Vec<Op> = (0..count).map(|index| upsert_bytes(&format!("r{index}"), most.clone())).collect();
    ops.extend((count..100).map(|index| upsert_bytes(&format!("r{index}"), Bytes::new())));
    bench.commit(&ops).await.expect("the most bytes in the most steps fit");
    assert!(bench.get("r0").await.expect("the row is there").value == most);
}

async fn a_commit_of_too_many_bytes_is_refused(bench: Bench) {
    let most = value(MAX_VALUE_BYTES);
    let count = MAX_COMMIT_BYTES / MAX_VALUE_BYTES;
    let mut ops: Vec<Op> = (0..count).map(|index| upsert_bytes(&format!("r{index}"), most.clone())).collect();
    ops.push(insert("one-more", "1"));
    assert_out_of_bounds(&bench.commit(&ops).await);
    assert_eq!(bench.rows(&RowRange::default(), 10).await.len(), 0);
}

async fn a_row_twice_in_one_commit_is_refused(bench: Bench) {
    assert_out_of_bounds(&bench.commit(&[insert("a", "1"), insert("b", "1"), insert("a", "2")]).await);
    let etag = bench.put(insert("a", "1")).await;
    assert_out_of_bounds(&bench.commit(&[delete("a", &etag), insert("a", "2")]).await);
    assert_eq!(bench.rows(&RowRange::default(), 10).await, ["a"]);
}

async fn scan_limits_have_bounds(bench: Bench) {
    for limit in [0, MAX_SCAN_LIMIT + 1, usize::MAX] {
        assert_out_of_bounds(&bench.store.scan(&bench.partition, &RowRange::default(), limit, None).await);
    }
    bench.scan(&RowRange::default(), MAX_SCAN_LIMIT).await;
}

async fn a_scan_over_many_large_values_finds_them_all(bench: Bench) {
    let most = value(MAX_VALUE_BYTES);
    let keys: Vec<String> = (0..12).map(|index| format!("r{index:02}")).collect();
    for key in &keys {
        bench.put(upsert_bytes(key, most.clone())).await;
    }
    assert_eq!(bench.rows(&RowRange::default(), MAX_SCAN_LIMIT).await, keys);
}

async fn keys_of_all_lengths_and_characters_are_taken(bench: Bench) {
    let alphabet: String = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['_', '-']).collect();
    let longest = alphabet.repeat(4);
    for key in ["-", "_", "0", &alphabet, &longest] {
        let partition = PartitionKey::new(key).expect("the key is legal");
        bench.store.commit(&partition, &[insert(key, key)]).await.expect("the row is free");
        let record = bench.store.get(&partition, &RowKey::new(key).expect("legal")).await.expect("the store answers");
        assert_eq!(record.map(|record| record.value), Some(Bytes::from(key.to_owned())));
    }
}
