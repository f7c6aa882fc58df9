//! What happens to a request before a function is called: platform, host endpoints, keys, limits.

mod admin;
mod easy_auth;
mod front_end;
mod keys;
mod pipeline;
mod server;
mod throttle;

pub(crate) use self::{
    keys::Identity,
    server::{Target, bind, serve},
    throttle::Throttle,
};

pub use self::{
    easy_auth::{EasyAuth, Principal},
    front_end::FrontEnd,
    keys::Keys,
};
