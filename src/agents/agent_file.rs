//! One agent file, read as far as it can be without knowing the others.

use std::path::Path;

use super::authored::{A2aFields, EndpointFields, Endpoints, FrontMatter, Lenient};
use super::document::{Document, too_large};
use super::front_matter;
use super::slug::{is_main, slug};
use crate::config::{
    Code, Decode, Diagnostic, Diagnostics, Environment, Reader, Severity, Source, Span, Spanned, TooLarge,
    substitute_body,
};

/// An agent file whose shape is right.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub document: Document,
    pub slug: String,
    pub is_main: bool,
    pub fields: FrontMatter,
    pub instructions: String,
}

impl AgentFile {
    /// Reads a file. `None` when the agent has to be left out (or worse); the findings say why.
    pub(super) fn read(root: &Path, file: &str, environment: &Environment, findings: &mut Diagnostics) -> Option<Self> {
        let parsed = parse(root, file, environment);
        let (document, instructions) = match parsed {
            Ok(parsed) => parsed?,
            Err(finding) => {
                findings.push(*finding);
                return None;
            }
        };
        for finding in document.unresolved() {
            findings.push(finding);
        }
        let mut reader = Reader::new(&document.source, Severity::Skip, findings);
        let fields = FrontMatter::decode(&document.root, &mut reader)?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(Self { slug: slug(name), is_main: is_main(name), document, fields, instructions })
    }

    /// The file, relative to the app folder.
    pub(super) fn file(&self) -> &str {
        &self.document.source.file
    }

    /// The endpoints when they are chosen one by one.
    pub(super) fn endpoints(&self) -> Option<&EndpointFields> {
        match &self.fields.builtin_endpoints {
            Some(Endpoints::Chosen(fields)) => Some(fields),
            Some(Endpoints::Switch(_)) | None => None,
        }
    }

    /// The A2A endpoint.
    pub(super) fn a2a(&self) -> Option<&Spanned<A2aFields>> {
        self.endpoints()?.a2a.as_ref()
    }

    /// Whether an endpoint other than A2A is on.
    pub(super) fn has_classic_endpoint(&self) -> bool {
        match &self.fields.builtin_endpoints {
            Some(Endpoints::Switch(on)) => *on,
            Some(Endpoints::Chosen(fields)) => {
                [fields.debug_chat_ui, fields.chat_api, fields.mcp].contains(&Some(true))
            }
            None => false,
        }
    }

    /// The slugs that this agent refers to, with the field and place of each: subagents, and those of its workflows.
    pub(super) fn references(&self) -> impl Iterator<Item = (&'static str, &str, &Span)> {
        let of_workflows = self.fields.workflows.as_ref().and_then(|workflows| workflows.subagents.as_ref());
        let lists = [("subagents", self.fields.subagents.as_ref()), ("workflows.subagents", of_workflows)];
        lists.into_iter().flat_map(|(field, list)| {
            list.into_iter()
                .flatten()
                .map(move |reference| (field, reference.agent.value.0.as_str(), &reference.agent.span))
        })
    }

    /// A finding about a field of the front matter.
    pub(super) fn finding(
        &self,
        severity: Severity,
        code: Code,
        span: &Span,
        field: &str,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.document.finding(severity, code, span, field, message)
    }

    /// What is written at a place, as it may be shown: variables by their names.
    pub(super) fn shown(&self, span: &Span) -> String {
        self.document.source.shown(span)
    }

    /// Where the agent begins, for findings about something that is not written.
    pub(super) fn start(&self) -> Span {
        let start = self.document.root.span.start;
        start..start
    }
}

fn parse(root: &Path, file: &str, environment: &Environment) -> Result<Option<(Document, String)>, Box<Diagnostic>> {
    // A file that has gone since the folder was listed is no agent.
    let Some(source) = Source::read(root, file, Severity::Skip)? else {
        return Ok(None);
    };
    let parts = front_matter::split(&source, Severity::Skip)?;
    let mut is_substituted = true;
    let document = Document::parse(source, &parts.settings, Severity::Skip, environment, |root| {
        is_substituted = Lenient::of(root.get("substitute_variables")).0;
        is_substituted
    })?;
    let body = &document.source.text[parts.body];
    let instructions = if is_substituted {
        substitute_body(body, &|name| environment.get(name))
            .map_err(|TooLarge| Box::new(too_large(Severity::Skip).in_file(file)))?
    } else {
        body.to_owned()
    };
    Ok(Some((document, instructions)))
}
