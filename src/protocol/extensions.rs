//! Protocol extensions: what the client declares, and what an agent requires (specification sections 3.2.6 and 4.6).

use http::HeaderMap;

use super::error::{ErrorKind, ServiceError};

/// Name of the header with the URIs that a client declares; replies carry those that were used.
pub const A2A_EXTENSIONS: &str = "a2a-extensions";

/// Our extension for clients that repeat a message after a lost reply.
///
/// A client that declares it promises that a `messageId` names one message for good. The server then answers a repeat of
/// the same content with the first answer, even when the message named no context.
pub const IDEMPOTENT_SEND: &str = "urn:a2a-functions:extension:idempotent-send:v1";

/// The extensions that a client declares.
#[derive(Debug, Clone, Copy)]
pub struct Declared<'a> {
    headers: &'a HeaderMap,
}

impl<'a> Declared<'a> {
    /// The declarations of a request: comma-separated, over one header line or several.
    pub fn of(headers: &'a HeaderMap) -> Self {
        Self { headers }
    }

    /// Whether `uri` is among them. URIs are compared exactly: another version is another extension.
    pub fn contains(&self, uri: &str) -> bool {
        self.headers
            .get_all(A2A_EXTENSIONS)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .any(|declared| declared.trim() == uri)
    }

    /// Refuses the request unless all of `required` are declared.
    pub fn require(&self, required: &[&str]) -> Result<(), ServiceError> {
        match required.iter().find(|uri| !self.contains(uri)) {
            None => Ok(()),
            Some(missing) => Err(ServiceError::new(
                ErrorKind::ExtensionSupportRequired,
                format!("This agent requires the extension {missing}: declare it in the header A2A-Extensions."),
            )
            .with_metadata("extension", *missing)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: &str = "https://example.com/ext/v2";

    fn check(lines: &[&str]) -> Result<(), ErrorKind> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("A2A-Extensions", line.parse().unwrap());
        }
        Declared::of(&headers).require(&[REQUIRED]).map_err(|error| error.kind())
    }

    #[test]
    fn c135_a_required_extension_may_stand_anywhere_in_the_declarations() {
        assert_eq!(check(&[REQUIRED]), Ok(()));
        assert_eq!(check(&["urn:x , https://example.com/ext/v2"]), Ok(()));
        assert_eq!(check(&["urn:x", "https://example.com/ext/v2,urn:y"]), Ok(()));
    }

    #[test]
    fn c135_without_it_or_with_another_version_of_it_the_request_is_refused() {
        for lines in [&[][..], &[""], &["urn:x"], &["https://example.com/ext/v1"], &["https://example.com/ext/v2/x"]] {
            assert_eq!(check(lines), Err(ErrorKind::ExtensionSupportRequired), "{lines:?}");
        }
    }

    #[test]
    fn c135_unknown_declarations_harm_nobody() {
        let mut headers = HeaderMap::new();
        headers.append("a2a-extensions", "urn:unknown,, ,".parse().unwrap());
        assert!(Declared::of(&headers).require(&[]).is_ok());
        assert!(!Declared::of(&headers).contains(IDEMPOTENT_SEND));
    }
}
