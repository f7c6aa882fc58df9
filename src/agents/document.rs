//! A settings text as far as every file has it: parsed, variables replaced, and ready to be read or complained about.

use std::sync::Arc;

use crate::config::{
    Code, Diagnostic, Environment, Node, Severity, Source, Span, Unresolved, Value, parse_yaml, substitute_node,
};

/// A parsed settings text.
#[derive(Debug)]
pub(super) struct Document {
    pub source: Arc<Source>,
    pub root: Node,
    unresolved: Vec<Unresolved>,
}

/// Where the public address of an agent is written.
pub(super) const URL_FIELD: &str = "builtin_endpoints.a2a.url";

impl Document {
    /// Parses a part of a source; `substituted` decides, seeing the tree, whether variables are replaced in it.
    pub(super) fn parse(
        source: Arc<Source>,
        span: &Span,
        severity: Severity,
        environment: &Environment,
        substituted: impl FnOnce(&Node) -> bool,
    ) -> Result<Self, Box<Diagnostic>> {
        let mut root = parse_yaml(&source, span, severity)?;
        if root.value == Value::Null {
            // Empty settings are a mapping without fields, so that a report can name those that are missing.
            root.value = Value::Map(Vec::new());
        }
        let unresolved = if substituted(&root) {
            substitute_node(&mut root, &|name| environment.get(name))
                .map_err(|at| Box::new(too_large(severity).at(&source, &at.span).field(at.field)))?
        } else {
            Vec::new()
        };
        Ok(Self { source, root, unresolved })
    }

    /// A finding about a field of this text.
    pub(super) fn finding(
        &self,
        severity: Severity,
        code: Code,
        span: &Span,
        field: &str,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(severity, code, message).at(&self.source, span).field(field)
    }

    /// One finding for each placeholder that was left. Prose may hold words that only look like variables; an address with
    /// one would be published broken.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        self.unresolved.iter().filter(|left| !is_prose(&left.field)).map(|left| {
            let severity = if left.field == URL_FIELD { Severity::Error } else { Severity::Warning };
            let message = format!("the variable `{}` is not set, so the placeholder stays as it stands", left.name);
            self.finding(severity, Code::VariableUnset, &left.span, &left.field, message)
                .help(format!("set `{0}`, or write `$${0}` if the text is meant literally", left.name))
        })
    }
}

/// The finding on a text that variables make too large.
pub(super) fn too_large(severity: Severity) -> Diagnostic {
    Diagnostic::new(severity, Code::TextTooLarge, "this text is larger than 1024 KiB once variables are replaced")
        .help("name long values less often, or shorten them")
        .without_excerpt()
}

fn is_prose(field: &str) -> bool {
    let whole = ["name", "description", "response_example"];
    let trees = ["metadata.", "input_schema.", "response_schema."];
    whole.contains(&field)
        || field.rsplit('.').next() == Some("when")
        || trees.iter().any(|tree| field.starts_with(tree))
}
