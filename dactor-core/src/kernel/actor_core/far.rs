//! What a core does when its actor lives elsewhere.

use std::sync::Arc;
use std::time::Duration;

use super::route::{FarRefused, FarRoute};
use super::{ActorCore, Delivered, DynActor};
use crate::delivery::ask_state::{AtSlot, HolderRef};
use crate::delivery::envelope::Envelope;
use crate::mailbox::Refusal;
use crate::{Actor, End, Error, Priority, Result, StopReason};

impl<A: Actor> ActorCore<A> {
    /// The way to the actor, if it lives elsewhere.
    pub(crate) fn route(&self) -> Option<&Arc<dyn FarRoute<A>>> {
        self.meta.far().and_then(|place| place.route())
    }

    /// How long an ask waits that does not say it. Only asks of actors that live elsewhere have such a limit.
    #[inline]
    pub(crate) fn ask_timeout(&self) -> Option<Duration> {
        if self.meta.is_far() { self.route().and_then(|route| route.ask_timeout()) } else { None }
    }

    /// Sends a message that the mailbox has refused on its way, if the actor lives elsewhere; else it comes back.
    pub(super) fn reroute(
        &self,
        refusal: Refusal<Envelope<A>>,
        priority: Priority,
    ) -> Result<Result<(), FarRefused<A>>, Refusal<Envelope<A>>> {
        match (refusal, self.route()) {
            (Refusal::Closed(envelope), Some(route)) => Ok(match self.known_end(&envelope) {
                None => route.deliver(envelope, priority),
                Some(error) => Err(FarRefused { envelope, error }),
            }),
            (refusal, _) => Err(refusal),
        }
    }

    /// The error for a message to a far actor that is known to have ended.
    pub(super) fn known_end(&self, envelope: &Envelope<A>) -> Option<Error> {
        self.meta.has_ended().then(|| self.stopped(envelope.message_type()))
    }

    /// Answers for a message that a route was given.
    pub(super) fn rerouted(&self, sent: Result<(), FarRefused<A>>) -> Result<Delivered> {
        match sent {
            Ok(()) => Ok(Delivered::Queued),
            Err(FarRefused { envelope, error }) => {
                self.dead_letter(envelope, &error);
                Err(error)
            }
        }
    }

    /// Asks the actor to end. Fails only for a remote actor; then the request is a dead letter.
    pub(crate) fn request_end(&self, how: End) -> Result<()> {
        match self.route() {
            None => {
                self.signal(how.into());
                Ok(())
            }
            Some(_) if self.meta.has_ended() => Ok(()),
            Some(route) => route.end(how).inspect_err(|error| {
                self.meta.system().events().dead_letter(self, how.as_str(), error, || None);
            }),
        }
    }

    /// Takes a message in that another core was given, and whose asker looks for it there.
    pub(crate) fn take_in(
        self: &Arc<Self>,
        envelope: Envelope<A>,
        priority: Priority,
    ) -> Result<(), FarRefused<A>> {
        let holder = HolderRef(self.clone());
        let enter = |envelope: &Envelope<A>, slot| {
            envelope.asker().is_none_or(|asker| asker.enter(AtSlot(slot), Some(&holder)))
        };
        let member = self.member();
        let pushed = self.mailbox.push_or_join_forwarded(envelope, priority, enter);
        drop(member);
        let refusal = match pushed {
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                return Ok(());
            }
            Err(refusal) => refusal,
        };
        let explained = match self.reroute(refusal, priority) {
            Ok(sent) => return sent,
            Err(refusal) => self.explain(refusal),
        };
        // Dropped by the mailbox's policy, or given up by its asker: no error.
        explained.map_or(Ok(()), |(envelope, error)| Err(FarRefused { envelope, error }))
    }
}

/// Waits until the actor has ended.
pub(crate) async fn wait(actor: Arc<dyn DynActor>) -> Result<StopReason> {
    let observed = Observed::new(actor)?;
    let actor = observed.actor();
    actor.meta().ended_outside_turn(&**actor).await
}

/// An actor whose end is to be known here, until this is dropped.
pub(crate) struct Observed(Arc<dyn DynActor>);

impl Observed {
    pub(crate) fn new(actor: Arc<dyn DynActor>) -> Result<Self> {
        actor.observe()?;
        Ok(Self(actor))
    }

    pub(crate) fn actor(&self) -> &Arc<dyn DynActor> {
        &self.0
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.0.unobserve();
    }
}
