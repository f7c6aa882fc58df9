//! The agent card: where it is, what it says, and how it is cached.

use http::Method;
use serde_json::{Value, json};

use crate::support::{AGENT, App, KEY, agent};

const CARD: &str = "/agents/main/.well-known/agent-card.json";
const ROOT_CARD: &str = "/.well-known/agent-card.json";

/// The Python runtime's card of `AGENT` in a mode, its texts and version replaced by ours.
fn python_card(schemes: &Value, requirements: &Value) -> Value {
    json!({
        "name": "Main",
        "description": "Helps.",
        "supportedInterfaces": [{
            "url": "http://localhost:7071/agents/main/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
            "tenant": "",
        }],
        "version": env!("CARGO_PKG_VERSION"),
        "capabilities": { "streaming": false, "pushNotifications": false, "extendedAgentCard": false, "extensions": [] },
        "securitySchemes": schemes,
        "securityRequirements": requirements,
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{
            "id": "main",
            "name": "Main",
            "description": "Helps.",
            "tags": ["agent"],
            "inputModes": ["text/plain"],
            "outputModes": ["text/plain"],
            "examples": [],
            "securityRequirements": [],
        }],
        "signatures": [],
    })
}

/// Takes out what the JSON of protocol buffers leaves out: empty lists, texts and maps. A requirement without scopes stays.
fn without_empty_members(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(without_empty_members),
        Value::Object(members) => {
            members.values_mut().for_each(without_empty_members);
            members.retain(|name, member| {
                member != &json!([]) && member != "" && (member != &json!({}) || name == "function_key")
            });
        }
        _ => {}
    }
}

#[tokio::test]
async fn golden_5_7_the_card_is_the_python_runtime_s_without_empty_members() {
    let keys = |description: &str| {
        let scheme = json!({ "description": description, "location": "header", "name": "x-functions-key" });
        (
            json!({ "function_key": { "apiKeySecurityScheme": scheme } }),
            json!([{ "schemes": { "function_key": { "list": [] } } }]),
        )
    };
    let extension = json!([{
        "uri": "urn:a2a-functions:extension:idempotent-send:v1",
        "description": "A message that is sent again under the same messageId gets its first answer again.",
    }]);
    for (mode, (schemes, requirements), extensions) in [
        ("function", keys("A function key or host key of the function app."), Some(&extension)),
        ("admin", keys("The master key of the function app."), Some(&extension)),
        ("anonymous", (json!({}), json!([])), None),
    ] {
        let server = App::of(&agent(mode, "")).start().await;
        let reply = server.get(CARD).set("x-functions-key", crate::support::MASTER).nothing().await;
        let mut expected = python_card(&schemes, &requirements);
        without_empty_members(&mut expected);
        if let Some(extensions) = extensions {
            expected["capabilities"]["extensions"] = extensions.clone();
        }
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{mode}");
        assert_eq!(reply.json(), expected, "{mode}");
    }
}

