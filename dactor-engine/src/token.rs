use std::fmt;
use std::num::NonZeroU64;

use crate::random::random;

/// The generation of an entity's ownership, used as its fencing token.
///
/// Granted by [`Directory::claim`](crate::Directory::claim). The generations of an entity only increase, and
/// none is granted twice. A generation fits into a signed 64-bit integer, for SQL stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(NonZeroU64);

impl Generation {
    /// The first generation of an entity.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The generation with this number, from 1 to `i64::MAX`.
    pub const fn new(number: u64) -> Option<Self> {
        if number > i64::MAX as u64 {
            return None;
        }
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The next generation; `None` after the last, which no store reaches.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.get() + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The incarnation of a node: a random number that identifies one start of it, even at the same address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(NonZeroU64);

impl Incarnation {
    /// A random incarnation.
    pub fn random() -> Self {
        // As wide as a generation: the highest bit stays clear.
        let number = (random() as u64) >> 1;
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// The incarnation with this number, from 1 to `i64::MAX`.
    pub const fn new(number: u64) -> Option<Self> {
        match Generation::new(number) {
            Some(number) => Some(Self(number.0)),
            None => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

macro_rules! random_value {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(u128);

        impl $name {
            /// A random value.
            pub fn random() -> Self {
                Self(random())
            }

            /// Converts from the stored form.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }

            /// Converts to the stored form.
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:032x})"), self.0)
            }
        }
    };
}

random_value! {
    /// The token of an activation in its claim and its open.
    ///
    /// A retried claim with the same token gets the same generation. A claim with another token gets a higher
    /// one, so that an in-flight save of a killed activation is not applied to its successor's state.
    ClaimToken
}

random_value! {
    /// The version of a stored state, chosen by the writer.
    ///
    /// Draw a [random](Self::random) etag for each content to save. A hash of the content or a counter is not
    /// sufficient: the writer recognises its own save by the etag after an unknown outcome, and both can
    /// recur.
    Etag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_fit_a_signed_integer() {
        assert_eq!(Generation::new(0), None);
        assert_eq!(Generation::new(i64::MAX as u64 + 1), None);
        assert_eq!(Generation::FIRST.next(), Generation::new(2));
        assert_eq!(Generation::new(i64::MAX as u64).unwrap().next(), None);
        assert!((0..1000).all(|_| Incarnation::random().get() <= i64::MAX as u64));
    }

    #[test]
    fn values_survive_storage() {
        let (token, etag) = (ClaimToken::random(), Etag::random());
        assert_eq!(ClaimToken::from_bytes(token.to_bytes()), token);
        assert_eq!(Etag::from_bytes(etag.to_bytes()), etag);
        assert_ne!(Etag::random(), Etag::random());
    }
}
