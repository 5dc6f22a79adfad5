//! The end of an actor, however it comes.

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

/// Ends an actor properly, once: when its task ends, or when the task is dropped. It refuses what is left in the mailbox,
/// frees the name and tells watchers and waiters.
pub(super) struct Teardown<A: Actor> {
    pub(super) core: Arc<ActorCore<A>>,
    /// Taken from the mailbox and not handled yet.
    pub(super) batch: Queue<Envelope<A>>,
    closed: bool,
    registration: Option<Registration>,
    /// Whether the `spawned` event was sent.
    started: bool,
    lifecycle: Option<SharedLifecycle<A>>,
}

impl<A: Actor> Teardown<A> {
    pub(super) fn new(
        core: Arc<ActorCore<A>>,
        registration: Registration,
        lifecycle: Option<SharedLifecycle<A>>,
    ) -> Self {
        let registration = Some(registration);
        Self { core, batch: Queue::new(), closed: false, registration, started: false, lifecycle }
    }

    /// The actor has started: its end is an event.
    pub(super) fn announce_start(&mut self) {
        self.started = true;
        self.core.meta.system().events().spawned(&*self.core);
    }

    /// Refuses what will not be handled any more.
    pub(super) fn close(&mut self) {
        // What was put aside is older than what waits, and `on_stop` may put something aside, too.
        let aside = self.core.mailbox.empty_stash();
        let rest = if mem::replace(&mut self.closed, true) {
            Queue::new()
        } else {
            self.core.meta.family().close();
            self.core.mailbox.close()
        };
        let system = self.core.meta.system();
        let closes = system.registry().is_closed();
        let mut handed_over = Vec::new();
        for envelope in aside.chain(self.batch.by_ref()).chain(rest).filter(Envelope::is_letter) {
            if self.lifecycle.is_some() {
                handed_over.push(envelope);
                continue;
            }
            if closes && !envelope.is_withdrawn() {
                system.shutdown_state().lose_accepted();
            }
            self.core.refuse(envelope);
        }
        if let Some(lifecycle) = self.lifecycle.as_ref().filter(|_| !handed_over.is_empty()) {
            self.report(contain(|| lifecycle.unhandled(handed_over)));
        }
    }

    fn report(&self, called: Result<(), Panic>) {
        if let Err(panic) = called {
            tracing::warn!(actor = %self.core.label(), %panic, "a lifecycle panicked");
        }
    }

    pub(super) fn settle(&mut self, reason: StopReason) {
        let Some(registration) = self.registration.take() else { return };
        self.close();
        let meta = &self.core.meta;
        // None are left, unless this is dropped from outside.
        signal_all(&meta.family().children(), Ending::Kill);
        // Gone from the system before anyone is told: its name is free when `wait` returns.
        meta.system().registry().unregister(registration);
        if self.started {
            meta.system().events().stopped(&*self.core, &reason);
        }
        // An actor is settled once.
        let _ = meta.set_ended(reason.clone());
        // A host that panics when it is woken must not keep those who wait from being told.
        let tell = || meta.watchers().end(&self.core.clone().into_labelled(), &reason);
        if let Err(panic) = contain(tell) {
            tracing::warn!(actor = %self.core.label(), %panic, "a watcher could not be told");
        }
        meta.announce_end();
        meta.system().registry().left();
        if meta.system().registry().is_closed() {
            meta.system().shutdown_state().notify_changed();
        }
        if let Some(lifecycle) = self.lifecycle.take() {
            self.report(contain(|| lifecycle.ended(&reason)));
        }
    }
}

impl<A: Actor> Drop for Teardown<A> {
    fn drop(&mut self) {
        // A panic that got past all guards is a failure, never a kill without a word.
        let reason = if std::thread::panicking() {
            StopReason::Failed(error(&*self.core, ErrorKind::Panicked).with("in", "the actor's own loop"))
        } else {
            StopReason::Killed
        };
        self.settle(reason);
    }
}
