//! The names of actors spawned without a name: `$` and the actor's id, such as `$17`.
//!
//! A name given at spawn cannot begin with `$`. So such a name always refers to an unnamed actor, below any
//! guardian.

/// The generated name of the actor with this id.
#[derive(Clone, Copy)]
pub(crate) struct GeneratedName {
    /// Right-aligned: `$` and up to 20 digits.
    text: [u8; Self::LONGEST],
    begin: usize,
}

impl GeneratedName {
    const LONGEST: usize = 21;

    pub(crate) fn new(number: u64) -> Self {
        let mut name = Self { text: [b'0'; Self::LONGEST], begin: Self::LONGEST };
        let mut rest = number;
        loop {
            name.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        name.push(b'$');
        name
    }

    fn push(&mut self, byte: u8) {
        self.begin -= 1;
        self.text[self.begin] = byte;
    }

    pub(crate) fn as_str(&self) -> &str {
        // Only ASCII was written.
        std::str::from_utf8(&self.text[self.begin..]).unwrap_or_default()
    }

    /// The length of the name for this id.
    pub(crate) fn length(number: u64) -> usize {
        2 + number.checked_ilog10().unwrap_or(0) as usize
    }

    /// The id in a generated name; `None` for any other name.
    pub(crate) fn number_in(name: &str) -> Option<u64> {
        let digits = name.strip_prefix('$')?;
        let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        if canonical { digits.parse().ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for number in [1, 9, 10, 17, 12_345, u64::MAX] {
            let name = GeneratedName::new(number);
            assert_eq!(name.as_str(), format!("${number}"));
            assert_eq!(GeneratedName::length(number), name.as_str().len());
            assert_eq!(GeneratedName::number_in(name.as_str()), Some(number));
        }
        for other in ["", "$", "17", "$a", "$0", "$017", "$+1", "$1a", "$18446744073709551616", "$$1"] {
            assert_eq!(GeneratedName::number_in(other), None, "{other}");
        }
    }
}
