mod error;

use std::borrow::Cow;
use std::fmt;

pub use error::{SegmentError, SegmentReason};

use super::uri::charset::{self, Class};
use super::{ActorPath, escape};

/// A validated name in an actor path. It borrows its text.
///
/// Allowed are ASCII letters and digits, `-_.*$+:@&=,!~';`, and escapes like `%20`. Decoded escapes are
/// validated too: no control character, nothing beyond ASCII, and no hidden `..`. So a name can neither break
/// a log line nor traverse to another path. It is stored, compared and printed as written;
/// [`decoded`](Self::decoded) is for display.
///
/// ```
/// use dactor_core::path::{PathSegment, SegmentReason};
///
/// let name = PathSegment::new("savings%20bank").unwrap();
/// assert_eq!(name.as_str(), "savings%20bank");
/// assert_eq!(name.decoded(), "savings bank");
///
/// let error = PathSegment::new("a%0Ab").unwrap_err();
/// assert_eq!((error.reason(), error.position()), (SegmentReason::Control, 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathSegment<'a>(&'a str);

impl<'a> PathSegment<'a> {
    /// Validates a user's name. It must not begin with `$`, which is reserved for generated names.
    pub fn new(raw: &'a str) -> Result<Self, SegmentError> {
        if raw.starts_with('$') {
            return Err(SegmentError::new(SegmentReason::Reserved, 0));
        }
        Self::generated(raw)
    }

    /// Validates a generated name. It may begin with `$`.
    ///
    /// ```
    /// use dactor_core::path::PathSegment;
    ///
    /// assert!(PathSegment::generated("$a").is_ok());
    /// assert!(PathSegment::new("$a").is_err());
    /// assert!(PathSegment::new("a$").is_ok());
    /// ```
    pub fn generated(raw: &'a str) -> Result<Self, SegmentError> {
        if raw.is_empty() {
            return Err(SegmentError::new(SegmentReason::Empty, 0));
        }
        if raw.len() > ActorPath::LONGEST {
            return Err(SegmentError::new(SegmentReason::TooLong, ActorPath::LONGEST));
        }
        check(raw, Class::SEGMENT).map(|()| Self(raw))
    }

    /// A segment of a path that was already validated.
    pub(super) fn checked(raw: &'a str) -> Self {
        Self(raw)
    }

    /// Escapes a name given at [spawn](crate::Spawn::name), which may be any text.
    ///
    /// ASCII letters and digits and `-_.$+:@&=,!';` are unchanged. Other printable ASCII characters become
    /// `%` and two upper-case hexadecimal digits; `/`, control characters and the UTF-8 bytes of non-ASCII
    /// characters become `~` and two digits, because a `%` escape may not decode to them. So each name has
    /// one spelling without wildcards: the path of an actor selects only that actor.
    ///
    /// ```
    /// use dactor_core::path::PathSegment;
    ///
    /// let segment = PathSegment::escape("Zo\u{eb} & *");
    /// assert_eq!(segment, "Zo~C3~AB%20&%20%2A");
    /// assert_eq!(PathSegment::new(&segment).unwrap().unescaped().as_deref(), Some("Zo\u{eb} & *"));
    /// ```
    pub fn escape(name: &str) -> Cow<'_, str> {
        escape::escape(name)
    }

    /// The name of this segment, if it is spelled as [`escape`](Self::escape) writes it. `None` otherwise: no
    /// actor has such a name.
    pub fn unescaped(self) -> Option<Cow<'a, str>> {
        escape::unescape(self.0)
    }

    /// The name as written.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The name with its escapes decoded. It may contain `/` and spaces.
    pub fn decoded(self) -> Cow<'a, str> {
        if !self.0.contains('%') {
            return Cow::Borrowed(self.0);
        }
        let bytes = self.0.as_bytes();
        let mut decoded = String::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let escaped = if byte == b'%' { charset::escaped(bytes, at) } else { None };
            at += if escaped.is_some() { 3 } else { 1 };
            decoded.push(char::from(escaped.unwrap_or(byte)));
        }
        Cow::Owned(decoded)
    }
}

