//! The published JSON Schemas (2020-12) of what authors may write, made from the types that read it.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use super::authored::{AppFields, FrontMatter};

/// The schema of the front matter of an agent file.
pub fn front_matter_schema() -> Value {
    schema::<FrontMatter>("Agent front matter")
}

/// The schema of `agents.config.yaml`.
pub fn app_schema() -> Value {
    schema::<AppFields>("agents.config.yaml")
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), json!(title));
    let mut value = schema.to_value();
    join_lines(&mut value);
    value
}

/// Descriptions come from wrapped doc comments; each is one line of text.
fn join_lines(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(text) if key == "description" => *text = text.replace('\n', " "),
                    _ => join_lines(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        _ => {}
    }
}
