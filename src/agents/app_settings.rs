//! `agents.config.yaml` and the environment, resolved to what holds for every agent that does not say otherwise.

use std::path::Path;
use std::time::Duration;

use super::authored::{AppFields, LimitFields, WebRequest};
use super::document::Document;
use super::resolve::{http_auth, timeout};
use super::tokens::TokenLimits;
use super::{HttpAuth, Limits};
use crate::config::{Code, Decode, Diagnostic, Diagnostics, Environment, Reader, Severity, Source, Spanned, variables};

const FILE: &str = "agents.config.yaml";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(900);

/// What holds for every agent that does not say otherwise.
#[derive(Debug)]
pub(super) struct AppSettings {
    pub model: Option<String>,
    pub timeout: Duration,
    /// `http_auth` of the app, when it is written.
    pub http_auth: Option<HttpAuth>,
    pub tokens: TokenLimits,
    pub limits: Limits,
    pub has_sandbox: bool,
    pub has_web_request: bool,
}

impl AppSettings {
    /// Reads the file, if there is one. `None` when the app must not start; the findings say why.
    pub(super) fn read(root: &Path, environment: &Environment, findings: &mut Diagnostics) -> Option<Self> {
        match document(root, environment) {
            Ok(Some(document)) => Self::from_document(&document, environment, findings),
            Ok(None) => Some(Self::resolve(AppFields::default(), None, environment, findings)),
            Err(finding) => {
                findings.push(*finding);
                None
            }
        }
    }

    fn from_document(document: &Document, environment: &Environment, findings: &mut Diagnostics) -> Option<Self> {
        for finding in document.unresolved() {
            findings.push(finding);
        }
        let mut reader = Reader::new(&document.source, Severity::Error, findings);
        let fields = AppFields::decode(&document.root, &mut reader)?;
        Some(Self::resolve(fields, Some(document), environment, findings))
    }

    fn resolve(
        fields: AppFields,
        document: Option<&Document>,
        environment: &Environment,
        findings: &mut Diagnostics,
    ) -> Self {
        let authored_timeout =
            fields.timeout.as_ref().zip(document).and_then(|(seconds, document)| timeout(document, seconds, findings));
        let limits =
            fields.limits.as_ref().zip(document).map(|(limits, document)| resolve_limits(document, limits, findings));
        let auth = fields.http_auth.as_ref().map(|field| http_auth(field, document, "http_auth", findings));
        let tools = fields.system_tools.unwrap_or_default();
        Self {
            model: fields
                .model
                .filter(|model| !model.is_empty())
                .or_else(|| environment.get_filled(variables::MODEL.name).map(ToOwned::to_owned)),
            timeout: authored_timeout
                .or_else(|| timeout_of_environment(environment, findings))
                .unwrap_or(DEFAULT_TIMEOUT),
            http_auth: auth,
            tokens: TokenLimits::of(&fields.agent_configuration),
            limits: limits.unwrap_or_default(),
            has_sandbox: tools.dynamic_sessions_code_interpreter.is_some(),
            has_web_request: !matches!(tools.web_request, Some(WebRequest::Switch(false))),
        }
    }
}

fn document(root: &Path, environment: &Environment) -> Result<Option<Document>, Box<Diagnostic>> {
    let Some(source) = Source::read(root, FILE, Severity::Error)? else {
        return Ok(None);
    };
    let whole = 0..source.text.len();
    Document::parse(source, &whole, Severity::Error, environment, |_| true).map(Some)
}

/// The variable counts when it is a usable number of seconds; the runtime ignores any other value, and so do we, aloud.
fn timeout_of_environment(environment: &Environment, findings: &mut Diagnostics) -> Option<Duration> {
    let name = variables::TIMEOUT.name;
    let text = environment.get_filled(name)?;
    let seconds = text.parse().ok().and_then(super::resolve::seconds);
    if seconds.is_none() {
        findings.push(
            Diagnostic::new(
                Severity::Warning,
                Code::VariableIgnored,
                format!("`{name}` is not a usable number of seconds, and is ignored"),
            )
            .field(name)
            .help("set it to a number above 0 and up to 86400"),
        );
    }
    seconds
}

fn resolve_limits(document: &Document, fields: &Spanned<LimitFields>, findings: &mut Diagnostics) -> Limits {
    const MAX_EXECUTIONS: u32 = 10_000;
    /// What admission can serve: it reads the places of the app in one scan.
    const MAX_GLOBAL: u32 = 1000;
    const MAX_DAYS: u32 = 3650;
    const DAY: u64 = 24 * 60 * 60;
    findings.push(own_field(document, fields, "limits"));
    let mut within = |value: &Option<Spanned<u32>>, field: &str, max: u32| {
        let value = value.as_ref()?;
        if (1..=max).contains(&value.value) {
            return Some(value.value);
        }
        let field = format!("limits.{field}");
        let message = format!("{} is outside its range", document.source.shown(&value.span));
        findings.push(
            document
                .finding(Severity::Error, Code::OutOfRange, &value.span, &field, message)
                .help(format!("write a number from 1 to {max}")),
        );
        None
    };
    let fields = &fields.value;
    let per_agent = within(&fields.executions_per_agent, "executions_per_agent", MAX_EXECUTIONS);
    let global = within(&fields.global_executions, "global_executions", MAX_GLOBAL);
    let days = within(&fields.context_retention_days, "context_retention_days", MAX_DAYS);
    let defaults = Limits::default();
    Limits {
        executions_per_agent: per_agent.map_or(defaults.executions_per_agent, |count| count as usize),
        global_executions: global.map(|count| count as usize),
        context_retention: days.map_or(defaults.context_retention, |days| Duration::from_secs(u64::from(days) * DAY)),
    }
}

/// The note that a field exists only here.
pub(super) fn own_field<T>(document: &Document, value: &Spanned<T>, field: &str) -> Diagnostic {
    let message = format!("`{field}` is our own: the Python runtime refuses this folder with it");
    document
        .finding(Severity::Note, Code::OwnField, &value.span, field, message)
        .help("remove it if the folder must load in both")
}
