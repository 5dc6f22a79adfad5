//! One message on its way through the inbound interceptors to its handler.

mod gated;

use std::any::Any;
use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;

use self::gated::run_gated;
use crate::base::current::{Entered, Until};
use crate::base::panic::{Contained, Panic, contain, discard};
use crate::delivery::ask_state::Asker;
use crate::delivery::completion::{Continuation, End, Handled, Incident, finished};
use crate::delivery::envelope::dispatch::{DispatchTarget, InboundChain, Running};
use crate::delivery::handler::{Callee, start};
use crate::delivery::obligation::{ReplyObligation, ReplyStatus};
use crate::interceptor::api::{About, Delivery, Next};
use crate::interceptor::chain::{InboundGuard, receive};
use crate::interceptor::items::ItemHooks;
use crate::mailbox::Ending;
use crate::message::mode::Mode;
use crate::{Deadline, Error, ErrorKind, Headers, Message, Result, Sender};

/// Runs the interceptors, and starts the handler if they admit the message.
///
/// Without a delay or a scope, the common case, the handler runs in place as without interceptors.
///
/// An actor with a lifecycle comes here, too, if it has no interceptors: so other actors pay nothing for it.
#[inline(never)]
pub(crate) fn intercept<'a, C: Callee<M> + 'a, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    callee: C,
    target: &'a dyn DispatchTarget,
    inbound: InboundChain<'a>,
    message: M,
    headers: Headers,
    mode: Mode,
    obligation: O,
) -> Running<'a> {
    match callee.gate() {
        None => run_interceptors(callee, target, inbound, message, headers, mode, obligation),
        Some(gate) => run_gated(callee, target, inbound, message, headers, mode, obligation, gate),
    }
}

fn run_interceptors<'a, C: Callee<M> + 'a, M: Message, O: ReplyObligation<M::Reply> + 'a>(
    mut callee: C,
    target: &'a dyn DispatchTarget,
    inbound: InboundChain<'a>,
    mut message: M,
    mut headers: Headers,
    mode: Mode,
    mut obligation: O,
) -> Running<'a> {
    let InboundChain { chain, behind } = inbound;
    let sender = headers.get::<Sender>().and_then(Sender::id);
    let about = About { target, message: M::type_name(), mode, sender, behind, headers: Headers::NONE };
    // An interceptor is the actor's code, like the handler.
    let _entered = Entered::new(target.pid());
    obligation.hold();
    let mut seen = 0;
    let delivery = &mut Delivery { about, headers: &mut headers, message: &message };
    let received = receive(chain, delivery, &mut seen);
    if M::MODE.is_stream() && received.is_ok() {
        callee.intercept_items(&mut message, &|target, direction| {
            let (chain, headers) = (chain.clone(), headers.clone());
            let message = M::type_name();
            Box::new(ItemHooks {
                chain,
                target,
                message,
                mode,
                sender,
                headers,
                direction,
                items: 0,
                open: false,
            })
        });
    }
    let guard = InboundGuard::new(&chain[..seen], about, headers);
    match received {
        Ok(admission) if admission.is_immediate() => {
            let mut intercepted = InterceptedReply { guard, obligation, target };
            intercepted.begin(&mut callee);
            start(callee, message, intercepted)
        }
        Ok(admission) => {
            let intercepted = InterceptedReply { guard, obligation, target };
            let running =
                Contained::new(run_delayed_or_scoped(callee, message, intercepted, admission.delay));
            Running::from_or_box(running.map(|handled| finished::<M>(handled.unwrap_or_else(panicked))))
        }
        Err(error) => {
            let mut intercepted = InterceptedReply { guard, obligation, target };
            let refused = contain(|| intercepted.refuse(message, error));
            Running::from_or_box(ready(finished::<M>(refused.unwrap_or_else(panicked))))
        }
    }
}

fn panicked(panic: Panic) -> Handled {
    Err(Incident::Panicked(panic))
}

/// The reply to an intercepted message: the interceptors see its end before the asker does, also on drop.
/// Field order is drop order.
struct InterceptedReply<'a, O> {
    guard: InboundGuard<'a>,
    obligation: O,
    target: &'a dyn DispatchTarget,
}

