use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::actor_ref::ask::Target;
use crate::actor_ref::outbound::{OutboundGuard, not_sent};
use crate::base::current;
use crate::base::label::Labelled;
use crate::delivery::ask_state::{AskState, Asker, GivenUp, Holder, Terms};
use crate::interceptor::api::Outbound;
use crate::interceptor::items::ItemHooks;
use crate::kernel::actor_core::Delivered;
use crate::kernel::cycles;
use crate::message::access::Access;
use crate::message::options::SendOptions;
use crate::{Direction, Error, ErrorKind, Headers, Message, Pid, Result};

/// An ask that has been sent. Its owner calls [`leave`](Self::leave) on drop.
pub(crate) struct InFlight<M: Message> {
    state: Arc<AskState<M>>,
    pid: Pid,
    /// Answered or given up.
    over: bool,
    limits: Option<Box<AskLimits>>,
    guard: Option<Box<OutboundGuard>>,
}

impl<M: Message> InFlight<M> {
    pub(crate) fn send(
        target: &dyn Target<M>,
        message: M,
        options: SendOptions,
        waker: Option<Waker>,
        limits: Option<Box<AskLimits>>,
        mut guard: Option<Box<OutboundGuard>>,
    ) -> Result<Self> {
        let terms = limits.as_ref().map(|limits| limits.terms()).unwrap_or_default();
        let state = Arc::new(AskState::new(message, options.headers, terms, waker));
        match target.deliver(state.clone(), options.priority) {
            Ok(delivered) => {
                if let (Delivered::Queued, Some(guard)) = (delivered, &mut guard) {
                    guard.is_sent();
                }
                Ok(Self { state, pid: target.pid(), over: false, limits, guard })
            }
            Err(error) => Err(not_sent(guard, error)),
        }
    }

    /// Whether the ask has neither deadline nor cancellation.
    #[inline]
    pub(crate) fn is_unlimited(&self) -> bool {
        self.limits.is_none()
    }

    /// Polls for the reply and its headers. `holder` is called only when the asker gives up.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        holder: impl Fn() -> Arc<dyn Holder>,
    ) -> Poll<(Result<M::Reply>, Headers)> {
        let (ended, mut headers) = if let Poll::Ready((reply, headers)) = self.state.poll(cx) {
            self.over = true;
            (reply, headers)
        } else if current::actor() == self.pid && !can_join::<M>(self.pid, || self.state.is_unclaimed()) {
            (Err(self.asked_itself()), Headers::default())
        } else if let Some(limits) = &mut self.limits {
            let clones = if limits.may_be_cyclic { cycles::clones(cx.waker()) } else { 0 };
            match limits.poll::<M>(cx) {
                Some(error) => self.run_out(error, holder),
                None if !limits.may_be_cyclic => return Poll::Pending,
                None => match self.poll_far(clones, cx) {
                    Some(error) if error.kind() == ErrorKind::AskCycle => self.close_cycle(error, holder),
                    Some(error) => (Err(error), Headers::default()),
                    None => return Poll::Pending,
                },
            }
        } else {
            match cycles::waits(self.pid, cx.waker(), || self.state.clone()) {
                Some(error) => self.close_cycle(error, holder),
                None => return Poll::Pending,
            }
        };
        let ended = match self.guard.take() {
            Some(guard) => guard.run_on_reply(ended, &mut headers),
            None => ended,
        };
        Poll::Ready((ended, headers))
    }

    /// An ask of an actor that lives elsewhere, perhaps in this process, waits: an error if it could wait for ever.
    fn poll_far(&self, clones: usize, cx: &Context<'_>) -> Option<Error> {
        let actor = current::actor();
        if actor != Pid::NOBODY
            && self.state.held_by() == Some(actor)
            && !can_join::<M>(actor, || self.state.is_unclaimed())
        {
            return Some(self.asked_itself());
        }
        cycles::waits_limited(self.pid, cx.waker(), || self.state.clone(), clones)
    }

    #[cold]
    fn asked_itself(&self) -> Error {
        // The path is not available here: every ask would have to carry it.
        let error = Error::new(ErrorKind::AskedItself).with("id", self.pid);
        // The message is in the mailbox as long as this value is kept, or a handler has it.
        error.with("message", M::type_name()).perhaps_handled()
    }

    /// Gives up because a limit was reached, unless the answer has arrived since the last poll. The ask is
    /// over even if this value is kept.
    #[cold]
    fn run_out(&mut self, error: Error, holder: impl Fn() -> Arc<dyn Holder>) -> (Result<M::Reply>, Headers) {
        self.over = true;
        match self.give_up(&holder) {
            GivenUp::Answered(answer, headers) => return (answer, headers),
            GivenUp::Held(answer) => unread::<M>(&*holder(), &answer),
            // Withdrawn before a handler had it.
            GivenUp::Withdrawn(message) => {
                drop(message);
                return (Err(error.unhandled()), Headers::default());
            }
            GivenUp::Claimed => {}
        }
        (Err(error), Headers::default())
    }

    #[cold]
    fn close_cycle(
        &mut self,
        error: Error,
        holder: impl Fn() -> Arc<dyn Holder>,
    ) -> (Result<M::Reply>, Headers) {
        let error = error.about(&*holder()).with("message", M::type_name());
        self.run_out(error, holder)
    }

    /// Withdraws the message from the mailbox that holds it, if any.
    fn give_up(&self, first: impl Fn() -> Arc<dyn Holder>) -> GivenUp<M> {
        self.state.give_up_from(first)
    }

    /// Gives up, unless the ask is over.
    #[inline]
    pub(crate) fn leave(&mut self, holder: impl Fn() -> Arc<dyn Holder>) {
        if !self.over {
            self.over = true;
            match self.give_up(&holder) {
                GivenUp::Answered(answer, _) | GivenUp::Held(answer) => {
                    // The `()` reply of a stream handler is not worth a dead letter when the consumer has
                    // left.
                    if M::REPLY_IS_ANSWER || answer.is_err() {
                        unread::<M>(&*holder(), &answer);
                    }
                }
                GivenUp::Withdrawn(message) => drop(message),
                GivenUp::Claimed => {}
            }
        }
    }
}

