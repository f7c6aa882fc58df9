//! Against the real server process.

use a2a_functions::runner::{RunnerError, Speaker, Usage, Utterance};

use crate::model_server::ModelServer;
use crate::{Provider, run, turn};

const BOTH_APIS: [Provider; 2] = [Provider::OpenAiResponses, Provider::OpenAiChat];

#[tokio::test]
async fn instructions_and_history_reach_the_model() {
    let server = ModelServer::start();
    for provider in BOTH_APIS {
        let runner = provider.runner(server.url());
        assert_eq!(run(&runner, turn("who are you?")).await.text, "The triage agent.", "{provider:?}");

        let mut second = turn("what did I say?");
        for (speaker, text) in [(Speaker::User, "hello"), (Speaker::Agent, "hi")] {
            second.history.push(Utterance { speaker, text: text.to_owned() });
        }
        assert_eq!(run(&runner, turn("what did I say?")).await.text, "Nothing yet.", "{provider:?}");
        assert_eq!(run(&runner, second).await.text, "You said hello.", "{provider:?}");
    }
}

#[tokio::test]
async fn the_usage_of_a_turn_is_reported() {
    let server = ModelServer::start();
    for provider in BOTH_APIS {
        let outcome = run(&provider.runner(server.url()), turn("hello")).await;
        let expected =
            Usage { input_tokens: 21, output_tokens: 8, model: "gpt-4o-mini".to_owned(), provider: "openai" };
        assert_eq!(outcome.usage, Some(expected), "{provider:?}");
    }
}

#[tokio::test]
async fn an_empty_reply_is_a_success() {
    let server = ModelServer::start();
    for provider in BOTH_APIS {
        let outcome = run(&provider.runner(server.url()), turn("say nothing")).await;
        assert_eq!((outcome.text.as_str(), outcome.is_done), ("", true), "{provider:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_slow_reply_is_waited_for() {
    let server = ModelServer::start();
    for provider in BOTH_APIS {
        let outcome = run(&provider.runner(server.url()), turn("be slow")).await;
        assert_eq!(outcome.text, "Slow but sure.", "{provider:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_asked_a_few_times() {
    let server = ModelServer::start();
    let outcome = run(&Provider::OpenAiResponses.runner(server.url()), turn("fail always")).await;
    let error = outcome.error.expect("an error");
    assert!(matches!(error, RunnerError::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("HTTP 500; type: server_error"), "{error}");
    assert_eq!(server.journal().await.len(), 3);
}

#[tokio::test]
async fn a_request_that_the_server_does_not_know_is_refused_at_once() {
    let server = ModelServer::start();
    let outcome = run(&Provider::OpenAiResponses.runner(server.url()), turn("something else entirely")).await;
    assert!(matches!(outcome.error, Some(RunnerError::Refused(_))), "{outcome:?}");
    assert_eq!(server.journal().await.len(), 1);
}
