//! A2A over HTTP as tests send it: a good request that a test bends, and an answer that it looks into.

use std::sync::LazyLock;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

/// Far beyond anything a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kept for all tests of a process. Connections are not: each test has a runtime of its own.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(PATIENCE);
    builder.redirect(reqwest::redirect::Policy::none()).build().expect("a client")
});

/// A request that is not sent yet.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    url: String,
    headers: HeaderMap,
}

impl Call {
    /// A good POST to an A2A endpoint, without credentials.
    pub(crate) fn post(url: impl Into<String>) -> Self {
        Self { method: Method::POST, ..Self::get(url) }
            .set("content-type", "application/json")
            .set("a2a-version", "1.0")
    }

    pub(crate) fn get(url: impl Into<String>) -> Self {
        Self { method: Method::GET, url: url.into(), headers: HeaderMap::new() }
    }

    pub(crate) fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Adds a text to the address: a query, or more of the path.
    pub(crate) fn at(mut self, more: &str) -> Self {
        self.url.push_str(more);
        self
    }

    /// Sets a header to this value alone.
    pub(crate) fn set(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), value.parse().expect("a header's value"));
        self
    }

    /// Adds a further value of a header.
    pub(crate) fn add(mut self, name: &'static str, value: &[u8]) -> Self {
        let value = HeaderValue::from_bytes(value).expect("a header's value");
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Sends this body as it is.
    pub(crate) async fn body(self, body: impl Into<reqwest::Body>) -> Reply {
        let request = CLIENT.request(self.method, self.url).headers(self.headers).body(body);
        Reply::read(request.send().await.expect("an answer")).await
    }

    /// Sends no body.
    pub(crate) async fn nothing(self) -> Reply {
        let request = CLIENT.request(self.method, self.url).headers(self.headers);
        Reply::read(request.send().await.expect("an answer")).await
    }

    /// Calls a method under id 1.
    pub(crate) async fn rpc(self, method: &str, params: &Value) -> Reply {
        self.body(rpc(method, params)).await
    }

    /// Sends the good message, changed by a merge patch of `params`.
    pub(crate) async fn send(self, patch: &Value) -> Reply {
        self.rpc("SendMessage", &params(patch)).await
    }

    /// Says `text` under a message id of its own in `context`.
    pub(crate) async fn say(self, context: &str, text: &str) -> Reply {
        let id = format!("m-{text}");
        let message = json!({ "messageId": id, "contextId": context, "parts": [{ "text": text }] });
        self.send(&json!({ "message": message })).await
    }
}

/// The envelope of a call under id 1.
pub(crate) fn rpc(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// Parameters of a good `SendMessage`, changed by a JSON Merge Patch in which `null` stays a value.
pub(crate) fn params(patch: &Value) -> Value {
    let mut params = json!({ "message": { "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": "hi" }] } });
    merge(&mut params, patch);
    params
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(members), Value::Object(patches)) => {
            for (name, patch) in patches {
                merge(members.entry(name).or_insert(Value::Null), patch);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    async fn read(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.expect("a whole answer") }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().expect("a readable header"));
        assert!(values.next().is_none(), "{name} stands twice: {self:?}");
        value
    }

    /// Code of the error; 0 for a result.
    #[track_caller]
    pub(crate) fn code(&self) -> i64 {
        let body = self.json();
        assert_eq!(body["jsonrpc"], "2.0", "{self:?}");
        let (result, error) = (body.get("result"), body.get("error"));
        assert!(result.is_some() != error.is_some(), "{self:?}");
        error.map_or(0, |error| error["code"].as_i64().expect("a code"))
    }

    /// The id under which the answer came; the member must be there.
    #[track_caller]
    pub(crate) fn id(&self) -> Value {
        self.json().get("id").unwrap_or_else(|| panic!("no id: {self:?}")).clone()
    }

    /// The agent's message.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        assert_eq!((self.status, self.code()), (200, 0), "{self:?}");
        self.json()["result"]["message"].clone()
    }

    /// The text of the agent's message.
    #[track_caller]
    pub(crate) fn said(&self) -> String {
        let message = self.message();
        assert_eq!(message["parts"].as_array().map(Vec::len), Some(1), "{self:?}");
        message["parts"][0]["text"].as_str().expect("a text").to_owned()
    }

    #[track_caller]
    pub(crate) fn context_id(&self) -> String {
        self.message()["contextId"].as_str().expect("a context id").to_owned()
    }

    /// Reasons of the error's `ErrorInfo` details, each with its domain.
    #[track_caller]
    pub(crate) fn reasons(&self) -> Vec<String> {
        let infos = self.details("google.rpc.ErrorInfo");
        infos.iter().map(|info| format!("{} {}", text(&info["domain"]), text(&info["reason"]))).collect()
    }

    /// Paths of the fields that the error blames.
    #[track_caller]
    pub(crate) fn blamed(&self) -> Vec<String> {
        let requests = self.details("google.rpc.BadRequest");
        let violations = requests.iter().flat_map(|bad| bad["fieldViolations"].as_array().expect("a list"));
        violations.map(|violation| text(&violation["field"])).collect()
    }

    /// The error's details of one type.
    #[track_caller]
    pub(crate) fn details(&self, name: &str) -> Vec<Value> {
        let kind = format!("type.googleapis.com/{name}");
        let details = self.json()["error"]["data"].as_array().expect("details").clone();
        details.into_iter().filter(|detail| detail["@type"] == *kind).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
