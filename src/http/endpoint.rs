//! Which addresses a credential may be sent to.

use url::{Host, Url};

/// The reason that an address was refused; none repeats it, since it may carry a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not an absolute URL.
    #[error("it is not an absolute URL")]
    Malformed,
    /// Neither `https`, nor `http` to this machine.
    #[error("it must use https (http is accepted for loopback addresses only)")]
    Insecure,
    /// A user name, a password or a fragment.
    #[error("it must not carry credentials or a fragment")]
    Extras,
}

/// Parses the base address of a service that we send a credential to, and ends its path with a slash so that
/// [`Url::join`] appends to it.
pub fn parse(text: &str) -> Result<Url, EndpointError> {
    let mut url = Url::parse(text.trim()).map_err(|_| EndpointError::Malformed)?;
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => return Err(EndpointError::Insecure),
        _ => return Err(EndpointError::Malformed),
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(EndpointError::Extras);
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_and_loopback_http_are_accepted_and_end_with_a_slash() {
        for (text, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/"),
            (" https://x.openai.azure.com/ ", "https://x.openai.azure.com/"),
            ("http://localhost:11434/v1", "http://localhost:11434/v1/"),
            ("http://127.0.0.1:4010/v1/", "http://127.0.0.1:4010/v1/"),
            ("http://[::1]:4010", "http://[::1]:4010/"),
        ] {
            assert_eq!(parse(text).map(String::from), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn addresses_that_would_leak_a_credential_are_refused() {
        for (text, expected) in [
            ("http://models.example/v1", EndpointError::Insecure),
            ("http://127.0.0.1.example/v1", EndpointError::Insecure),
            ("http://localhost.example/v1", EndpointError::Insecure),
            ("http://10.0.0.7/v1", EndpointError::Insecure),
            ("ftp://models.example/v1", EndpointError::Malformed),
            ("models.example/v1", EndpointError::Malformed),
            ("", EndpointError::Malformed),
            ("https://user:secret@models.example/v1", EndpointError::Extras),
            ("https://models.example/v1#top", EndpointError::Extras),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
    }
}
