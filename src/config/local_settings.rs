//! `local.settings.json`: the variables that Core Tools sets on a developer's machine.

use std::path::Path;

use super::{Code, Diagnostic, Diagnostics, Environment, Severity, Source, Value, parse_json};

const FILE: &str = "local.settings.json";

/// Adds the `Values` of the file to an environment; those that the process has set keep their value.
pub fn local_settings(root: &Path, mut environment: Environment, findings: &mut Diagnostics) -> Environment {
    match values(root, findings) {
        Ok(values) => environment.fill_from(values),
        Err(finding) => findings.push(*finding),
    }
    environment
}

fn values(root: &Path, findings: &mut Diagnostics) -> Result<Vec<(String, String)>, Box<Diagnostic>> {
    let Some(source) = Source::read(root, FILE, Severity::Error)? else {
        return Ok(Vec::new());
    };
    let settings = parse_json(&source, Severity::Error)?;
    let Some(values) = settings.get_any_case("Values") else {
        return Ok(Vec::new());
    };
    if let Some(encrypted) = settings.get_any_case("IsEncrypted").filter(|node| node.value == Value::Bool(true)) {
        findings.push(
            Diagnostic::new(
                Severity::Warning,
                Code::SettingsEncrypted,
                "the values of this file are encrypted and are not read",
            )
            .at(&source, &encrypted.span)
            .field("IsEncrypted")
            .help("run `func settings decrypt`, or set the variables in the environment"),
        );
        return Ok(Vec::new());
    }
    let mut read = Vec::new();
    for entry in values.entries().unwrap_or_default() {
        match &entry.node.value {
            Value::String(text) => read.push((entry.key.clone(), text.clone())),
            Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {
                let text = source.text[entry.node.span.clone()].to_owned();
                read.push((entry.key.clone(), text));
            }
            Value::Null => {}
            Value::List(_) | Value::Map(_) => findings.push(
                Diagnostic::new(
                    Severity::Warning,
                    Code::SettingIgnored,
                    format!("`{}` is {}, and is not set", source.shown(&entry.key_span), entry.node.kind()),
                )
                .at(&source, &entry.key_span)
                .field(format!("Values.{}", entry.key))
                .help("write a string; a nested setting is written as `Parent__Child`")
                .without_excerpt(),
            ),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Environment, Vec<Code>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let mut findings = Diagnostics::default();
        let environment = local_settings(folder.path(), Environment::from([("A", "process")]), &mut findings);
        (environment, findings.iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn plain_values_are_read_and_others_named() {
        let (environment, found) =
            read(r#"{"IsEncrypted": false, "Values": {"A": "file", "B": "b", "N": 7, "T": true, "E": "", "L": []}}"#);
        let cases =
            [("A", Some("process")), ("B", Some("b")), ("N", Some("7")), ("T", Some("true")), ("E", None), ("L", None)];
        for (name, expected) in cases {
            assert_eq!(environment.get(name), expected, "{name}");
        }
        assert_eq!(found, [Code::SettingIgnored]);
    }

    #[test]
    fn encrypted_values_are_not_read() {
        let (environment, found) = read(r#"{"IsEncrypted": true, "Values": {"B": "b"}}"#);
        assert_eq!(environment.get("B"), None);
        assert_eq!(found, [Code::SettingsEncrypted]);
    }

    #[test]
    fn a_broken_file_is_an_error_and_a_missing_one_is_not() {
        assert_eq!(read("{").1, [Code::SyntaxInvalid]);
        let folder = tempfile::tempdir().unwrap();
        let mut findings = Diagnostics::default();
        local_settings(folder.path(), Environment::default(), &mut findings);
        assert_eq!(findings, Diagnostics::default());
    }
}
