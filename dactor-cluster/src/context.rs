use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_core::spi::lifecycle;
use dactor_core::{ActorId, ActorRef, Context};
use dactor_engine::Generation;

use crate::lease::nanos;
use crate::lifecycle::ActivationCore;
use crate::{ActorAddress, Cluster, VirtualActor};

/// Extends the [`Context`] of a virtual actor.
///
/// # Panics
///
/// All methods panic in an actor that was spawned by [`System::spawn`](dactor_core::System::spawn) and not activated by a
/// [`Cluster`](crate::Cluster).
pub trait VirtualContext<A: VirtualActor> {
    /// Deactivates the actor after the current message. Queued messages are handled by the next activation.
    fn deactivate(&self);

    /// The generation of this activation, as a fencing token for other systems: a later activation has a higher one.
    fn generation(&self) -> Generation;

    /// The identity of the actor.
    fn actor_id(&self) -> ActorId;

    /// The address of this activation.
    fn address(&self) -> ActorAddress;

    /// The ref to the virtual actor, to be passed to others. [`Context::actor_ref`] refers only to this
    /// activation.
    fn virtual_ref(&self) -> ActorRef<A>;

    /// The cluster, for refs to other virtual actors.
    fn cluster(&self) -> Cluster;

    /// Marks the actor as used for this long from now on: until then it is neither idle nor least recently
    /// used.
    fn keep_alive(&self, time: Duration);
}

impl<A: VirtualActor> VirtualContext<A> for Context<A> {
    fn deactivate(&self) {
        let _ = core(self);
        self.stop();
    }

    fn generation(&self) -> Generation {
        core(self).generation
    }

    fn actor_id(&self) -> ActorId {
        let id = &core(self).id;
        match ActorId::new(id.namespace(), id.actor_type(), id.key()) {
            Ok(id) => id,
            Err(error) => unreachable!("it was checked when the ref was made: {error}"),
        }
    }

    fn address(&self) -> ActorAddress {
        let core = core(self);
        ActorAddress { id: self.actor_id(), node: core.epoch.node().clone(), generation: core.generation }
    }

    fn virtual_ref(&self) -> ActorRef<A> {
        let entry = core(self).entry.upgrade();
        match entry.and_then(|entry| entry.into_any().downcast::<crate::entry::Entry<A>>().ok()) {
            Some(entry) => entry.far_ref(),
            None => unreachable!("the entry is in the catalog while its actor runs"),
        }
    }

    fn cluster(&self) -> Cluster {
        match core(self).entry.upgrade() {
            Some(entry) => Cluster::of(entry.cluster().clone()),
            None => unreachable!("the entry is in the catalog while its actor runs"),
        }
    }

    fn keep_alive(&self, time: Duration) {
        let core = core(self);
        let until = core.epoch.now().saturating_add(nanos(time));
        core.last_used.fetch_max(until, Ordering::Relaxed);
    }
}

fn core<A: VirtualActor>(ctx: &Context<A>) -> &Arc<ActivationCore> {
    match lifecycle(ctx).and_then(|any| any.downcast_ref()) {
        Some(core) => core,
        None => panic!("{} is not an activation of a virtual actor", ctx.path()),
    }
}
