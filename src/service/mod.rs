//! The rules of A2A, apart from how requests arrive and where anything is kept.

pub mod fingerprint;
pub mod simple;
