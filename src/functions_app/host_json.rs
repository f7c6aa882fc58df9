//! `host.json` of an app: what it needs so that the host starts this program and passes requests through.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::HOST_JSON;
use crate::config::{self, Node, Severity, Source, parse_json};

/// A `host.json` that must be corrected by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host.json: {0}")]
pub struct HostJsonFault(String);

/// What to write in place of an existing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedHostJson {
    /// The file with what it lacks, and all other settings kept.
    pub contents: String,
    /// The file has comments, or commas that JSON does not know: they are not kept.
    pub loses_comments: bool,
}

/// What an existing `host.json` lacks so that the host starts this program and streams requests to it; `Ok(None)`: nothing.
/// The route prefix is left alone: it is the app's choice.
pub fn completed_host_json(existing: &str) -> Result<Option<CompletedHostJson>, HostJsonFault> {
    let source = Source::new("host.json", existing);
    let mut current = read(&source)?;
    let wanted: Value = serde_json::from_str(HOST_JSON).map_err(|error| HostJsonFault(error.to_string()))?;
    let before = current.clone();
    let Some(settings) = current.as_object_mut() else {
        return Err(HostJsonFault("it must hold an object; correct it, or remove it".to_owned()));
    };
    for (key, wanted) in wanted.as_object().into_iter().flatten().filter(|(key, _)| *key != "extensions") {
        complete(settings, key, wanted);
    }
    if current == before {
        return Ok(None);
    }
    let contents = serde_json::to_string_pretty(&current).map_err(|error| HostJsonFault(error.to_string()))? + "\n";
    let loses_comments = serde_json::from_str::<Value>(&source.text).is_err();
    Ok(Some(CompletedHostJson { contents, loses_comments }))
}

fn read(source: &Arc<Source>) -> Result<Value, HostJsonFault> {
    let node = parse_json(source, Severity::Error).map_err(|finding| {
        let place = finding.position().map(|at| format!(" at line {} column {}", at.line, at.column));
        HostJsonFault(format!("{}{}", finding.message, place.unwrap_or_default()))
    })?;
    value(source, &node)
}

fn value(source: &Source, node: &Node) -> Result<Value, HostJsonFault> {
    Ok(match &node.value {
        config::Value::Null => Value::Null,
        config::Value::Bool(value) => Value::Bool(*value),
        // As it is written: a large number keeps its digits as far as JSON can hold them.
        config::Value::Integer(_) | config::Value::Float(_) => serde_json::from_str(&source.text[node.span.clone()])
            .map_err(|_| HostJsonFault(format!("`{}` is not a number of JSON", source.shown(&node.span))))?,
        config::Value::String(text) => Value::String(text.clone()),
        config::Value::List(items) => items.iter().map(|item| value(source, item)).collect::<Result<_, _>>()?,
        config::Value::Map(entries) => {
            let mut members = Map::new();
            for entry in entries {
                if members.keys().any(|key| key.eq_ignore_ascii_case(&entry.key)) {
                    return Err(HostJsonFault(format!("`{}` is written twice", source.shown(&entry.key_span))));
                }
                members.insert(entry.key.clone(), value(source, &entry.node)?);
            }
            Value::Object(members)
        }
    })
}

