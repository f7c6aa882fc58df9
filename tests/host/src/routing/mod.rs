//! Which function answers a request: templates are tried in the order of function names.

mod constraint;
pub(crate) mod path;
mod template;

use http::Method;

pub(crate) use self::template::{RouteValues, Template};
use crate::function::Function;

pub use self::template::{TemplateError, TemplateProblem};

/// The routes of all HTTP functions, in the order in which they are tried.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    routes: Vec<(Template, usize)>,
}

impl RouteTable {
    /// Builds the table. `functions` must be ordered by name; a `prefix` of "" means no prefix.
    pub(crate) fn new(prefix: &str, functions: &[Function]) -> Result<Self, TemplateError> {
        let mut routes = Vec::new();
        for (index, function) in functions.iter().enumerate() {
            if let Some(http) = function.http() {
                routes.push((Template::parse(&format!("{prefix}/{}", http.route))?, index));
            }
        }
        Ok(Self { routes })
    }

    /// The first function whose template and methods match. A method that does not match is as good as a template that
    /// does not: the next route is tried.
    pub(crate) fn find<'a>(
        &self,
        functions: &'a [Function],
        method: &Method,
        path: &str,
    ) -> Option<(&'a Function, RouteValues)> {
        self.routes.iter().find_map(|(template, index)| {
            let function = functions.get(*index)?;
            let accepted = function.http().is_some_and(|http| http.accepts(method));
            accepted.then(|| template.matches(path)).flatten().map(|values| (function, values))
        })
    }
}
