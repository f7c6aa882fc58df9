//! What every provider must do alike.

use a2a_functions::runner::RunnerError;

use crate::model_server::ModelServer;
use crate::scripted::{Answer, Scripted, Step, end, refusal, text};
use crate::{Provider, run, turn};

#[tokio::test]
async fn openai_keeps_the_contract_over_responses() {
    keeps_the_contract(Provider::OpenAiResponses).await;
}

#[tokio::test]
async fn openai_keeps_the_contract_over_chat_completions() {
    keeps_the_contract(Provider::OpenAiChat).await;
}

#[tokio::test]
async fn azure_openai_keeps_the_contract_over_responses() {
    keeps_the_contract(Provider::AzureResponses).await;
}

#[tokio::test]
async fn azure_openai_keeps_the_contract_over_chat_completions() {
    keeps_the_contract(Provider::AzureChat).await;
}

/// `identity.rs` runs this for Foundry, in a process of its own.
pub(crate) async fn keeps_the_contract(provider: Provider) {
    let server = ModelServer::start();
    replies_with_the_models_text(provider, &server).await;
    waits_out_a_rate_limit(provider, &server).await;
    reports_a_cut_stream(provider, &server).await;
    passes_a_refusal_on(provider).await;
    reports_a_cut_after_the_first_words_without_a_second_attempt(provider).await;
}

async fn replies_with_the_models_text(provider: Provider, server: &ModelServer) {
    let outcome = run(&provider.runner(server.url()), turn("hello")).await;
    assert_eq!(outcome.text, "Grüße, wie geht es?", "{provider:?}: {outcome:?}");
    assert!(outcome.deltas > 1 && outcome.is_done, "{provider:?}: {outcome:?}");
}

async fn waits_out_a_rate_limit(provider: Provider, server: &ModelServer) {
    let outcome = run(&provider.runner(server.url()), turn("limit me")).await;
    assert_eq!(outcome.text, "Now you may.", "{provider:?}: {outcome:?}");
    let statuses: Vec<_> = server
        .journal()
        .await
        .iter()
        .filter(|entry| entry["body"].to_string().contains("limit me"))
        .map(|entry| entry["response"]["status"].clone())
        .collect();
    assert_eq!(statuses, [429, 200], "{provider:?}");
}

async fn reports_a_cut_stream(provider: Provider, server: &ModelServer) {
    let outcome = run(&provider.runner(server.url()), turn("break off")).await;
    assert!(matches!(outcome.error, Some(RunnerError::Unavailable(_))), "{provider:?}: {outcome:?}");
}

async fn passes_a_refusal_on(provider: Provider) {
    let chat = provider.speaks_chat();
    let server =
        Scripted::start(vec![Answer::stream(vec![refusal(chat, "I can"), refusal(chat, "not."), end(chat)])]).await;
    let outcome = run(&provider.runner(&server.url), turn("hello")).await;
    assert_eq!((outcome.text.as_str(), outcome.is_done), ("I cannot.", true), "{provider:?}: {outcome:?}");
}

async fn reports_a_cut_after_the_first_words_without_a_second_attempt(provider: Provider) {
    let chat = provider.speaks_chat();
    let cut = Answer::stream(vec![text(chat, "half"), Step::Cut]);
    let server = Scripted::start(vec![cut, Answer::stream(vec![text(chat, "whole"), end(chat)])]).await;
    let outcome = run(&provider.runner(&server.url), turn("hello")).await;
    assert_eq!(outcome.text, "half", "{provider:?}: {outcome:?}");
    assert!(matches!(outcome.error, Some(RunnerError::Unavailable(_))), "{provider:?}: {outcome:?}");
    assert_eq!(server.requests(), 1, "{provider:?}");
}
