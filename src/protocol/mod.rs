//! What A2A says, as values: errors, versions, media types, extensions, operations and wire types. No I/O.

pub mod bounds;
pub mod error;
pub mod extensions;
pub mod media_type;
pub mod operation;
pub mod request;
pub mod version;
pub mod wire;

pub use error::{ErrorKind, ServiceError};
pub use operation::Operation;
pub use request::Request;
