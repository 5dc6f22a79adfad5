//! One activation: what its actor, its state and its catalog entry share.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use dactor_core::spi::{Envelope, Lifecycle, LifecycleFuture};
use dactor_core::{Context, End, Outcome, Result, StopReason};
use dactor_engine::{EntityId, ErrorKind, Generation, Operation, StateStore, StorageError};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::catalog::AnyEntry;
use crate::entry::Entry;
use crate::lease::Epoch;
use crate::{ClusterError, DeactivationReason, VirtualActor};

/// What does not depend on the type of the actor.
pub(crate) struct ActivationCore {
    pub(crate) id: EntityId,
    pub(crate) generation: Generation,
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) runtime: Handle,
    pub(crate) entry: Weak<dyn AnyEntry>,
    /// The number of the activation in its entry.
    pub(crate) instance: u64,
    /// When a message was handled last, in nanoseconds of the cluster's clock; later, if it is kept alive.
    pub(crate) last_used: AtomicU64,
    /// A handler was given a message.
    handled: AtomicBool,
    /// It may not save any more.
    lost: AtomicBool,
    saving: AtomicBool,
    writes: Arc<Mutex<()>>,
}

impl ActivationCore {
    pub(crate) fn new(
        (id, generation, instance): (EntityId, Generation, u64),
        epoch: Arc<Epoch>,
        store: Arc<dyn StateStore>,
        runtime: Handle,
        entry: Weak<dyn AnyEntry>,
    ) -> Self {
        Self {
            last_used: AtomicU64::new(epoch.now()),
            id,
            generation,
            epoch,
            store,
            runtime,
            entry,
            instance,
            handled: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            saving: AtomicBool::new(false),
            writes: Arc::default(),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn has_handled(&self) -> bool {
        self.handled.load(Ordering::Acquire)
    }

    /// The activation saves nothing any more, and ends after the current message.
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

    /// A message is about to be handled, or was.
    fn touch(&self, now: u64) {
        self.last_used.fetch_max(now, Ordering::Relaxed);
    }

    /// Waits for a save that is under way. The guard is kept until the new one is done.
    pub(crate) async fn begin_write(self: &Arc<Self>) -> Result<WriteGuard, StorageError> {
        let guard = self.writes.clone().lock_owned().await;
        let fenced = |why| StorageError::new(ErrorKind::Fenced, Operation::Save).on(&self.id).because(why);
        if self.is_lost() {
            return Err(fenced("the activation is lost"));
        }
        if self.epoch.check().is_err() {
            return Err(fenced("the node has lost its lease"));
        }
        self.saving.store(true, Ordering::Release);
        Ok(WriteGuard { core: self.clone(), _guard: guard })
    }
}

impl fmt::Debug for ActivationCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivationCore").field("id", &self.id).field("generation", &self.generation).finish()
    }
}

/// A save that is under way.
pub(crate) struct WriteGuard {
    core: Arc<ActivationCore>,
    _guard: OwnedMutexGuard<()>,
}

impl Drop for WriteGuard {
    fn drop(&mut self) {
        self.core.saving.store(false, Ordering::Release);
    }
}

/// The activation in the life of its actor.
pub(crate) struct VirtualLifecycle<A: VirtualActor> {
    pub(crate) core: Arc<ActivationCore>,
    pub(crate) entry: Arc<Entry<A>>,
}

impl<A: VirtualActor> Lifecycle<A> for VirtualLifecycle<A> {
    fn admit(&self) -> Result<Option<LifecycleFuture<'static, ()>>> {
        let core = &self.core;
        let now = core.epoch.check().map_err(|error| error.unhandled(&core.id))?;
        if core.is_lost() {
            return Err(ClusterError::ActivationLost.unhandled(&core.id));
        }
        core.touch(now);
        if !core.has_handled() {
            core.handled.store(true, Ordering::Release);
        }
        if !core.saving.load(Ordering::Acquire) {
            return Ok(None);
        }
        // The handler before was aborted during its save.
        let writes = core.writes.clone();
        Ok(Some(Box::pin(async move { drop(writes.lock_owned().await) })))
    }

    fn may_reply(&self) -> Result<()> {
        let now = self.core.epoch.check().map_err(|error| error.interrupted(&self.core.id))?;
        self.core.touch(now);
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

    fn unhandled(&self, messages: Vec<Envelope<A>>) {
        self.entry.give_back(messages);
    }

    fn ended(&self, _: &StopReason) {
        self.entry.ended(self.core.instance);
    }

    fn as_any(&self) -> &(dyn Any + Send + Sync) {
        &self.core
    }
}
