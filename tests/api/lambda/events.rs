//! Events as the gateways of AWS write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// What stands before the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gateway {
    FunctionUrl,
    /// API Gateway, HTTP API: payload format 2.0.
    HttpApi,
    /// API Gateway, REST API: payload format 1.0.
    RestApi,
    LoadBalancer,
    /// The same with the target group's multi-value headers.
    LoadBalancerMulti,
}

impl Gateway {
    pub(super) const ALL: [Self; 5] =
        [Self::FunctionUrl, Self::HttpApi, Self::RestApi, Self::LoadBalancer, Self::LoadBalancerMulti];

    /// What may stand before our own paths: nothing, a stage, a custom domain's mapping, or both.
    pub(super) fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::FunctionUrl => &[""],
            Self::HttpApi | Self::RestApi => &["", "/Prod", "/base", "/Prod/base", "/Prod/Prod"],
            Self::LoadBalancer | Self::LoadBalancerMulti => &["", "/agents-of-the-team"],
        }
    }
}

/// A request on its way to a gateway.
#[derive(Debug, Clone)]
pub(super) struct Event {
    gateway: Gateway,
    verb: String,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: String,
    base64: bool,
}

impl Event {
    pub(super) fn new(gateway: Gateway, verb: &str, path: &str) -> Self {
        Self {
            gateway,
            verb: verb.to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            headers: vec![("host".to_owned(), "abc.example".to_owned())],
            body: String::new(),
            base64: false,
        }
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        // Keys stand once; a later one replaces an earlier one.
        if name == "x-functions-key" {
            self = self.without(name);
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| header != name);
        self
    }

    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    /// Writes the body as gateways write binary ones.
    pub(super) fn base64(mut self) -> Self {
        self.base64 = true;
        self
    }

    /// The event as the runtime delivers it.
    pub(super) fn json(&self) -> Value {
        let mut event = match self.gateway {
            Gateway::FunctionUrl | Gateway::HttpApi => self.version_2(),
            Gateway::RestApi => self.version_1(),
            Gateway::LoadBalancer => self.load_balancer(false),
            Gateway::LoadBalancerMulti => self.load_balancer(true),
        };
        event["isBase64Encoded"] = json!(self.base64);
        event["body"] = json!(if self.base64 { STANDARD.encode(&self.body) } else { self.body.clone() });
        event
    }

    fn version_2(&self) -> Value {
        let stage = match self.gateway {
            Gateway::HttpApi if self.path.starts_with("/Prod") => "Prod",
            _ => "$default",
        };
        let query = self.query.iter().map(|(name, value)| format!("{name}={value}"));
        json!({
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": self.path,
            "rawQueryString": query.collect::<Vec<_>>().join("&"),
            "headers": self.joined_headers(),
            "queryStringParameters": single(&self.query),
            "requestContext": {
                "accountId": "123456789012", "apiId": "abc", "domainName": "abc.example", "domainPrefix": "abc",
                "http": {
                    "method": self.verb, "path": self.path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7",
                    "userAgent": "test",
                },
                "requestId": "id", "routeKey": "$default", "stage": stage, "time": "12/Mar/2025:19:03:58 +0000",
                "timeEpoch": 1_741_806_238_000_u64,
            },
        })
    }

    fn version_1(&self) -> Value {
        // The stage is in the context's path, and in the event's own only with some domains.
        let stage = if self.path.starts_with("/Prod") { "Prod" } else { "live" };
        json!({
            "resource": "/{proxy+}",
            "path": self.path,
            "httpMethod": self.verb,
            "headers": single(&self.headers),
            "multiValueHeaders": multiple(&self.headers),
            "queryStringParameters": single(&self.query),
            "multiValueQueryStringParameters": multiple(&self.query),
            "pathParameters": { "proxy": self.path.trim_start_matches('/') },
            "stageVariables": null,
            "requestContext": {
                "accountId": "123456789012", "apiId": "abc", "domainName": "abc.example", "httpMethod": self.verb,
                "identity": { "sourceIp": "203.0.113.7", "userAgent": "test" }, "path": self.path,
                "protocol": "HTTP/1.1", "requestId": "id", "resourceId": "r", "resourcePath": "/{proxy+}", "stage": stage,
            },
        })
    }

    fn load_balancer(&self, multi: bool) -> Value {
        let group = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/agents/abc";
        let mut event = json!({
            "requestContext": { "elb": { "targetGroupArn": group } },
            "httpMethod": self.verb,
            "path": self.path,
        });
        if multi {
            event["multiValueHeaders"] = multiple(&self.headers);
            event["multiValueQueryStringParameters"] = multiple(&self.query);
        } else {
            event["headers"] = self.joined_headers();
            event["queryStringParameters"] = single(&self.query);
        }
        event
    }

    /// One value a name, several joined by commas.
    fn joined_headers(&self) -> Value {
        let mut joined = Map::new();
        for (name, value) in &self.headers {
            let text = match joined.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before},{value}"),
                None => value.clone(),
            };
            joined.insert(name.clone(), json!(text));
        }
        joined.into()
    }
}

/// The last value of each name.
fn single(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

/// All values of each name.
fn multiple(pairs: &[(String, String)]) -> Value {
    let mut lists = Map::new();
    for (name, value) in pairs {
        if let Some(list) = lists.entry(name.clone()).or_insert_with(|| json!([])).as_array_mut() {
            list.push(json!(value));
        }
    }
    lists.into()
}
