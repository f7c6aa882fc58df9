//! Which model provider answers, and how it is reached: read from the environment by a pure function.
//!
//! The order in which variables win is that of the Azure agents runtime, so that an app folder moves over unchanged.

use std::time::Duration;

use http::HeaderValue;
use url::Url;

use crate::config::Environment;
use crate::config::variables::{self, Variable};
use crate::http::endpoint;
use crate::http::identity::Identity;

/// The model when neither agent, app nor environment names one; the Python runtime's choice.
const DEFAULT_MODEL: &str = "gpt-4o-mini";
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
/// The longest silence of a provider: reasoning models may think for minutes between two events.
const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Hosts whose OpenAI endpoints are known to speak the Responses API.
const RESPONSES_HOSTS: [&str; 4] =
    ["openai.com", "openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"];

/// What a deployment without a provider has to set.
pub(super) const REMEDY: &str = "set AZURE_OPENAI_ENDPOINT, FOUNDRY_PROJECT_ENDPOINT or OPENAI_API_KEY \
    (or AZURE_FUNCTIONS_AGENTS_PROVIDER=demo for canned replies)";

/// What the environment says about the model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerSettings {
    /// Nothing.
    Unset,
    /// Canned replies are wanted (`AZURE_FUNCTIONS_AGENTS_PROVIDER=demo`).
    Demo,
    /// A provider that speaks one of OpenAI's APIs.
    Model(Box<ModelSettings>),
}

/// How to reach a provider that speaks one of OpenAI's APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Who it is.
    pub provider: Provider,
    /// The address that the API's paths are appended to; ends with a slash.
    pub base_url: Url,
    /// `api-version` query parameter, when one is wanted (`AZURE_OPENAI_API_VERSION`).
    pub api_version: Option<String>,
    /// Which API is spoken.
    pub api: Api,
    /// The server is not known to be OpenAI's: only fields that every compatible server accepts are sent to it.
    pub compatible_only: bool,
    /// How requests are authenticated.
    pub auth: Auth,
    /// The model of agents that name none.
    pub default_model: String,
    /// `AZURE_FUNCTIONS_AGENTS_REASONING_EFFORT`, passed on as it is.
    pub reasoning_effort: Option<String>,
    /// `AZURE_FUNCTIONS_AGENTS_REASONING_SUMMARY`, passed on as it is.
    pub reasoning_summary: Option<String>,
    /// The longest silence in a reply before it counts as lost (`A2A_MODEL_IDLE_TIMEOUT_SECONDS`).
    pub idle_timeout: Duration,
}

/// A provider that speaks one of OpenAI's APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or a server compatible with it (`OPENAI_BASE_URL`).
    OpenAi,
    /// Azure OpenAI.
    AzureOpenAi,
    /// A Microsoft Foundry project.
    Foundry,
}

impl Provider {
    /// Its name in settings and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::AzureOpenAi => "azure_openai",
            Self::Foundry => "foundry",
        }
    }
}

/// The API that a provider is spoken to with (`A2A_OPENAI_API`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `POST responses`, the default for OpenAI and Azure.
    Responses,
    /// `POST chat/completions`, the default for other servers.
    Chat,
}

/// How requests to a provider are authenticated. Secrets are marked sensitive, so `Debug` does not print them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Not at all: a compatible server without a key.
    None,
    /// `Authorization`, with the whole header value.
    Bearer(HeaderValue),
    /// `api-key`.
    ApiKey(HeaderValue),
    /// A Microsoft Entra ID token for `scope`.
    Entra {
        /// The audience.
        scope: &'static str,
        /// Who asks for it.
        identity: Identity,
    },
}

/// A fault in the provider's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No such provider.
    #[error("AZURE_FUNCTIONS_AGENTS_PROVIDER is {0:?}; the choices are openai, azure_openai, foundry and demo")]
    UnknownProvider(String),
    /// The chosen provider lacks a variable.
    #[error("the model provider {provider} needs {variable}")]
    Missing {
        /// The provider's name.
        provider: &'static str,
        /// What to set.
        variable: &'static str,
    },
    /// A variable has an impossible value, which is not repeated because it may be a secret.
    #[error("{variable} cannot be used: {reason}")]
    Invalid {
        /// Its name.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl RunnerSettings {
    /// Reads the settings. Blank variables count as unset.
    pub fn from_env(environment: &Environment) -> Result<Self, SettingsError> {
        let filled = |variable: Variable| environment.get_filled(variable.name);
        let provider = match filled(variables::PROVIDER).map(str::to_lowercase) {
            Some(name) => match name.as_str() {
                "demo" => return Ok(Self::Demo),
                "openai" => Provider::OpenAi,
                "azure_openai" => Provider::AzureOpenAi,
                "foundry" => Provider::Foundry,
                _ => return Err(SettingsError::UnknownProvider(name)),
            },
            None if filled(variables::AZURE_OPENAI_URL).is_some() => Provider::AzureOpenAi,
            None if filled(variables::FOUNDRY_URL).is_some() => Provider::Foundry,
            None if filled(variables::OPENAI_KEY).is_some() => Provider::OpenAi,
            None => return Ok(Self::Unset),
        };
        Ok(Self::Model(Box::new(ModelSettings::from_env(provider, environment)?)))
    }
}

