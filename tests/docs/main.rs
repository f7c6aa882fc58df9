//! Pages and schemas that are made from the code: they must be as the code makes them.
//!
//! `A2A_FUNCTIONS_BLESS=1 cargo test --test docs` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod page;
mod schemas;
mod tables;

use a2a_functions::agents::{app_schema, front_matter_schema};
use a2a_functions::config::{Code, variables};
use page::Page;

#[test]
fn the_schema_of_front_matter_is_fresh() {
    Page::open("docs/schema/agent-front-matter.schema.json").must_be(&format!("{:#}\n", front_matter_schema()));
}

#[test]
fn the_schema_of_the_app_settings_is_fresh() {
    Page::open("docs/schema/agents-config.schema.json").must_be(&format!("{:#}\n", app_schema()));
}

#[test]
fn the_configuration_page_is_fresh() {
    let variables = variables::ALL.iter().map(|it| vec![format!("`{}`", it.name), it.purpose.to_owned()]);
    Page::open("docs/configuration.md").must_contain(&[
        ("front matter", tables::fields(&front_matter_schema())),
        ("agents.config.yaml", tables::fields(&app_schema())),
        ("variables", tables::table(&["Variable", "Purpose"], variables)),
    ]);
}

#[test]
fn the_diagnostics_page_is_fresh() {
    let codes = Code::ALL.iter().map(|code| vec![format!("`{}`", code.id()), code.title().to_owned()]);
    Page::open("docs/diagnostics.md").must_contain(&[("codes", tables::table(&["Code", "Meaning"], codes))]);
}
