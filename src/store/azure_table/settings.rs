//! Where the table is and how to prove that we may use it, as the Functions host and its users state it.

use std::fmt;
use std::time::Duration;

use azure_core::credentials::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};

use crate::config::Environment;
use crate::config::variables::{self, Variable};
use crate::http::identity::Identity;

/// The emulator's account, the same everywhere (Azurite README, "Default storage account").
const EMULATOR: &str = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;\
    AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;\
    TableEndpoint=http://127.0.0.1:10002/devstoreaccount1";
const DEFAULT_TABLE: &str = "a2afunctions";

/// What a store needs to know to reach its table.
#[derive(Debug, Clone)]
pub struct AzureTableSettings {
    pub(super) endpoint: Url,
    pub(super) credential: TableCredential,
    pub(super) table: TableName,
    pub(super) timeouts: TableTimeouts,
}

/// How long the table may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableTimeouts {
    /// One HTTP request with its answer.
    pub attempt: Duration,
    /// A whole storage call, repeated attempts included.
    pub call: Duration,
}

impl Default for TableTimeouts {
    /// Ten seconds for an attempt, twenty-five for a call.
    fn default() -> Self {
        Self { attempt: Duration::from_secs(10), call: Duration::from_secs(25) }
    }
}

/// How requests prove who sends them.
#[derive(Debug, Clone)]
pub(super) enum TableCredential {
    /// The account's key signs each request; it is kept as base64, as it is handed out.
    SharedKey { account: String, key: Secret },
    /// A shared access signature: query parameters that go with each request.
    Sas(Secret),
    /// A token for this identity.
    Identity(Identity),
}

/// A table's name: 3 to 63 letters and digits, a letter first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName(String);

/// Settings that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {fault}")]
pub struct SettingsError {
    variable: &'static str,
    fault: Fault,
}

/// What is wrong with a setting; never quotes it, for it may hold a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("a table's name is 3 to 63 letters and digits, starts with a letter and is not `tables`")]
    TableName,
    #[error("not an http or https address of a table service without a query")]
    Endpoint,
    #[error("a part of the connection string is not of the form name=value")]
    Part,
    #[error("the connection string names neither TableEndpoint nor AccountName")]
    NoEndpoint,
    #[error("the connection string has neither AccountName with AccountKey nor SharedAccessSignature")]
    NoCredential,
    #[error("AccountKey is not base64")]
    Key,
    #[error("the address carries no shared access signature (no `sig` parameter)")]
    NoSignature,
    #[error("a shared access signature is sent over https only, except to this machine")]
    CleartextSignature,
}

impl TableName {
    /// Takes `name` when Azure would.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let legal = (3..=63).contains(&name.len())
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && !name.eq_ignore_ascii_case("tables");
        legal.then_some(Self(name))
    }

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AzureTableSettings {
    /// The settings that `variable` looks up, from the first source that is set:
    ///
    /// 1. `A2A_TABLE_CONNECTION_STRING`, a connection string;
    /// 2. `A2A_TABLE_SAS_URL`, the table service's address with a shared access signature;
    /// 3. `AzureWebJobsStorage`, the host's connection string;
    /// 4. `AzureWebJobsStorage__tableServiceUri` or `AzureWebJobsStorage__accountName`, used with the managed identity
    ///    whose client id is in `AzureWebJobsStorage__clientId`, else with what [`Identity::from_env`] finds.
    ///
    /// `A2A_TABLE_NAME` names the table, `a2afunctions` without it. `None` when no source is set. Empty counts as unset.
    pub fn from_env(environment: &Environment) -> Result<Option<Self>, SettingsError> {
        let Some((endpoint, credential)) = source(environment)? else { return Ok(None) };
        let table = environment.get_filled(variables::TABLE_NAME.name).unwrap_or(DEFAULT_TABLE);
        let table = TableName::new(table).ok_or(Fault::TableName.of(variables::TABLE_NAME.name))?;
        Ok(Some(Self { endpoint, credential, table, timeouts: TableTimeouts::default() }))
    }

    /// The same, with other timeouts.
    #[must_use]
    pub fn with_timeouts(self, timeouts: TableTimeouts) -> Self {
        Self { timeouts, ..self }
    }
}

impl Fault {
    fn of(self, variable: &'static str) -> SettingsError {
        SettingsError { variable, fault: self }
    }
}

type Source = (Url, TableCredential);

