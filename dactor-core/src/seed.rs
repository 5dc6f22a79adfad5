use std::fmt;

use crate::Actor;

/// What an actor is spawned from: a value, or a factory that can make it again.
///
/// Implemented for every actor, and for every closure or function that returns one; `K` tells the two apart
/// and is inferred.
pub trait Source<K>: sealed::Sealed<K> {
    /// The actor that comes out.
    type Actor: Actor;

    #[doc(hidden)]
    fn into_seed(self) -> Seed<Self::Actor>;
}

/// Marks a [`Source`] that is the actor itself.
#[derive(Debug)]
pub struct ByValue;

/// Marks a [`Source`] that makes `A`s.
#[derive(Debug)]
pub struct ByFactory<A>(std::marker::PhantomData<A>);

impl<A: Actor> Source<ByValue> for A {
    type Actor = A;

    fn into_seed(self) -> Seed<A> {
        Seed::Value(Some(self))
    }
}

impl<A: Actor, F: FnMut() -> A + Send + 'static> Source<ByFactory<A>> for F {
    type Actor = A;

    fn into_seed(self) -> Seed<A> {
        Seed::Factory(Box::new(self))
    }
}

/// Makes the instances of one actor.
pub enum Seed<A> {
    #[doc(hidden)]
    Value(Option<A>),
    #[doc(hidden)]
    Factory(Box<dyn FnMut() -> A + Send>),
}

impl<A> Seed<A> {
    /// The next instance; `None` when there was only one.
    pub(crate) fn grow(&mut self) -> Option<A> {
        match self {
            Self::Value(value) => value.take(),
            Self::Factory(factory) => Some(factory()),
        }
    }

    pub(crate) fn is_factory(&self) -> bool {
        matches!(self, Self::Factory(_))
    }
}

impl<A> fmt::Debug for Seed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_factory() { "Seed::Factory" } else { "Seed::Value" })
    }
}

mod sealed {
    use super::{ByFactory, ByValue};
    use crate::Actor;

    pub trait Sealed<K> {}
    impl<A: Actor> Sealed<ByValue> for A {}
    impl<A: Actor, F: FnMut() -> A + Send + 'static> Sealed<ByFactory<A>> for F {}
}
