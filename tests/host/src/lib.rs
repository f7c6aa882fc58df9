//! A stand-in for the Azure Functions host, for testing custom handlers without Azure.
//!
//! It reads `host.json` and `function.json` files, starts the handler process, and calls it the way the real host
//! does: same configuration rules, same process rules, same three dispatch modes, same key checks, same failures.
//! What is imitated and what is not is listed in the crate's README.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use functions_test_host::{FunctionsHost, Keys, Profile};
//!
//! let host = FunctionsHost::builder("path/to/app")
//!     .executable_override("target/debug/my-handler")
//!     .env("SOME_SETTING", "value")
//!     .profile(Profile::Azure)
//!     .keys(Keys { master: Some("m".into()), ..Keys::default() })
//!     .copies(3)
//!     .start()
//!     .await?;
//! host.ready().await?;
//! println!("{}", host.base_url());
//! host.kill_handler(0).await;
//! host.stop().await;
//! # Ok(())
//! # }
//! ```

mod app;
mod config;
mod dispatch;
mod edge;
mod function;
mod host;
mod http_types;
mod routing;
mod triggers;
mod worker;

pub use self::{
    app::{Knobs, Profile},
    config::{ConfigError, HttpMode},
    dispatch::{Output, OutputValue},
    edge::{EasyAuth, FrontEnd, Keys, Principal},
    function::{FunctionError, FunctionErrorReason},
    host::{Builder, FunctionsHost, HandlerDown, StartError},
    routing::{TemplateError, TemplateProblem},
    triggers::{Delivery, TriggerError},
    worker::{LogLevel, LogLine, LogSource},
};
