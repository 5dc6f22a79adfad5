//! An activation: the state shared by its actor, its persistent state and its catalog entry.

use std::any::Any;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dactor_core::spi::{Envelope, Lifecycle, LifecycleFuture};
use dactor_core::{Context, End, Outcome, Pid, Priority, Result, StopReason};
use dactor_engine::{
    Engine, EntityId, ErrorKind, FencedSql, Generation, Operation, StateStore, StorageError,
};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::catalog::AnyEntry;
use crate::entry::Entry;
use crate::lease::Epoch;
use crate::{ClusterError, DeactivationReason, VirtualActor};

/// The type-independent part of an activation.
pub(crate) struct ActivationCore {
    pub(crate) id: EntityId,
    pub(crate) generation: Generation,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) sql: Option<Arc<dyn FencedSql>>,
    pub(crate) runtime: Handle,
    pub(crate) entry: Weak<dyn AnyEntry>,
    /// The number of the activation in its entry.
    pub(crate) instance: u64,
    /// When the last message was handled, in nanoseconds of the cluster's clock; later, if the actor is kept
    /// alive.
    pub(crate) last_used: AtomicU64,
    /// Whether a handler has received a message.
    handled: AtomicBool,
    /// Whether the actor has ended. Other owners, for example of a deferred reply, may still hold this value.
    ended: AtomicBool,
    /// Whether saves are forbidden.
    lost: AtomicBool,
    /// Whether a save is in progress.
    saving: AtomicBool,
    saved: Notify,
}

impl ActivationCore {
    pub(crate) fn new(
        (id, generation, instance): (EntityId, Generation, u64),
        epoch: Arc<Epoch>,
        engine: &Engine,
        runtime: Handle,
        entry: Weak<dyn AnyEntry>,
    ) -> Self {
        Self {
            last_used: AtomicU64::new(epoch.now()),
            id,
            generation,
            epoch,
            store: engine.state.clone(),
            sql: engine.sql.clone(),
            runtime,
            entry,
            instance,
            handled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            saving: AtomicBool::new(false),
            saved: Notify::new(),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Marks the actor as ended, which excludes it from idle and least-recently-used deactivation.
    pub(crate) fn set_ended(&self) {
        self.ended.store(true, Ordering::Release);
    }

    pub(crate) fn has_handled(&self) -> bool {
        self.handled.load(Ordering::Acquire)
    }

    /// Forbids further saves, and ends the activation after the current message.
    pub(crate) fn lose(&self) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            tracing::warn!(actor = %self.id, generation = %self.generation, "the activation is lost");
            self.end(End::Stop, DeactivationReason::Lost);
        }
    }

    pub(crate) fn end(&self, how: End, reason: DeactivationReason) {
        if let Some(entry) = self.entry.upgrade() {
            entry.end_instance(self.instance, how, reason);
        }
    }

    /// Updates the time of last use, before and after a message is handled.
    fn touch(&self, now: u64) {
        self.last_used.fetch_max(now, Ordering::Relaxed);
    }

    /// Waits for a save in progress. The guard is held until the new save is done.
    pub(crate) async fn begin_write(self: &Arc<Self>) -> Result<WriteGuard, StorageError> {
        while self.saving.swap(true, Ordering::AcqRel) {
            self.until_saved().await;
        }
        let guard = WriteGuard { core: self.clone() };
        let fenced = |why| StorageError::new(ErrorKind::Fenced, Operation::Save).on(&self.id).because(why);
        if self.is_lost() {
            return Err(fenced("the activation is lost"));
        }
        if self.epoch.check().is_err() {
            return Err(fenced("the node has lost its lease"));
        }
        Ok(guard)
    }

    /// Waits until no save is in progress, or one more has completed.
    async fn until_saved(&self) {
        let mut saved = pin!(self.saved.notified());
        saved.as_mut().enable();
        // Checked after registering the waiter, so that the end of the save is not missed.
        if self.saving.load(Ordering::Acquire) {
            saved.await;
        }
    }
}

impl fmt::Debug for ActivationCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivationCore").field("id", &self.id).field("generation", &self.generation).finish()
    }
}

/// The guard of a save in progress.
pub(crate) struct WriteGuard {
    core: Arc<ActivationCore>,
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        self.core.saving.store(false, Ordering::Release);
        self.core.saved.notify_waiters();
    }
}

/// The lifecycle hooks of a virtual actor.
pub(crate) struct VirtualLifecycle<A: VirtualActor> {
    pub(crate) core: Arc<ActivationCore>,
    pub(crate) entry: Arc<Entry<A>>,
}

impl<A: VirtualActor> Lifecycle<A> for VirtualLifecycle<A> {
    fn starting(&self, actor: Pid) {
        self.entry.starting(self.core.instance, actor);
    }

    fn admit(&self, is_activity: bool) -> Result<Option<LifecycleFuture<'static, ()>>> {
        let core = &self.core;
        let now = core.epoch.check().map_err(|error| error.unhandled(&core.id))?;
        if core.is_lost() {
            return Err(ClusterError::ActivationLost.unhandled(&core.id));
        }
        if is_activity {
            core.touch(now);
        }
        if !core.has_handled() {
            core.handled.store(true, Ordering::Release);
        }
        if !core.saving.load(Ordering::Acquire) {
            return Ok(None);
        }
        // The previous handler was aborted during its save.
        let core = core.clone();
        Ok(Some(Box::pin(async move {
            while core.saving.load(Ordering::Acquire) {
                core.until_saved().await;
            }
        })))
    }

    fn may_reply(&self, is_activity: bool) -> Result<()> {
        let now = self.core.epoch.check().map_err(|error| error.interrupted(&self.core.id))?;
        if is_activity {
            self.core.touch(now);
        }
        Ok(())
    }

    fn before_stop<'a>(
        &'a self,
        actor: &'a mut A,
        reason: &'a StopReason,
        ctx: &'a mut Context<A>,
    ) -> LifecycleFuture<'a, Outcome<()>> {
        let reason = self.entry.reason(reason);
        tracing::debug!(actor = %self.core.id, generation = %self.core.generation, %reason, "deactivates");
        Box::pin(actor.on_deactivate(reason, ctx))
    }

    fn unhandled(&self, messages: Vec<(Envelope<A>, Priority)>) {
        self.entry.give_back(messages);
    }

    fn ended(&self, _: &StopReason) {
        self.core.set_ended();
        self.entry.ended(self.core.instance);
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        &self.core
    }
}
