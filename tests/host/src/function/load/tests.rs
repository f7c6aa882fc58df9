//! Which functions load, in which order, and why others do not.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::function::AuthLevel;

fn http_function(route: &str, methods: &[&str]) -> Value {
    let mut trigger = json!({"type": "httpTrigger", "direction": "in", "name": "req", "route": route});
    if !methods.is_empty() {
        trigger["methods"] = json!(methods);
    }
    json!({"bindings": [trigger, {"type": "http", "direction": "out", "name": "res"}]})
}

/// Loads an app with these function folders.
fn load_app(
    functions: &[(&str, Value)],
    custom_handler: &Value,
    variables: &[(&str, &str)],
) -> Result<FunctionSet, ConfigError> {
    let folder = TempDir::new().unwrap();
    let mut section = json!({"description": {"defaultExecutablePath": "handler"}});
    section.as_object_mut().unwrap().extend(custom_handler.as_object().unwrap().clone());
    let host = json!({"version": "2.0", "customHandler": section});
    fs::write(folder.path().join("host.json"), host.to_string()).unwrap();
    for (name, document) in functions {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("function.json"), document.to_string()).unwrap();
    }
    let mut environment = Environment::default();
    for (name, value) in variables {
        environment.set(*name, *value);
    }
    let config = HostConfig::load(folder.path(), &environment, None)?;
    load(folder.path(), &config, &environment)
}

fn load_functions(functions: &[(&str, Value)]) -> FunctionSet {
    load_app(functions, &json!({}), &[]).unwrap()
}

fn names(set: &FunctionSet) -> Vec<&str> {
    set.functions.iter().map(|function| function.name.as_str()).collect()
}

#[test]
fn functions_are_ordered_by_name_ignoring_case() {
    let set = load_functions(&[
        ("zz", http_function("z", &[])),
        ("Beta", http_function("b", &[])),
        ("alpha", http_function("a", &[])),
        ("a-b", http_function("c", &[])),
        ("a_b", http_function("d", &[])),
    ]);
    assert_eq!(names(&set), ["a-b", "alpha", "a_b", "Beta", "zz"]);
}

#[test]
fn a_function_that_cannot_load_leaves_the_others_alone() {
    type Check = fn(&Reason) -> bool;
    let cases: Vec<(&str, Value, Check)> = vec![
        ("1st", http_function("x", &[]), |reason| matches!(reason, Reason::InvalidName)),
        ("host", http_function("x", &[]), |reason| matches!(reason, Reason::InvalidName)),
        ("dot.ted", http_function("x", &[]), |reason| matches!(reason, Reason::InvalidName)),
        ("f", http_function("admin/x", &[]), |reason| matches!(reason, Reason::ReservedRoute(_))),
        ("f", http_function("/Administration", &[]), |reason| matches!(reason, Reason::ReservedRoute(_))),
        ("f", http_function("runtime", &[]), |reason| matches!(reason, Reason::ReservedRoute(_))),
        ("AdminThing", http_function("", &[]), |reason| matches!(reason, Reason::ReservedRoute(_))),
        ("f", http_function("a/{b", &[]), |reason| matches!(reason, Reason::Template(_))),
        ("f", json!({}), |reason| matches!(reason, Reason::NoBindings)),
        ("f", json!({"bindings": []}), |reason| matches!(reason, Reason::NoBindings)),
        ("f", json!({"bindings": [{"type": "http", "direction": "out"}]}), |reason| {
            matches!(reason, Reason::TriggerCount(0))
        }),
        ("f", json!({"bindings": [{"type": "httpTrigger"}, {"type": "queueTrigger"}]}), |reason| {
            matches!(reason, Reason::TriggerCount(2))
        }),
        ("f", json!({"bindings": [{"type": "httpTrigger", "authLevel": "root"}]}), |reason| {
            matches!(reason, Reason::InvalidValue { key: "authLevel", .. })
        }),
        ("f", json!({"bindings": [{"type": "timerTrigger"}]}), |reason| {
            matches!(reason, Reason::InvalidValue { key: "schedule", .. })
        }),
        ("f", json!({"bindings": [{"type": "httpTrigger"}], "retry": {"strategy": "hope"}}), |reason| {
            matches!(reason, Reason::InvalidValue { key: "retry.strategy", .. })
        }),
    ];
    for (name, document, is_expected) in cases {
        let set = load_functions(&[(name, document.clone()), ("other", http_function("other", &[]))]);
        assert_eq!(names(&set), ["other"], "{name} {document}");
        assert!(is_expected(&set.errors[0].reason), "{name} {document}: {:?}", set.errors);
    }
}

