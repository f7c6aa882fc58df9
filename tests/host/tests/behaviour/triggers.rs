//! Timer and queue functions fired by hand, and requests that pretend to be one.

use functions_test_host::{Delivery, OutputValue, Profile, TriggerError};
use serde_json::{Value, json};

use crate::support::{App, Running, Seen, client, get, printed};

fn timer(extra: &Value) -> Value {
    let mut trigger = json!({"type": "timerTrigger", "direction": "in", "name": "timer", "schedule": "0 */5 * * * *"});
    trigger.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"bindings": [trigger]})
}

fn queue() -> Value {
    json!({"bindings": [
        {"type": "queueTrigger", "direction": "in", "name": "job", "queueName": "jobs"},
        {"type": "queue", "direction": "out", "name": "done", "queueName": "done"},
    ]})
}

/// The latest envelope that the handler printed for a function.
async fn printed_envelope(host: &Running, function: &str) -> Value {
    let start = format!("envelope /{function} ");
    let line = printed(host, &start).await;
    serde_json::from_str(line.text.strip_prefix(&start).unwrap()).unwrap()
}

#[tokio::test]
async fn a_timer_sends_its_schedule_and_its_status_unless_it_is_not_monitored() {
    let app = App::new(json!({})).function("watched", &timer(&json!({})));
    let host = app.function("unwatched", &timer(&json!({"useMonitor": false}))).start().await;
    host.fire_timer("WATCHED").await.unwrap();
    let envelope = printed_envelope(&host, "watched").await;
    let data = &envelope["Data"]["timer"];
    assert_eq!((&data["Schedule"], &data["IsPastDue"]), (&json!({"AdjustForDST": true}), &json!(false)));
    for member in ["Last", "Next", "LastUpdated"] {
        assert!(data["ScheduleStatus"][member].is_string(), "{member}");
    }
    let metadata: Vec<&String> = envelope["Metadata"].as_object().unwrap().keys().collect();
    assert_eq!(metadata, ["sys"]);

    host.fire_overdue_timer("unwatched").await.unwrap();
    let data = &printed_envelope(&host, "unwatched").await["Data"]["timer"];
    assert_eq!((&data["ScheduleStatus"], &data["IsPastDue"]), (&Value::Null, &json!(true)));
}

#[tokio::test]
async fn a_timer_that_fails_is_repeated_only_by_a_retry_policy() {
    let mut patient = timer(&json!({}));
    patient["retry"] = json!({"strategy": "fixedDelay", "maxRetryCount": 2, "delayInterval": "00:00:00.001"});
    for (failures, expected) in [("2", true), ("3", false)] {
        let app = App::new(json!({})).function("patient", &patient);
        let host = app.start_with(|host| host.env("ECHO_FAILURES", failures)).await;
        assert_eq!(host.fire_timer("patient").await.is_ok(), expected, "{failures} failures");
        let last = printed(&host, "\"RetryCount\":2").await.text;
        assert!(last.contains("\"MaxRetryCount\":2") && last.contains("status 500"), "{last}");
    }
    let app = App::new(json!({})).function("plain", &timer(&json!({})));
    let host = app.start_with(|host| host.env("ECHO_FAILURES", "1")).await;
    let error = host.fire_timer("plain").await.unwrap_err();
    assert!(matches!(error, TriggerError::Failed { function, .. } if function == "plain"));
    host.fire_timer("plain").await.unwrap();
}

#[tokio::test]
async fn a_queue_message_is_encoded_twice_and_an_object_adds_its_members() {
    let host = App::new(json!({})).function("text", &queue()).function("object", &queue()).start().await;
    assert_eq!(host.queue_message("text", "hello").await.unwrap(), Delivery { attempts: 1, poisoned: false });
    let envelope = printed_envelope(&host, "text").await;
    assert_eq!(envelope["Data"]["job"], "\"hello\"");
    let metadata = &envelope["Metadata"];
    assert_eq!(metadata["DequeueCount"], "1");
    for name in ["Id", "PopReceipt", "InsertionTime", "NextVisibleTime", "ExpirationTime", "sys"] {
        assert!(!metadata[name].is_null(), "{name}");
    }

    let message = r#"{"id": "a", "list": [1], "inner": {"b": 1}}"#;
    host.queue_message("object", message).await.unwrap();
    let envelope = printed_envelope(&host, "object").await;
    let inner: String = serde_json::from_str(envelope["Data"]["job"].as_str().unwrap()).unwrap();
    assert_eq!(inner, message);
    let metadata = &envelope["Metadata"];
    assert_eq!((&metadata["id"], &metadata["inner"]), (&json!("\"a\""), &json!({"b": 1})));
    assert!(metadata.get("list").is_none());
}

