//! Route templates: literals, `{name}`, `{name?}`, `{name=default}`, `{name:constraint}` and `{*rest}`.

use std::collections::BTreeMap;

use super::constraint::Constraint;

/// A template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the route template {template:?} is not valid: {problem}")]
pub struct TemplateError {
    /// The template.
    pub template: String,
    /// What is wrong with it.
    pub problem: TemplateProblem,
}

/// What can be wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// A brace has no partner.
    #[error("braces do not match")]
    Braces,
    /// Two slashes follow each other.
    #[error("there is an empty segment")]
    EmptySegment,
    /// A parameter has no name or a name with reserved characters.
    #[error("{0:?} is no parameter name")]
    ParameterName(String),
    /// Two parameters share a name.
    #[error("the parameter {0} appears twice")]
    DuplicateParameter(String),
    /// A catch-all is not alone in the last segment.
    #[error("a catch-all must stand alone in the last segment")]
    CatchAllPosition,
    /// An optional or defaulted parameter shares its segment with something else.
    #[error("an optional parameter must stand alone in its segment")]
    OptionalPosition,
    /// Two parameters follow each other without text in between.
    #[error("text is needed between two parameters of one segment")]
    AdjacentParameters,
    /// The constraint is unknown here.
    #[error("the constraint {0:?} is not known")]
    Constraint(String),
}

/// Values captured by a match; an unused optional parameter is `None`.
pub(crate) type RouteValues = BTreeMap<String, Option<String>>;

/// A parsed template.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    segments: Vec<Vec<Part>>,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(String),
    Parameter(Parameter),
}

#[derive(Clone, Debug)]
struct Parameter {
    name: String,
    catch_all: bool,
    optional: bool,
    default: Option<String>,
    constraints: Vec<Constraint>,
}

impl Template {
    /// Parses a template; slashes at either end are ignored.
    pub(crate) fn parse(template: &str) -> Result<Self, TemplateError> {
        parse_segments(template.trim_matches('/'))
            .map(|segments| Self { segments })
            .map_err(|problem| TemplateError { template: template.to_owned(), problem })
    }

    /// Matches a decoded path. Literals match in any case; one trailing slash is tolerated.
    pub(crate) fn matches(&self, path: &str) -> Option<RouteValues> {
        let path = path.strip_prefix('/').unwrap_or(path);
        let mut values = RouteValues::new();
        let mut rest = Some(path).filter(|path| !path.is_empty());
        for segment in &self.segments {
            if let [Part::Parameter(parameter)] = segment.as_slice()
                && (parameter.catch_all || rest.is_none())
            {
                parameter.capture(rest.take(), &mut values)?;
                continue;
            }
            let (text, tail) = match rest?.split_once('/') {
                Some((text, tail)) => (text, Some(tail).filter(|tail| !tail.is_empty())),
                None => (rest?, None),
            };
            match_segment(segment, text, &mut values)?;
            rest = tail;
        }
        rest.is_none().then_some(values)
    }
}

impl Parameter {
    fn capture(&self, text: Option<&str>, values: &mut RouteValues) -> Option<()> {
        let value = match text.filter(|text| !text.is_empty()) {
            Some(text) => Some(text.to_owned()).filter(|text| self.constraints.iter().all(|c| c.allows(text))),
            None if self.default.is_some() => self.default.clone(),
            None if self.optional || self.catch_all => {
                values.insert(self.name.clone(), None);
                return Some(());
            }
            None => None,
        };
        values.insert(self.name.clone(), Some(value?));
        Some(())
    }
}

