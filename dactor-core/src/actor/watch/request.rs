//! A watch requested from outside the watcher.

use std::sync::Arc;

use crate::delivery::envelope::dispatch::{DispatchContext, Running, skip};
use crate::delivery::envelope::{DeliveryClass, DynMessage, Envelope};
use crate::kernel::actor_core::DynActor;
use crate::{Handler, Message, Terminated};

/// Asks an actor to watch another: only the watcher may change its list of watches, so this runs in its turn.
pub(crate) struct WatchRequest(Arc<dyn DynActor>);

impl WatchRequest {
    pub(crate) fn envelope<A: Handler<Terminated>>(target: Arc<dyn DynActor>) -> Envelope<A> {
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
