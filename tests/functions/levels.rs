//! Functions beside those that `functions init` writes, which would let callers pass without a key.

use std::fs;

use serde_json::json;

use crate::app::App;
use crate::client::Call;

#[tokio::test]
async fn the_handler_does_not_start_when_another_function_opens_an_agent() {
    let trigger = |route: &str| {
        let bindings = json!([
            {"type": "httpTrigger", "direction": "in", "name": "req", "authLevel": "anonymous", "route": route},
            {"type": "http", "direction": "out", "name": "res"}
        ]);
        json!({ "bindings": bindings }).to_string()
    };
    let catch_all = trigger("{*path}");
    let cases = [
        catch_all.clone(),
        trigger("agents/{slug}/a2a"),
        trigger("Agents/Main/a2a/"),
        format!("\u{feff}{catch_all}"),
        catch_all.replace("authLevel", "AuthLevel").replace("bindings", "Bindings"),
    ];
    for function in cases {
        let app = App::new("function");
        // By its name it comes before the others, so the host would choose it.
        fs::create_dir(app.path().join("a_more")).unwrap();
        fs::write(app.path().join("a_more/function.json"), &function).unwrap();
        let host = app.host().start().await.unwrap();
        host.wait_for_log(|line| line.text.contains("error: a_more/function.json has authLevel")).await;
        let reply = Call::post(format!("{}/agents/main/a2a", host.base_url())).body("{}").await;
        assert_ne!(reply.status, 200, "{function}");
        let served = host.logs().iter().any(|line| line.text.contains("\"message\":\"request\""));
        assert!(!served, "{function}: a request reached the handler");
    }
}
