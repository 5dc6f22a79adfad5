use std::sync::Arc;

use crate::delivery::access::Handles;
use crate::delivery::ask_state::{AskState, Sink};
use crate::delivery::envelope::dispatch::{DispatchContext, Running};
use crate::delivery::envelope::{Annotated, Envelope, Tell};
use crate::delivery::handler::handle_told;
use crate::delivery::incoming::Incoming;
use crate::{Actor, Headers, Message};

/// `M: SentTo<A>` holds when `A` handles `M`. Blanket-implemented; do not implement it yourself.
///
/// It exists for the compiler's sake: a bound `A: Handles<M>` on the sending methods would be reported as a type
/// mismatch when the actor has exactly one handler; through this trait the missing handler is reported by name.
#[diagnostic::on_unimplemented(
    message = "the actor `{A}` does not handle the message `{Self}`",
    label = "no `Handler<{Self}>` for `{A}`",
    note = "write `impl Handler<{Self}> for {A} {{ async fn handle(&mut self, message: {Self}, ctx: &mut Context<Self>) -> Outcome<..> {{ .. }} }}`",
    note = "and `#[derive(Message)]` on `{Self}` if it is not a message yet"
)]
pub trait SentTo<A: Actor>: Message + sealed::Sealed<A> {
    #[doc(hidden)]
    fn into_tell(self, headers: Headers) -> Envelope<A>;
    #[doc(hidden)]
    fn take_back(envelope: Envelope<A>) -> Option<Self>
    where
        Self: Sized;
    #[doc(hidden)]
    fn into_ask(ask: Arc<AskState<Self>>) -> Envelope<A>
    where
        Self: Sized;
    #[doc(hidden)]
    fn into_incoming(ask: Arc<Incoming<Self>>) -> Envelope<A>
    where
        Self: Sized;
    #[doc(hidden)]
    fn into_forward(self, headers: Headers, asker: Arc<dyn Sink<Self::Reply>>) -> Envelope<A>
    where
        Self: Sized;
    /// Handles the message as a told one. The receipt is dropped when it has been handled.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "only this crate creates a context")]
    fn handle_told<'a>(self, context: DispatchContext<'a, A>, receipt: impl Send + 'a) -> Running<'a>;
}

impl<A: Handles<M>, M: Message> SentTo<A> for M {
    fn into_tell(self, headers: Headers) -> Envelope<A> {
        Envelope::tell(self, headers)
    }

    fn take_back(envelope: Envelope<A>) -> Option<Self> {
        match envelope.into_message()?.downcast::<Tell<M>>() {
            Ok(tell) => Some(tell.0),
            Err(other) => other.downcast::<Annotated<M>>().ok().map(|annotated| annotated.message),
        }
    }

    fn into_ask(ask: Arc<AskState<M>>) -> Envelope<A> {
        Envelope::ask(ask)
    }

    fn into_incoming(ask: Arc<Incoming<M>>) -> Envelope<A> {
        Envelope::incoming(ask)
    }

    fn into_forward(self, headers: Headers, asker: Arc<dyn Sink<M::Reply>>) -> Envelope<A> {
        Envelope::forward(self, headers, asker)
    }

    #[expect(private_interfaces, reason = "only this crate creates a context")]
    fn handle_told<'a>(self, context: DispatchContext<'a, A>, receipt: impl Send + 'a) -> Running<'a> {
        handle_told(context, self, Headers::default(), receipt)
    }
}

mod sealed {
    use crate::delivery::access::Handles;
    use crate::{Actor, Message};

    pub trait Sealed<A: Actor> {}
    impl<A: Handles<M>, M: Message> Sealed<A> for M {}
}
