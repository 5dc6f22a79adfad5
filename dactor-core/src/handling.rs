//! One message in its handler.

use std::any::type_name;
use std::future::{Future, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use crate::end::{End, Plainly, Sequel};
use crate::envelope::{Handled, Running, Scene};
use crate::intercepted::intercept;
use crate::interceptor::Mode;
use crate::owed::Owed;
use crate::panic::{Panic, contain};
use crate::turn::Until;
use crate::{Context, Handler, Headers, Message, Outcome};

/// Takes one message to its handler.
///
/// Inlined, so that the running handler is made where it stays: it is large, and moving it is what a tell would cost.
#[inline(always)]
pub(crate) fn handle<'a, A: Handler<M>, M: Message, O: Owed<M::Reply> + 'a>(
    scene: Scene<'a, A>,
    message: M,
    headers: Headers,
    mode: Mode,
    mut owed: O,
) -> Running<'a> {
    if let Some(chain) = scene.inbound {
        return intercept(scene, chain, message, headers, mode, owed);
    }
    let Scene { actor, ctx, .. } = scene;
    ctx.begin(headers, owed.asker());
    owed.begin();
    start(actor, ctx, message, Plainly(owed))
}

/// Starts the handler.
#[inline(always)]
pub(crate) fn start<'a, A: Handler<M>, M: Message>(
    actor: &'a mut A,
    ctx: &'a mut Context<A>,
    message: M,
    mut sequel: impl Sequel<M::Reply> + 'a,
) -> Running<'a> {
    match catch_unwind(AssertUnwindSafe(|| actor.handle(message, ctx))) {
        Ok(handling) => Running::from_or_box(Handling { handling: Some(handling), sequel }),
        Err(payload) => Running::from_or_box(ready(sequel.panicked(Panic::new(payload)))),
    }
}

pin_project! {
    /// Runs the handler, and then what follows: all of it under one guard.
    struct Handling<F, S> {
        // Until it has ended, or the asker gives up and takes it along.
        #[pin]
        handling: Option<F>,
        sequel: S,
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

impl<F: Future<Output = Outcome<R>>, R, S: Sequel<R>> Future for Handling<F, S> {
    type Output = Handled;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Handled> {
        let mut this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(handling) = this.handling.as_mut().as_pin_mut() else {
                unreachable!("a handler is polled to its end once")
            };
            let until = this.sequel.owed().deadline().map(Until::enter);
            let polled = handling.poll(cx);
            drop(until);
            let end = match polled {
                Poll::Ready(outcome) => End::Returned(outcome),
                // Whoever asked does not want it any more, and neither does the message.
                Poll::Pending if this.sequel.owed().is_aborted(cx) => End::Aborted,
                Poll::Pending => return Poll::Pending,
            };
            // Before the answer: a future that panics in its destructor has panicked.
            this.handling.set(None);
            Poll::Ready(this.sequel.conclude(end))
        }));
        polled.unwrap_or_else(|payload| Poll::Ready(this.sequel.panicked(Panic::new(payload))))
    }
}
