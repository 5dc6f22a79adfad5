//! The notice that a timer is due.

use super::TimerSlot;
use crate::Actor;
use crate::delivery::envelope::dispatch::{DispatchContext, Running, panicked, skip};
use crate::delivery::envelope::{DeliveryClass, DynMessage, Envelope};

/// A timer is due, unless it was cancelled or replaced meanwhile.
pub(super) struct Tick {
    timer: TimerSlot,
    message: &'static str,
}

impl Tick {
    pub(super) fn envelope<A: Actor>(timer: TimerSlot, message: &'static str) -> Envelope<A> {
        Envelope::new(DeliveryClass::Notice, Box::new(Self { timer, message }))
    }
}

impl<A: Actor> DynMessage<A> for Tick {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        match context.ctx.claims_tick(self.timer) {
            Some(Ok(envelope)) => envelope.dispatch(context),
            Some(Err(panic)) => panicked(self.message, panic),
            None => skip(),
        }
    }

    fn message_type(&self) -> &'static str {
        self.message
    }
}