#[tokio::test]
async fn a_message_that_fails_comes_back_and_is_poisoned_in_the_end() {
    let limit = json!({"queues": {"maxDequeueCount": 3}});
    let cases = [
        ("2", None, Delivery { attempts: 3, poisoned: false }),
        ("5", None, Delivery { attempts: 5, poisoned: true }),
        ("3", Some(&limit), Delivery { attempts: 3, poisoned: true }),
    ];
    for (failures, extensions, expected) in cases {
        let mut document = json!({
            "version": "2.0",
            "customHandler": {"description": {"defaultExecutablePath": "handler"}},
        });
        if let Some(extensions) = extensions {
            document["extensions"] = extensions.clone();
        }
        let app = App::with_host_json(&document).function("work", &queue());
        let host = app.start_with(|host| host.env("ECHO_FAILURES", failures)).await;
        assert_eq!(host.queue_message("work", "x").await.unwrap(), expected, "{failures} failures");
        printed(&host, &format!("\"DequeueCount\":\"{}\"", expected.attempts)).await;
        let poisoned = host.logs().iter().any(|line| line.text.contains("jobs-poison"));
        assert_eq!(poisoned, expected.poisoned);
    }
}

#[tokio::test]
async fn what_a_trigger_writes_to_other_bindings_is_kept() {
    let app = App::new(json!({})).function("work", &queue());
    let host = app.start_with(|host| host.env("ECHO_OUTPUTS", r#"{"done": {"n": 1}}"#)).await;
    host.queue_message("work", "x").await.unwrap();
    let written = host.outputs();
    assert_eq!((written.len(), written[0].kind.as_str()), (1, "queue"));
    assert_eq!(written[0].value, OutputValue::Json(json!({"n": 1})));
}

#[tokio::test]
async fn only_a_function_of_the_right_kind_that_is_enabled_can_be_fired() {
    let app = App::new(json!({})).function("tick", &timer(&json!({}))).function("off", &timer(&json!({})));
    let host = app.start_with(|host| host.env("AzureWebJobs.off.Disabled", "true")).await;
    assert!(matches!(host.fire_timer("nope").await, Err(TriggerError::Unknown(name)) if name == "nope"));
    assert!(matches!(host.queue_message("tick", "x").await, Err(TriggerError::WrongTrigger { .. })));
    assert!(matches!(host.fire_timer("off").await, Err(TriggerError::WrongTrigger { .. })));
}

#[tokio::test]
async fn administrators_fire_functions_over_http_in_the_background() {
    let keys = serde_json::from_value(json!({"master": "m", "host": {"default": "h"}})).unwrap();
    let app = App::new(json!({})).function("tick", &timer(&json!({}))).function("work", &queue());
    let host = app.http("web", "web", "anonymous").start_with(|host| host.profile(Profile::Azure).keys(keys)).await;
    let fire = async |name: &str, key: &str, body: &str| {
        let url = format!("{}/admin/functions/{name}", host.base_url());
        let request = client().post(url).header("x-functions-key", key).body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(fire("tick", "h", "{}").await, 401);
    assert_eq!(fire("none", "m", "{}").await, 404);
    assert_eq!(fire("tick", "m", "no json").await, 400);
    assert_eq!(fire("web", "m", "{}").await, 501);
    assert_eq!(fire("tick", "m", "{}").await, 202);
    printed_envelope(&host, "tick").await;
    assert_eq!(fire("work", "m", r#"{"input": "by hand"}"#).await, 202);
    assert_eq!(printed_envelope(&host, "work").await["Data"]["job"], "\"by hand\"");
}

#[tokio::test]
async fn a_forged_envelope_carries_the_marks_of_a_proxied_request_and_a_real_one_does_not() {
    let app = App::new(json!({})).function("tick", &timer(&json!({}))).http("zz", "{*rest}", "anonymous");
    let host = app.start().await;
    let forged = client()
        .post(format!("{}/tick", host.base_url()))
        .header("user-agent", "Azure-Functions-Host/4.1052.200.0")
        .header("x-azure-functions-invocationid", "forged")
        .body(r#"{"Data": {"timer": {}}, "Metadata": {}}"#);
    let seen = Seen::from(forged.send().await.unwrap()).await;
    assert_eq!(seen.text("target"), "/tick", "the same path as the real one");
    assert!(!seen.header("x-ms-invocation-id").is_empty() && !seen.header("x-forwarded-for").is_empty());
    assert_eq!(get(host.base_url()).await.status(), 200);
    let ran = host.logs().iter().any(|line| line.text.starts_with("envelope "));
    assert!(!ran, "a handler that looks at the marks does not run the timer");
    host.fire_timer("tick").await.unwrap();
    printed_envelope(&host, "tick").await;
}
