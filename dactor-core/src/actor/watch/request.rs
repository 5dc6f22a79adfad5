//! A watch requested from outside the watcher.

use crate::delivery::envelope::dispatch::{DispatchContext, Running, skip};
use crate::delivery::envelope::{DeliveryClass, DynMessage, Envelope};
use crate::kernel::actor_core::Observed;
use crate::{Handler, Message, Terminated};

/// Asks an actor to watch another: only the watcher may change its list of watches, so this runs in its turn.
pub(crate) struct WatchRequest(Observed);

impl WatchRequest {
    pub(crate) fn envelope<A: Handler<Terminated>>(target: Observed) -> Envelope<A> {
        Envelope::new(DeliveryClass::Notice, Box::new(Self(target)))
    }
}

impl<A: Handler<Terminated>> DynMessage<A> for WatchRequest {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        context.ctx.begin_watch(self.0);
        skip()
    }

    fn message_type(&self) -> &'static str {
        Terminated::type_name()
    }
}