/// Whether an actor, whose code is being polled, handles a message that it asks itself: both are reads, and the message is
/// handled already or nothing holds it up.
#[cold]
pub(crate) fn can_join<M: Message>(actor: Pid, is_unclaimed: impl FnOnce() -> bool) -> bool {
    M::Access::READS
        && current::read_waits_for_itself(actor)
            .is_some_and(|open| open || M::Access::INTERLEAVES || !is_unclaimed())
}

fn unread<M: Message>(holder: &dyn Holder, answer: &Result<M::Reply>) {
    if M::REPLY_IS_ANSWER || answer.is_err() {
        holder.unread(M::type_name(), answer.as_ref().err());
    }
}

/// The reply to an ask that has been sent. Dropping it gives up, as with [`Ask`](crate::Ask). A reply that
/// has arrived and is dropped unread is a dead letter ([`AskerGone`](ErrorKind::AskerGone)).
#[must_use = "dropping the pending reply withdraws the ask"]
pub struct PendingReply<M: Message> {
    ask: InFlight<M>,
    holder: Arc<dyn Holder>,
}

impl<M: Message> PendingReply<M> {
    pub(crate) fn new(ask: InFlight<M>, holder: Arc<dyn Holder>) -> Self {
        Self { ask, holder }
    }

    /// The interceptors that saw it leave. They do not see its reply then: the caller shows them how it ends.
    pub(crate) fn take_guard(&mut self) -> Option<Box<OutboundGuard>> {
        self.ask.guard.take()
    }

    /// Lets the interceptors that saw it leave see the items of a stream.
    pub(crate) fn item_hooks(&self, direction: Direction) -> Option<Box<ItemHooks<dyn Outbound>>> {
        self.ask.guard.as_ref().map(|guard| Box::new(guard.item_hooks(direction)))
    }

