use std::fmt;

use crate::Actor;
use crate::panic::discard;

/// What an actor is spawned from: a value, or a factory that can make it again.
///
/// Implemented for every actor, and for every closure or function that returns one; `K` tells the two apart
/// and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an actor nor a factory of actors",
    label = "cannot be spawned",
    note = "`impl Actor for ..` it, or give a closure that returns an actor"
)]
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
        Seed { instance: Some(self), factory: None }
    }
}

impl<A: Actor, F: FnMut() -> A + Send + 'static> Source<ByFactory<A>> for F {
    type Actor = A;

    fn into_seed(self) -> Seed<A> {
        Seed { instance: None, factory: Some(Box::new(self)) }
    }
}

/// The instance of one actor, and what makes the next one.
pub struct Seed<A> {
    instance: Option<A>,
    factory: Option<Box<dyn FnMut() -> A + Send>>,
}

impl<A> Seed<A> {
    /// The instance, made if there is none; `None` when there was only one and it is gone.
    pub(crate) fn grow(&mut self) -> Option<&mut A> {
        if let (None, Some(factory)) = (&self.instance, &mut self.factory) {
            self.instance = Some(factory());
        }
        self.instance.as_mut()
    }

    pub(crate) fn instance(&mut self) -> Option<&mut A> {
        self.instance.as_mut()
    }

    pub(crate) fn take(&mut self) -> Option<A> {
        self.instance.take()
    }

    pub(crate) fn is_factory(&self) -> bool {
        self.factory.is_some()
    }
}

/// Both are the user's, and each is dropped under a guard of its own: a cell may be dropped by anyone.
impl<A> Drop for Seed<A> {
    fn drop(&mut self) {
        discard(self.instance.take());
        discard(self.factory.take());
    }
}

impl<A> fmt::Debug for Seed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seed").field("factory", &self.is_factory()).finish_non_exhaustive()
    }
}

mod sealed {
    use super::{ByFactory, ByValue};
    use crate::Actor;

    pub trait Sealed<K> {}
    impl<A: Actor> Sealed<ByValue> for A {}
    impl<A: Actor, F: FnMut() -> A + Send + 'static> Sealed<ByFactory<A>> for F {}
}
