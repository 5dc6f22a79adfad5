//! One message on its way through the inbound interceptors to its handler.

use std::any::{Any, type_name};
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;

use crate::envelope::{Handled, Scene};
use crate::handling::finish;
use crate::interceptor::{About, Inbound, Mode, Next};
use crate::mailbox::Ending;
use crate::owed::{Owed, Told};
use crate::panic::{Panic, discard};
use crate::pipeline::Passage;
use crate::reply::Asker;
use crate::shared::Shared;
use crate::turn::Until;
use crate::{Actor, Context, Error, ErrorKind, Handler, Headers, Message, Outcome, Sender};

/// How it ended, before anyone is told.
enum End<R> {
    Returned(Outcome<R>),
    Panicked(Panic),
    /// By an interceptor, or by the end of the actor: the handler did not return.
    Refused(Error),
    /// The asker has given up, and the handler with it.
    Aborted,
}

/// Runs the interceptors and the handler. The owed answer is dropped last: an asker hears after `on_complete`, also
/// when the whole future is dropped.
pub(crate) async fn intercepted<A: Handler<M>, M: Message, O: Owed<M::Reply>>(
    scene: Scene<'_, A>,
    chain: &[Arc<dyn Inbound>],
    message: M,
    headers: Headers,
    mode: Mode,
    mut owed: O,
) -> Handled {
    let Scene { actor, ctx, target, behind, .. } = scene;
    let sender = headers.get::<Sender>().map(|Sender(pid)| *pid);
    let about = About { target, message: type_name::<M>(), mode, sender, behind, headers: Headers::NONE };
    let held = Held::new(owed.asker());
    let mut passage = Passage::new(chain, about, headers);
    let mut text = None;
    let end = match passage.receive(&message) {
        Ok(delay) if wait(target, delay).await => {
            ctx.begin(passage.headers().clone(), held.0.clone());
            run(&passage, actor, ctx, message, &mut owed).await
        }
        refused => {
            // The message is not handled: it may want to be seen as a dead letter.
            text = contained_text(&message);
            discard(message);
            End::Refused(match refused {
                Err(error) => error,
                Ok(_) => target.stopped(about.message),
            })
        }
    };
    let end = complete(&mut passage, end, target, &held);
    match end {
        End::Returned(outcome) => finish(&mut owed, outcome),
        End::Panicked(panic) => {
            owed.panicked(&panic);
            Handled::Panicked(panic)
        }
        End::Aborted => Handled::Done,
        End::Refused(error) => {
            if owed.give(Err(error.clone())) != Told::Somebody {
                target.head.system.events().bury(target, about.message, &error, || text);
            }
            Handled::Done
        }
    }
}

fn contained_text<M: Message>(message: &M) -> Option<String> {
    crate::panic::contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")))
}

/// Runs the handler inside the scopes of the interceptors.
async fn run<A: Handler<M>, M: Message>(
    passage: &Passage<'_>,
    actor: &mut A,
    ctx: &mut Context<A>,
    message: M,
    owed: &mut impl Owed<M::Reply>,
) -> End<M::Reply> {
    let mut returned = None;
    let about = passage.about();
    let handler: Next<'_> = Box::pin(async {
        let handled = AssertUnwindSafe(async { actor.handle(message, ctx).await }).catch_unwind().await;
        returned = Some(handled);
    });
    let cut = {
        let scopes = match passage.around(&about, handler) {
            Ok(scopes) => scopes,
            Err(error) => return End::Refused(error),
        };
        let mut scopes = pin!(AssertUnwindSafe(scopes).catch_unwind());
        poll_fn(|cx| {
            let until = owed.deadline().map(Until::enter);
            let polled = scopes.as_mut().poll(cx);
            drop(until);
            match polled {
                Poll::Ready(Ok(())) => Poll::Ready(Some(None)),
                Poll::Ready(Err(payload)) => Poll::Ready(Some(Some(Panic::new(payload)))),
                Poll::Pending if owed.is_aborted(cx) => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    };
    match (returned, cut) {
        (_, None) => End::Aborted,
        (Some(Ok(outcome)), Some(None)) => End::Returned(outcome),
        (Some(Err(payload)), Some(None)) => End::Panicked(Panic::new(payload)),
        (_, Some(panic)) => End::Refused(passage.cut(panic)),
    }
}

/// Tells the interceptors. One that panics there is an error of the message: it takes the place of a reply.
fn complete<A: Actor, R: Send + 'static>(
    passage: &mut Passage<'_>,
    end: End<R>,
    target: &Shared<A>,
    held: &Held,
) -> End<R> {
    let message = passage.message_type();
    let named = |kind| target.error(kind, message);
    let error = match &end {
        End::Returned(Ok(_)) => None,
        End::Returned(Err(failure)) if failure.is_promise() => None,
        End::Returned(Err(failure)) => Some(named(ErrorKind::Failed).because_shared(failure.shared())),
        End::Panicked(panic) => Some(named(ErrorKind::Panicked).because(panic.clone())),
        End::Refused(error) => Some(error.clone()),
        End::Aborted => Some(named(ErrorKind::Cancelled)),
    };
    let outcome = match (&end, &error) {
        (_, Some(error)) => Err(error),
        (End::Returned(Ok(reply)), None) => Ok(Some(reply as &(dyn Any + Send))),
        _ => Ok(None),
    };
    let mut headers = Headers::default();
    if let Some(asker) = &held.0 {
        asker.change_headers(&mut |set| headers = set.clone());
    }
    let completed = passage.complete(outcome, &mut headers);
    if let Some(asker) = &held.0 {
        asker.change_headers(&mut |set| *set = headers.clone());
        asker.release();
    }
    match (end, completed) {
        (End::Returned(Ok(_)), Err(panicked)) => End::Refused(panicked),
        (end, _) => end,
    }
}

/// An asker who is answered only after the interceptors have seen the end, also when somebody else answers.
struct Held(Option<Arc<dyn Asker>>);

impl Held {
    fn new(asker: Option<Arc<dyn Asker>>) -> Self {
        asker.iter().for_each(|asker| asker.hold());
        Self(asker)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.iter().for_each(|asker| asker.release());
    }
}

/// Waits, holding up the actor's later messages. `false` when the actor is to stop meanwhile.
async fn wait<A: Actor>(target: &Shared<A>, delay: Duration) -> bool {
    if delay.is_zero() {
        return true;
    }
    let mut sleep = pin!(tokio::time::sleep(delay));
    // Whoever polls an actor's code polls it again when a signal comes.
    poll_fn(|cx| {
        if target.mailbox.ending() >= Ending::Stop {
            return Poll::Ready(false);
        }
        sleep.as_mut().poll(cx).map(|()| true)
    })
    .await
}
