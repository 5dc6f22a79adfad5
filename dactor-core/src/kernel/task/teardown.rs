//! The end of an actor, on every path.

use std::mem;
use std::sync::Arc;

use super::hook::error;
use crate::base::label::Labelled;
use crate::base::panic::{Panic, contain};
use crate::delivery::envelope::Envelope;
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::kernel::actor_core::{ActorCore, DynActor};
use crate::kernel::family::signal_all;
use crate::kernel::registry::Registration;
use crate::mailbox::Ending;
use crate::mailbox::queue::Queue;
use crate::{Actor, ErrorKind, StopReason};

/// Drop guard that ends an actor exactly once: when its task ends, or when the task is dropped. It refuses
/// the remaining messages, frees the name and notifies watchers and waiters.
pub(super) struct Teardown<A: Actor> {
    pub(super) core: Arc<ActorCore<A>>,
    /// Taken from the mailbox and not handled yet.
    pub(super) batch: Queue<Envelope<A>>,
    closed: bool,
    /// There are no children, and there will be none: known since it was closed.
    childless: bool,
    registration: Option<Registration>,
    /// Whether the `spawned` event was sent.
    started: bool,
}

impl<A: Actor> Teardown<A> {
    pub(super) fn new(core: Arc<ActorCore<A>>, registration: Registration) -> Self {
        let registration = Some(registration);
        Self { core, batch: Queue::new(), closed: false, childless: false, registration, started: false }
    }

    /// The actor has started: its end will be an event.
    pub(super) fn announce_start(&mut self) {
        self.started = true;
        self.core.meta.system().events().spawned(&*self.core);
    }

    pub(super) fn has_children(&self) -> bool {
        !self.childless && self.core.meta.family().has_children()
    }

    /// Refuses the remaining messages, or hands them to the lifecycle.
    #[inline]
    pub(super) fn close(&mut self, lifecycle: Option<&SharedLifecycle<A>>) {
        let was_closed = mem::replace(&mut self.closed, true);
        if !was_closed {
            self.childless = !self.core.meta.family().close();
        }
        // `on_stop` may put something aside after the first time.
        if !self.batch.is_empty() || !self.core.mailbox.close_if_empty() {
            self.refuse_rest(was_closed, lifecycle);
        }
    }

    #[cold]
    fn refuse_rest(&mut self, was_closed: bool, lifecycle: Option<&SharedLifecycle<A>>) {
        // What was put aside is older than what waits.
        let aside = self.core.mailbox.take_stash();
        let rest = if was_closed { Queue::new() } else { self.core.mailbox.take_rest() };
        let system = self.core.meta.system();
        let closes = system.registry().is_closed();
        let mut handed_over = Vec::new();
        // The batch of a bounded mailbox is one message, of any lane.
        let lane = self.core.mailbox.signals().lane();
        let batch = self.batch.by_ref().map(|envelope| (lane, envelope));
        for (priority, envelope) in
            aside.chain(batch).chain(rest).filter(|(_, envelope)| envelope.is_letter())
        {
            if lifecycle.is_some() {
                handed_over.push((envelope, priority));
                continue;
            }
            if closes && !envelope.is_withdrawn() {
                system.shutdown_state().lose_accepted();
            }
            self.core.refuse(envelope);
        }
        if let Some(lifecycle) = lifecycle.filter(|_| !handed_over.is_empty()) {
            self.report(contain(|| lifecycle.unhandled(handed_over)));
        }
    }

    fn report(&self, called: Result<(), Panic>) {
        if let Err(panic) = called {
            tracing::warn!(actor = %self.core.label(), %panic, "a lifecycle panicked");
        }
    }

    /// The actor has ended, and is [closed](Self::close).
    pub(super) fn settle(&mut self, reason: StopReason, lifecycle: Option<&SharedLifecycle<A>>) {
        let Some(registration) = self.registration.take() else { return };
        let meta = &self.core.meta;
        // None are left, unless this is dropped from outside.
        if self.has_children() {
            signal_all(&meta.family().children(), Ending::Kill);
        }
        // Unregistered before the notifications: the name is free when `wait` returns.
        meta.system().registry().unregister(registration);
        if self.started {
            meta.system().events().stopped(&*self.core, &reason);
        }
        // An actor is settled once.
        let _ = meta.set_ended(reason.clone());
        if let Some(watches) = meta.watchers().end() {
            // A host that panics when it is woken must not keep the waiters from being notified.
            let tell = || watches.tell(&self.core.clone().into_labelled(), &reason);
            if let Err(panic) = contain(tell) {
                tracing::warn!(actor = %self.core.label(), %panic, "a watcher could not be notified");
            }
        }
        meta.announce_end();
        meta.system().registry().left();
        if meta.system().registry().is_closed() {
            meta.system().shutdown_state().notify_changed();
        }
        if let Some(lifecycle) = lifecycle {
            self.report(contain(|| lifecycle.ended(&reason)));
        }
    }

    /// The task is dropped: ends the actor if that did not happen yet.
    pub(super) fn abandon(&mut self, lifecycle: Option<&SharedLifecycle<A>>) {
        if self.registration.is_none() {
            return;
        }
        // A panic that got past all guards is reported as a failure, never as a silent kill.
        let reason = if std::thread::panicking() {
            StopReason::Failed(error(&*self.core, ErrorKind::Panicked).with("in", "the actor's own loop"))
        } else {
            StopReason::Killed
        };
        self.close(lifecycle);
        self.settle(reason, lifecycle);
    }
}

impl<A: Actor> Drop for Teardown<A> {
    fn drop(&mut self) {
        self.abandon(None);
    }
}
