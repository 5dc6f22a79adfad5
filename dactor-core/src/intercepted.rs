//! One message on its way through the inbound interceptors to its handler.

use std::any::{Any, type_name};
use std::future::{Future, poll_fn, ready};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;

use crate::end::{End, Sequel};
use crate::envelope::{Handled, Running, Scene, unwanted};
use crate::handling::start;
use crate::interceptor::{About, Delivery, Inbound, Mode, Next};
use crate::mailbox::Ending;
use crate::owed::{Owed, Told};
use crate::panic::{Contained, Panic, contain, discard};
use crate::pipeline::{Passage, receive};
use crate::reply::Asker;
use crate::shared::Shared;
use crate::turn::{Entered, Until};
use crate::{Actor, Context, Deadline, Error, ErrorKind, Handler, Headers, Message, Result, Sender};

/// Asks the interceptors, and starts the handler if they let the message pass.
///
/// Most want neither a delay nor a scope: then the handler runs as without interceptors, where it was made.
#[inline(never)]
pub(crate) fn intercept<'a, A: Handler<M>, M: Message, O: Owed<M::Reply> + 'a>(
    scene: Scene<'a, A>,
    chain: &'a [Arc<dyn Inbound>],
    message: M,
    mut headers: Headers,
    mode: Mode,
    mut owed: O,
) -> Running<'a> {
    let Scene { actor, ctx, target, behind, .. } = scene;
    let sender = headers.get::<Sender>().map(|Sender(pid)| *pid);
    let about = About { target, message: type_name::<M>(), mode, sender, behind, headers: Headers::NONE };
    // An interceptor is the actor's code, like the handler.
    let _entered = Entered::new(target.head.pid);
    owed.hold();
    let mut seen = 0;
    let delivery = &mut Delivery { about, headers: &mut headers, message: &message };
    let received = receive(chain, delivery, &mut seen);
    let passage = Passage::new(&chain[..seen], about, headers);
    match received {
        Ok(way) if way.is_clear() => {
            let mut watched = Watched { passage, owed, target };
            watched.begin::<_, M::Reply>(ctx);
            start(actor, ctx, message, watched)
        }
        Ok(way) => {
            let watched = Watched { passage, owed, target };
            let detour = Contained::new(detour(actor, ctx, message, watched, way.delay));
            Running::from_or_box(detour.map(|handled| handled.unwrap_or_else(Handled::Panicked)))
        }
        Err(error) => {
            let mut watched = Watched { passage, owed, target };
            let refused = contain(|| watched.refuse(message, error));
            Running::from_or_box(ready(refused.unwrap_or_else(Handled::Panicked)))
        }
    }
}

/// A message whose end its interceptors see before its asker does, also when it is dropped: in this order.
struct Watched<'a, A: Actor, O> {
    passage: Passage<'a>,
    owed: O,
    target: &'a Shared<A>,
}

impl<A: Actor, O> Watched<'_, A, O> {
    /// The handler has the message from here on.
    fn begin<B: Actor, R>(&mut self, ctx: &mut Context<B>)
    where
        O: Owed<R>,
    {
        ctx.begin(self.passage.headers().clone(), self.owed.asker());
        self.passage.begin();
        self.owed.begin();
    }

    /// Tells the interceptors. The error of one that panics there takes the place of a reply.
    fn complete<R: Send + 'static>(&mut self, end: Result<&End<R>, &Error>) -> Option<Error>
    where
        O: Owed<R>,
    {
        let Self { passage, owed, target } = self;
        let message = passage.message_type();
        let named = |kind| target.error(kind, message);
        let error = match end {
            Ok(End::Returned(Ok(_))) => None,
            Ok(End::Returned(Err(failure))) if failure.is_promise() => None,
            Ok(End::Returned(Err(failure))) => {
                Some(named(ErrorKind::Failed).because_shared(failure.shared()))
            }
            Ok(End::Panicked(panic)) => Some(named(ErrorKind::Panicked).because(panic.clone())),
            Ok(End::Aborted) => Some(named(ErrorKind::Cancelled)),
            Err(error) => Some(error.clone()),
        };
        let outcome = match (end, &error) {
            (_, Some(error)) => Err(error),
            (Ok(End::Returned(Ok(reply))), None) => Ok(Some(reply as &(dyn Any + Send))),
            _ => Ok(None),
        };
        let mut headers = Headers::default();
        if let Some(asker) = owed.waiting() {
            asker.change_headers(&mut |set| headers = set.clone());
        }
        let completed = passage.complete(outcome, &mut headers);
        if let Some(asker) = owed.waiting() {
            asker.change_headers(&mut |set| set.merge(&headers));
        }
        owed.release();
        completed.err().filter(|_| error.is_none())
    }

    /// Ends a message that is not handled: it may want to be seen as a dead letter.
    fn refuse<M: Message>(&mut self, message: M, error: Error) -> Handled
    where
        O: Owed<M::Reply>,
    {
        let text = contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")));
        discard(message);
        self.complete::<M::Reply>(Err(&error));
        self.deny(error, text)
    }

    /// Ends a message whose asker gave up before its handler began: a withdrawn ask is no dead letter.
    fn withdraw<M: Message>(&mut self, message: M, error: &Error) -> Handled
    where
        O: Owed<M::Reply>,
    {
        discard(message);
        self.complete::<M::Reply>(Err(error));
        // The asker of a cancelled ask, or of a late one, may not have looked yet.
        self.owed.give(Err(error.clone()));
        Handled::Done
    }

    /// Answers with an error that is not of the handler's.
    fn deny<R>(&mut self, error: Error, text: Option<String>) -> Handled
    where
        O: Owed<R>,
    {
        if self.owed.give(Err(error.clone())) != Told::Somebody {
            let events = self.target.head.system.events();
            events.bury(self.target, self.passage.message_type(), &error, || text);
        }
        Handled::Done
    }
}

