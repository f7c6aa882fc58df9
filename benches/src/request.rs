//! The requests of the measurements: all alike but for what has to differ.

use http::Request;
use http_body_util::Full;

/// A key of which the server under test knows the hash alone, as in a deployment.
pub(crate) const KEY: &str = "key-of-the-measurements-0123456789";
/// `A2A_FUNCTION_KEYS` of the server under test; the other key is there to be compared with.
pub(crate) const KEYS: &str = "other=sha256:ad72d4c4fbfa75bc0b0a9a6c4cd1d4cd1d5cd98f2ed5a3ef8a1f9ba4f0a4c2a1,\
                               measure=sha256:3459a3f510366cb29cb875ce2220b648bc8337314d2ba0c560d27df24301d333";

/// What a user may say. With it, the demo runner's reply and the echo's have about the same size.
const PROMPT: &str = "Since 09:40 UTC the checkout service answers one request in five with HTTP 502. The error budget of the \
                      month is half gone; a change to its connection pool was rolled out at 09:32. What should we look at first?";

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The bare echo, which is sent what the agents are sent.
    Echo,
    /// The agent that keeps nothing.
    Stateless,
    /// The agent that takes a lease and keeps the history.
    Conversation,
}

impl Target {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Echo | Self::Stateless => "/agents/stateless/a2a",
            Self::Conversation => "/agents/conversation/a2a",
        }
    }
}

/// The body of a `SendMessage`. Each needs a `message` of its own: a repeat would get the stored reply.
pub(crate) fn body(context: &str, message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"{message}","method":"SendMessage","params":{{"message":{{"messageId":"{message}","contextId":"{context}","role":"ROLE_USER","parts":[{{"text":"{PROMPT}"}}]}},"configuration":{{"acceptedOutputModes":["text/plain"],"returnImmediately":false}}}}}}"#
    )
}

/// The request with all headers that the agents want.
pub(crate) fn request(target: Target, host: &str, body: String) -> http::Result<Request<Full<bytes::Bytes>>> {
    Request::post(target.path())
        .header("host", host)
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .header("user-agent", "measure")
        .header("a2a-version", "1.0")
        .header("x-functions-key", KEY)
        .body(Full::new(body.into()))
}
