//! Which protocol version a request is for.

use serde_json::json;

use crate::client::{params, rpc};
use crate::support::{AGENT, App};

#[tokio::test]
async fn c026_other_versions_are_refused_before_method_and_agent() {
    let server = App::of(AGENT).start().await;
    for version in ["0.3", "0.5", "1.1", "2.0", "9.9", "abc", ""] {
        for method in ["SendMessage", "DoMagic"] {
            let call = server.call().set("a2a-version", version);
            let reply = call.body(rpc(method, &params(&json!({}))).replace("\"id\":1", "\"id\":99")).await;
            assert_eq!((reply.status, reply.code(), reply.id()), (200, -32009, json!(99)), "{version} {method}");
            assert_eq!(reply.reasons(), ["a2a-protocol.org VERSION_NOT_SUPPORTED"]);
        }
    }
    let reply = server.call().without("a2a-version").send(&json!({})).await;
    assert_eq!(reply.code(), -32009);
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c027_patch_and_padding_do_not_count() {
    let server = App::of(AGENT).start().await;
    for (version, code) in [("1.0.1", 0), ("1.0.0", 0), ("  1.0 ", 0), ("1.10", -32009)] {
        assert_eq!(server.call().set("a2a-version", version).send(&json!({})).await.code(), code, "{version:?}");
    }
}

#[tokio::test]
async fn c028_the_query_speaks_for_clients_that_set_no_header() {
    let server = App::of(AGENT).start().await;
    let without_header = || server.call().without("a2a-version");
    assert_eq!(without_header().at("?A2A-Version=1.0").send(&json!({})).await.code(), 0);
    assert_eq!(without_header().at("?A2A-Version=0.3").send(&json!({})).await.code(), -32009);
    // The header wins.
    assert_eq!(server.call().at("?A2A-Version=0.3").send(&json!({})).await.code(), 0);
    let old = server.call().set("a2a-version", "0.3").at("?A2A-Version=1.0");
    assert_eq!(old.send(&json!({})).await.code(), -32009);
}
