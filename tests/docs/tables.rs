//! Markdown tables, of which one kind lists the fields of a schema.

use serde_json::{Map, Value};

/// A table with these titles.
pub(crate) fn table(titles: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(titles.iter().map(|title| (*title).to_owned()).collect());
    text.push_str(&line(titles.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(|cell| cell.replace('|', "\\|")).collect()));
    }
    text
}

/// A table of all fields of a schema, inner ones with their dotted paths.
pub(crate) fn fields(schema: &Value) -> String {
    let walk = Walk { definitions: schema["$defs"].as_object().cloned().unwrap_or_default() };
    let mut rows = Vec::new();
    walk.rows("", schema, &mut rows);
    table(&["Field", "Type", "Default", "Meaning"], rows)
}

struct Walk {
    definitions: Map<String, Value>,
}

impl Walk {
    fn rows(&self, path: &str, object: &Value, rows: &mut Vec<Vec<String>>) {
        let required: Vec<_> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in object["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let default = match field.get("default") {
                Some(Value::String(word)) => format!("`{word}`"),
                Some(value) => format!("`{value}`"),
                None if required.contains(&name.as_str()) => "required".to_owned(),
                None => String::new(),
            };
            let meaning = field["description"].as_str().unwrap_or_default().to_owned();
            rows.push(vec![format!("`{path}`"), self.kind(field), default, meaning]);
            for (step, inner) in self.objects(field) {
                self.rows(&format!("{path}{step}"), inner, rows);
            }
        }
    }

    /// The objects with fields that a value may be or hold, with what their path adds.
    fn objects<'s>(&'s self, schema: &'s Value) -> Vec<(&'static str, &'s Value)> {
        let schema = self.resolved(schema);
        let mut found = Vec::new();
        if schema.get("properties").is_some() {
            found.push(("", schema));
        }
        for choice in schema["anyOf"].as_array().into_iter().flatten() {
            found.extend(self.objects(choice));
        }
        if let Some(items) = schema.get("items") {
            found.extend(self.objects(items).into_iter().map(|(_, inner)| ("[]", inner)));
        }
        found
    }

    fn kind(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array() {
            let kinds = choices.iter().filter(|choice| choice["type"] != "null").map(|choice| self.kind(choice));
            return kinds.collect::<Vec<_>>().join(" or ");
        }
        if let Some(words) = schema["oneOf"].as_array() {
            let words = words.iter().filter_map(|word| word["const"].as_str()).map(|word| format!("`{word}`"));
            return words.collect::<Vec<_>>().join(", ");
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
            kind => kind.as_str(),
        };
        match kind {
            Some("array") => format!("list of {}", self.kind(&schema["items"])),
            Some("object") => "mapping".to_owned(),
            Some("integer") => format!("whole number{}", range(schema)),
            Some("number") => format!("number{}", range(schema)),
            Some(kind) => kind.to_owned(),
            None => "anything".to_owned(),
        }
    }

    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }
}

fn range(schema: &Value) -> String {
    let above = schema.get("exclusiveMinimum").map(|bound| format!("above {bound}"));
    let least = schema.get("minimum").map(|bound| format!("at least {bound}"));
    let most = schema.get("maximum").map(|bound| format!("at most {bound}"));
    let bounds: Vec<_> = [above, least, most].into_iter().flatten().collect();
    if bounds.is_empty() { String::new() } else { format!(", {}", bounds.join(", ")) }
}
