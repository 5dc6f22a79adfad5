use std::fmt;

use crate::path::uri::charset::Class;
use crate::path::{ActorPath, SegmentError, SegmentReason, segment};

/// A name pattern for one level: `*` matches any number of characters, `?` matches one.
///
/// ```
/// use dactor_core::path::SegmentPattern;
///
/// let pattern = SegmentPattern::new("worker-?*").unwrap();
/// assert!(pattern.matches("worker-12"));
/// assert!(!pattern.matches("worker-"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SegmentPattern(Box<str>);

impl SegmentPattern {
    /// Validates a pattern: the characters of a [`PathSegment`](crate::path::PathSegment), and `?`.
    pub fn new(pattern: &str) -> Result<Self, SegmentError> {
        if pattern.is_empty() {
            return Err(SegmentError::new(SegmentReason::Empty, 0));
        }
        if pattern.len() > ActorPath::LONGEST {
            return Err(SegmentError::new(SegmentReason::TooLong, ActorPath::LONGEST));
        }
        segment::check(pattern, Class::PATTERN).map(|()| Self(pattern.into()))
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole name matches. O(n·m) in the two lengths.
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut name) = (self.0.chars(), name.chars());
        // Backtracking point: what follows the last `*`, and the rest of the name. Earlier `*`s need no
        // backtracking: what came before the last one cannot match any sooner.
        let mut retry = None;
        loop {
            let rest = name.clone();
            match (pattern.next(), name.next()) {
                (None, None) => return true,
                (Some('*'), _) => {
                    name = rest;
                    retry = Some((pattern.clone(), name.clone()));
                }
                (Some('?'), Some(_)) => {}
                (Some(wanted), Some(found)) if wanted == found => {}
                _ => {
                    let Some((after_star, untried)) = &mut retry else { return false };
                    if untried.next().is_none() {
                        return false;
                    }
                    (pattern, name) = (after_star.clone(), untried.clone());
                }
            }
        }
    }
}

impl fmt::Display for SegmentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches() {
        let matches = |pattern, name| SegmentPattern::new(pattern).unwrap().matches(name);
        for (pattern, name) in [
            ("*", ""),
            ("*", "abc"),
            ("**", "a"),
            ("a*", "a"),
            ("*a", "ba"),
            ("a*c", "abcbc"),
            ("a*b*c", "aXbYbZc"),
            ("?", "\u{e9}"),
            ("?*", "a"),
            ("a%20*", "a%20b"),
            ("a.c", "a.c"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("?", ""),
            ("?", "ab"),
            ("a*c", "abd"),
            ("a.c", "abc"),
            ("*b", "ba"),
            ("a?", "a"),
            ("a", "A"),
            ("?*", ""),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer() {
        let pattern = SegmentPattern::new(&format!("{}b", "*a".repeat(500))).unwrap();
        assert!(!pattern.matches(&"a".repeat(5_000)));
    }

    #[test]
    fn refusals() {
        for bad in ["", "a b*", "a/*", "*%0A", "*%2", "%2E%2E*%2F.."] {
            assert!(SegmentPattern::new(bad).is_err(), "{bad}");
        }
    }
}
