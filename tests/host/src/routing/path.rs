//! Request paths: what the server makes of the bytes on the wire, and how each mode writes them again.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What the proxy leaves as it is; everything else, `%` included, is escaped.
const PROXY_ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'-')
    .remove(b'.')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@')
    .remove(b'_')
    .remove(b'~');

/// What a .NET `Uri` leaves as it is in a path; `%` is looked at separately.
const URI_ESCAPED: &AsciiSet = &PROXY_ESCAPED.remove(b'%').remove(b'[').remove(b']');

/// Decodes a raw path as the server does: every escape except `%2F`, then dot segments.
pub(crate) fn decode(raw: &str) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        match escape(rest) {
            Some(byte) if byte != b'/' => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    let decoded = String::from_utf8(bytes).unwrap_or_else(|_| raw.to_owned());
    remove_dot_segments(&decoded)
}

/// Turns every `%2F` of a raw path into a slash, as the platform's front end does before the host sees the path.
pub(crate) fn decode_slashes(raw: &str) -> String {
    raw.replace("%2F", "/").replace("%2f", "/")
}

/// The path as the proxy writes it. A `%2F` the server left alone is escaped once more.
pub(crate) fn encode_for_proxy(decoded: &str) -> String {
    utf8_percent_encode(decoded, PROXY_ESCAPED).to_string()
}

/// The path as the forwarder writes it: a decoded `?` or `#` ends it, and a `%` that looks like an escape stays.
pub(crate) fn encode_for_forward(decoded: &str) -> String {
    let path = decoded.split(['?', '#']).next().unwrap_or_default();
    let mut written = String::with_capacity(path.len());
    for (index, character) in path.char_indices() {
        if character == '%' && escape(&path.as_bytes()[index..]).is_none() {
            written.push_str("%25");
        } else {
            written.extend(utf8_percent_encode(&path[index..index + character.len_utf8()], URI_ESCAPED));
        }
    }
    written
}

/// The byte that an escape at the start of `text` stands for.
fn escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            name => {
                kept.push(name);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_decodes_all_but_slashes_and_removes_dot_segments() {
        let cases = [
            ("/a%20b", "/a b"),
            ("/a%2Fb", "/a%2Fb"),
            ("/a%252Fb", "/a%2Fb"),
            ("/%41%c3%a9", "/Aé"),
            ("/a/./b/../c", "/a/c"),
            ("/a/..", "/"),
            ("/../x", "/x"),
            ("/.well-known/agent-card.json", "/.well-known/agent-card.json"),
            ("/a%ZZ", "/a%ZZ"),
            ("/%ff", "/%ff"),
            ("/a//b/", "/a//b/"),
            ("/", "/"),
        ];
        for (raw, expected) in cases {
            assert_eq!(decode(raw), expected, "{raw}");
        }
    }

    #[test]
    fn the_proxy_escapes_the_decoded_path() {
        let cases = [
            ("/a b", "/a%20b"),
            ("/a%2Fb", "/a%252Fb"),
            ("/tasks/1:cancel", "/tasks/1:cancel"),
            ("/é?#", "/%C3%A9%3F%23"),
        ];
        for (decoded, expected) in cases {
            assert_eq!(encode_for_proxy(decoded), expected, "{decoded}");
        }
    }

    #[test]
    fn the_forwarder_loses_what_follows_a_decoded_question_mark() {
        let cases =
            [("/a?b", "/a"), ("/a#b", "/a"), ("/a%2Fb", "/a%2Fb"), ("/100%", "/100%25"), ("/a b|é", "/a%20b%7C%C3%A9")];
        for (decoded, expected) in cases {
            assert_eq!(encode_for_forward(decoded), expected, "{decoded}");
        }
    }
}
