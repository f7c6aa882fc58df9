//! One finding about an app folder: where, what was found, and what to do about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Code, Position, Source, Span};

/// What a finding does to the start of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The app does not start.
    Error,
    /// The agent is left out; the others start.
    Skip,
    /// The app starts, and probably does not do what was meant.
    Warning,
    /// Good to know.
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// What it does to the start.
    pub severity: Severity,
    /// The stable code of this kind of finding.
    pub code: Code,
    /// The file, relative to the app folder; `None` when the finding is about the folder or the environment.
    pub file: Option<String>,
    /// The field, as a dotted path.
    pub field: Option<String>,
    /// What was found.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    place: Option<(Arc<Source>, Span)>,
    excerpt: bool,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            file: None,
            field: None,
            message: printable(&message.into()),
            help: None,
            place: None,
            excerpt: true,
        }
    }

    /// Names the file, for findings about a file as a whole.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Names the file and the place in it. Of a span over several lines only the first line is shown.
    #[must_use]
    pub fn at(mut self, source: &Arc<Source>, span: &Span) -> Self {
        let text = source.text.get(span.clone()).unwrap_or_default();
        let first_line = text.lines().next().unwrap_or_default().trim_end();
        self.file = Some(source.file.clone());
        self.place = Some((Arc::clone(source), span.start..span.start + first_line.len()));
        self
    }

    /// Names the field, as a dotted path.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(printable(&field.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into()));
        self
    }

    /// Keeps the text of the place out of reports, because it may hold a secret.
    #[must_use]
    pub fn without_excerpt(mut self) -> Self {
        self.excerpt = false;
        self
    }

    /// Line and column of the place.
    pub fn position(&self) -> Option<Position> {
        self.place.as_ref().map(|(source, span)| source.position(span.start))
    }

    /// The source and span to show, when there is one that may be shown.
    pub(super) fn excerpt(&self) -> Option<(&Source, &Span)> {
        let (source, span) = self.place.as_ref().filter(|_| self.excerpt)?;
        Some((source, span))
    }
}

/// A text without control characters: what comes from a file must not rule the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// How many findings about one file are kept; more are counted only.
const MAX_KEPT: usize = 1000;

/// Findings in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    summary: Summary,
    /// How many were made about each file.
    by_file: BTreeMap<Option<String>, usize>,
}

impl Diagnostics {
    /// Adds one. Of a file with very many, the later ones are counted only.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        *match diagnostic.severity {
            Severity::Error => &mut self.summary.errors,
            Severity::Skip => &mut self.summary.skipped,
            Severity::Warning => &mut self.summary.warnings,
            Severity::Note => &mut self.summary.notes,
        } += 1;
        let made = self.by_file.entry(diagnostic.file.clone()).or_default();
        *made += 1;
        if *made <= MAX_KEPT {
            self.kept.push(diagnostic);
        }
    }

    /// Those that are kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Whether the app must not start.
    pub fn stop_the_app(&self) -> bool {
        self.summary.errors > 0
    }

    /// How many there are of each severity, those that are not kept included.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// How many are counted only.
    pub fn omitted(&self) -> usize {
        self.by_file.values().map(|made| made.saturating_sub(MAX_KEPT)).sum()
    }

    /// How many were made about a file.
    pub(super) fn made_about(&self, file: Option<&str>) -> usize {
        self.by_file.get(&file.map(ToOwned::to_owned)).copied().unwrap_or_default()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Counts by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Findings that stop the app.
    pub errors: usize,
    /// Findings that leave an agent out.
    pub skipped: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

impl Summary {
    /// Whether something must be changed: an error, or an agent left out.
    pub fn has_problems(&self) -> bool {
        self.errors + self.skipped > 0
    }
}