impl<A: Actor, R: Send + 'static, O: Owed<R>> Sequel<R> for Watched<'_, A, O> {
    type Owed = O;

    fn owed(&mut self) -> &mut O {
        &mut self.owed
    }

    fn conclude(&mut self, end: End<R>) -> Handled {
        match self.complete(Ok(&end)) {
            None => end.settle(&mut self.owed),
            Some(error) => {
                discard(end);
                self.deny(error, None)
            }
        }
    }
}

/// The long way: after a delay, or through scopes.
async fn detour<A: Handler<M>, M: Message, O: Owed<M::Reply>>(
    actor: &mut A,
    ctx: &mut Context<A>,
    message: M,
    mut watched: Watched<'_, A, O>,
    delay: Duration,
) -> Handled {
    let (target, asker) = (watched.target, watched.owed.waiting());
    let mut unhandled = Unhandled { message: Some(message), target, is_told: asker.is_none() };
    let admitted = wait(target, delay, asker, type_name::<M>()).await;
    let Some(message) = unhandled.message.take() else { unreachable!("it is taken once") };
    match admitted {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Stopped => return watched.refuse(message, error),
        Err(error) => return watched.withdraw(message, &error),
    }
    watched.begin::<_, M::Reply>(ctx);
    match run(&watched.passage, actor, ctx, message, &mut watched.owed).await {
        Ok(end) => contain(|| watched.conclude(end))
            .unwrap_or_else(|panic| Sequel::<M::Reply>::panicked(&mut watched, panic)),
        Err(error) => {
            watched.complete(Err(&error));
            watched.deny(error, None)
        }
    }
}

/// Runs the handler inside the scopes of the interceptors. An error when they did not let it return.
async fn run<A: Handler<M>, M: Message>(
    passage: &Passage<'_>,
    actor: &mut A,
    ctx: &mut Context<A>,
    message: M,
    owed: &mut impl Owed<M::Reply>,
) -> Result<End<M::Reply>> {
    let mut returned = None;
    let about = passage.about();
    let handler: Next<'_> = Box::pin(async {
        let handled = AssertUnwindSafe(async { actor.handle(message, ctx).await }).catch_unwind().await;
        returned = Some(handled);
    });
    let mut scopes = Some(passage.around(&about, handler)?);
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
        (Some(Err(payload)), ..) => Ok(End::Panicked(Panic::new(payload))),
        (_, _, Err(panic)) => Ok(End::Panicked(panic)),
        (Some(Ok(Err(failure))), ..) if !failure.is_promise() => Ok(End::Returned(Err(failure))),
        (_, Left::Panicking(panic), _) => Err(passage.cut(Some(panic))),
        (Some(Ok(outcome)), ..) => Ok(End::Returned(outcome)),
        (None, Left::Aborted, _) => Ok(End::Aborted),
        (None, Left::AtTheirEnd, _) => Err(passage.cut(None)),
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

/// Waits, holding up the actor's later messages. An error as soon as the actor is to stop, or the asker gives up or its
/// deadline passes: a message that is not wanted any more holds nothing up.
async fn wait<A: Actor>(
    target: &Shared<A>,
    delay: Duration,
    asker: Option<&dyn Asker>,
    message: &'static str,
) -> Result<()> {
    if delay.is_zero() {
        return Ok(());
    }
    let left = asker.and_then(Asker::deadline).map(|deadline| Deadline(deadline).remaining());
    let mut sleep = pin!(tokio::time::sleep(left.map_or(delay, |left| left.min(delay))));
    let mut gone = pin!(asker.map(|asker| asker.gone().cancelled_owned()));
    // Whoever polls an actor's code polls it again when a signal comes.
    poll_fn(|cx| {
        if target.mailbox.ending() >= Ending::Stop {
            return Poll::Ready(Err(target.stopped(message)));
        }
        // What it means is looked at below.
        if gone.as_mut().as_pin_mut().is_some_and(|gone| gone.poll(cx).is_ready()) {
            return Poll::Ready(Ok(()));
        }
        sleep.as_mut().poll(cx).map(Ok)
    })
    .await?;
    asker.and_then(|asker| unwanted(asker, target, message)).map_or(Ok(()), |error| Err(error.unhandled()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptors::testbed::system;
    use crate::{Around, Later, Outcome};

    /// Keeps the replies that it owes.
    #[derive(Default)]
    struct Debtor(Vec<Later<u64>>);
    impl Actor for Debtor {}

    struct Owe;
    impl Message for Owe {
        type Reply = u64;
    }

    impl Handler<Owe> for Debtor {
        async fn handle(&mut self, Owe: Owe, ctx: &mut Context<Self>) -> Outcome<u64> {
            let (later, promised) = ctx.reply_later::<Owe>();
            self.0.push(later);
            promised
        }
    }

    struct Breaks;
    impl Inbound for Breaks {
        fn scope(&self) -> Option<&dyn Around> {
            Some(self)
        }
    }
    impl Around for Breaks {
        fn around<'a>(&'a self, _: &'a About<'a>, next: Next<'a>) -> Next<'a> {
            Box::pin(async move {
                next.await;
                panic!("after the promise");
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_promise_does_not_hide_that_a_scope_panicked() {
        let debtor = system(|builder| builder).spawn(Debtor::default()).inbound(Breaks).await.unwrap();
        let error = debtor.ask(Owe).timeout(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InterceptorPanicked);
    }
}