/// Validates the characters and the decoded escapes.
pub(super) fn check(raw: &str, class: Class) -> Result<(), SegmentError> {
    let error = |reason, at| Err(SegmentError::new(reason, at));
    let bytes = raw.as_bytes();
    // Fast path: most names have no escape.
    let Some(mut at) = bytes.iter().position(|byte| !class.has(*byte)) else { return Ok(()) };
    let mut first_escape = None;
    let mut part = Part::default();
    bytes[..at].iter().for_each(|byte| part.add(*byte));
    while let Some(&byte) = bytes.get(at) {
        if byte != b'%' {
            if !class.has(byte) {
                return error(SegmentReason::IllegalCharacter, at);
            }
            part.add(byte);
            at += 1;
            continue;
        }
        match charset::escaped(bytes, at) {
            None => return error(SegmentReason::BadEscape, at),
            Some(byte) if byte.is_ascii_control() => return error(SegmentReason::Control, at),
            Some(byte) if !byte.is_ascii() => return error(SegmentReason::NonAscii, at),
            Some(byte) => part.add(byte),
        }
        first_escape.get_or_insert(at);
        at += 3;
    }
    match first_escape {
        Some(at) if part.finish() => error(SegmentReason::Traversal, at),
        _ => Ok(()),
    }
}

/// Detects a `..` between slashes in a sequence of decoded bytes.
#[derive(Default)]
struct Part {
    length: usize,
    dots: usize,
    found: bool,
}

impl Part {
    fn add(&mut self, byte: u8) {
        if byte == b'/' {
            self.found = self.finish();
            (self.length, self.dots) = (0, 0);
            return;
        }
        self.length += 1;
        self.dots += usize::from(byte == b'.');
    }

    fn finish(&self) -> bool {
        self.found || (self.length == 2 && self.dots == 2)
    }
}

impl AsRef<str> for PathSegment<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl<'a> TryFrom<&'a str> for PathSegment<'a> {
    type Error = SegmentError;

    fn try_from(raw: &'a str) -> Result<Self, SegmentError> {
        Self::new(raw)
    }
}

impl fmt::Display for PathSegment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in
            ["a", "-_.*$+:@&=,!~';", "a$b", "%20", "..", ".", "*", "%2F", "%2f", "a%2F.b", "%2E", "..."]
        {
            assert!(PathSegment::new(good).is_ok(), "{good}");
        }
        assert_eq!(PathSegment::new("%7e%2Fx").unwrap().decoded(), "~/x");
        assert!(PathSegment::new(&"x".repeat(10_000)).is_ok());
    }

    #[test]
    fn refusals() {
        use SegmentReason as R;
        for (bad, reason, position) in [
            ("", R::Empty, 0),
            ("$", R::Reserved, 0),
            ("$a b", R::Reserved, 0),
            ("a b", R::IllegalCharacter, 1),
            ("(a)", R::IllegalCharacter, 0),
            ("actor-\u{4e2d}", R::IllegalCharacter, 6),
            ("a\u{7f}", R::IllegalCharacter, 1),
            ("a%", R::BadEscape, 1),
            ("a%2", R::BadEscape, 1),
            ("a%g2", R::BadEscape, 1),
            ("%1t", R::BadEscape, 0),
            ("a%0Ab", R::Control, 1),
            ("%00", R::Control, 0),
            ("%7F", R::Control, 0),
            ("a%80", R::NonAscii, 1),
            ("%C3%A9", R::NonAscii, 0),
            ("..%2F..", R::Traversal, 2),
            ("%2E%2e", R::Traversal, 0),
            ("a%2F..", R::Traversal, 1),
            ("..%2Fa", R::Traversal, 2),
        ] {
            let error = PathSegment::new(bad).unwrap_err();
            assert_eq!((error.reason(), error.position()), (reason, position), "{bad}");
            assert!(!error.to_string().contains('\n'));
        }
        let error = PathSegment::new(&"x".repeat(10 << 20)).unwrap_err();
        assert_eq!((error.reason(), error.position()), (R::TooLong, ActorPath::LONGEST));
    }
}
