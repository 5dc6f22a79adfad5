//! The character classes of RFC 2396 (with RFC 2732) and of an actor path segment, as one table.

/// One or more classes of characters.
#[derive(Debug, Clone, Copy)]
pub(in crate::path) struct Class(u8);

impl Class {
    /// `alpha | digit | "+" | "-" | "."`
    pub(in crate::path) const SCHEME: Self = Self(1);
    /// `unreserved | ";" | ":" | "&" | "=" | "+" | "$" | ","`
    pub(in crate::path) const USER_INFO: Self = Self(1 << 1);
    /// `unreserved | "$" | "," | ";" | ":" | "@" | "&" | "=" | "+"`
    pub(in crate::path) const REGISTRY_NAME: Self = Self(1 << 2);
    /// `pchar | ";" | "/"`
    pub(in crate::path) const PATH: Self = Self(1 << 3);
    /// `reserved | unreserved`: characters of a query, a fragment and an opaque part.
    pub(in crate::path) const URIC: Self = Self(1 << 4);
    /// Characters of an actor path segment: Pekko allows fewer than the RFC.
    pub(in crate::path) const SEGMENT: Self = Self(1 << 5);
    /// Characters of the zone of an IPv6 literal.
    pub(in crate::path) const ZONE: Self = Self(1 << 6);
    /// Characters of a segment pattern, including wildcards.
    pub(in crate::path) const PATTERN: Self = Self(1 << 7);

    /// Whether the class has this byte. A `%` is in no class: escapes are parsed separately.
    pub(in crate::path) const fn has(self, byte: u8) -> bool {
        byte.is_ascii() && TABLE[byte as usize] & self.0 != 0
    }
}

/// What stopped a [scan](scan).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::path) enum Stop {
    /// The byte at this position is not in the class.
    Character(usize),
    /// The `%` at this position is not followed by two hexadecimal digits.
    Escape(usize),
}

/// Finds the first byte that is neither in the class nor part of an escape.
pub(in crate::path) fn scan(text: &str, class: Class) -> Result<(), Stop> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'%' if escaped(bytes, at).is_some() => 3,
            b'%' => return Err(Stop::Escape(at)),
            _ if class.has(byte) => 1,
            _ => return Err(Stop::Character(at)),
        };
    }
    Ok(())
}

/// The byte that the escape at this position decodes to.
pub(in crate::path) fn escaped(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    Some((digit(at + 1)? * 16 + digit(at + 2)?) as u8)
}

const TABLE: [u8; 128] = table();

const fn table() -> [u8; 128] {
    let mut table = [0; 128];
    let everywhere = Class::USER_INFO.0 | Class::REGISTRY_NAME.0 | Class::PATH.0 | Class::URIC.0;
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = everywhere | Class::SCHEME.0 | Class::SEGMENT.0 | Class::PATTERN.0 | Class::ZONE.0;
        }
        byte += 1;
    }
    add(&mut table, b"-_.!~*'();&=+$,", everywhere);
    add(&mut table, b":", everywhere);
    add(&mut table, b"@", Class::REGISTRY_NAME.0 | Class::PATH.0 | Class::URIC.0);
    add(&mut table, b"/", Class::PATH.0 | Class::URIC.0);
    add(&mut table, b"?[]", Class::URIC.0);
    add(&mut table, b"+-.", Class::SCHEME.0);
    add(&mut table, b"-_.*$+:@&=,!~';", Class::SEGMENT.0 | Class::PATTERN.0);
    add(&mut table, b"?", Class::PATTERN.0);
    add(&mut table, b"_.", Class::ZONE.0);
    table
}

const fn add(table: &mut [u8; 128], bytes: &[u8], classes: u8) {
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] |= classes;
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        let members = |class: Class| -> String {
            (0..=u8::MAX)
                .filter(|byte| class.has(*byte))
                .map(char::from)
                .filter(|c| !c.is_alphanumeric())
                .collect()
        };
        assert_eq!(members(Class::SCHEME), "+-.");
        assert_eq!(members(Class::USER_INFO), "!$&'()*+,-.:;=_~");
        assert_eq!(members(Class::REGISTRY_NAME), "!$&'()*+,-.:;=@_~");
        assert_eq!(members(Class::PATH), "!$&'()*+,-./:;=@_~");
        assert_eq!(members(Class::URIC), "!$&'()*+,-./:;=?@[]_~");
        assert_eq!(members(Class::SEGMENT), "!$&'*+,-.:;=@_~");
        assert_eq!(members(Class::PATTERN), "!$&'*+,-.:;=?@_~");
        assert_eq!(members(Class::ZONE), "._");
    }

    #[test]
    fn scans() {
        assert_eq!(scan("a%20b", Class::SEGMENT), Ok(()));
        assert_eq!(scan("a/b", Class::SEGMENT), Err(Stop::Character(1)));
        assert_eq!(scan("ab\u{e9}", Class::URIC), Err(Stop::Character(2)));
        for bad in ["ab%", "ab%2", "ab%g0", "ab%0g", "ab%\u{e9}0"] {
            assert_eq!(scan(bad, Class::PATH), Err(Stop::Escape(2)), "{bad}");
        }
        assert_eq!(escaped(b"%fE", 0), Some(0xfe));
    }
}
