//! From an agent file and what holds for the app to the agent that is served.

use std::time::Duration;

use super::address;
use super::agent_file::AgentFile;
use super::app_settings::{AppSettings, own_field};
use super::authored::{A2aFields, AuthField};
use super::document::{Document, URL_FIELD};
use super::{A2aEndpoint, Agent, AuthMode, ContextPolicy, EntraAuth, HttpAuth};
use crate::config::{Authored, Code, Diagnostic, Diagnostics, Severity, Spanned};

const AUTH_FIELD: &str = "builtin_endpoints.http_auth";
const CONTEXT_FIELD: &str = "builtin_endpoints.a2a.context";
const CONTEXT_WAIT_FIELD: &str = "builtin_endpoints.a2a.context_wait";
const DEFAULT_CONTEXT_WAIT: Duration = Duration::from_secs(10);
const MAX_CONTEXT_WAIT: f64 = 600.0;
const MAX_TIMEOUT: f64 = 86_400.0;

/// Merges: the agent over the app over the environment.
pub(super) fn resolve(file: &AgentFile, app: &AppSettings, findings: &mut Diagnostics) -> Agent {
    let fields = &file.fields;
    let http_auth = agent_auth(file, app, findings);
    let a2a = file.a2a().and_then(|a2a| endpoint(file, &a2a.value, http_auth.mode, findings));
    let own_timeout = fields.timeout.as_ref().and_then(|seconds| timeout(&file.document, seconds, findings));
    Agent {
        slug: file.slug.clone(),
        name: fields.name.0.clone(),
        description: fields.description.0.clone(),
        instructions: file.instructions.clone(),
        source_file: file.file().to_owned(),
        model: fields.model.clone().filter(|model| !model.is_empty()).or_else(|| app.model.clone()),
        timeout: own_timeout.unwrap_or(app.timeout),
        max_output_tokens: app.tokens.max_output(file, findings),
        http_auth,
        a2a,
    }
}

/// A number of seconds that a turn may take: above zero and at most a day.
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    let usable = seconds > 0.0 && seconds <= MAX_TIMEOUT;
    usable.then(|| Duration::from_secs_f64(seconds))
}

/// A `timeout` field; one outside its range stops the app, because every turn would fail.
pub(super) fn timeout(document: &Document, value: &Spanned<f64>, findings: &mut Diagnostics) -> Option<Duration> {
    let timeout = seconds(value.value);
    if timeout.is_none() {
        let message = format!("a turn cannot take {} seconds", value.value);
        findings.push(
            document
                .finding(Severity::Error, Code::OutOfRange, &value.span, "timeout", message)
                .help("write a number above 0 and up to 86400"),
        );
    }
    timeout
}

/// A written `http_auth`. Entra settings without the mode that uses them stop the app: the default mode would take their
/// place without a word.
pub(super) fn http_auth(
    field: &AuthField,
    document: Option<&Document>,
    name: &str,
    findings: &mut Diagnostics,
) -> HttpAuth {
    let settings = match field {
        AuthField::Mode(mode) => {
            return HttpAuth { mode: *mode, entra: None };
        }
        AuthField::Settings(settings) => settings,
    };
    if let (None, Some(entra), Some(document)) = (settings.mode, &settings.entra, document) {
        findings.push(
            document
                .finding(
                    Severity::Error,
                    Code::EntraWithoutMode,
                    &entra.span,
                    &format!("{name}.entra"),
                    "there are Entra settings but no `mode`, which would mean `function`",
                )
                .help("add `mode: entra`, or remove the settings"),
        );
    }
    let entra = settings.entra.as_ref().map(|entra| {
        let fields = &entra.value;
        for (own, field) in [(&fields.required_roles, "required_roles"), (&fields.required_scopes, "required_scopes")] {
            if let (Some(own), Some(document)) = (own, document) {
                findings.push(own_field(document, own, &format!("{name}.entra.{field}")));
            }
        }
        let own =
            |field: &Option<Spanned<Vec<String>>>| field.as_ref().map(|own| own.value.clone()).unwrap_or_default();
        EntraAuth {
            tenant_id: fields.tenant_id.clone(),
            allowed_audiences: fields.allowed_audiences.clone().unwrap_or_default(),
            allowed_client_ids: fields.allowed_client_ids.clone().unwrap_or_default(),
            required_roles: own(&fields.required_roles),
            required_scopes: own(&fields.required_scopes),
        }
    });
    HttpAuth { mode: settings.mode.unwrap_or_default(), entra }
}

