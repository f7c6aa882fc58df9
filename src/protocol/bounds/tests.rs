//! What the pass accepts: exactly what `serde_json` accepts, minus our limits.

use proptest::prelude::*;

use super::*;

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn members(count: usize) -> String {
    let members: Vec<String> = (0..count).map(|index| format!("\"k{index}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn json_within_the_bounds_passes() {
    for text in [
        "{}",
        " [ ] ",
        "null",
        "-0.5e-3",
        r#""\ud83d\ude00 \u0000""#,
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}"#,
        r#"{"":0}"#,
        &nested(MAX_DEPTH),
        &members(MAX_MEMBERS),
        &format!("[{}0]", "0,".repeat(MAX_MEMBERS - 1)),
    ] {
        assert_eq!(check(text.as_bytes()).map(BoundedJson::as_str), Ok(text));
    }
}

#[test]
fn bounds_are_exact() {
    for (text, expected) in [
        (nested(MAX_DEPTH + 1), BoundsError::TooDeep),
        (r#"{"a":"#.repeat(MAX_DEPTH + 1), BoundsError::TooDeep),
        ("[".repeat(100_000), BoundsError::TooDeep),
        (members(MAX_MEMBERS + 1), BoundsError::TooManyMembers),
        (format!("[{}0]", "0,".repeat(MAX_MEMBERS)), BoundsError::TooManyMembers),
        (format!("[{0},{0}]", members(MAX_MEMBERS / 2)), BoundsError::TooManyMembers),
    ] {
        assert_eq!(check(text.as_bytes()).map(BoundedJson::as_str), Err(expected));
    }
}

#[test]
fn a_member_named_twice_is_refused_however_it_is_written() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"\u0061":3}"#,
        r#"{"x":[{"deep":{"k":1,"l":2,"k":3}}]}"#,
        r#"{"":1,"":2}"#,
        r#"{"a":{"b":1},"a":{"c":1}}"#,
    ] {
        assert_eq!(check(text.as_bytes()).map(BoundedJson::as_str), Err(BoundsError::DuplicateMember), "{text}");
    }
}

#[test]
fn c003_what_is_not_json_is_refused() {
    for text in [
        "hello",
        r#"{"jsonrpc":"2.0","id":1,"method":"#,
        "NaN",
        r#"{"a":Infinity}"#,
        r#"{"a":-Infinity}"#,
        "1e400",
        "01",
        "{} {}",
        "{},",
        "{'a':1}",
        r#"{"a":1,}"#,
        "[1,]",
        "// comment\n{}",
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#"{"\ud800":1}"#,
        r#""\x41""#,
        "\"a\u{1}b\"",
        "\u{feff}\u{feff}{}",
        "   ",
    ] {
        assert!(matches!(check(text.as_bytes()), Err(BoundsError::NotJson { .. })), "{text:?}");
    }
    assert_eq!(check(b"").map(BoundedJson::as_str), Err(BoundsError::Empty));
    assert_eq!(check(b"\"a\xff\"").map(BoundedJson::as_str), Err(BoundsError::NotUtf8(2)));
    let utf_16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(check(&utf_16).is_err());
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(check("\u{feff}{}".as_bytes()).map(BoundedJson::as_str), Ok("{}"));
}

/// Depth, and members and elements, of a tree; the reference for the pass.
fn measure(value: &serde_json::Value) -> (usize, usize) {
    let children: Vec<&serde_json::Value> = match value {
        serde_json::Value::Array(elements) => elements.iter().collect(),
        serde_json::Value::Object(members) => members.values().collect(),
        _ => return (0, 0),
    };
    let (depths, counts): (Vec<usize>, Vec<usize>) = children.iter().map(|child| measure(child)).unzip();
    (1 + depths.into_iter().max().unwrap_or(0), children.len() + counts.into_iter().sum::<usize>())
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(serde_json::Value::from),
            prop::collection::btree_map(".{0,3}", inner, 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts that are close to JSON, so that both answers occur often.
fn almost_json() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[\\[\\]{}\",:0-9a-e.+\\\\ \\-]{0,24}".prop_map(String::into_bytes),
        (json(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(value, at, byte)| {
            let mut bytes = value.to_string().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        (json(), any::<prop::sample::Index>()).prop_map(|(value, at)| {
            let bytes = value.to_string().into_bytes();
            bytes[..at.index(bytes.len())].to_vec()
        }),
    ]
}

proptest! {
    #[test]
    fn written_json_passes_unless_it_breaks_a_limit(value in json()) {
        let (depth, members) = measure(&value);
        let within = depth <= MAX_DEPTH && members <= MAX_MEMBERS;
        prop_assert_eq!(check(value.to_string().as_bytes()).is_ok(), within);
    }

    #[test]
    fn the_pass_and_serde_json_agree_on_what_json_is(bytes in almost_json()) {
        let reference = serde_json::from_slice::<serde_json::Value>(&bytes);
        match check(&bytes) {
            Ok(_) => prop_assert!(reference.is_ok()),
            // The tree keeps the last of two members of one name, so it accepts those.
            Err(BoundsError::DuplicateMember | BoundsError::TooDeep | BoundsError::TooManyMembers) => {}
            Err(_) => prop_assert!(reference.is_err()),
        }
    }
}
