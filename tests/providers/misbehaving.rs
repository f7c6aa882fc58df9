//! Against a provider that misbehaves in every way that bytes allow.

use a2a_functions::runner::{Runner as _, RunnerError};
use futures::StreamExt as _;
use serde_json::json;

use crate::scripted::{Answer, Scripted, Step, end, event, text};
use crate::{Provider, run, runner, turn};

/// A runner that takes a fifth of a second of silence for a loss.
fn impatient(server: &Scripted) -> a2a_functions::runner::openai::OpenAiRunner {
    let mut variables = Provider::OpenAiResponses.variables(&server.url);
    variables.push(("A2A_MODEL_IDLE_TIMEOUT_SECONDS", "0.2".to_owned()));
    runner(&variables)
}

fn good(reply: &str) -> Answer {
    Answer::stream(vec![text(false, reply), end(false)])
}

/// Whether an error is of the kind that is expected.
type Verdict = fn(&RunnerError) -> bool;

fn is_unavailable(error: &RunnerError) -> bool {
    matches!(error, RunnerError::Unavailable(_))
}

fn is_refused(error: &RunnerError) -> bool {
    matches!(error, RunnerError::Refused(_))
}

fn is_malformed(error: &RunnerError) -> bool {
    matches!(error, RunnerError::Malformed(_))
}

#[tokio::test]
async fn silence_before_the_first_words_leads_to_another_attempt() {
    for silence in [Answer::mute(), Answer::stream(vec![Step::Stall]), Answer::stream(vec![Step::Cut])] {
        let server = Scripted::start(vec![silence, good("at last")]).await;
        let outcome = run(&impatient(&server), turn("hello")).await;
        assert_eq!(outcome.text, "at last", "{outcome:?}");
    }
}