    /// When it is given up, also by an interceptor's wish.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.ask.limits.as_ref().and_then(|limits| limits.deadlines.earliest())
    }

    /// The reply, and the headers beside it.
    pub(crate) fn poll_whole(&mut self, cx: &mut Context<'_>) -> Poll<(Result<M::Reply>, Headers)> {
        let Self { ask, holder } = self;
        ask.poll(cx, || holder.clone())
    }

    /// Stops waiting for the reply, and lets the handler finish. The reply is not a dead letter.
    pub(crate) fn detach(mut self) {
        self.ask.over = true;
    }
}

impl<M: Message> Unpin for PendingReply<M> {}

impl<M: Message> Future for PendingReply<M> {
    type Output = Result<M::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_whole(cx).map(|(reply, _)| reply)
    }
}

impl<M: Message> Drop for PendingReply<M> {
    fn drop(&mut self) {
        let Self { ask, holder } = self;
        ask.leave(|| holder.clone());
    }
}

impl<M: Message> fmt::Debug for PendingReply<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply").field("actor", &self.ask.pid).finish_non_exhaustive()
    }
}

/// The deadlines of one ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// The timeout, and when it expires.
    pub(crate) timeout: Option<(Duration, Instant)>,
    pub(crate) deadline: Option<Instant>,
    /// The deadline of the message in whose handler the ask is made.
    pub(crate) inherited: Option<Instant>,
}

impl Deadlines {
    /// The deadline that the asker set.
    pub(crate) fn own(&self) -> Option<Instant> {
        [self.timeout.map(|(_, at)| at), self.deadline].into_iter().flatten().min()
    }

    pub(crate) fn earliest(&self) -> Option<Instant> {
        [self.timeout.map(|(_, at)| at), self.deadline, self.inherited].into_iter().flatten().min()
    }

    /// The error for the earliest deadline, which it names.
    pub(crate) fn late<M: Message>(&self, actor: &dyn Labelled) -> Error {
        let error = Error::new(ErrorKind::Timeout).about(actor).with("message", M::type_name());
        let earliest = self.earliest();
        match self.timeout {
            Some((after, at)) if Some(at) == earliest => error.with("after", format!("{after:?}")),
            _ if self.deadline == earliest => error.with("deadline", "of the ask"),
            _ => error.with("deadline", "of the message being handled"),
        }
    }
}

/// The limits of an ask: its earliest deadline, and its cancellation.
pub(crate) struct AskLimits {
    deadlines: Deadlines,
    timer: Option<Pin<Box<Sleep>>>,
    cancel: Option<(CancellationToken, Pin<Box<WaitForCancellationFutureOwned>>)>,
    actor: Arc<dyn Labelled>,
    /// The asker did not set them: the ask may wait in a cycle.
    may_be_cyclic: bool,
}

impl AskLimits {
    pub(crate) fn new(
        deadlines: Deadlines,
        cancel: Option<CancellationToken>,
        actor: Arc<dyn Labelled>,
        may_be_cyclic: bool,
    ) -> Result<Self> {
        let timer = deadlines.earliest().map(sleep).transpose()?;
        let cancel = cancel.map(|token| (token.clone(), Box::pin(token.cancelled_owned())));
        Ok(Self { deadlines, timer, cancel, actor, may_be_cyclic })
    }

    fn terms(&self) -> Terms {
        let cancel = self.cancel.as_ref().map(|(token, _)| token.clone());
        Terms { deadline: self.deadlines.earliest(), cancel }
    }

    /// The error, once a limit is reached.
    pub(crate) fn poll<M: Message>(&mut self, cx: &mut Context<'_>) -> Option<Error> {
        if let Some((_, cancelled)) = &mut self.cancel
            && cancelled.as_mut().poll(cx).is_ready()
        {
            let error = Error::new(ErrorKind::Cancelled).about(&*self.actor);
            return Some(error.with("message", M::type_name()));
        }
        let timer = self.timer.as_mut()?;
        timer.as_mut().poll(cx).is_ready().then(|| self.deadlines.late::<M>(&*self.actor))
    }
}

fn sleep(until: Instant) -> Result<Pin<Box<Sleep>>> {
    tokio::runtime::Handle::try_current().map_err(|error| {
        Error::new(ErrorKind::NoRuntime).because(error).with("call", "ask with a timeout")
    })?;
    Ok(Box::pin(tokio::time::sleep_until(until)))
}