impl ModelSettings {
    fn from_env(provider: Provider, environment: &Environment) -> Result<Self, SettingsError> {
        let filled = |variable: Variable| environment.get_filled(variable.name).map(str::to_owned);
        let base_url = base_url(provider, environment)?;
        let compatible_only = provider == Provider::OpenAi && !speaks_responses(&base_url);
        let api = match filled(variables::OPENAI_API).as_deref() {
            Some("responses") => Api::Responses,
            Some("chat") => Api::Chat,
            Some(_) => return Err(invalid(variables::OPENAI_API, "the choices are responses and chat")),
            None if compatible_only => Api::Chat,
            None => Api::Responses,
        };
        let own_model = match provider {
            Provider::OpenAi => None,
            Provider::AzureOpenAi => filled(variables::AZURE_OPENAI_MODEL),
            Provider::Foundry => filled(variables::FOUNDRY_MODEL),
        };
        let general_model = || filled(variables::MODEL).unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        Ok(Self {
            provider,
            auth: auth(provider, compatible_only, environment)?,
            api_version: filled(variables::AZURE_OPENAI_API_VERSION).filter(|_| provider == Provider::AzureOpenAi),
            api,
            compatible_only,
            base_url,
            default_model: own_model.unwrap_or_else(general_model),
            reasoning_effort: filled(variables::REASONING_EFFORT),
            reasoning_summary: filled(variables::REASONING_SUMMARY),
            idle_timeout: idle_timeout(environment)?,
        })
    }
}

fn base_url(provider: Provider, environment: &Environment) -> Result<Url, SettingsError> {
    let (variable, default) = match provider {
        Provider::OpenAi => (variables::OPENAI_URL, Some(OPENAI_BASE_URL)),
        Provider::AzureOpenAi => (variables::AZURE_OPENAI_URL, None),
        Provider::Foundry => (variables::FOUNDRY_URL, None),
    };
    let text = environment.get_filled(variable.name).or(default);
    let text = text.ok_or(SettingsError::Missing { provider: provider.name(), variable: variable.name })?;
    let mut url = endpoint::parse(text).map_err(|error| invalid(variable, &error.to_string()))?;
    // Both forms of the address are shown by Azure's portal.
    if provider != Provider::OpenAi && !url.path().ends_with("/openai/v1/") {
        url.set_path(&format!("{}openai/v1/", url.path()));
    }
    Ok(url)
}

fn speaks_responses(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    RESPONSES_HOSTS
        .iter()
        .any(|known| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

fn auth(provider: Provider, compatible_only: bool, environment: &Environment) -> Result<Auth, SettingsError> {
    let filled = |variable: Variable| environment.get_filled(variable.name);
    let entra = |scope| Auth::Entra { scope, identity: Identity::from_env(environment) };
    match provider {
        Provider::OpenAi => match filled(variables::OPENAI_KEY) {
            Some(key) => Ok(Auth::Bearer(secret(variables::OPENAI_KEY, &format!("Bearer {key}"))?)),
            None if compatible_only => Ok(Auth::None),
            None => Err(SettingsError::Missing { provider: provider.name(), variable: variables::OPENAI_KEY.name }),
        },
        Provider::AzureOpenAi => match filled(variables::AZURE_OPENAI_KEY) {
            Some(key) => Ok(Auth::ApiKey(secret(variables::AZURE_OPENAI_KEY, key)?)),
            None => Ok(entra("https://cognitiveservices.azure.com/.default")),
        },
        Provider::Foundry => Ok(entra("https://ai.azure.com/.default")),
    }
}

fn secret(variable: Variable, text: &str) -> Result<HeaderValue, SettingsError> {
    let value = HeaderValue::from_str(text);
    let mut value = value.map_err(|_| invalid(variable, "it has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn idle_timeout(environment: &Environment) -> Result<Duration, SettingsError> {
    let variable = variables::MODEL_IDLE_TIMEOUT;
    let Some(text) = environment.get_filled(variable.name) else { return Ok(DEFAULT_IDLE_TIMEOUT) };
    text.parse()
        .ok()
        .and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| invalid(variable, "it is not a positive number of seconds"))
}

fn invalid(variable: Variable, reason: &str) -> SettingsError {
    SettingsError::Invalid { variable: variable.name, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
