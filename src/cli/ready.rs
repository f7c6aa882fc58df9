//! What a developer sees when a local server is ready: where the agents are, and a command to try.

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::Output;
use crate::agents::{Agent, AuthMode};
use crate::app::{App, AppParts};
use crate::auth::KEY_HEADER;

/// Says on standard error where the agents are reached.
pub(super) fn announce(parts: &AppParts<'_>, app: &App, address: SocketAddr, output: &mut Output) {
    let base = format!("http://{}", reachable(address));
    let served: Vec<&Agent> =
        parts.catalog.agents.iter().map(AsRef::as_ref).filter(|agent| agent.a2a.is_some()).collect();
    let mut text = format!("Serving {} over A2A:\n", plural(served.len()));
    for agent in &served {
        let _ = writeln!(text, "  {}", agent.name);
        let _ = writeln!(text, "    endpoint  {base}{}", parts.catalog.a2a_route(agent));
        let _ = writeln!(text, "    card      {base}{}", parts.catalog.card_route(agent));
    }
    if let Some(key) = &app.made_up_key {
        let _ = writeln!(
            text,
            "\nA2A_FUNCTION_KEYS is not set, so this key opens the agents until the server stops:\n  {key}"
        );
    }
    if let Some(agent) = served.first() {
        let _ = write!(text, "\nTry it:\n{}", curl(parts, app, agent, &base));
    }
    let _ = write!(text, "\nStop with Ctrl-C.");
    output.message(&text);
}

fn plural(agents: usize) -> String {
    if agents == 1 { "one agent".to_owned() } else { format!("{agents} agents") }
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> String {
    if address.ip().is_unspecified() || address.ip().is_loopback() {
        return format!("localhost:{}", address.port());
    }
    address.to_string()
}

fn curl(parts: &AppParts<'_>, app: &App, agent: &Agent, base: &str) -> String {
    let mut command = format!(
        "  curl -s {base}{} -H 'Content-Type: application/json' -H 'A2A-Version: 1.0'",
        parts.catalog.a2a_route(agent)
    );
    if matches!(agent.http_auth.mode, AuthMode::Function | AuthMode::Admin) {
        let key = app.made_up_key.as_deref().unwrap_or("<one of A2A_FUNCTION_KEYS>");
        let _ = write!(command, " -H '{KEY_HEADER}: {key}'");
    }
    command.push_str(
        " -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{\"message\":\
         {\"messageId\":\"m1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"Hello\"}]}}}'\n",
    );
    command
}
