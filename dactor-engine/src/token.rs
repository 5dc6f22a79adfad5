use std::fmt;
use std::num::NonZeroU64;

use crate::random::random;

/// The number of an ownership of an entity, which is also its fence.
///
/// A generation is granted by [`Directory::claim`](crate::Directory::claim). For one entity it only grows, and is never
/// granted twice. It fits into a signed 64-bit integer, as SQL stores have.
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

    /// The generation after this one. `None` after the last, which no store reaches.
    pub const fn next(self) -> Option<Self> {
        Self::new(self.get() + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The start of a node: a random number that no other start has, also of a node at the same address.
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

            /// The value that a store kept.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }

            /// The value for a store to keep.
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
    /// The token of one activation in its claim and its open.
    ///
    /// A claim with the same token gets the same generation again: its answer was lost. A claim with another token gets
    /// a higher one, so that a save in flight of an activation that was killed does not land on its successor's state.
    ClaimToken
}

random_value! {
    /// The version of a stored state, chosen by the writer.
    ///
    /// Draw a [random](Self::random) one for each content to save. Neither a hash of the content nor a counter will do:
    /// the writer recognises its own save by the etag after an unknown outcome, and both can recur.
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
