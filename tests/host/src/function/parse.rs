//! function.json to a [`Function`].

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{AuthLevel, Backoff, Binding, Function, FunctionErrorReason as Reason, HttpTrigger, RetryPolicy, Trigger};
use crate::config::parse_timespan;

/// Builds the function called `name` from the document in its function.json.
pub(super) fn function(name: &str, document: &Value) -> Result<Function, Reason> {
    let bindings = member(document, "bindings").and_then(Value::as_array).filter(|bindings| !bindings.is_empty());
    let bindings = bindings.ok_or(Reason::NoBindings)?;
    let (triggers, others): (Vec<&Value>, Vec<&Value>) = bindings.iter().partition(|binding| is_trigger(binding));
    let [trigger] = triggers.as_slice() else { return Err(Reason::TriggerCount(triggers.len())) };
    let (outputs, inputs): (Vec<&Value>, Vec<&Value>) =
        others.into_iter().partition(|binding| text(binding, "direction").eq_ignore_ascii_case("out"));
    Ok(Function {
        name: name.to_owned(),
        trigger_name: text(trigger, "name").to_owned(),
        trigger: parse_trigger(name, trigger)?,
        inputs: inputs.into_iter().map(binding).collect(),
        outputs: outputs.into_iter().map(binding).collect(),
        disabled: member(document, "disabled").and_then(Value::as_bool).unwrap_or(false),
        retry: member(document, "retry").map(retry_policy).transpose()?,
    })
}

fn is_trigger(binding: &Value) -> bool {
    text(binding, "type").to_ascii_lowercase().ends_with("trigger")
}

fn parse_trigger(function: &str, binding: &Value) -> Result<Trigger, Reason> {
    match text(binding, "type").to_ascii_lowercase().as_str() {
        "httptrigger" => Ok(Trigger::Http(http_trigger(function, binding)?)),
        "timertrigger" if text(binding, "schedule").trim().is_empty() => {
            Err(invalid("schedule", "blank", "an NCRONTAB expression"))
        }
        "timertrigger" => {
            Ok(Trigger::Timer { use_monitor: member(binding, "useMonitor").and_then(Value::as_bool).unwrap_or(true) })
        }
        "queuetrigger" if text(binding, "queueName").trim().is_empty() => {
            Err(invalid("queueName", "blank", "the name of a queue"))
        }
        "queuetrigger" => Ok(Trigger::Queue { queue: text(binding, "queueName").to_owned() }),
        _ => Ok(Trigger::Other),
    }
}

fn http_trigger(function: &str, binding: &Value) -> Result<HttpTrigger, Reason> {
    let level = text(binding, "authLevel");
    let level = match level {
        "" => AuthLevel::Function,
        given => AuthLevel::parse(given).ok_or_else(|| invalid("authLevel", given, AuthLevel::EXPECTED))?,
    };
    let route = match text(binding, "route").trim() {
        "" => function,
        given => given,
    };
    Ok(HttpTrigger { route: route.trim_matches('/').to_owned(), methods: methods(binding)?, level })
}

fn methods(binding: &Value) -> Result<Option<BTreeSet<String>>, Reason> {
    let Some(given) = member(binding, "methods") else { return Ok(None) };
    let listed: Option<BTreeSet<String>> = given
        .as_array()
        .and_then(|methods| methods.iter().map(|method| method.as_str().map(str::to_ascii_uppercase)).collect());
    let listed = listed.ok_or_else(|| invalid("methods", &given.to_string(), "a list of HTTP methods"))?;
    Ok(Some(listed).filter(|methods| !methods.is_empty()))
}

fn binding(binding: &Value) -> Binding {
    Binding {
        name: text(binding, "name").to_owned(),
        kind: text(binding, "type").to_owned(),
        binary: text(binding, "dataType").eq_ignore_ascii_case("binary"),
    }
}

fn retry_policy(policy: &Value) -> Result<RetryPolicy, Reason> {
    let span = |key: &'static str| {
        let given = text(policy, key);
        parse_timespan(given).ok_or_else(|| invalid(key, given, "a time span such as 00:00:05"))
    };
    let strategy = text(policy, "strategy");
    let backoff = match strategy.to_ascii_lowercase().as_str() {
        "fixeddelay" => Backoff::Fixed(span("delayInterval")?),
        "exponentialbackoff" => {
            Backoff::Exponential { minimum: span("minimumInterval")?, maximum: span("maximumInterval")? }
        }
        _ => return Err(invalid("retry.strategy", strategy, "fixedDelay or exponentialBackoff")),
    };
    let limit = member(policy, "maxRetryCount").and_then(Value::as_i64).unwrap_or(-1);
    let max_retries = match limit {
        -1 => None,
        limit => Some(u32::try_from(limit).map_err(|_| invalid("maxRetryCount", &limit.to_string(), "-1 or more"))?),
    };
    Ok(RetryPolicy { max_retries, backoff })
}

/// A member of an object by name in any case.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let members: &Map<String, Value> = object.as_object()?;
    members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    member(object, name).and_then(Value::as_str).unwrap_or_default()
}

fn invalid(key: &'static str, value: &str, expected: &'static str) -> Reason {
    Reason::InvalidValue { key, value: value.to_owned(), expected }
}
