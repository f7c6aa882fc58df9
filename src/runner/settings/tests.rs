//! Which settings the environment leads to.

use super::*;

fn settings(variables: &[(&str, &str)]) -> Result<RunnerSettings, SettingsError> {
    let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    RunnerSettings::from_env(&environment)
}

fn model(variables: &[(&str, &str)]) -> ModelSettings {
    match settings(variables) {
        Ok(RunnerSettings::Model(model)) => *model,
        other => panic!("no model provider for {variables:?}: {other:?}"),
    }
}

const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-secret");
const AZURE: (&str, &str) = ("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com");
const FOUNDRY: (&str, &str) = ("FOUNDRY_PROJECT_ENDPOINT", "https://x.services.ai.azure.com/api/projects/p");

fn chosen(name: &'static str) -> (&'static str, &'static str) {
    ("AZURE_FUNCTIONS_AGENTS_PROVIDER", name)
}

#[test]
fn an_explicit_provider_wins_and_otherwise_the_first_endpoint_or_key_decides() {
    for (variables, expected) in [
        (&[KEY][..], Provider::OpenAi),
        (&[KEY, FOUNDRY], Provider::Foundry),
        (&[KEY, FOUNDRY, AZURE], Provider::AzureOpenAi),
        (&[KEY, FOUNDRY, AZURE, chosen(" OpenAI ")], Provider::OpenAi),
        (&[KEY, FOUNDRY, AZURE, chosen("foundry")], Provider::Foundry),
        (&[AZURE, chosen("AZURE_OPENAI")], Provider::AzureOpenAi),
        (&[KEY, AZURE, chosen("  ")], Provider::AzureOpenAi),
        (&[KEY, ("AZURE_OPENAI_ENDPOINT", " "), ("FOUNDRY_PROJECT_ENDPOINT", "")], Provider::OpenAi),
    ] {
        assert_eq!(model(variables).provider, expected, "{variables:?}");
    }
}

#[test]
fn without_a_provider_the_settings_say_so() {
    assert_eq!(settings(&[]), Ok(RunnerSettings::Unset));
    assert_eq!(settings(&[("OPENAI_API_KEY", " ")]), Ok(RunnerSettings::Unset));
    assert_eq!(settings(&[("OPENAI_BASE_URL", "http://localhost:1")]), Ok(RunnerSettings::Unset));
    assert_eq!(settings(&[KEY, chosen("demo")]), Ok(RunnerSettings::Demo));
}

#[test]
fn the_providers_own_model_variable_outranks_the_general_one() {
    let general = ("AZURE_FUNCTIONS_AGENTS_MODEL", "general");
    for (variables, expected) in [
        (&[KEY][..], "gpt-4o-mini"),
        (&[KEY, general], "general"),
        (&[KEY, ("FOUNDRY_MODEL", "other")], "gpt-4o-mini"),
        (&[AZURE], "gpt-4o-mini"),
        (&[AZURE, general], "general"),
        (&[AZURE, general, ("AZURE_OPENAI_DEPLOYMENT", "deployed")], "deployed"),
        (&[FOUNDRY, general], "general"),
        (&[FOUNDRY, general, ("FOUNDRY_MODEL", "own")], "own"),
        (&[FOUNDRY, ("FOUNDRY_MODEL", " ")], "gpt-4o-mini"),
    ] {
        assert_eq!(model(variables).default_model, expected, "{variables:?}");
    }
}

#[test]
fn base_addresses_take_the_form_that_each_provider_documents() {
    for (variables, expected) in [
        (&[KEY][..], "https://api.openai.com/v1/"),
        (&[KEY, ("OPENAI_BASE_URL", "http://localhost:11434/v1")], "http://localhost:11434/v1/"),
        (&[AZURE], "https://x.openai.azure.com/openai/v1/"),
        (
            &[("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com/openai/v1/")],
            "https://x.openai.azure.com/openai/v1/",
        ),
        (&[FOUNDRY], "https://x.services.ai.azure.com/api/projects/p/openai/v1/"),
    ] {
        assert_eq!(model(variables).base_url.as_str(), expected, "{variables:?}");
    }
}

