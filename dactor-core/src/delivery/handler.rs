//! One message in its handler.

use std::any::type_name;
use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use crate::base::current::Until;
use crate::base::panic::{Panic, contain};
use crate::delivery::access::Handles;
use crate::delivery::completion::Handled;
use crate::delivery::completion::{Continuation, DirectReply, End};
use crate::delivery::envelope::dispatch::{DispatchContext, Running};
use crate::delivery::intercepted::intercept;
use crate::delivery::obligation::{NoObligation, ReplyObligation};
use crate::message::mode::Mode;
use crate::{Context, Headers, Message, Outcome};

/// Takes one message to its handler.
///
/// Inlined, so that the running handler is made where it stays: it is large, and moving it is what a tell would cost.
#[inline(always)]
pub(crate) fn handle<'a, A: Handles<M>, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    context: DispatchContext<'a, A>,
    message: M,
    headers: Headers,
    mode: Mode,
    mut obligation: O,
) -> Running<'a> {
    if let Some(chain) = context.inbound {
        return intercept(context, chain, message, headers, mode, obligation);
    }
    let DispatchContext { actor, ctx, .. } = context;
    ctx.begin(headers, obligation.asker());
    obligation.begin();
    start(actor, ctx, message, DirectReply(obligation))
}

/// The same for a message that was told. The receipt is dropped when the message has been handled.
#[inline(always)]
pub(crate) fn handle_told<'a, A: Handles<M>, M: Message, D: Send + 'a>(
    context: DispatchContext<'a, A>,
    message: M,
    headers: Headers,
    receipt: D,
) -> Running<'a> {
    handle(context, message, headers, Mode::Tell, NoObligation(receipt))
}

/// Starts the handler.
#[inline(always)]
pub(crate) fn start<'a, A: Handles<M>, M: Message>(
    actor: &'a mut A,
    ctx: &'a mut Context<A>,
    message: M,
    mut continuation: impl Continuation<M::Reply> + 'a,
) -> Running<'a> {
    match catch_unwind(AssertUnwindSafe(|| actor.accept(message, ctx))) {
        Ok(handling) => Running::from_or_box(Handling { handling: Some(handling), continuation }),
        Err(payload) => Running::from_or_box(ready(continuation.panicked(Panic::new(payload)))),
    }
}

pin_project! {
    /// Runs the handler, and then what follows: all of it under one guard.
    struct Handling<F, S> {
        // Until it has ended, or the asker gives up and takes it along.
        #[pin]
        handling: Option<F>,
        continuation: S,
    }

    impl<F, S> PinnedDrop for Handling<F, S> {
        // A handler that is killed drops what it holds here.
        fn drop(this: Pin<&mut Self>) {
            let mut handling = this.project().handling;
            if handling.is_some()
                && let Err(panic) = contain(|| handling.set(None))
            {
                tracing::warn!(of = type_name::<F>(), %panic, "a killed handler panicked while it was dropped");
            }
        }
    }
}

impl<F: Future<Output = Outcome<R>>, R, S: Continuation<R>> Future for Handling<F, S> {
    type Output = Handled;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Handled> {
        let mut this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(handling) = this.handling.as_mut().as_pin_mut() else {
                unreachable!("a handler is polled to its end once")
            };
            let until = this.continuation.obligation().deadline().map(Until::enter);
            let polled = handling.poll(cx);
            drop(until);
            let end = match polled {
                Poll::Ready(outcome) => End::Returned(outcome),
                // Whoever asked does not want it any more, and neither does the message.
                Poll::Pending if this.continuation.obligation().is_aborted(cx) => End::Aborted,
                Poll::Pending => return Poll::Pending,
            };
            // Before the answer: a future that panics in its destructor has panicked.
            this.handling.set(None);
            Poll::Ready(this.continuation.conclude(end))
        }));
        polled.unwrap_or_else(|payload| Poll::Ready(this.continuation.panicked(Panic::new(payload))))
    }
}
