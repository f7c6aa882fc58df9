//! Many writers at once: what is decided is decided once.

use std::sync::Arc;

use a2a_functions::store::{Etag, RowRange, Store, StoreError};
use tokio::task::JoinSet;

use crate::bench::{Bench, assert_conflict, delete, insert, replace, row, upsert, write};

super::contracts![
    every_compare_and_swap_counts_once,
    of_many_inserts_of_one_row_exactly_one_wins,
    a_reader_sees_all_of_a_commit_or_nothing_of_it,
    a_read_sees_every_commit_acknowledged_before_it,
    c049_an_insert_decides_where_tags_may_repeat,
    c049_the_last_of_quick_rewrites_is_what_is_read,
];

const TASKS: usize = 8;

async fn every_compare_and_swap_counts_once(bench: Bench) {
    const INCREMENTS: usize = 12;
    bench.put(insert("counter", "0")).await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (store, partition) = (bench.open_again(), bench.partition.clone());
        tasks.spawn(async move {
            for round in 0..INCREMENTS {
                loop {
                    let record = store.get(&partition, &row("counter")).await.expect("answers").expect("is there");
                    let count: usize = std::str::from_utf8(&record.value).expect("text").parse().expect("a number");
                    // The insert makes the step safe even where two writes share a tag (C049).
                    let ops = [
                        replace("counter", &(count + 1).to_string(), &record.etag),
                        insert(&format!("step-{count}"), &format!("task {task} round {round}")),
                    ];
                    match store.commit(&partition, &ops).await {
                        Ok(_) => break,
                        Err(StoreError::Conflict { .. }) => {}
                        Err(error) => panic!("an increment failed: {error}"),
                    }
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("every task ends well");
    }
    assert_eq!(bench.text("counter").await, Some((TASKS * INCREMENTS).to_string()));
    assert_eq!(bench.rows(&crate::bench::range("step-", "step_"), 1000).await.len(), TASKS * INCREMENTS);
}

async fn of_many_inserts_of_one_row_exactly_one_wins(bench: Bench) {
    for round in 0..5 {
        let mut tasks = JoinSet::new();
        for task in 0..TASKS {
            let (store, partition) = (bench.open_again(), bench.partition.clone());
            let op = insert(&format!("row-{round}"), &task.to_string());
            tasks.spawn(async move { (task, store.commit(&partition, &[op]).await) });
        }
        let mut winners = Vec::new();
        while let Some(done) = tasks.join_next().await {
            match done.expect("every task ends well") {
                (task, Ok(_)) => winners.push(task),
                (_, lost) => assert_conflict(lost, 0),
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?} won");
        assert_eq!(bench.text(&format!("row-{round}")).await, Some(winners[0].to_string()));
    }
}

async fn a_reader_sees_all_of_a_commit_or_nothing_of_it(bench: Bench) {
    let (store, partition) = (bench.open_again(), bench.partition.clone());
    let writer = tokio::spawn(async move {
        for round in 0..60 {
            let ops: Vec<_> = (0..5).map(|index| upsert(&format!("r{index}"), &round.to_string())).collect();
            store.commit(&partition, &ops).await.expect("an upsert has no condition");
        }
    });
    while !writer.is_finished() {
        let page = bench.scan(&RowRange::default(), 10).await;
        let mut values: Vec<_> = page.records.iter().map(|record| record.value.clone()).collect();
        assert!(values.is_empty() || values.len() == 5, "{} of 5 rows", values.len());
        values.dedup();
        assert!(values.len() <= 1, "a scan mixed two commits: {values:?}");
    }
    writer.await.expect("the writer ends well");
}

async fn a_read_sees_every_commit_acknowledged_before_it(bench: Bench) {
    let reader = bench.open_again();
    for round in 0..30 {
        let value = round.to_string();
        bench.put(upsert("a", &value)).await;
        let read = reader.get(&bench.partition, &row("a")).await.expect("answers").expect("is there");
        assert_eq!(read.value, value.as_bytes());
    }
}

/// Take, release, take: one owner's way through a lease row and the row of its epoch.
async fn take(store: &Arc<dyn Store>, bench: &Bench, free: &Etag, epoch: u32, owner: &str) -> Result<Etag, StoreError> {
    let ops = [replace("head", &format!("{owner} {epoch}"), free), insert(&format!("epoch-{epoch}"), owner)];
    let etags = store.commit(&bench.partition, &ops).await?;
    Ok(etags[0].clone().expect("the head has a version"))
}

async fn c049_an_insert_decides_where_tags_may_repeat(bench: Bench) {
    let late = bench.open_again();
    let mut free = bench.put(insert("head", "free")).await;
    for epoch in 0..25 {
        // Both saw the head free at `free`; the quick one takes it and gives it back at once.
        let held = take(&bench.store, &bench, &free, epoch, "quick").await.expect("the head is free");
        let released = bench.put(replace("head", "free", &held)).await;
        let lost = take(&late, &bench, &free, epoch, "late").await;
        assert!(matches!(lost, Err(StoreError::Conflict { .. })), "the epoch was taken, yet the late one got {lost:?}");
        assert_eq!(bench.text(&format!("epoch-{epoch}")).await.as_deref(), Some("quick"));
        assert_eq!(bench.text("head").await.as_deref(), Some("free"));
        free = released;
    }
}

async fn c049_the_last_of_quick_rewrites_is_what_is_read(bench: Bench) {
    let mut etag = bench.put(insert("a", "first")).await;
    for round in 0..25 {
        etag = bench.put(replace("a", &round.to_string(), &etag)).await;
        assert_eq!(bench.text("a").await, Some(round.to_string()));
    }
    bench.commit(&[delete("a", &etag)]).await.expect("the version is current");
    let write = write("a", "again");
    bench.put(a2a_functions::store::Op::Insert(write)).await;
    assert_eq!(bench.text("a").await.as_deref(), Some("again"));
}