/// What the agent writes wins over the app even where it is weaker; `null` resets to the default.
fn agent_auth(file: &AgentFile, app: &AppSettings, findings: &mut Diagnostics) -> HttpAuth {
    let authored = file.endpoints().map_or(&Authored::Absent, |fields| &fields.http_auth);
    let field = match authored {
        Authored::Absent => return app.http_auth.clone().unwrap_or_default(),
        Authored::Null => return HttpAuth::default(),
        Authored::Value(field) => field,
    };
    let auth = http_auth(&field.value, Some(&file.document), AUTH_FIELD, findings);
    let app_is_closed = app.http_auth.as_ref().is_some_and(|app| app.mode != AuthMode::Anonymous);
    if app_is_closed && auth.mode == AuthMode::Anonymous {
        findings.push(
            file.finding(
                Severity::Warning,
                Code::AuthWeakened,
                &field.span,
                AUTH_FIELD,
                "this agent is open to everyone, although `agents.config.yaml` is stricter",
            )
            .help("remove the line to inherit the setting of the app"),
        );
    }
    auth
}

fn endpoint(file: &AgentFile, fields: &A2aFields, mode: AuthMode, findings: &mut Diagnostics) -> Option<A2aEndpoint> {
    let context = context_policy(file, fields, mode, findings);
    let context_wait = context_wait(file, fields, findings)?;
    let url = &fields.url;
    match address::parse(&url.value.0) {
        Ok(_) => Some(A2aEndpoint { url: url.value.0.clone(), context, context_wait }),
        Err(faults) => {
            let secret = faults.iter().any(|fault| fault.secret);
            for fault in faults {
                let finding = file.finding(Severity::Error, Code::UrlInvalid, &url.span, URL_FIELD, fault.message);
                let finding = finding.help(fault.help);
                findings.push(if secret { finding.without_excerpt() } else { finding });
            }
            None
        }
    }
}

fn context_policy(file: &AgentFile, fields: &A2aFields, mode: AuthMode, findings: &mut Diagnostics) -> ContextPolicy {
    let Some(authored) = &fields.context else {
        return if mode == AuthMode::Anonymous { ContextPolicy::Capability } else { ContextPolicy::Principal };
    };
    findings.push(own_field(&file.document, authored, CONTEXT_FIELD));
    let warning = match (authored.value, mode) {
        (ContextPolicy::Shared, _) => Some((
            "every caller that is let in can continue the conversations of others",
            "use `principal` unless all callers may read each other's conversations",
        )),
        (ContextPolicy::Principal, AuthMode::Anonymous) => Some((
            "anonymous callers are one principal, so they can continue each other's conversations",
            "use `capability`, the default for anonymous agents",
        )),
        (ContextPolicy::Principal | ContextPolicy::Capability, _) => None,
    };
    if let Some((message, help)) = warning {
        findings.push(
            file.finding(Severity::Warning, Code::ContextShared, &authored.span, CONTEXT_FIELD, message).help(help),
        );
    }
    authored.value
}

fn context_wait(file: &AgentFile, fields: &A2aFields, findings: &mut Diagnostics) -> Option<Duration> {
    let Some(authored) = &fields.context_wait else {
        return Some(DEFAULT_CONTEXT_WAIT);
    };
    findings.push(own_field(&file.document, authored, CONTEXT_WAIT_FIELD));
    if (0.0..=MAX_CONTEXT_WAIT).contains(&authored.value) {
        return Some(Duration::from_secs_f64(authored.value));
    }
    let message = format!("a turn cannot wait {} seconds", authored.value);
    findings.push(
        file.finding(Severity::Error, Code::OutOfRange, &authored.span, CONTEXT_WAIT_FIELD, message)
            .help("write a number from 0, which refuses at once, to 600"),
    );
    None
}

/// Without a tenant and an audience every token of Entra would do, whoever it is from and for.
pub(super) fn incomplete_entra(file: &AgentFile, agent: &Agent) -> Option<Diagnostic> {
    if agent.a2a.is_none() || agent.http_auth.mode != AuthMode::Entra {
        return None;
    }
    let entra = agent.http_auth.entra.clone().unwrap_or_default();
    let tenant = entra.tenant_id.as_deref().unwrap_or_default();
    let (message, help) = if !is_guid(tenant) {
        (
            "`http_auth: entra` needs the tenant that tokens must come from, by its id",
            "write `entra: {tenant_id: <the directory's GUID>, allowed_audiences: [api://<application id>]}`",
        )
    } else if !entra.allowed_audiences.iter().any(|audience| !audience.trim().is_empty()) {
        (
            "`http_auth: entra` needs the audiences that tokens may be for",
            "write `allowed_audiences: [api://<application id>, <application id>]`: tokens of version 1 name the \
             one, those of version 2 the other",
        )
    } else {
        return None;
    };
    Some(file.finding(Severity::Error, Code::EntraIncomplete, &file.start(), AUTH_FIELD, message).help(help))
}

/// Whether `text` has the form that Entra gives a tenant's id: 8-4-4-4-12 hexadecimal digits.
fn is_guid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut groups = text.split('-');
    let fits = |length: &usize| {
        groups.next().is_some_and(|group| group.len() == *length && group.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    lengths.iter().all(fits) && groups.next().is_none()
}