/// Matches the parts of one segment from its end: a parameter takes as little as its right neighbour leaves it.
fn match_segment(parts: &[Part], text: &str, values: &mut RouteValues) -> Option<()> {
    let Some((last, before)) = parts.split_last() else { return text.is_empty().then_some(()) };
    match last {
        Part::Literal(literal) => {
            let split = text.len().checked_sub(literal.len())?;
            let (head, tail) = text.split_at_checked(split)?;
            if !tail.eq_ignore_ascii_case(literal) {
                return None;
            }
            match_segment(before, head, values)
        }
        Part::Parameter(parameter) => {
            let starts = text.char_indices().map(|(index, _)| index).rev();
            let candidates: Vec<usize> = if before.is_empty() { vec![0] } else { starts.collect() };
            candidates.into_iter().find_map(|start| {
                match_segment(before, &text[..start], values)?;
                parameter.capture(Some(&text[start..]), values)
            })
        }
    }
}

fn parse_segments(template: &str) -> Result<Vec<Vec<Part>>, TemplateProblem> {
    if template.is_empty() {
        return Ok(Vec::new());
    }
    let mut segments = Vec::new();
    let mut names = Vec::new();
    for text in split_segments(template)? {
        if text.is_empty() {
            return Err(TemplateProblem::EmptySegment);
        }
        let segment = parse_segment(text)?;
        for part in &segment {
            let Part::Parameter(parameter) = part else { continue };
            let name = parameter.name.to_ascii_lowercase();
            if names.contains(&name) {
                return Err(TemplateProblem::DuplicateParameter(parameter.name.clone()));
            }
            names.push(name);
        }
        segments.push(segment);
    }
    let is_catch_all = |part: &Part| matches!(part, Part::Parameter(parameter) if parameter.catch_all);
    let catch_all_at = segments.iter().position(|segment| segment.iter().any(is_catch_all));
    match catch_all_at {
        Some(index) if index + 1 != segments.len() || segments[index].len() != 1 => {
            Err(TemplateProblem::CatchAllPosition)
        }
        _ => Ok(segments),
    }
}

/// Splits at slashes that are outside of braces.
fn split_segments(template: &str) -> Result<Vec<&str>, TemplateProblem> {
    let mut segments = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (index, character) in template.char_indices() {
        match character {
            '{' | '}' if inside == (character == '{') => return Err(TemplateProblem::Braces),
            '{' | '}' => inside = !inside,
            '/' if !inside => {
                segments.push(&template[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(TemplateProblem::Braces);
    }
    segments.push(&template[start..]);
    Ok(segments)
}

fn parse_segment(text: &str) -> Result<Vec<Part>, TemplateProblem> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('{') {
            let (inner, tail) = inner.split_once('}').ok_or(TemplateProblem::Braces)?;
            if matches!(parts.last(), Some(Part::Parameter(_))) {
                return Err(TemplateProblem::AdjacentParameters);
            }
            parts.push(Part::Parameter(parse_parameter(inner)?));
            rest = tail;
        } else {
            let end = rest.find('{').unwrap_or(rest.len());
            parts.push(Part::Literal(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    let needs_room = |part: &Part| matches!(part, Part::Parameter(p) if p.optional || p.default.is_some());
    if parts.len() > 1 && parts.iter().any(needs_room) {
        return Err(TemplateProblem::OptionalPosition);
    }
    Ok(parts)
}

fn parse_parameter(inner: &str) -> Result<Parameter, TemplateProblem> {
    let starless = inner.trim_start_matches('*');
    let catch_all = starless.len() < inner.len();
    let (head, default) = match starless.split_once('=') {
        Some((head, default)) => (head, Some(default.to_owned())),
        None => (starless, None),
    };
    let unmarked = head.strip_suffix('?');
    let mut pieces = unmarked.unwrap_or(head).split(':');
    let name = pieces.next().unwrap_or_default();
    if name.is_empty() || name.contains(['*', '?', '/', '{', '}']) {
        return Err(TemplateProblem::ParameterName(name.to_owned()));
    }
    let constraints = pieces
        .map(|text| Constraint::parse(text).ok_or_else(|| TemplateProblem::Constraint(text.to_owned())))
        .collect::<Result<_, _>>()?;
    Ok(Parameter { name: name.to_owned(), catch_all, optional: unmarked.is_some(), default, constraints })
}

#[cfg(test)]
mod tests;
