//! A query as the host's parser sees it.

use percent_encoding::percent_decode_str;

/// Keys with their values, in the order of first appearance. A key that repeats, in any case, has its values joined by
/// commas; a key without a value has an empty one.
pub(super) fn joined(query: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key), decode(value));
        match pairs.iter_mut().find(|(existing, _)| existing.eq_ignore_ascii_case(&key)) {
            Some((_, values)) => {
                values.push(',');
                values.push_str(&value);
            }
            None => pairs.push((key, value)),
        }
    }
    pairs
}

/// The first value of a key, any case.
pub(crate) fn first(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| decode(key).eq_ignore_ascii_case(name)).map(|(_, value)| decode(value))
}

fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_join_and_flags_get_an_empty_value() {
        let cases: [(&str, &[(&str, &str)]); 5] = [
            ("a=1&b=2&A=3", &[("a", "1,3"), ("b", "2")]),
            ("flag", &[("flag", "")]),
            ("q=a+b%20c", &[("q", "a b c")]),
            ("&&x=%2C&", &[("x", ",")]),
            ("", &[]),
        ];
        for (query, expected) in cases {
            let pairs = joined(query);
            let pairs: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(pairs, expected, "{query}");
        }
    }
}
