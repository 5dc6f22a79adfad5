//! What a crate that spawns actors on behalf of others does around them.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::Envelope;
use crate::{Actor, Context, Outcome, Result, StopReason};

/// The life of an actor as the crate sees it that has spawned it, for example as the activation of a virtual actor. See
/// [`with_lifecycle`](crate::spi::with_lifecycle).
pub trait Lifecycle<A: Actor>: Send + Sync + 'static {
    /// Before a message is handled: it is handled at once, or after this future.
    ///
    /// # Errors
    ///
    /// The message is not handled, and its asker gets this error.
    fn admit(&self) -> Result<Option<LifecycleFuture<'static, ()>>>;

    /// Before the answer to a message is given.
    ///
    /// # Errors
    ///
    /// The asker gets this error instead of the answer.
    fn may_reply(&self) -> Result<()>;

    /// Before `on_stop`, when that runs.
    fn before_stop<'a>(
        &'a self,
        actor: &'a mut A,
        reason: &'a StopReason,
        ctx: &'a mut Context<A>,
    ) -> LifecycleFuture<'a, Outcome<()>>;

    /// The messages that the actor accepted and did not handle, in order. They are this value's to deliver elsewhere or to
    /// [refuse](crate::spi::refuse). Messages that are sent later are refused by the mailbox.
    fn unhandled(&self, messages: Vec<Envelope<A>>);

    /// The actor has ended, or did not start. It is not registered any more, and its name is free.
    fn ended(&self, reason: &StopReason);

    /// This value, for the code of the actor: see [`lifecycle`](crate::spi::lifecycle).
    fn as_any(&self) -> &(dyn Any + Send + Sync);
}

/// A future that a [`Lifecycle`] gives.
pub type LifecycleFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The part of a lifecycle that decides about one message.
pub(crate) trait Gate: Send {
    /// See [`Lifecycle::admit`].
    fn admit(&self) -> Result<Option<LifecycleFuture<'static, ()>>>;
    /// See [`Lifecycle::may_reply`].
    fn may_reply(&self) -> Result<()>;
}

impl<A: Actor> Gate for SharedLifecycle<A> {
    fn admit(&self) -> Result<Option<LifecycleFuture<'static, ()>>> {
        (***self).admit()
    }

    fn may_reply(&self) -> Result<()> {
        (***self).may_reply()
    }
}

/// One pointer wide: most actors have none.
pub(crate) type SharedLifecycle<A> = Arc<Box<dyn Lifecycle<A>>>;