fn source(environment: &Environment) -> Result<Option<Source>, SettingsError> {
    type Parse = fn(&str) -> Result<Source, Fault>;
    let with_secret: [(Variable, Parse); 3] = [
        (variables::TABLE_CONNECTION, connection_string),
        (variables::TABLE_SAS_URL, signed_address),
        (variables::HOST_STORAGE, connection_string),
    ];
    for (variable, parse) in with_secret {
        if let Some(text) = environment.get_filled(variable.name) {
            return parse(text).map(Some).map_err(|fault| fault.of(variable.name));
        }
    }
    let (uri, name) = (variables::HOST_STORAGE_TABLE_URI.name, variables::HOST_STORAGE_ACCOUNT.name);
    let endpoint = if let Some(text) = environment.get_filled(uri) {
        endpoint(text).map_err(|fault| fault.of(uri))?
    } else if let Some(account) = environment.get_filled(name) {
        account_endpoint("https", account, None).map_err(|fault| fault.of(name))?
    } else {
        return Ok(None);
    };
    let identity = match environment.get_filled(variables::HOST_STORAGE_CLIENT_ID.name) {
        Some(client_id) => Identity::Managed { client_id: Some(client_id.to_owned()) },
        None => Identity::from_env(environment),
    };
    Ok(Some((endpoint, TableCredential::Identity(identity))))
}

/// Reads an Azure Storage connection string ("Configure Azure Storage connection strings").
fn connection_string(text: &str) -> Result<Source, Fault> {
    let mut parts = Vec::new();
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let (name, value) = part.split_once('=').ok_or(Fault::Part)?;
        parts.push((name.trim(), value.trim()));
    }
    let get = |name: &str| parts.iter().find(|part| part.0.eq_ignore_ascii_case(name)).map(|part| part.1);
    if get("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return connection_string(EMULATOR);
    }
    let endpoint = match (get("TableEndpoint"), get("AccountName")) {
        (Some(address), _) => endpoint(address)?,
        (None, Some(account)) => {
            account_endpoint(get("DefaultEndpointsProtocol").unwrap_or("https"), account, get("EndpointSuffix"))?
        }
        (None, None) => return Err(Fault::NoEndpoint),
    };
    let credential = match (get("AccountName"), get("AccountKey"), get("SharedAccessSignature")) {
        (Some(account), Some(key), _) => {
            STANDARD.decode(key).map_err(|_| Fault::Key)?;
            TableCredential::SharedKey { account: account.to_owned(), key: Secret::new(key.to_owned()) }
        }
        (_, _, Some(signature)) => signature_for(&endpoint, signature)?,
        _ => return Err(Fault::NoCredential),
    };
    Ok((endpoint, credential))
}

fn signed_address(text: &str) -> Result<Source, Fault> {
    let mut address = Url::parse(text).map_err(|_| Fault::Endpoint)?;
    let signature = address.query().unwrap_or_default().to_owned();
    address.set_query(None);
    let endpoint = endpoint(address.as_str())?;
    let credential = signature_for(&endpoint, &signature)?;
    Ok((endpoint, credential))
}

fn signature_for(endpoint: &Url, signature: &str) -> Result<TableCredential, Fault> {
    let signature = signature.trim_start_matches('?');
    if !url::form_urlencoded::parse(signature.as_bytes()).any(|(name, _)| name == "sig") {
        return Err(Fault::NoSignature);
    }
    if endpoint.scheme() != "https" && !is_loopback(endpoint) {
        return Err(Fault::CleartextSignature);
    }
    Ok(TableCredential::Sas(Secret::new(signature.to_owned())))
}

fn is_loopback(address: &Url) -> bool {
    match address.host() {
        Some(Host::Ipv4(host)) => host.is_loopback(),
        Some(Host::Ipv6(host)) => host.is_loopback(),
        Some(Host::Domain(host)) => host == "localhost",
        None => false,
    }
}

fn account_endpoint(scheme: &str, account: &str, suffix: Option<&str>) -> Result<Url, Fault> {
    // An account's name is 3 to 24 small letters and digits; anything else could bend the address.
    if !account.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        return Err(Fault::Endpoint);
    }
    endpoint(&format!("{scheme}://{account}.table.{}", suffix.unwrap_or("core.windows.net")))
}

/// An address without a slash at its end, so that paths can be put behind it.
fn endpoint(text: &str) -> Result<Url, Fault> {
    let address = Url::parse(text.trim_end_matches('/')).map_err(|_| Fault::Endpoint)?;
    let plain = matches!(address.scheme(), "http" | "https")
        && address.has_host()
        && address.username().is_empty()
        && address.password().is_none()
        && address.query().is_none()
        && address.fragment().is_none();
    if plain { Ok(address) } else { Err(Fault::Endpoint) }
}

#[cfg(test)]
mod tests;
