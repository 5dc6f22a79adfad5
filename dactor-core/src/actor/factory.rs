use std::fmt;

use crate::Actor;
use crate::base::panic::discard_from;

/// What an actor is spawned from: a value, or a factory, which allows restarts.
///
/// Implemented for every actor, and for every closure or function that returns one; `K` tells the two apart
/// and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an actor nor a factory of actors",
    label = "cannot be spawned",
    note = "`impl Actor for ..` it, or give a closure that returns an actor"
)]
pub trait IntoActor<K>: sealed::Sealed<K> {
    /// The actor type.
    type Actor: Actor;

    #[doc(hidden)]
    fn into_factory(self) -> Factory<Self::Actor>;
}

/// Marks an [`IntoActor`] that is the actor itself.
#[derive(Debug)]
pub struct ByValue;

/// Marks an [`IntoActor`] that is a factory of `A`s.
#[derive(Debug)]
pub struct ByFactory<A>(std::marker::PhantomData<A>);

impl<A: Actor> IntoActor<ByValue> for A {
    type Actor = A;

    fn into_factory(self) -> Factory<A> {
        Factory { instance: Some(self), make: None }
    }
}

impl<A: Actor, F: FnMut() -> A + Send + 'static> IntoActor<ByFactory<A>> for F {
    type Actor = A;

    fn into_factory(self) -> Factory<A> {
        Factory { instance: None, make: Some(Box::new(self)) }
    }
}

/// The instance of an actor, and the factory for the next one.
pub struct Factory<A> {
    instance: Option<A>,
    make: Option<Box<dyn FnMut() -> A + Send>>,
}

impl<A> Factory<A> {
    /// The instance, created by the factory if there is none. `None` when the actor was spawned from a value
    /// that is gone.
    pub(crate) fn instantiate(&mut self) -> Option<&mut A> {
        if let (None, Some(make)) = (&self.instance, &mut self.make) {
            self.instance = Some(make());
        }
        self.instance.as_mut()
    }

    pub(crate) fn instance(&mut self) -> Option<&mut A> {
        self.instance.as_mut()
    }

    /// Drops the instance under a guard.
    pub(crate) fn drop_instance(&mut self) {
        discard_from(&mut self.instance);
    }

    /// Whether a factory can create another instance.
    pub(crate) fn is_restartable(&self) -> bool {
        self.make.is_some()
    }
}

/// Both are user values, each dropped under its own panic guard: a backend may drop a cell at any time.
impl<A> Drop for Factory<A> {
    fn drop(&mut self) {
        discard_from(&mut self.instance);
        discard_from(&mut self.make);
    }
}

impl<A> fmt::Debug for Factory<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("restartable", &self.is_restartable()).finish_non_exhaustive()
    }
}

mod sealed {
    use super::{ByFactory, ByValue};
    use crate::Actor;

    pub trait Sealed<K> {}
    impl<A: Actor> Sealed<ByValue> for A {}
    impl<A: Actor, F: FnMut() -> A + Send + 'static> Sealed<ByFactory<A>> for F {}
}
