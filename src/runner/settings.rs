//! Which model provider answers, and how it is reached: read from the environment by a pure function.
//!
//! The order in which variables win is that of the Azure agents runtime, so that an app folder moves over unchanged.

use std::time::Duration;

use http::HeaderValue;
use url::Url;

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

const PROVIDER: &str = "AZURE_FUNCTIONS_AGENTS_PROVIDER";
const AZURE_ENDPOINT: &str = "AZURE_OPENAI_ENDPOINT";
const FOUNDRY_ENDPOINT: &str = "FOUNDRY_PROJECT_ENDPOINT";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

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
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let env = Environment(&lookup);
        let provider = match env.get(PROVIDER).map(|name| name.to_lowercase()) {
            Some(name) => match name.as_str() {
                "demo" => return Ok(Self::Demo),
                "openai" => Provider::OpenAi,
                "azure_openai" => Provider::AzureOpenAi,
                "foundry" => Provider::Foundry,
                _ => return Err(SettingsError::UnknownProvider(name)),
            },
            None if env.get(AZURE_ENDPOINT).is_some() => Provider::AzureOpenAi,
            None if env.get(FOUNDRY_ENDPOINT).is_some() => Provider::Foundry,
            None if env.get(OPENAI_KEY).is_some() => Provider::OpenAi,
            None => return Ok(Self::Unset),
        };
        Ok(Self::Model(Box::new(ModelSettings::from_env(provider, &env)?)))
    }
}

impl ModelSettings {
    fn from_env(provider: Provider, env: &Environment<'_>) -> Result<Self, SettingsError> {
        let base_url = base_url(provider, env)?;
        let compatible_only = !speaks_responses(&base_url);
        let api = match env.get("A2A_OPENAI_API").as_deref() {
            Some("responses") => Api::Responses,
            Some("chat") => Api::Chat,
            Some(_) => return Err(invalid("A2A_OPENAI_API", "the choices are responses and chat")),
            None if provider == Provider::OpenAi && compatible_only => Api::Chat,
            None => Api::Responses,
        };
        let own_model = match provider {
            Provider::OpenAi => None,
            Provider::AzureOpenAi => env.get("AZURE_OPENAI_DEPLOYMENT"),
            Provider::Foundry => env.get("FOUNDRY_MODEL"),
        };
        Ok(Self {
            provider,
            auth: auth(provider, compatible_only, env)?,
            api_version: env.get("AZURE_OPENAI_API_VERSION").filter(|_| provider == Provider::AzureOpenAi),
            api,
            compatible_only: compatible_only && provider == Provider::OpenAi,
            base_url,
            default_model: own_model
                .or_else(|| env.get("AZURE_FUNCTIONS_AGENTS_MODEL"))
                .unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            reasoning_effort: env.get("AZURE_FUNCTIONS_AGENTS_REASONING_EFFORT"),
            reasoning_summary: env.get("AZURE_FUNCTIONS_AGENTS_REASONING_SUMMARY"),
            idle_timeout: idle_timeout(env)?,
        })
    }
}

fn base_url(provider: Provider, env: &Environment<'_>) -> Result<Url, SettingsError> {
    let missing = |variable| SettingsError::Missing { provider: provider.name(), variable };
    let (variable, text) = match provider {
        Provider::OpenAi => {
            let variable = "OPENAI_BASE_URL";
            (variable, env.get(variable).unwrap_or_else(|| OPENAI_BASE_URL.to_owned()))
        }
        Provider::AzureOpenAi => (AZURE_ENDPOINT, env.get(AZURE_ENDPOINT).ok_or_else(|| missing(AZURE_ENDPOINT))?),
        Provider::Foundry => (FOUNDRY_ENDPOINT, env.get(FOUNDRY_ENDPOINT).ok_or_else(|| missing(FOUNDRY_ENDPOINT))?),
    };
    let mut url = endpoint::parse(&text).map_err(|error| invalid(variable, &error.to_string()))?;
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

fn auth(provider: Provider, compatible_only: bool, env: &Environment<'_>) -> Result<Auth, SettingsError> {
    let entra = |scope| Auth::Entra { scope, identity: Identity::from_env(|name| env.get(name)) };
    match provider {
        Provider::OpenAi => match env.get(OPENAI_KEY) {
            Some(key) => Ok(Auth::Bearer(secret(OPENAI_KEY, &format!("Bearer {key}"))?)),
            None if compatible_only => Ok(Auth::None),
            None => Err(SettingsError::Missing { provider: provider.name(), variable: OPENAI_KEY }),
        },
        Provider::AzureOpenAi => match env.get("AZURE_OPENAI_API_KEY") {
            Some(key) => Ok(Auth::ApiKey(secret("AZURE_OPENAI_API_KEY", &key)?)),
            None => Ok(entra("https://cognitiveservices.azure.com/.default")),
        },
        Provider::Foundry => Ok(entra("https://ai.azure.com/.default")),
    }
}

fn secret(variable: &'static str, text: &str) -> Result<HeaderValue, SettingsError> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| invalid(variable, "it has characters that a header cannot carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn idle_timeout(env: &Environment<'_>) -> Result<Duration, SettingsError> {
    let variable = "A2A_MODEL_IDLE_TIMEOUT_SECONDS";
    let Some(text) = env.get(variable) else { return Ok(DEFAULT_IDLE_TIMEOUT) };
    text.parse()
        .ok()
        .and_then(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| invalid(variable, "it is not a positive number of seconds"))
}

fn invalid(variable: &'static str, reason: &str) -> SettingsError {
    SettingsError::Invalid { variable, reason: reason.to_owned() }
}

/// Variables, with blank ones left out.
struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

#[cfg(test)]
mod tests;
