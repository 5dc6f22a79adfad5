//! The notice that a watched actor has ended.

use crate::delivery::envelope::dispatch::{DispatchContext, Running, skip};
use crate::delivery::envelope::{DeliveryClass, DynMessage, Envelope};
use crate::delivery::handler::handle_told;
use crate::{Handler, Headers, Message, Terminated};

/// The end of a watched actor, ignored if the watch was removed meanwhile.
pub(super) struct TerminatedNotice {
    terminated: Terminated,
    watch: u64,
}

impl TerminatedNotice {
    pub(super) fn envelope<A: Handler<Terminated>>(terminated: Terminated, watch: u64) -> Envelope<A> {
        Envelope::new(DeliveryClass::Last, Box::new(Self { terminated, watch }))
    }
}

impl<A: Handler<Terminated>> DynMessage<A> for TerminatedNotice {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let TerminatedNotice { terminated, watch } = *self;
        if !context.ctx.claims(&terminated, watch) {
            return skip();
        }
        handle_told(context, terminated, Headers::default(), ())
    }

    fn message_type(&self) -> &'static str {
        Terminated::type_name()
    }

    fn describe(&self) -> Option<String> {
        self.terminated.describe()
    }
}
