//! What a crate that spawns actors on behalf of others does around them.

use std::any::Any;
use std::sync::Arc;

use super::Envelope;
use crate::delivery::gate::Gate;
pub use crate::delivery::gate::LifecycleFuture;
use crate::{Actor, Context, Outcome, Pid, Priority, Result, StopReason};

/// The life of an actor as the crate sees it that has spawned it, for example as the activation of a virtual actor. See
/// [`with_lifecycle`](crate::spi::with_lifecycle).
pub trait Lifecycle<A: Actor>: Send + Sync + 'static {
    /// The actor is registered under this number, and starts.
    fn starting(&self, actor: Pid) {
        let _ = actor;
    }

    /// Before a message is handled: it is handled at once, or after this future. `is_activity` says whether the message
    /// [resets](Context::idle_timeout) an idle timeout.
    ///
    /// # Errors
    ///
    /// The message is not handled, and its asker gets this error.
    fn admit(&self, is_activity: bool) -> Result<Option<LifecycleFuture<'static, ()>>>;

    /// Before the answer to a message is given, or the message is [forwarded](Context::forward). For a
    /// [deferred](Context::reply_later) reply this is called by the holder of the [`Later`](crate::Later), when the message
    /// no longer counts as activity.
    ///
    /// # Errors
    ///
    /// The asker gets this error instead of the answer.
    fn may_reply(&self, is_activity: bool) -> Result<()>;

    /// Before `on_stop`, when that runs.
    fn before_stop<'a>(
        &'a self,
        actor: &'a mut A,
        reason: &'a StopReason,
        ctx: &'a mut Context<A>,
    ) -> LifecycleFuture<'a, Outcome<()>>;

    /// The messages that the actor accepted and did not handle, with their priorities; those of one priority are in order. They are
    /// this value's to deliver elsewhere or to [refuse](crate::spi::refuse). Messages that are sent later are refused by the
    /// mailbox.
    fn unhandled(&self, messages: Vec<(Envelope<A>, Priority)>);

    /// The actor has ended, or did not start. It is no longer registered, and its name is free.
    fn ended(&self, reason: &StopReason);

    /// This value, for the code of the actor: see [`lifecycle`](crate::spi::lifecycle).
    fn as_any(&self) -> &(dyn Any + Send + Sync);
}

impl<A: Actor> Gate for Box<dyn Lifecycle<A>> {
    fn admit(&self, is_activity: bool) -> Result<Option<LifecycleFuture<'static, ()>>> {
        (**self).admit(is_activity)
    }

    fn may_reply(&self, is_activity: bool) -> Result<()> {
        (**self).may_reply(is_activity)
    }
}

/// One pointer wide: most actors have none.
pub(crate) type SharedLifecycle<A> = Arc<Box<dyn Lifecycle<A>>>;
