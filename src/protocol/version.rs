//! Which protocol version a request asks for (specification section 3.6).

use http::HeaderMap;

use super::error::{ErrorKind, ServiceError};

/// Name of the service parameter, as a header and as a query parameter; case does not matter.
pub const A2A_VERSION: &str = "a2a-version";

/// A protocol version; patch releases do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Breaking changes.
    pub major: u32,
    /// Additions.
    pub minor: u32,
}

impl Version {
    /// What a request that names no version speaks.
    pub const V0_3: Self = Self { major: 0, minor: 3 };
    /// The version that is served.
    pub const V1_0: Self = Self { major: 1, minor: 0 };

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(number);
        let version = Self { major: numbers.next()??, minor: numbers.next()?? };
        match (numbers.next(), numbers.next()) {
            (None | Some(Some(_)), None) => Some(version),
            _ => None,
        }
    }
}

fn number(text: &str) -> Option<u32> {
    // `parse` alone would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Refuses a request unless it asks for one of `served`.
///
/// The header counts; the query parameter is looked at when there is no header, or an empty one. Neither means 0.3. Space
/// around the version is ignored, and several headers must agree.
pub fn require(headers: &HeaderMap, query: Option<&str>, served: &[Version]) -> Result<Version, ServiceError> {
    match requested(headers, query) {
        Some(version) if served.contains(&version) => Ok(version),
        _ => Err(refusal(served)),
    }
}

/// The requested version; `None` when it makes no sense.
fn requested(headers: &HeaderMap, query: Option<&str>) -> Option<Version> {
    let mut agreed: Option<Version> = None;
    for value in headers.get_all(A2A_VERSION) {
        let text = value.to_str().ok()?.trim();
        if text.is_empty() {
            continue;
        }
        let version = Version::parse(text)?;
        if agreed.is_some_and(|other| other != version) {
            return None;
        }
        agreed = Some(version);
    }
    if agreed.is_some() {
        return agreed;
    }
    let from_query = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .find(|(name, _)| name.eq_ignore_ascii_case(A2A_VERSION));
    match from_query {
        Some((_, text)) if !text.trim().is_empty() => Version::parse(text.trim()),
        _ => Some(Version::V0_3),
    }
}

fn refusal(served: &[Version]) -> ServiceError {
    let served: Vec<String> = served.iter().map(|version| format!("{}.{}", version.major, version.minor)).collect();
    let served = served.join(", ");
    ServiceError::new(
        ErrorKind::VersionNotSupported,
        format!("This agent speaks A2A {served}: say so in the header A2A-Version. A request without it asks for 0.3."),
    )
    .with_metadata("supportedVersions", served)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(headers: &[&str], query: Option<&str>) -> Option<Version> {
        let mut map = HeaderMap::new();
        for value in headers {
            map.append("A2A-Version", value.parse().unwrap());
        }
        require(&map, query, &[Version::V1_0]).ok()
    }

    #[test]
    fn c026_versions_that_are_not_served_are_refused() {
        for header in
            ["0.5", "0.3", "1.1", "2.0", "9.9", "abc", "1", "v1.0", "1.0.0.0", "1.0-rc1", "+1.0", "1.", ".0", "1.0.x"]
        {
            assert_eq!(ask(&[header], None), None, "{header}");
        }
        let error = require(&HeaderMap::new(), None, &[Version::V1_0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionNotSupported);
        assert_eq!(serde_json::to_value(error.details()).unwrap()[0]["metadata"]["supportedVersions"], "1.0");
    }

    #[test]
    fn c026_no_version_asks_for_0_3() {
        assert_eq!(requested(&HeaderMap::new(), None), Some(Version::V0_3));
        assert_eq!(ask(&[], None), None);
        assert_eq!(ask(&[""], None), None);
        assert_eq!(ask(&["  "], Some("A2A-Version=")), None);
    }

    #[test]
    fn c027_patch_and_padding_do_not_count() {
        for header in ["1.0", "1.0.0", "1.0.1", "1.0.17", " 1.0 ", "\t1.0"] {
            assert_eq!(ask(&[header], None), Some(Version::V1_0), "{header:?}");
        }
    }

    #[test]
    fn c027_1_10_is_neither_1_1_nor_1_0() {
        assert_eq!(Version::parse("1.10"), Some(Version { major: 1, minor: 10 }));
        assert_eq!(ask(&["1.10"], None), None);
    }

    #[test]
    fn c028_the_query_speaks_for_clients_that_set_no_headers() {
        for query in ["A2A-Version=1.0", "code=k&a2a-version=1.0.1", "A2A-Version=%201.0"] {
            assert_eq!(ask(&[], Some(query)), Some(Version::V1_0), "{query}");
        }
        assert_eq!(ask(&[], Some("A2A-Version=0.3")), None);
        assert_eq!(ask(&[""], Some("A2A-Version=1.0")), Some(Version::V1_0));
    }

    #[test]
    fn c028_the_header_wins_over_the_query() {
        assert_eq!(ask(&["1.0"], Some("A2A-Version=0.3")), Some(Version::V1_0));
        assert_eq!(ask(&["0.3"], Some("A2A-Version=1.0")), None);
    }

    #[test]
    fn several_headers_must_agree() {
        assert_eq!(ask(&["1.0", "1.0.1"], None), Some(Version::V1_0));
        assert_eq!(ask(&["1.0", "0.3"], None), None);
        assert_eq!(ask(&["1.0, 0.3"], None), None);
    }
}