/// Sets what is absent, or is of no use to the host; it reads keys without regard to case. The two switches are set whatever
/// they say now: without them this program never sees plain HTTP.
fn complete(object: &mut Map<String, Value>, key: &str, wanted: &Value) {
    let present = object.keys().find(|name| name.eq_ignore_ascii_case(key)).cloned();
    let Some(present) = present.and_then(|name| object.get_mut(&name)) else {
        object.insert(key.to_owned(), wanted.clone());
        return;
    };
    let is_fine = match (&mut *present, wanted) {
        (Value::Object(inner), Value::Object(wanted)) => {
            for (key, wanted) in wanted {
                complete(inner, key, wanted);
            }
            true
        }
        (Value::Bool(on), Value::Bool(_)) => *on,
        (Value::String(text), Value::Bool(_)) => text.trim().eq_ignore_ascii_case("true"),
        (Value::String(text), Value::String(wanted)) if key == "version" => text == wanted,
        (Value::String(text), Value::String(_)) => !text.trim().is_empty(),
        // The host also takes a text that holds a list.
        (Value::String(text), Value::Array(_)) => serde_json::from_str::<Vec<String>>(text).is_ok(),
        (Value::Array(items), Value::Array(_)) => items.iter().all(Value::is_string),
        _ => false,
    };
    if !is_fine {
        *present = wanted.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(existing: &str) -> Value {
        let completed = completed_host_json(existing).unwrap().unwrap();
        assert_eq!(completed_host_json(&completed.contents).unwrap(), None, "{existing}");
        serde_json::from_str(&completed.contents).unwrap()
    }

    #[test]
    fn a_complete_host_json_is_left_alone() {
        assert_eq!(completed_host_json(HOST_JSON).unwrap(), None);
        let lenient = format!("\u{feff}// ours\n{}", HOST_JSON.replacen("\"2.0\",", "\"2.0\", /* so */", 1));
        assert_eq!(completed_host_json(&lenient).unwrap(), None);
        let texts =
            HOST_JSON.replace("[\n        \"serve\"\n      ]", "\"[\\\"serve\\\"]\"").replace("true", "\"True\"");
        assert_ne!(texts, HOST_JSON);
        assert_eq!(completed_host_json(&texts).unwrap(), None);
    }

    #[test]
    fn a_host_json_keeps_its_own_settings_and_gains_what_is_missing() {
        let completed = completed(
            r#"{"version":"2.0","logging":{"x":1,"y":1.50},"CustomHandler":{"enableProxyingHttpRequest":false,
            "description":{"defaultExecutablePath":"bin/mine"}}}"#,
        );
        assert_eq!(completed["logging"], serde_json::json!({"x": 1, "y": 1.5}));
        assert_eq!(completed["CustomHandler"]["enableProxyingHttpRequest"], true);
        assert_eq!(completed["CustomHandler"]["enableForwardingHttpRequest"], true);
        assert_eq!(completed["CustomHandler"]["description"]["defaultExecutablePath"], "bin/mine");
        assert_eq!(completed.get("extensions"), None, "the route prefix is the app's choice");
    }

    #[test]
    fn a_setting_that_is_of_no_use_to_the_host_is_replaced() {
        let wanted: Value = serde_json::from_str(HOST_JSON).unwrap();
        let handler = wanted["customHandler"].to_string();
        let cases = [
            r#"{"version": "2.0", "customHandler": "x"}"#.to_owned(),
            r#"{"version": "2.0", "customHandler": null}"#.to_owned(),
            r#"{"version": "2.0", "customHandler": {"description": null}}"#.to_owned(),
            format!(r#"{{"version": "1.0", "customHandler": {handler}}}"#),
            format!(r#"{{"version": 2.0, "customHandler": {handler}}}"#),
            format!(r#"{{"version": "2.0", "customHandler": {}}}"#, handler.replace("true", "\"false\"")),
            format!(r#"{{"version": "2.0", "customHandler": {}}}"#, handler.replace("\"a2a-functions\"", "\" \"")),
            format!(r#"{{"version": "2.0", "customHandler": {}}}"#, handler.replace("[\"serve\"]", "\"serve\"")),
        ];
        for existing in cases {
            let completed = completed(&existing);
            assert_eq!(completed["version"], "2.0", "{existing}");
            assert_eq!(completed["customHandler"], wanted["customHandler"], "{existing}");
        }
    }

    #[test]
    fn comments_are_read_and_their_loss_is_said() {
        for (existing, loses) in [
            ("{\"version\": \"2.0\"}", false),
            ("\u{feff}{\"version\": \"2.0\"}", false),
            ("{\n // why\n \"version\": \"2.0\"}", true),
            ("{\"version\": \"2.0\",}", true),
            ("", true),
        ] {
            let completed = completed_host_json(existing);
            if existing.is_empty() {
                assert!(completed.is_err());
            } else {
                assert_eq!(completed.unwrap().unwrap().loses_comments, loses, "{existing}");
            }
        }
    }

    #[test]
    fn a_host_json_that_holds_no_settings_is_a_fault() {
        for existing in ["[]", "1", "null", "{", "{\"version\": \"2.0\", \"Version\": \"2.0\"}"] {
            assert!(completed_host_json(existing).is_err(), "{existing}");
        }
    }
}
