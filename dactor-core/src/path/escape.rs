//! Escapes any text as a segment of a path, and back.
//!
//! A segment is ASCII, and so are its decoded escapes, without control characters, as in Pekko. So there are
//! two forms: `%XX` for a printable ASCII character that a segment may not contain, and `~XX` for a (UTF-8)
//! byte that an escape may not decode to. The mapping is one-to-one.

use std::borrow::Cow;
use std::fmt::Write;

use super::uri::charset::{self, Class};

/// Whether a byte needs no escape. A `*` would select siblings, and a `~` begins an escape.
fn is_plain(byte: u8) -> bool {
    Class::SEGMENT.has(byte) && byte != b'*' && byte != b'~'
}

/// Whether a byte is escaped with `%`. A `/` could hide a `..`.
fn is_percent_escaped(byte: u8) -> bool {
    (byte.is_ascii_graphic() || byte == b' ') && byte != b'/'
}

/// Escapes a name.
pub(crate) fn escape(name: &str) -> Cow<'_, str> {
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut segment = String::with_capacity(escaped_length(name));
    for byte in name.bytes() {
        if is_plain(byte) {
            segment.push(char::from(byte));
        } else {
            let mark = if is_percent_escaped(byte) { '%' } else { '~' };
            // Writing to a string cannot fail.
            let _ = write!(segment, "{mark}{byte:02X}");
        }
    }
    Cow::Owned(segment)
}

/// The length of the escaped name in bytes.
pub(crate) fn escaped_length(name: &str) -> usize {
    name.bytes().map(|byte| if is_plain(byte) { 1 } else { 3 }).sum()
}

/// Escapes any text but the empty one as a segment, also a text such as `..` that cannot be the name of an actor because it
/// has another meaning in a path.
pub(crate) fn escape_any(text: &str) -> Cow<'_, str> {
    match text {
        "." => Cow::Borrowed("~2E"),
        ".." => Cow::Borrowed("~2E~2E"),
        _ => match text.strip_prefix('$') {
            Some(rest) => Cow::Owned(format!("~24{}", escape(rest))),
            None => escape(text),
        },
    }
}

/// The text that a segment of [`escape_any`] stands for.
pub(crate) fn unescape_any(segment: &str) -> Option<Cow<'_, str>> {
    if segment.bytes().all(is_plain) {
        return (escape_any(segment) == segment).then_some(Cow::Borrowed(segment));
    }
    let text = decoded(segment)?;
    (escape_any(&text) == segment).then_some(Cow::Owned(text))
}

/// The name of an escaped segment; `None` unless it is exactly as [`escape`] writes it.
pub(crate) fn unescape(segment: &str) -> Option<Cow<'_, str>> {
    if segment.bytes().all(is_plain) {
        return Some(Cow::Borrowed(segment));
    }
    let name = decoded(segment)?;
    (escape(&name) == segment).then_some(Cow::Owned(name))
}

/// The text behind the escapes.
fn decoded(segment: &str) -> Option<String> {
    let bytes = segment.as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' || byte == b'~' {
            name.push(charset::escaped(bytes, at)?);
            at += 3;
        } else {
            name.push(byte);
            at += 1;
        }
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathSegment;

    #[test]
    fn names_and_their_segments() {
        for (name, segment) in [
            ("worker-1", "worker-1"),
            ("-_.$+:@&=,!';", "-_.$+:@&=,!';"),
            ("Benjamin Franklin", "Benjamin%20Franklin"),
            ("*", "%2A"),
            ("a?", "a%3F"),
            ("%41", "%2541"),
            ("%2E%2e", "%252E%252e"),
            ("~", "%7E"),
            ("a/../b", "a~2F..~2Fb"),
            ("a\n\u{7f}", "a~0A~7F"),
            ("\u{e9}", "~C3~A9"),
            ("#(\"<>)", "%23%28%22%3C%3E%29"),
        ] {
            assert_eq!(escape(name), segment, "{name}");
            assert_eq!(escaped_length(name), segment.len(), "{name}");
            assert_eq!(unescape(segment).as_deref(), Some(name), "{segment}");
            assert!(PathSegment::new(segment).is_ok(), "{segment}");
        }
    }

    #[test]
    fn another_spelling_stands_for_no_name() {
        for segment in ["%41", "%2a", "~c3~a9", "~41", "~20", "%2F", "*", "a*", "~", "~4", "%", "~C3", "~FF"]
        {
            assert_eq!(unescape(segment), None, "{segment}");
        }
    }
}
