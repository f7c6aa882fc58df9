//! Which functions stop the start.

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::agents::load;
use crate::functions_app::function_files;

const RPC: &str = "agent_fn_a2a_rpc/function.json";

/// An app with an agent of each level, and the files that init writes for it.
fn app(route_prefix: &str, agents: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let host = json!({ "version": "2.0", "extensions": { "http": { "routePrefix": route_prefix } } });
    write(root.path(), "host.json", &host.to_string());
    for (slug, http_auth) in agents {
        let agent = format!(
            "---\nname: A\ndescription: Helps.\nbuiltin_endpoints:\n  http_auth: {http_auth}\n  a2a:\n    url: https://a.example/agents/{slug}/a2a\n---\nHelp.\n"
        );
        write(root.path(), &format!("{slug}.agent.md"), &agent);
    }
    for file in function_files(&catalog(root.path())).unwrap() {
        write(root.path(), file.path.to_str().unwrap(), &file.contents);
    }
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn catalog(root: &Path) -> Catalog {
    let loaded = load(root, Environment::default());
    loaded.catalog.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn problems(root: &Path, environment: &Environment) -> Vec<String> {
    level_problems(root, &catalog(root), environment).iter().map(ToString::to_string).collect()
}

/// The problems of the app once it has one more function.
fn with_function(prefix: &str, function_json: &str) -> Vec<String> {
    let app = app(prefix, &[("fn", "function"), ("adm", "admin"), ("open", "anonymous")]);
    write(app.path(), "more/function.json", function_json);
    problems(app.path(), &Environment::default())
}

fn trigger(route: &str, level: &str) -> String {
    json!({ "bindings": [{ "type": "httpTrigger", "name": "req", "route": route, "authLevel": level }] }).to_string()
}

#[test]
fn the_files_that_init_writes_agree_with_the_agents() {
    for prefix in ["", "api"] {
        for agents in [&[("fn", "function")][..], &[("fn", "function"), ("adm", "admin"), ("open", "anonymous")]] {
            assert_eq!(problems(app(prefix, agents).path(), &Environment::default()), [""; 0], "{prefix:?}");
        }
    }
}

#[test]
fn a_function_with_another_level_than_its_agent_is_refused_and_named() {
    for level in ["anonymous", "admin", "system", "user", "", "anything", "Anonymous"] {
        let app = app("", &[("fn", "function")]);
        write(app.path(), RPC, &trigger("agents/fn/a2a", level));
        let found = problems(app.path(), &Environment::default());
        assert_eq!(found.len(), 1, "{level}: {found:?}");
        assert!(found[0].starts_with(&format!("{RPC} has authLevel {level:?}, but fn.agent.md")), "{found:?}");
    }
    let app = app("", &[("fn", "function")]);
    for function in
        [trigger("agents/fn/a2a", "FUNCTION"), trigger("agents/fn/a2a", "x").replace(r#""authLevel":"x","#, "")]
    {
        write(app.path(), RPC, &function);
        assert_eq!(problems(app.path(), &Environment::default()), [""; 0], "{function}");
    }
}

#[test]
fn a_route_that_may_lead_to_an_agent_needs_the_level_of_the_strictest() {
    let routes = [
        "{*path}",
        "{**path}",
        "agents/{slug}/a2a",
        "agents/fn/{rest}",
        "agents/{slug:alpha}/a2a",
        "agents/fn/{x=a2a}",
        "{a?}",
        "public/{*rest}",
        "agents/f%6E/a2a",
        "public/../agents/fn/a2a",
        "~/agents/fn/a2a",
        "agents\\fn\\a2a",
    ];
    for route in routes {
        for (level, expected) in [("anonymous", 1), ("function", 1), ("system", 1), ("admin", 0)] {
            let found = with_function("", &trigger(route, level));
            assert_eq!(found.len(), expected, "{route} {level}: {found:?}");
            assert!(found.iter().all(|it| it.starts_with("more/function.json") && it.contains("remove")), "{found:?}");
        }
    }
}

#[test]
fn a_literal_route_is_compared_as_the_host_compares_it() {
    let open = [
        "agents/fn/a2a",
        "Agents/FN/a2a",
        "/agents/fn/a2a/",
        " agents/fn/a2a ",
        "agents/fn/.well-known/agent-card.json",
    ];
    for route in open {
        for prefix in ["", "api"] {
            assert_eq!(with_function(prefix, &trigger(route, "anonymous")).len(), 1, "{prefix:?} {route}");
        }
    }
    for route in ["health", "agents/open/a2a", "agents/nobody/a2a", "agents", "x/agents/fn/a2a"] {
        assert_eq!(with_function("", &trigger(route, "anonymous")), [""; 0], "{route}");
    }
    // A prefix makes an agent's path of a shorter route, even of the name of a function.
    let app = app("agents/fn/agents/fn", &[("fn", "function")]);
    write(
        app.path(),
        "a2a/function.json",
        r#"{"bindings": [{"type": "httpTrigger", "authLevel": "anonymous", "route": null}]}"#,
    );
    assert_eq!(problems(app.path(), &Environment::default()), [""; 0], "agents/fn/agents/fn/a2a is no agent's path");
    write(app.path(), "a2a/function.json", &trigger("agents/fn/a2a", "anonymous"));
    assert_eq!(problems(app.path(), &Environment::default()).len(), 1);
}

#[test]
fn the_card_of_the_only_agent_is_one_of_its_paths() {
    for route in [".well-known/agent-card.json", ".Well-Known/agent-card.json"] {
        let app = app("", &[("fn", "function")]);
        write(app.path(), "a2a_root_card/function.json", &trigger(route, "anonymous"));
        assert_eq!(problems(app.path(), &Environment::default()).len(), 1, "{route}");
    }
}

#[test]
fn function_json_is_read_as_leniently_as_by_the_host() {
    let good = trigger("agents/fn/a2a", "anonymous");
    let spellings = [
        format!("\u{feff}{good}"),
        format!("// a comment\n{good}"),
        good.replace("}]", "},]"),
        good.replace("authLevel", "AuthLevel"),
        good.replace("bindings", "Bindings").replace("type", "TYPE").replace("route", "Route"),
        good.replace("httpTrigger", "HTTPTRIGGER"),
        good.replace("{\"bindings\"", "{\"disabled\": true, \"bindings\""),
        good.replace("\"name\":\"req\"", "\"methods\":[\"delete\"]"),
    ];
    for text in spellings {
        let found = with_function("", &text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].contains("authLevel \"anonymous\", but fn.agent.md"), "{found:?}");
    }
    assert_eq!(with_function("", r#"{"bindings": [{"type": "timerTrigger", "schedule": "0 * * * * *"}]}"#), [""; 0]);
}

#[test]
fn a_function_that_cannot_be_understood_stops_the_start() {
    let texts = [
        "{",
        "[]",
        "\"x\"",
        "",
        "{'bindings': []}",
        r#"{"bindings": {}}"#,
        r#"{"bindings": [], "Bindings": []}"#,
        r#"{"bindings": [{"type": "httpTrigger", "authLevel": 0}]}"#,
        r#"{"bindings": [{"type": "httpTrigger", "authLevel": "function", "AuthLevel": "anonymous"}]}"#,
        r#"{"bindings": [{"type": "httpTrigger", "route": ["x"]}]}"#,
    ];
    for text in texts {
        let found = with_function("", text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with("more/function.json: "), "{text}: {found:?}");
    }
    let app = app("", &[("fn", "function")]);
    fs::create_dir(app.path().join("more")).unwrap();
    std::os::unix::fs::symlink("nothing", app.path().join("more/function.json")).unwrap();
    assert_eq!(problems(app.path(), &Environment::default()).len(), 1);
    fs::remove_file(app.path().join("more/function.json")).unwrap();
    write(app.path(), "more/Function.JSON", &trigger("{*x}", "anonymous"));
    assert_eq!(problems(app.path(), &Environment::default()).len(), 1, "a file system may not tell letter case apart");
}

/// A `host.json`, app settings, and how many problems they make.
type HostCase<'a> = (String, &'a [(&'a str, &'a str)], usize);

#[test]
fn routes_of_host_json_and_of_app_settings_are_functions_too() {
    let profile =
        |more: &str| format!(r#"{{"configurationProfile": "mcp-custom-handler", "customHandler": {{{more}}}}}"#);
    let routes = |entry: &str| format!(r#"{{"customHandler": {{"http": {{"routes": [{entry}]}}}}}}"#);
    let level = "AzureFunctionsJobHost__customHandler__http__defaultAuthorizationLevel";
    let cases: [HostCase<'_>; 10] = [
        (profile(""), &[], 0),
        (profile(""), &[(level, "anonymous")], 1),
        (profile(""), &[("AZUREFUNCTIONSJOBHOST__customhandler__HTTP__routes__0__authorizationLevel", "Anonymous")], 1),
        (profile(r#""http": {"DefaultAuthorizationLevel": "anonymous"}"#), &[], 1),
        (routes(r#"{"route": "{*route}", "authorizationLevel": "anonymous"}"#), &[], 1),
        (routes(r#"{"route": "{*route}", "authorizationLevel": 0}"#), &[], 1),
        (routes(r#"{"route": "{*route}"}"#), &[], 0),
        (routes(r#"{"route": "api/agents/fn/a2a"}, {"route": "agents/fn/a2a"}"#), &[(level, "anonymous")], 1),
        (
            "{}".to_owned(),
            &[("AzureFunctionsJobHost__configurationProfile", "web-app-custom-handler"), (level, "anonymous")],
            1,
        ),
        (routes(r#"{"route": "a", "Route": "b"}"#), &[], 1),
    ];
    for (host, variables, expected) in cases {
        let app = app("", &[("fn", "function")]);
        write(app.path(), "host.json", &host);
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        // The folders stay: that the host would refuse both together is not relied on.
        let found = problems(app.path(), &environment);
        assert_eq!(found.len(), expected, "{host} {variables:?}: {found:?}");
    }
}

#[test]
fn functions_are_looked_for_where_the_host_has_them() {
    let (app, elsewhere) = (app("", &[("fn", "function")]), tempfile::tempdir().unwrap());
    write(elsewhere.path(), "all/function.json", &trigger("{*path}", "anonymous"));
    for variable in ["FUNCTIONS_APP_ROOT_PATH", "AzureWebJobsScriptRoot"] {
        let environment = Environment::from([(variable, elsewhere.path().to_str().unwrap())]);
        assert_eq!(problems(app.path(), &environment).len(), 1, "{variable}");
        let environment = Environment::from([(variable, app.path().to_str().unwrap())]);
        assert_eq!(problems(app.path(), &environment), [""; 0], "{variable}");
    }
}

#[test]
fn without_any_function_only_open_agents_are_served() {
    for (http_auth, expected) in [("function", 1), ("admin", 1), ("anonymous", 0)] {
        let app = app("", &[("x", http_auth)]);
        for entry in fs::read_dir(app.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
            fs::remove_dir_all(entry).unwrap();
        }
        let found = problems(app.path(), &Environment::default());
        assert_eq!(found.len(), expected, "{http_auth}: {found:?}");
    }
}
