//! One message on its way through the inbound interceptors to its handler.

use std::any::{Any, type_name};
use std::future::{Future, poll_fn};
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;

use crate::envelope::{Handled, Scene, unwanted};
use crate::handling::finish;
use crate::interceptor::{About, Inbound, Mode, Next};
use crate::mailbox::Ending;
use crate::owed::{Owed, Told};
use crate::panic::{Panic, contain, discard};
use crate::pipeline::Passage;
use crate::reply::Asker;
use crate::shared::Shared;
use crate::turn::Until;
use crate::{Actor, Context, Error, ErrorKind, Handler, Headers, Message, Outcome, Result, Sender};

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
    let mut held = Held::new(owed.asker());
    let mut passage = Passage::new(chain, about, headers);
    let mut unhandled = Unhandled { message: Some(message), target, is_told: mode == Mode::Tell };
    let judged = passage.receive(unhandled.get());
    let admitted = match judged {
        Ok(delay) => wait(target, delay, held.asker.as_deref(), about.message).await,
        Err(error) => Err(error),
    };
    let mut text = None;
    let end = match (admitted, unhandled.message.take()) {
        (Ok(()), Some(message)) => {
            ctx.begin(passage.headers().clone(), held.asker.clone());
            run(&passage, actor, ctx, message, &mut owed).await
        }
        (refused, message) => {
            // The message is not handled: it may want to be seen as a dead letter.
            text = message.as_ref().and_then(contained_text);
            discard(message);
            End::Refused(refused.err().unwrap_or_else(|| target.stopped(about.message)))
        }
    };
    let end = complete(&mut passage, end, target, &mut held);
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
    contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")))
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
    let scopes = match passage.around(&about, handler) {
        Ok(scopes) => scopes,
        Err(error) => return End::Refused(error),
    };
    let mut scopes = Some(scopes);
    let left = poll_fn(|cx| {
        let Some(scopes) = &mut scopes else { unreachable!("they are there until they are left") };
        let until = owed.deadline().map(Until::enter);
        let polled = contain(|| scopes.as_mut().poll(cx));
        drop(until);
        match polled {
            Ok(Poll::Ready(())) => Poll::Ready(Left::AtTheirEnd),
            Err(panic) => Poll::Ready(Left::Panicking(panic)),
            Ok(Poll::Pending) if owed.is_aborted(cx) => Poll::Ready(Left::Aborted),
            Ok(Poll::Pending) => Poll::Pending,
        }
    })
    .await;
    // What an aborted handler leaves behind is dropped here, and may panic.
    let dropped = contain(|| drop(scopes));
    match (returned, left, dropped) {
        // How the handler itself ended comes before what a scope made of it.
        (Some(Err(payload)), ..) => End::Panicked(Panic::new(payload)),
        (_, _, Err(panic)) => End::Panicked(panic),
        (Some(Ok(Err(failure))), ..) if !failure.is_promise() => End::Returned(Err(failure)),
        (_, Left::Panicking(panic), _) => End::Refused(passage.cut(Some(panic))),
        (Some(Ok(outcome)), ..) => End::Returned(outcome),
        (None, Left::Aborted, _) => End::Aborted,
        (None, Left::AtTheirEnd, _) => End::Refused(passage.cut(None)),
    }
}

/// How the scopes around a handler were left.
enum Left {
    AtTheirEnd,
    Panicking(Panic),
    /// The asker has given up.
    Aborted,
}

/// A message that no handler has yet. Dropped on the way, because the actor was killed, it is a dead letter; an asker is
/// told anyway.
struct Unhandled<'a, A: Actor, M: Message> {
    message: Option<M>,
    target: &'a Shared<A>,
    is_told: bool,
}

impl<A: Actor, M: Message> Unhandled<'_, A, M> {
    fn get(&self) -> &(dyn Any + Send) {
        match &self.message {
            Some(message) => message,
            None => unreachable!("it is taken once"),
        }
    }
}

impl<A: Actor, M: Message> Drop for Unhandled<'_, A, M> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            if self.is_told {
                let error = self.target.stopped(type_name::<M>());
                let events = self.target.head.system.events();
                events.bury(self.target, type_name::<M>(), &error, || message.describe());
            }
            discard(message);
        }
    }
}

/// Tells the interceptors. One that panics there is an error of the message: it takes the place of a reply.
fn complete<A: Actor, R: Send + 'static>(
    passage: &mut Passage<'_>,
    end: End<R>,
    target: &Shared<A>,
    held: &mut Held,
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
    if let Some(asker) = &held.asker {
        asker.change_headers(&mut |set| headers = set.clone());
    }
    let completed = passage.complete(outcome, &mut headers);
    if let Some(asker) = &held.asker {
        asker.change_headers(&mut |set| set.merge(&headers));
    }
    held.release();
    match (end, completed) {
        (End::Returned(Ok(_)), Err(panicked)) => End::Refused(panicked),
        (End::Returned(Err(failure)), Err(panicked)) if failure.is_promise() => End::Refused(panicked),
        (end, _) => end,
    }
}

/// An asker who is answered only after the interceptors have seen the end, also when somebody else answers.
struct Held {
    asker: Option<Arc<dyn Asker>>,
    released: bool,
}

impl Held {
    fn new(asker: Option<Arc<dyn Asker>>) -> Self {
        asker.iter().for_each(|asker| asker.hold());
        Self { asker, released: false }
    }

    fn release(&mut self) {
        if !mem::replace(&mut self.released, true) {
            self.asker.iter().for_each(|asker| asker.release());
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

/// Waits, holding up the actor's later messages. An error when the actor is to stop meanwhile, or the answer is not
/// wanted any more.
async fn wait<A: Actor>(
    target: &Shared<A>,
    delay: Duration,
    asker: Option<&dyn Asker>,
    message: &'static str,
) -> Result<()> {
    if delay.is_zero() {
        return Ok(());
    }
    let mut sleep = pin!(tokio::time::sleep(delay));
    // Whoever polls an actor's code polls it again when a signal comes.
    poll_fn(|cx| {
        if target.mailbox.ending() >= Ending::Stop {
            return Poll::Ready(Err(target.stopped(message)));
        }
        sleep.as_mut().poll(cx).map(Ok)
    })
    .await?;
    asker.and_then(|asker| unwanted(asker, target, message)).map_or(Ok(()), Err)
}
