use std::fmt;

/// The incarnation of an actor: successive actors at one path have different UIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorUid(u64);

impl ActorUid {
    /// No particular incarnation: the UID of a virtual actor, whose path has none.
    pub const ANY: Self = Self(0);

    /// The incarnation with this number.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The UID as a number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// Its length in a path, in bytes, with its `#`.
    pub(super) fn length(self) -> usize {
        2 + self.0.checked_ilog10().unwrap_or(0) as usize
    }

    /// Parses the digits after a `#`: no sign.
    pub(super) fn read(digits: &str) -> Option<Self> {
        let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        if all_digits { digits.parse().ok().map(Self) } else { None }
    }
}

impl fmt::Display for ActorUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        for (digits, number) in [("0", 0), ("007", 7), ("18446744073709551615", u64::MAX)] {
            assert_eq!(ActorUid::read(digits), Some(ActorUid::new(number)));
        }
        for bad in ["", "+1", "-1", "1a", " 1", "18446744073709551616"] {
            assert_eq!(ActorUid::read(bad), None, "{bad}");
        }
    }
}
