//! Timer and queue functions, fired by hand.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    app::App,
    dispatch::{Failure, TriggerCall, encode, run_trigger},
    function::{Function, RetryPolicy, Trigger},
    worker::LogLevel,
};

/// What became of a queue message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// How often the function was run with it.
    pub attempts: u32,
    /// Whether it ended in the poison queue because every attempt failed.
    pub poisoned: bool,
}

/// A function could not be fired, or failed.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// There is no such function.
    #[error("there is no function {0}")]
    Unknown(String),
    /// The function has another trigger than the one asked for, or is disabled.
    #[error("function {function} cannot be fired as {expected}")]
    WrongTrigger {
        /// The function.
        function: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// Every copy of the host is stopped.
    #[error("no copy of the host is running")]
    NoCopy,
    /// The function ran and failed, repeats included.
    #[error("function {function} failed: {reason}")]
    Failed {
        /// The function.
        function: String,
        /// The last failure.
        reason: String,
    },
}

/// Fires a timer or queue function. `input` is the text of a queue message and means nothing to a timer.
pub(crate) async fn fire(app: &App, function: &Function, input: &str) -> Result<(), TriggerError> {
    match &function.trigger {
        Trigger::Timer { .. } => timer(app, function, false).await,
        Trigger::Queue { .. } => queue_message(app, function, input).await.map(|_| ()),
        _ => Err(wrong(function, "a timer or a queue")),
    }
}

/// Fires a timer function, with the repeats of its retry policy.
pub(crate) async fn timer(app: &App, function: &Function, past_due: bool) -> Result<(), TriggerError> {
    let Trigger::Timer { use_monitor } = function.trigger else { return Err(wrong(function, "a timer")) };
    let now = jiff::Timestamp::now().to_string();
    let status = json!({"Last": "0001-01-01T00:00:00", "Next": now, "LastUpdated": "0001-01-01T00:00:00"});
    let value = json!({
        "Schedule": {"AdjustForDST": true},
        "ScheduleStatus": if use_monitor { status } else { Value::Null },
        "IsPastDue": past_due,
    });
    let mut repeat = 0;
    let mut last_failure: Option<Failure> = None;
    loop {
        let mut call = TriggerCall { value: value.clone(), metadata: Map::new() };
        if let Some(policy) = &function.retry {
            call.metadata.insert("RetryContext".to_owned(), retry_context(policy, repeat, last_failure.as_ref()));
        }
        let failure = match run(app, function, call).await? {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        let Some(pause) = function.retry.as_ref().and_then(|policy| policy.pause(repeat)) else {
            return Err(TriggerError::Failed { function: function.name.clone(), reason: failure.to_string() });
        };
        tokio::time::sleep(pause).await;
        repeat += 1;
        last_failure = Some(failure);
    }
}

/// Delivers a queue message until the function accepts it or `maxDequeueCount` is reached.
pub(crate) async fn queue_message(app: &App, function: &Function, text: &str) -> Result<Delivery, TriggerError> {
    let Trigger::Queue { queue } = &function.trigger else { return Err(wrong(function, "a queue")) };
    let message = QueueMessage::new(text);
    let limit = app.config.max_dequeue_count.max(1);
    for attempts in 1..=limit {
        match run(app, function, message.delivery(attempts)).await? {
            Ok(()) => return Ok(Delivery { attempts, poisoned: false }),
            Err(failure) => {
                let text = format!("function {} failed on delivery {attempts}: {failure}", function.name);
                app.log.host(0, LogLevel::Error, text);
            }
        }
    }
    app.log.host(0, LogLevel::Error, format!("message moved to queue {queue}-poison"));
    Ok(Delivery { attempts: limit, poisoned: true })
}

async fn run(app: &App, function: &Function, call: TriggerCall) -> Result<Result<(), Failure>, TriggerError> {
    if function.disabled {
        return Err(wrong(function, "anything: it is disabled"));
    }
    let copy = app.next_copy().filter(|copy| copy.worker.stopped().is_none()).ok_or(TriggerError::NoCopy)?;
    Ok(run_trigger(app, &copy.worker, function, call).await)
}

struct QueueMessage {
    text: String,
    id: Uuid,
    inserted: jiff::Timestamp,
}

impl QueueMessage {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), id: Uuid::new_v4(), inserted: jiff::Timestamp::now() }
    }

    /// The message as the function sees it: the text encoded twice, and a JSON object's own members as metadata, except
    /// for lists.
    fn delivery(&self, count: u32) -> TriggerCall {
        let week = jiff::SignedDuration::from_hours(7 * 24);
        let expires = self.inserted.checked_add(week).unwrap_or(self.inserted);
        let mut metadata = Map::new();
        if let Ok(Value::Object(members)) = serde_json::from_str(&self.text) {
            let plain = members.iter().filter(|(_, value)| !value.is_array());
            metadata.extend(plain.map(|(name, value)| (name.clone(), encode(value))));
        }
        metadata.insert("Id".to_owned(), encode(&json!(self.id)));
        metadata.insert("PopReceipt".to_owned(), encode(&json!(Uuid::new_v4())));
        metadata.insert("DequeueCount".to_owned(), encode(&json!(count)));
        metadata.insert("InsertionTime".to_owned(), json!(self.inserted.to_string()));
        metadata.insert("NextVisibleTime".to_owned(), json!(jiff::Timestamp::now().to_string()));
        metadata.insert("ExpirationTime".to_owned(), json!(expires.to_string()));
        TriggerCall { value: encode(&Value::String(self.text.clone())), metadata }
    }
}

fn retry_context(policy: &RetryPolicy, repeat: u32, last_failure: Option<&Failure>) -> Value {
    json!({
        "MaxRetryCount": policy.max_retries.map_or(-1, i64::from),
        "RetryCount": repeat,
        "Exception": last_failure.map(ToString::to_string),
    })
}

fn wrong(function: &Function, expected: &'static str) -> TriggerError {
    TriggerError::WrongTrigger { function: function.name.clone(), expected }
}
