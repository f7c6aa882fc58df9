//! Which function answers, and what answers when none does.

use functions_test_host::{Knobs, Profile};
use serde_json::json;

use crate::support::{App, Running, catch_all, client, get, http_function, seen_envelope, seen_target};

/// Which function got the request, in envelope mode.
async fn answering(host: &Running, method: &str, path: &str) -> String {
    let url = format!("{}{path}", host.base_url());
    let response = client().request(method.parse().unwrap(), url).send().await.unwrap();
    match response.status().as_u16() {
        200 => seen_envelope(response).await["path"].as_str().unwrap().to_owned(),
        status => {
            assert_eq!(response.text().await.unwrap(), "", "{method} {path}");
            status.to_string()
        }
    }
}

#[tokio::test]
async fn routes_are_tried_in_the_order_of_names_and_a_method_that_does_not_match_moves_on() {
    let only = |route: &str, methods: &[&str]| {
        http_function(&json!({"route": route, "authLevel": "anonymous", "methods": methods}))
    };
    let host = App::envelope()
        .http("zz", "{*rest}", "anonymous")
        .http("B-literal", "x/literal", "anonymous")
        .http("a-wide", "x/{id}", "anonymous")
        .function("m-get", &only("m", &["get"]))
        .function("n-post", &only("m", &["POST"]))
        .http("unnamed", "", "anonymous")
        .start()
        .await;
    let cases = [
        ("GET", "/api/x/literal", "/a-wide"),
        ("GET", "/API/X/Literal/", "/a-wide"),
        ("GET", "/api/m", "/m-get"),
        ("POST", "/api/m", "/n-post"),
        ("OPTIONS", "/api/m", "/zz"),
        ("GET", "/api/unnamed", "/unnamed"),
        ("GET", "/api", "/zz"),
        ("GET", "/api/anything/else", "/zz"),
        ("GET", "/x/literal", "404"),
    ];
    for (method, path, expected) in cases {
        assert_eq!(answering(&host, method, path).await, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn a_method_nobody_lists_is_not_found_and_head_is_not_implied_by_get() {
    let function = http_function(&json!({"route": "f", "authLevel": "anonymous", "methods": ["get"]}));
    let host = App::envelope().function("f", &function).start().await;
    for method in ["POST", "HEAD", "OPTIONS"] {
        assert_eq!(answering(&host, method, "/api/f").await, "404", "{method}");
    }
    assert_eq!(answering(&host, "GET", "/api/f").await, "/f");
}

#[tokio::test]
async fn functions_that_do_not_load_leave_the_others_running_and_say_why() {
    let host = App::envelope().http("bad", "admin/x", "anonymous").http("good", "good", "anonymous").start().await;
    assert_eq!(host.functions(), ["good"]);
    assert_eq!(host.function_errors()[0].function, "bad");
    assert!(host.logs().iter().any(|line| line.text.contains("bad") && line.text.contains("reserved")));
    assert_eq!(answering(&host, "GET", "/api/good").await, "/good");
}

#[tokio::test]
async fn the_root_is_the_homepage_unless_a_function_takes_it() {
    let host = App::new(json!({})).http("f", "f", "anonymous").start().await;
    let response = get(host.base_url()).await;
    assert_eq!((response.status().as_u16(), response.headers()["content-type"].to_str().unwrap()), (200, "text/html"));
    assert!(response.text().await.unwrap().contains("function app"));

    let app = App::new(json!({})).http("f", "f", "anonymous");
    let host = app.start_with(|host| host.env("AzureWebJobsDisableHomepage", "true")).await;
    let response = get(host.base_url()).await;
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (204, ""));

    let host = catch_all().start().await;
    assert_eq!(seen_target(host.base_url(), "/").await.text("target"), "/");
}

#[tokio::test]
async fn admin_and_runtime_are_closed_to_a_catch_all_on_newer_hosts_only() {
    type Configure = fn(functions_test_host::Builder) -> functions_test_host::Builder;
    let newer: Configure = |host| host;
    let by_flag: Configure = |host| host.env("AzureWebJobsFeatureFlags", "Other, DisableReservedRouteEnforcement");
    let by_knob: Configure = |host| host.knobs(Knobs { reserved_route_guard: false, ..Knobs::default() });
    let paths = ["/admin", "/admin/x", "/ADMIN/x", "/runtime/webhooks", "/%61dmin/x", "/x/../admin/x"];
    for (configure, expected) in [(newer, 404), (by_flag, 200), (by_knob, 200)] {
        let host = catch_all().start_with(configure).await;
        for path in paths {
            let answer = crate::support::raw(
                host.base_url(),
                &format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n"),
            )
            .await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{path}: {answer}");
        }
        for path in ["/administration", "/runtimes", "/admin/warmup", "/x/admin"] {
            assert_eq!(seen_target(host.base_url(), path).await.text("target"), path);
        }
    }
}

#[tokio::test]
async fn the_hosts_own_endpoints_answer_before_any_function() {
    let keys = serde_json::from_value(json!({"master": "m"})).unwrap();
    let host = catch_all().start_with(|host| host.profile(Profile::Azure).keys(keys)).await;
    let url = |path: &str| format!("{}{path}", host.base_url());
    assert_eq!(get(url("/admin/host/ping")).await.status(), 200);
    assert_eq!(get(url("/admin/host/status")).await.status(), 401);
    let status = get(url("/admin/host/status?code=m")).await;
    let status: serde_json::Value = status.json().await.unwrap();
    assert_eq!(status["state"], "Running");
}

#[tokio::test]
async fn custom_headers_are_added_where_the_handler_did_not_set_them() {
    let app = App::with_host_json(&json!({
        "version": "2.0",
        "extensions": {"http": {
            "routePrefix": "",
            "customHeaders": {"X-Content-Type-Options": "nosniff", "X-Own": "of the host"},
        }},
        "customHandler": {"description": {"defaultExecutablePath": "handler"}, "enableProxyingHttpRequest": true},
    }));
    let host = app.http("all", "{*rest}", "anonymous").start().await;
    let response = crate::support::behave(host.base_url(), "headers").send().await.unwrap();
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert_eq!(response.headers()["x-own"], "kept");
}

#[tokio::test]
async fn the_routes_of_a_profile_become_functions() {
    let app = App::with_host_json(&json!({
        "version": "2.0",
        "configurationProfile": "web-app-custom-handler",
        "customHandler": {
            "description": {"defaultExecutablePath": "handler"},
            "http": {"defaultAuthorizationLevel": "anonymous"},
        },
    }));
    let host = app.start_with(|host| host.env("FUNCTIONS_WORKER_RUNTIME", "custom")).await;
    assert_eq!(host.functions(), ["http-handler1"]);
    assert_eq!(seen_target(host.base_url(), "/a/b?c").await.text("target"), "/a/b?c");
}