#[tokio::test]
async fn c020_c033_required_members_are_there_and_nothing_is_null_or_empty() {
    for mode in ["function", "admin", "anonymous"] {
        let server = App::of(&agent(mode, "")).start().await;
        let reply = server.get(CARD).set("x-functions-key", crate::support::MASTER).nothing().await;
        let card = reply.json();
        for member in ["name", "description", "version"] {
            assert!(card[member].as_str().is_some_and(|text| !text.is_empty()), "{mode} {member}");
        }
        for member in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
            assert!(card[member].as_array().is_some_and(|list| !list.is_empty()), "{mode} {member}");
        }
        assert!(card["capabilities"].is_object(), "{mode}");
        for placeholder in ["null", "\"\"", "[]"] {
            assert!(!reply.text.contains(placeholder), "{mode} {placeholder}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn c030_the_card_of_the_only_agent_is_at_the_root_under_its_new_name() {
    let server = App::of(AGENT).start().await;
    let card = server.get(CARD).nothing().await;
    let root = server.get(ROOT_CARD).nothing().await;
    assert_eq!((root.status, &root.text), (200, &card.text));
    for old in ["/.well-known/agent.json", "/agents/main/.well-known/agent.json"] {
        assert_eq!(server.get(old).nothing().await.status, 404, "{old}");
    }
}

#[tokio::test]
async fn c031_two_agents_have_a_card_each_and_none_at_the_root() {
    let tech = AGENT.replace("Main", "Tech").replace("/main/", "/tech/");
    let server = App::of(AGENT).file("tech.agent.md", &tech).start().await;
    for (path, name) in [
        (CARD, "Main"),
        ("/agents/tech/.well-known/agent-card.json", "Tech"),
        ("/agents/main/a2a/.well-known/agent-card.json", "Main"),
        ("/agents/tech/a2a/.well-known/agent-card.json", "Tech"),
    ] {
        assert_eq!(server.get(path).nothing().await.json()["name"], name, "{path}");
    }
    for path in [ROOT_CARD, "/agents/other/.well-known/agent-card.json", "/agents/other/a2a", "/agents/MAIN/a2a"] {
        // With and without credentials: a 401 would say that there is something.
        for call in [server.get(path), server.get(path).without("x-functions-key")] {
            assert_eq!(call.nothing().await.status, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn c031_other_verbs_learn_which_one_is_served() {
    let server = App::of(AGENT).start().await;
    for (path, verb, allow) in [
        ("/agents/main/a2a", Method::GET, "POST"),
        ("/agents/main/a2a/", Method::DELETE, "POST"),
        (CARD, Method::POST, "GET, HEAD"),
    ] {
        let reply = server.get(path).method(verb).nothing().await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{path}");
    }
}

#[tokio::test]
async fn c032_the_card_s_address_is_the_public_one_wherever_it_is_asked_for() {
    let public = AGENT.replace("http://localhost:7071", "https://agents.example.com");
    let server = App::of(&public)
        .variable("WEBSITE_HOSTNAME", "app.azurewebsites.net")
        .host(|host| host.forwards_host = true)
        .start()
        .await;
    for forwarded in ["agents.example.com", "app.azurewebsites.net"] {
        let call = server.get(CARD).set("x-forwarded-proto", "http").set("x-forwarded-host", forwarded);
        let card = call.nothing().await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "https://agents.example.com/agents/main/a2a");
    }
}

#[tokio::test]
async fn c034_c035_the_scheme_is_wrapped_required_by_name_and_works_as_it_says() {
    let server = App::of(AGENT).start().await;
    let card = server.get(CARD).nothing().await.json();
    let requirement = card["securityRequirements"][0]["schemes"].as_object().unwrap();
    let name = requirement.keys().next().unwrap();
    let scheme = card["securitySchemes"][name].as_object().unwrap();
    assert_eq!(scheme.keys().collect::<Vec<_>>(), ["apiKeySecurityScheme"]);
    assert!(card.get("security").is_none());
    // A client that knows nothing but the card gets in.
    let scheme = &scheme["apiKeySecurityScheme"];
    assert_eq!((&scheme["location"], &scheme["name"]), (&json!("header"), &json!("x-functions-key")));
    assert_eq!(server.call_without_key().set("x-functions-key", KEY).send(&json!({})).await.code(), 0);
}

#[tokio::test]
async fn c036_the_card_can_be_cached_and_a_client_that_has_it_gets_304() {
    let server = App::of(AGENT).start().await;
    let first = server.get(CARD).nothing().await;
    let etag = first.header("etag").unwrap();
    assert_eq!(first.header("cache-control"), Some("private, max-age=300"));
    assert_eq!(first.header("vary"), Some("x-functions-key"));
    assert!(first.header("last-modified").is_some());
    let again = server.get(CARD).set("if-none-match", etag).nothing().await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", Some(etag)));
    let head = server.get(CARD).method(Method::HEAD).nothing().await;
    let length = first.text.len().to_string();
    assert_eq!((head.status, head.text.as_str(), head.header("content-length")), (200, "", Some(length.as_str())));
    let changed = App::of(&AGENT.replace("Helps.", "Helps more.")).start().await;
    let changed = changed.get(CARD).set("if-none-match", etag).nothing().await;
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), Some(etag));
}

#[tokio::test]
async fn c036_a_card_for_everybody_may_be_kept_by_shared_caches() {
    let server = App::of(&agent("anonymous", "")).start().await;
    let card = server.get(CARD).without("x-functions-key").nothing().await;
    assert_eq!((card.header("cache-control"), card.header("vary")), (Some("public, max-age=300"), None));
}

#[tokio::test]
async fn c091_a_gateway_s_own_paths_are_published_as_configured() {
    let gateway = AGENT.replace("http://localhost:7071/agents/main/a2a", "https://gw.example/a2a/x");
    let server = App::of(&gateway).start().await;
    // Directly, and as a gateway that rewrites the path and keeps the name.
    for host in ["127.0.0.1", "gw.example"] {
        let card = server.get(CARD).set("host", host).nothing().await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "https://gw.example/a2a/x", "{host}");
        assert_eq!(server.call().set("host", host).send(&json!({})).await.code(), 0, "{host}");
    }
}

#[tokio::test]
async fn c093_a_gateway_finds_the_card_below_the_address_of_the_endpoint() {
    let below = "/agents/main/a2a/.well-known/agent-card.json";
    let open = App::of(&agent("anonymous", "")).start().await;
    assert_eq!(open.get(below).without("x-functions-key").nothing().await.status, 200);
    let closed = App::of(AGENT).start().await;
    assert_eq!(closed.get(below).nothing().await.status, 200);
    let refused = closed.get(below).without("x-functions-key").nothing().await;
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some_and(|challenge| challenge.contains("x-functions-key")));
    for server in [&open, &closed] {
        assert_eq!(server.get("/agents/main/a2a/.well-known/agent.json").nothing().await.status, 404);
    }
}