impl<O> InterceptedReply<'_, O> {
    /// The handler has started.
    fn begin<M: Message>(&mut self, callee: &mut impl Callee<M>)
    where
        O: ReplyObligation<M::Reply>,
    {
        callee.begin(self.guard.headers().clone(), self.obligation.asker());
        self.guard.begin();
        self.obligation.begin();
    }

    /// Runs `on_complete`. The error of an interceptor that panics replaces the reply.
    fn complete<R: Send + 'static>(&mut self, end: Result<&End<R>, &Error>) -> Option<Error>
    where
        O: ReplyObligation<R>,
    {
        let Self { guard, obligation, target } = self;
        let message = guard.message_type();
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
            // A deferred reply takes precedence, and comes later.
            (Ok(End::Returned(Ok(_))), None) if obligation.is_deferred() => Ok(None),
            (Ok(End::Returned(Ok(reply))), None) => Ok(Some(reply as &(dyn Any + Send))),
            _ => Ok(None),
        };
        let mut headers = Headers::default();
        if let Some(asker) = obligation.waiting() {
            asker.change_headers(&mut |set| headers = set.clone());
        }
        let completed = guard.complete(outcome, &mut headers);
        if let Some(asker) = obligation.waiting() {
            asker.change_headers(&mut |set| set.merge(&headers));
        }
        obligation.release();
        completed.err().filter(|_| error.is_none())
    }

    /// Ends a message that is not handled: it may be a dead letter.
    fn refuse<M: Message>(&mut self, message: M, error: Error) -> Handled
    where
        O: ReplyObligation<M::Reply>,
    {
        let text = contain(|| message.describe()).unwrap_or_else(|panic| Some(format!("({panic})")));
        discard(message);
        self.complete::<M::Reply>(Err(&error));
        self.deny(error, text)
    }

    /// Ends a message whose asker gave up before its handler started: a withdrawn ask is not a dead letter.
    fn withdraw<M: Message>(&mut self, message: M, error: &Error) -> Handled
    where
        O: ReplyObligation<M::Reply>,
    {
        discard(message);
        self.complete::<M::Reply>(Err(error));
        // The asker of a cancelled or expired ask may not have been polled yet.
        self.obligation.give(Err(error.clone()));
        Ok(())
    }

    /// Answers with an error that is not the handler's.
    fn deny<R>(&mut self, error: Error, text: Option<String>) -> Handled
    where
        O: ReplyObligation<R>,
    {
        if self.obligation.give(Err(error.clone())) != ReplyStatus::Delivered {
            self.target.report_dead_letter(self.guard.message_type(), &error, &|| text.clone());
        }
        Ok(())
    }
}

impl<R: Send + 'static, O: ReplyObligation<R>> Continuation<R> for InterceptedReply<'_, O> {
    type Obligation = O;

    fn obligation(&mut self) -> &mut O {
        &mut self.obligation
    }

    fn conclude(&mut self, end: End<R>) -> Handled {
        match self.complete(Ok(&end)) {
            None => end.settle(&mut self.obligation),
            Some(error) => {
                discard(end);
                self.deny(error, None)
            }
        }
    }
}

/// Runs a message with a delay or a scope.
async fn run_delayed_or_scoped<C: Callee<M>, M: Message, O: ReplyObligation<M::Reply>>(
    mut callee: C,
    message: M,
    mut intercepted: InterceptedReply<'_, O>,
    delay: Duration,
) -> Handled {
    let (target, asker) = (intercepted.target, intercepted.obligation.waiting());
    let mut unhandled = Unhandled { message: Some(message), target, is_told: asker.is_none() };
    let admitted = wait(target, delay, asker, M::type_name()).await;
    let Some(message) = unhandled.message.take() else { unreachable!("the message is taken once") };
    match admitted {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Stopped => return intercepted.refuse(message, error),
        Err(error) => return intercepted.withdraw(message, &error),
    }
    intercepted.begin(&mut callee);
    match run(&intercepted.guard, callee, message, &mut intercepted.obligation).await {
        Ok(end) => contain(|| intercepted.conclude(end))
            .unwrap_or_else(|panic| Continuation::<M::Reply>::panicked(&mut intercepted, panic)),
        Err(error) => {
            intercepted.complete(Err(&error));
            intercepted.deny(error, None)
        }
    }
}