#[test]
fn the_api_is_responses_for_openai_and_azure_and_chat_for_other_servers_unless_it_is_named() {
    let base = |url| ("OPENAI_BASE_URL", url);
    let gateway = ("AZURE_OPENAI_ENDPOINT", "https://gateway.example");
    for (variables, expected) in [
        (&[KEY][..], Api::Responses),
        (&[KEY, base("https://eu.api.openai.com/v1")], Api::Responses),
        (&[KEY, base("https://x.openai.azure.com/openai/v1")], Api::Responses),
        (&[KEY, base("https://notopenai.com/v1")], Api::Chat),
        (&[KEY, base("http://localhost:11434/v1")], Api::Chat),
        (&[KEY, base("http://localhost:11434/v1"), ("A2A_OPENAI_API", "responses")], Api::Responses),
        (&[KEY, ("A2A_OPENAI_API", "chat")], Api::Chat),
        (&[AZURE], Api::Responses),
        (&[gateway], Api::Responses),
        (&[AZURE, ("A2A_OPENAI_API", "chat")], Api::Chat),
        (&[FOUNDRY], Api::Responses),
    ] {
        assert_eq!(model(variables).api, expected, "{variables:?}");
    }
}

#[test]
fn each_provider_authenticates_in_its_own_way() {
    let entra = |scope| Auth::Entra { scope, identity: Identity::Developer };
    let local = ("OPENAI_BASE_URL", "http://localhost:11434/v1");
    for (variables, expected) in [
        (&[KEY][..], Auth::Bearer(HeaderValue::from_static("Bearer sk-secret"))),
        (&[chosen("openai"), local], Auth::None),
        (&[AZURE, ("AZURE_OPENAI_API_KEY", "azure-secret")], Auth::ApiKey(HeaderValue::from_static("azure-secret"))),
        (&[AZURE, KEY], entra("https://cognitiveservices.azure.com/.default")),
        (&[FOUNDRY, ("AZURE_OPENAI_API_KEY", "azure-secret")], entra("https://ai.azure.com/.default")),
    ] {
        assert_eq!(model(variables).auth, expected, "{variables:?}");
    }
}

#[test]
fn options_are_read_and_the_api_version_is_azures_alone() {
    let options = [
        ("AZURE_FUNCTIONS_AGENTS_REASONING_EFFORT", "low"),
        ("AZURE_FUNCTIONS_AGENTS_REASONING_SUMMARY", "auto"),
        ("AZURE_OPENAI_API_VERSION", "preview"),
        ("A2A_MODEL_IDLE_TIMEOUT_SECONDS", "1.5"),
    ];
    let azure = model(&[&[AZURE], &options[..]].concat());
    assert_eq!(azure.reasoning_effort.as_deref(), Some("low"));
    assert_eq!(azure.reasoning_summary.as_deref(), Some("auto"));
    assert_eq!(azure.api_version.as_deref(), Some("preview"));
    assert_eq!(azure.idle_timeout, Duration::from_millis(1500));

    let openai = model(&[&[KEY], &options[..]].concat());
    assert_eq!(openai.api_version, None);
    assert_eq!(model(&[KEY]).idle_timeout, Duration::from_secs(300));
}

#[test]
fn faults_name_the_variable_and_the_choices_but_no_value_that_may_be_secret() {
    for (variables, expected) in [
        (&[chosen("gemini")][..], "\"gemini\"; the choices are openai, azure_openai, foundry and demo"),
        (&[chosen("openai")], "openai needs OPENAI_API_KEY"),
        (&[chosen("azure_openai")], "azure_openai needs AZURE_OPENAI_ENDPOINT"),
        (&[chosen("foundry")], "foundry needs FOUNDRY_PROJECT_ENDPOINT"),
        (&[KEY, ("OPENAI_BASE_URL", "http://models.example")], "OPENAI_BASE_URL cannot be used: it must use https"),
        (&[("AZURE_OPENAI_ENDPOINT", "x.openai.azure.com")], "AZURE_OPENAI_ENDPOINT cannot be used: it is not"),
        (&[("OPENAI_API_KEY", "sk\nsecret")], "OPENAI_API_KEY cannot be used"),
        (&[KEY, ("A2A_OPENAI_API", "grpc")], "A2A_OPENAI_API cannot be used: the choices are responses and chat"),
        (&[KEY, ("A2A_MODEL_IDLE_TIMEOUT_SECONDS", "0")], "A2A_MODEL_IDLE_TIMEOUT_SECONDS cannot be used"),
        (&[KEY, ("A2A_MODEL_IDLE_TIMEOUT_SECONDS", "soon")], "A2A_MODEL_IDLE_TIMEOUT_SECONDS cannot be used"),
    ] {
        let message = settings(variables).expect_err("a fault").to_string();
        assert!(message.contains(expected), "{variables:?}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn keys_do_not_show_in_debug_output() {
    for variables in [&[KEY][..], &[AZURE, ("AZURE_OPENAI_API_KEY", "azure-secret")]] {
        let debug = format!("{:?}", settings(variables));
        assert!(!debug.contains("secret"), "{debug}");
    }
}
