//! Functions beside those that `functions init` writes, which would let callers pass without a key.

use std::fs;

use serde_json::json;

use crate::app::App;

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
        assert!(host.ready().await.is_err(), "{function}");
        let logs: Vec<_> = host.logs().into_iter().map(|line| line.text).collect();
        assert!(logs.iter().any(|line| line.contains("a_more/function.json has authLevel")), "{function}: {logs:?}");
    }
}