/// Runs the handler inside the scopes of the interceptors. An error when they did not let it return.
async fn run<C: Callee<M>, M: Message>(
    guard: &InboundGuard<'_>,
    callee: C,
    message: M,
    obligation: &mut impl ReplyObligation<M::Reply>,
) -> Result<End<M::Reply>> {
    let mut returned = None;
    let about = guard.about();
    // Guarded before it starts: an interceptor that panics drops it, and the message in it.
    let handling = Contained::new(async move { callee.call(message).await });
    let handler: Next<'_> = Box::pin(async { returned = Some(handling.await) });
    let mut scopes = Some(guard.around(&about, handler)?);
    let exit = poll_fn(|cx| {
        let Some(scopes) = &mut scopes else { unreachable!("the scopes are there until they end") };
        let until = obligation.deadline().map(Until::enter);
        let polled = contain(|| scopes.as_mut().poll(cx));
        drop(until);
        match polled {
            Ok(Poll::Ready(())) => Poll::Ready(ScopesExit::Completed),
            Err(panic) => Poll::Ready(ScopesExit::Panicked(panic)),
            Ok(Poll::Pending) if obligation.is_aborted(cx) => Poll::Ready(ScopesExit::Aborted),
            Ok(Poll::Pending) => Poll::Pending,
        }
    })
    .await;
    // An aborted handler drops its values here, and may panic.
    let dropped = contain(|| drop(scopes));
    match (returned, exit, dropped) {
        // The handler's own outcome takes precedence over that of a scope.
        (Some(Err(panic)), ..) | (_, _, Err(panic)) => Ok(End::Panicked(panic)),
        (Some(Ok(Err(failure))), ..) if !failure.is_promise() => Ok(End::Returned(Err(failure))),
        (_, ScopesExit::Panicked(panic), _) => Err(guard.scope_error(Some(panic))),
        (Some(Ok(outcome)), ..) => Ok(End::Returned(outcome)),
        (None, ScopesExit::Aborted, _) => Ok(End::Aborted),
        (None, ScopesExit::Completed, _) => Err(guard.scope_error(None)),
    }
}

/// How the scopes around a handler ended.
enum ScopesExit {
    Completed,
    Panicked(Panic),
    /// The asker has given up.
    Aborted,
}

/// A message that has not reached its handler. Dropped because the actor was killed, it is a dead letter; its
/// asker is answered separately.
struct Unhandled<'a, M: Message> {
    message: Option<M>,
    target: &'a dyn DispatchTarget,
    is_told: bool,
}

impl<M: Message> Drop for Unhandled<'_, M> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            if self.is_told {
                let error = self.target.stopped(M::type_name());
                self.target.report_dead_letter(M::type_name(), &error, &|| message.describe());
            }
            discard(message);
        }
    }
}

/// Waits out a delay, which blocks the actor's later messages. Fails as soon as the actor has to stop, the
/// asker gives up or its deadline passes.
async fn wait(
    target: &dyn DispatchTarget,
    delay: Duration,
    asker: Option<&dyn Asker>,
    message: &'static str,
) -> Result<()> {
    if delay.is_zero() {
        return Ok(());
    }
    let exit = asker.and_then(Asker::deadline).map(|deadline| Deadline(deadline).remaining());
    let mut sleep = pin!(tokio::time::sleep(exit.map_or(delay, |exit| exit.min(delay))));
    let mut gone = pin!(asker.map(|asker| asker.gone().cancelled_owned()));
    // The poller of an actor's code polls it again on a signal.
    poll_fn(|cx| {
        // First: an ask that was given up is no dead letter, also when the actor stops at the same time. What it means is
        // looked at below.
        if gone.as_mut().as_pin_mut().is_some_and(|gone| gone.poll(cx).is_ready()) {
            return Poll::Ready(Ok(()));
        }
        if target.ending() >= Ending::Stop {
            return Poll::Ready(Err(target.stopped(message)));
        }
        sleep.as_mut().poll(cx).map(Ok)
    })
    .await?;
    asker.and_then(|asker| target.unwanted(asker, message)).map_or(Ok(()), |error| Err(error.unhandled()))
}

#[cfg(test)]
mod tests;
