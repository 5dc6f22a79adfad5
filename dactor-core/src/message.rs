use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::envelope::{Annotated, Envelope, Tell};
use crate::reply::{Reply, Sink};
use crate::{Actor, Handler, Headers, Priority};

/// Something that can be sent to an actor.
///
/// Derive it (`#[derive(Message)] #[message(reply = u64)]`) or write the two lines by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "write `#[derive(Message)]` on `{Self}`, and `#[message(reply = Type)]` if it is answered"
)]
pub trait Message: Send + 'static {
    /// What the handler answers; `()` for a message that only tells.
    type Reply: Send + 'static;

    /// The lane it travels in; `#[message(priority = High)]` on the derive sets it.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether an asker who gives up, by dropping the ask, by its timeout or by cancelling, takes the running handler
    /// along: it is dropped at its await. Otherwise it finishes, and may look at
    /// [`Context::cancelled`](crate::Context::cancelled). `#[message(abort)]` on the derive sets it.
    const ABORT: bool = false;

    /// The message as a text for dead letters; nothing unless it opts in, because messages may hold secrets.
    /// `#[message(debug)]` on the derive gives its `Debug` text.
    fn describe(&self) -> Option<String> {
        None
    }
}

/// `M: SentTo<A>` holds when `A` handles `M`. It is implemented for you; never implement it yourself.
///
/// It exists for the compiler's sake: a bound `A: Handler<M>` on the sending methods would be reported as a type
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
    fn into_ask(reply: Arc<Reply<Self>>) -> Envelope<A>
    where
        Self: Sized;
    #[doc(hidden)]
    fn into_forward(self, headers: Headers, asker: Arc<dyn Sink<Self::Reply>>) -> Envelope<A>
    where
        Self: Sized;
    #[doc(hidden)]
    fn into_item(self, link: CancellationToken, receipt: oneshot::Sender<()>) -> Envelope<A>;
}

impl<A: Handler<M>, M: Message> SentTo<A> for M {
    fn into_tell(self, headers: Headers) -> Envelope<A> {
        Envelope::tell(self, headers)
    }

    fn take_back(envelope: Envelope<A>) -> Option<Self> {
        match envelope.into_message()?.downcast::<Tell<M>>() {
            Ok(tell) => Some(tell.0),
            Err(other) => other.downcast::<Annotated<M>>().ok().map(|annotated| annotated.message),
        }
    }

    fn into_ask(reply: Arc<Reply<M>>) -> Envelope<A> {
        Envelope::ask(reply)
    }

    fn into_forward(self, headers: Headers, asker: Arc<dyn Sink<M::Reply>>) -> Envelope<A> {
        Envelope::forward(self, headers, asker)
    }

    fn into_item(self, link: CancellationToken, receipt: oneshot::Sender<()>) -> Envelope<A> {
        Envelope::item(self, link, receipt)
    }
}

mod sealed {
    use crate::{Actor, Handler, Message};

    pub trait Sealed<A: Actor> {}
    impl<A: Handler<M>, M: Message> Sealed<A> for M {}
}
