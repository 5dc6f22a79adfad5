//! One message in its handler.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use pin_project_lite::pin_project;

use crate::envelope::{Handled, Running, Scene};
use crate::intercepted::intercepted;
use crate::interceptor::{Inbound, Mode};
use crate::owed::{Owed, Told};
use crate::panic::{Panic, contain};
use crate::turn::Until;
use crate::{Handler, Headers, Message, Outcome};

/// Starts the handler for one message.
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
        return handle_intercepted(scene, chain, message, headers, mode, owed);
    }
    let Scene { actor, ctx, .. } = scene;
    ctx.begin(headers, owed.asker());
    match catch_unwind(AssertUnwindSafe(|| actor.handle(message, ctx))) {
        Ok(handling) => Running::from_or_box(Handling { handling: Some(handling), owed }),
        Err(payload) => Running::from_or_box(std::future::ready(panicked(&mut owed, payload))),
    }
}

#[inline(never)]
fn handle_intercepted<'a, A: Handler<M>, M: Message, O: Owed<M::Reply> + 'a>(
    scene: Scene<'a, A>,
    chain: &'a [Arc<dyn Inbound>],
    message: M,
    headers: Headers,
    mode: Mode,
    owed: O,
) -> Running<'a> {
    Running::from_or_box(intercepted(scene, chain, message, headers, mode, owed))
}

pin_project! {
    /// Runs the handler, and answers with its outcome.
    struct Handling<F, O> {
        // Until the asker gives up and takes it along.
        #[pin]
        handling: Option<F>,
        owed: O,
    }
}

impl<F: Future<Output = Outcome<R>>, R, O: Owed<R>> Future for Handling<F, O> {
    type Output = Handled;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Handled> {
        let mut this = self.project();
        let Some(handling) = this.handling.as_mut().as_pin_mut() else {
            unreachable!("a handler is polled to its end once")
        };
        let until = this.owed.deadline().map(Until::enter);
        let polled = catch_unwind(AssertUnwindSafe(|| handling.poll(cx)));
        drop(until);
        match polled {
            Ok(Poll::Ready(outcome)) => Poll::Ready(finish(this.owed, outcome)),
            // Whoever asked does not want it any more, and neither does the message.
            Ok(Poll::Pending) if this.owed.is_aborted(cx) => {
                Poll::Ready(match contain(|| this.handling.set(None)) {
                    Ok(()) => Handled::Done,
                    Err(panic) => Handled::Panicked(panic),
                })
            }
            Ok(Poll::Pending) => Poll::Pending,
            Err(payload) => Poll::Ready(panicked(this.owed, payload)),
        }
    }
}

/// Answers with what the handler returned.
pub(crate) fn finish<R>(owed: &mut impl Owed<R>, outcome: Outcome<R>) -> Handled {
    match outcome {
        Ok(reply) => match owed.give(Ok(reply)) {
            Told::Nobody => Handled::Unheard,
            Told::Somebody | Told::NotAsked => Handled::Done,
        },
        Err(failure) if failure.is_promise() => {
            owed.pass_on();
            Handled::Done
        }
        Err(failure) => {
            let told = owed.failed(&failure);
            Handled::Failed(failure, told)
        }
    }
}

fn panicked<R>(owed: &mut impl Owed<R>, payload: Box<dyn std::any::Any + Send>) -> Handled {
    let panic = Panic::new(payload);
    owed.panicked(&panic);
    Handled::Panicked(panic)
}