#[tokio::test]
async fn a_stall_in_the_middle_of_a_reply_ends_it() {
    let server = Scripted::start(vec![Answer::stream(vec![text(false, "half"), Step::Stall])]).await;
    let outcome = run(&impatient(&server), turn("hello")).await;
    assert_eq!(outcome.text, "half");
    assert!(outcome.error.as_ref().is_some_and(is_unavailable), "{outcome:?}");
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn answers_that_are_no_reply_are_told_apart() {
    let error = |code: &str| event(&json!({"type": "error", "code": code, "message": "m"}));
    let filtered = event(&json!({"type": "response.incomplete",
        "response": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}}));
    let tool_call =
        event(&json!({"type": "response.output_item.added", "item": {"type": "function_call", "name": "f"}}));
    let endless_event = vec![Step::Send("data: x\n".repeat(100_000).into()); 8];
    let endless_comments = vec![Step::Send(": c\n\n".repeat(100_000).into()); 10];
    let endless_line = vec![Step::Send(vec![b'x'; 1024 * 1024].into()); 8];
    let endless_reply = vec![text(false, &"x".repeat(300_000)); 8];
    let rows: Vec<(&str, Answer, Verdict)> = vec![
        ("broken JSON", Answer::stream(vec![Step::Send("data: {\"type\n\n".into())]), is_malformed),
        ("bytes that are no text", Answer::stream(vec![Step::Send(b"data: \xff\xfe\n\n"[..].into())]), is_malformed),
        ("a web page", Answer::body(200, "text/html", "<html>"), is_malformed),
        ("a reply that is not streamed", Answer::body(200, "application/json", "{}"), is_malformed),
        (
            "an error with status 200",
            Answer::body(200, "application/json", r#"{"error":{"code":"invalid_prompt"}}"#),
            is_refused,
        ),
        ("a tool call that nothing asked for", Answer::stream(vec![tool_call]), is_malformed),
        ("an event of endless lines", Answer::stream(endless_event), is_malformed),
        ("endless comments", Answer::stream(endless_comments), is_malformed),
        ("an endless line", Answer::stream(endless_line), is_malformed),
        ("an endless reply", Answer::stream(endless_reply), is_malformed),
        ("an error for good", Answer::stream(vec![error("invalid_prompt")]), is_refused),
        ("a content filter", Answer::stream(vec![filtered]), is_refused),
        (
            "a content filter on the prompt",
            Answer::body(400, "application/json", r#"{"error":{"code":"content_filter"}}"#),
            is_refused,
        ),
        ("a redirect", Answer::body(307, "text/plain", ""), is_refused),
    ];
    for (what, answer, is_expected) in rows {
        let server = Scripted::start(vec![answer, good("never sent")]).await;
        let outcome = run(&impatient(&server), turn("hello")).await;
        assert!(outcome.error.as_ref().is_some_and(is_expected), "{what}: {:?}", outcome.error);
        assert_eq!(server.requests(), 1, "{what}");
    }
}

#[tokio::test]
async fn a_passing_error_inside_the_stream_leads_to_another_attempt() {
    let error = event(&json!({"type": "error", "code": "server_error", "message": "m"}));
    let server = Scripted::start(vec![Answer::stream(vec![error]), good("at last")]).await;
    assert_eq!(run(&impatient(&server), turn("hello")).await.text, "at last");
}

#[tokio::test]
async fn events_are_read_however_their_bytes_are_cut() {
    let stream = "\u{feff}: comment\r\nevent: x\r\ndata: {\"type\":\"response.output_text.delta\",\r\ndata:\"delta\":\"Grüße\"}\r\n\r\n\
        : ping\n\nretry: 5\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
    let bytes = stream.bytes().map(|byte| Step::Send(vec![byte].into())).collect();
    let server = Scripted::start(vec![Answer::stream(bytes)]).await;
    let outcome = run(&impatient(&server), turn("hello")).await;
    assert_eq!((outcome.text.as_str(), outcome.is_done), ("Grüße", true), "{outcome:?}");
}

#[tokio::test]
async fn lines_end_in_every_way_that_the_format_allows_and_a_byte_order_mark_is_skipped() {
    let stream = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"first \"}\n\ndata:\n\n: ping\n\nid\n\n\
        data: {\"type\":\"response.output_text.delta\",\"delta\":\"second\"}\n\n\
        data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n";
    for line_end in ["\n", "\r\n", "\r"] {
        for mark in ["", "\u{feff}"] {
            let stream = format!("{mark}{}", stream.replace('\n', line_end));
            let whole = vec![Step::Send(stream.clone().into()), Step::Stall];
            let bytes = stream.bytes().map(|byte| Step::Send(vec![byte].into())).collect();
            let server = Scripted::start(vec![Answer::stream(whole), Answer::stream(bytes)]).await;
            let runner = impatient(&server);
            for _ in 0..2 {
                let outcome = run(&runner, turn("hello")).await;
                assert_eq!(outcome.text, "first second", "{line_end:?} {mark:?}: {outcome:?}");
                assert!(outcome.is_done, "{line_end:?} {mark:?}: {outcome:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_chat_reply_that_has_finished_does_not_need_the_rest_of_its_stream() {
    let finished = |reply: &str| {
        let choice = json!({"index": 0, "delta": {"content": reply}, "finish_reason": "stop"});
        event(&json!({"choices": [choice]}))
    };
    let comments = Step::Send(": still here\n\n".into());
    for rest in [
        vec![Step::Stall],
        vec![Step::Cut],
        vec![comments, Step::Stall],
        vec![Step::Send("data: {\"choi\n\n".into())],
        vec![event(&json!({"error": {"code": "server_error", "message": "no counts today"}}))],
    ] {
        let steps = [&[finished("whole")], &rest[..]].concat();
        let server = Scripted::start(vec![Answer::stream(steps)]).await;
        let outcome = run(&Provider::OpenAiChat.runner(&server.url), turn("hello")).await;
        assert_eq!((outcome.text.as_str(), outcome.is_done), ("whole", true), "{rest:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn members_that_are_not_needed_may_be_null_or_of_another_type() {
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let hi = json!({"choices": [{"index": 0, "delta": {"content": "hi"}}]});
    for odd in [
        json!({"model": null, "choices": null, "usage": null, "error": null}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": null}]}),
        json!({"choices": [{"index": null, "delta": {"role": null, "content": null, "refusal": null}, "finish_reason": ""}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "another answer"}, "finish_reason": "stop"}]}),
        json!({"model": 7, "object": {}, "id": [], "choices": [], "usage": "none", "error": ""}),
        json!({"choices": [], "usage": {"prompt_tokens": 1.5, "completion_tokens": null}}),
        json!({"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "many"}}),
    ] {
        let steps = vec![event(&odd), event(&hi), event(&odd), event(&last), event(&odd), end(true)];
        let server = Scripted::start(vec![Answer::stream(steps)]).await;
        let outcome = run(&Provider::OpenAiChat.runner(&server.url), turn("hello")).await;
        assert_eq!((outcome.text.as_str(), outcome.is_done), ("hi", true), "{odd}: {outcome:?}");
    }
    for odd in [
        json!({"status": "completed", "model": null, "usage": null, "error": null, "incomplete_details": null}),
        json!({"status": "completed", "model": 7, "usage": {"input_tokens": null, "output_tokens": 2.5}}),
        json!({"status": null, "error": ""}),
        json!({"status": "completed", "usage": [], "incomplete_details": "none", "error": {}}),
        json!(null),
    ] {
        let hi =
            json!({"type": "response.output_text.delta", "delta": "hi", "output_index": null, "content_index": "0"});
        let last = json!({"type": "response.completed", "response": odd});
        let server = Scripted::start(vec![Answer::stream(vec![event(&hi), event(&last)])]).await;
        let outcome = run(&Provider::OpenAiResponses.runner(&server.url), turn("hello")).await;
        assert_eq!((outcome.text.as_str(), outcome.is_done), ("hi", true), "{odd}: {outcome:?}");
    }
}

#[tokio::test]
async fn an_error_whose_body_does_not_end_is_reported_all_the_same() {
    let body = Answer::body(400, "application/json", r#"{"error":"#).then(Step::Stall);
    let server = Scripted::start(vec![body]).await;
    let outcome = run(&Provider::OpenAiResponses.runner(&server.url), turn("hello")).await;
    assert!(outcome.error.as_ref().is_some_and(is_refused), "{outcome:?}");
}

#[tokio::test]
async fn turns_share_a_connection() {
    let server = Scripted::start(vec![good("one"), good("two"), good("three")]).await;
    let runner = impatient(&server);
    for expected in ["one", "two", "three"] {
        assert_eq!(run(&runner, turn("hello")).await.text, expected);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_stream_that_stays_open_after_the_reply_does_not_hold_it_up() {
    let server = Scripted::start(vec![Answer::stream(vec![text(false, "whole"), end(false), Step::Stall])]).await;
    let runner = Provider::OpenAiResponses.runner(&server.url);
    let outcome = run(&runner, turn("hello")).await;
    assert_eq!((outcome.text.as_str(), outcome.is_done), ("whole", true), "{outcome:?}");
}

#[tokio::test]
async fn dropping_a_run_abandons_the_request() {
    let mut server = Scripted::start(vec![Answer::stream(vec![text(false, "half"), Step::Stall])]).await;
    let runner = Provider::OpenAiResponses.runner(&server.url);
    let mut events = runner.run(turn("hello"));
    events.next().await.unwrap().unwrap();
    drop(events);
    server.body_dropped().await;
}