#[test]
fn one_route_with_a_common_method_belongs_to_the_first_name() {
    let cases: [(&[&str], &[&str], bool); 4] =
        [(&["get"], &["GET", "post"], true), (&["get"], &["post"], false), (&[], &["post"], true), (&[], &[], true)];
    for (first, second, conflicts) in cases {
        let set = load_functions(&[("b", http_function("/Chat/", second)), ("a", http_function("chat", first))]);
        assert_eq!(set.errors.len(), usize::from(conflicts), "{first:?} {second:?}");
        if let Some(error) = set.errors.first() {
            assert_eq!(error.function, "b");
            assert!(matches!(&error.reason, Reason::RouteConflict { other, .. } if other == "a"), "{error:?}");
        }
    }
}

#[test]
fn two_names_that_differ_by_case_are_one_too_many() {
    let set = load_functions(&[("Chat", http_function("a", &[])), ("chat", http_function("b", &[]))]);
    assert_eq!(names(&set).len(), 1);
    assert!(matches!(set.errors[0].reason, Reason::DuplicateName(_)));
}

#[test]
fn bindings_read_in_any_case_with_the_hosts_defaults() {
    let set = load_functions(&[(
        "chat",
        json!({"Bindings": [{"TYPE": "HttpTrigger", "Name": "req"}, {"type": "HTTP", "Direction": "OUT", "name": "r"}]}),
    )]);
    let function = &set.functions[0];
    let http = function.http().unwrap();
    assert_eq!((http.route.as_str(), http.level), ("chat", AuthLevel::Function));
    assert!(http.methods.is_none());
    assert!(function.is_http_in_and_out());
}

#[test]
fn another_binding_takes_a_function_out_of_forwarding() {
    let extras = [
        json!({"type": "queue", "direction": "out", "name": "q"}),
        json!({"type": "table", "direction": "in", "name": "t"}),
    ];
    for extra in extras {
        let mut document = http_function("x", &[]);
        document["bindings"].as_array_mut().unwrap().push(extra.clone());
        assert!(!load_functions(&[("f", document)]).functions[0].is_http_in_and_out(), "{extra}");
    }
}

#[test]
fn a_function_is_disabled_by_its_file_or_by_an_app_setting() {
    let mut by_file = http_function("a", &[]);
    by_file["disabled"] = json!(true);
    let functions = [("a", by_file), ("b", http_function("b", &[])), ("c", http_function("c", &[]))];
    let set = load_app(&functions, &json!({}), &[("AzureWebJobs.b.Disabled", "true")]).unwrap();
    let disabled: Vec<bool> = set.functions.iter().map(|function| function.disabled).collect();
    assert_eq!(disabled, [true, true, false]);
}

#[test]
fn http_routes_become_functions_only_with_the_custom_runtime_and_without_function_json() {
    let routes: Vec<Value> = (1..=10).map(|number| json!({"route": format!("r{number}")})).collect();
    let mut section = json!({"http": {"routes": routes}});
    section["http"]["routes"][1] = json!({"route": " "});
    section["http"]["routes"][4]["route"] = Value::Null;
    section["http"]["routes"][2]["authorizationLevel"] = json!("anonymous");
    let custom = [("FUNCTIONS_WORKER_RUNTIME", "Custom")];

    let set = load_app(&[], &section, &custom).unwrap();
    assert_eq!(names(&set)[..3], ["http-handler1", "http-handler10", "http-handler3"]);
    for (error, function) in set.errors.iter().zip(["http-handler2", "http-handler5"]) {
        assert_eq!(error.function, function);
        assert!(matches!(error.reason, Reason::BlankRoute));
    }
    assert_eq!(set.errors.len(), 2);
    let levels: Vec<AuthLevel> = set.functions[..3].iter().map(|function| function.http().unwrap().level).collect();
    assert_eq!(levels, [AuthLevel::Function, AuthLevel::Function, AuthLevel::Anonymous]);
    assert!(set.functions[0].is_http_in_and_out());

    let error = load_app(&[], &section, &[("FUNCTIONS_WORKER_RUNTIME", "node")]).unwrap_err();
    assert!(matches!(error, ConfigError::RoutesNeedCustomRuntime { runtime: Some(runtime) } if runtime == "node"));
    let error = load_app(&[], &section, &[]).unwrap_err();
    assert!(matches!(error, ConfigError::RoutesNeedCustomRuntime { runtime: None }));
    let error = load_app(&[("chat", http_function("chat", &[]))], &section, &custom).unwrap_err();
    assert!(matches!(error, ConfigError::RoutesBesideFunctionJson { function } if function == "chat"));
}
