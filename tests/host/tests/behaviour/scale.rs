//! Several copies behind a round robin, and handlers killed while others serve.

use std::collections::BTreeSet;

use functions_test_host::{ConfigError, Profile, StartError};
use serde_json::json;

use crate::support::{App, Seen, behave, catch_all, get};

#[tokio::test]
async fn requests_go_to_the_copies_in_turn() {
    let host = catch_all().start_with(|host| host.copies(3)).await;
    let mut pids = Vec::new();
    for _ in 0..6 {
        pids.push(Seen::from(get(host.base_url()).await).await.0["pid"].as_u64().unwrap());
    }
    assert_eq!(pids[..3].iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(pids[..3], pids[3..]);
}

#[tokio::test]
async fn one_copy_can_be_addressed() {
    let host = catch_all().start_with(|host| host.copies(2)).await;
    for copy in 0..2 {
        let seen = Seen::from(get(host.copy_url(copy).unwrap()).await).await;
        assert_eq!(seen.0["pid"], host.handler_pid(copy).unwrap());
    }
    assert_eq!(host.copy_url(2), None);
}

#[tokio::test]
async fn copies_have_instance_ids_of_their_own_on_azure() {
    let host = catch_all().start_with(|host| host.profile(Profile::Azure).copies(2)).await;
    let mut ids = BTreeSet::new();
    for copy in 0..2 {
        let seen = Seen::from(get(host.copy_url(copy).unwrap()).await).await;
        ids.insert(seen.variable("WEBSITE_INSTANCE_ID").to_owned());
    }
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn a_killed_handler_takes_its_requests_with_it_while_the_others_serve() {
    let host = catch_all().start_with(|host| host.copies(2)).await;
    let mut doomed = behave(host.copy_url(0).unwrap(), "quiet").send().await.unwrap();
    let mut safe = behave(host.copy_url(1).unwrap(), "stream").send().await.unwrap();
    assert_eq!(doomed.chunk().await.unwrap().unwrap(), "one\n");
    assert_eq!(safe.chunk().await.unwrap().unwrap(), "one\n");

    host.kill_handler(0).await;

    assert!(doomed.chunk().await.is_err());
    behave(host.copy_url(1).unwrap(), "release").send().await.unwrap();
    assert_eq!(safe.chunk().await.unwrap().unwrap(), "two\n");
    host.ready_copy(0).await.unwrap();
    assert_eq!((host.starts(0), host.starts(1)), (2, 1));
}

#[tokio::test]
async fn a_stopped_copy_leaves_the_rotation() {
    let host = catch_all().start_with(|host| host.copies(2)).await;
    for _ in 0..3 {
        host.kill_handler(0).await;
    }
    host.wait_stopped(0).await.unwrap();
    for _ in 0..4 {
        let seen = Seen::from(get(host.base_url()).await).await;
        assert_eq!(seen.0["pid"], host.handler_pid(1).unwrap());
    }
    assert_eq!(get(host.copy_url(0).unwrap()).await.status(), 503);
}

#[tokio::test]
async fn copies_and_ports_that_cannot_be_are_refused() {
    let error = catch_all().host().copies(0).start().await.unwrap_err();
    assert!(matches!(error, StartError::NoCopies));
    // Bound but not listening: free for the app and for nobody else.
    let reserved = tokio::net::TcpSocket::new_v4().unwrap();
    reserved.set_reuseaddr(true).unwrap();
    reserved.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = reserved.local_addr().unwrap().port();
    let error = App::new(json!({ "port": port })).host().copies(2).start().await.unwrap_err();
    assert!(matches!(error, StartError::Config(ConfigError::SharedPort { copies: 2, .. })));
}
