//! The rules of A2A, one file per profile.
