use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::ask::Target;
use crate::envelope::Labelled;
use crate::outbound::{Trail, turn_back};
use crate::post::Manner;
use crate::reply::{GivenUp, Reply, Terms};
use crate::shared::Delivered;
use crate::slot::Slot;
use crate::{Error, ErrorKind, Headers, Message, Pid, Result, cycles, turn};

/// The actor that an ask was sent to, as the asker needs it when it gives up.
pub(crate) trait Holder: Labelled {
    /// An answer was given, and the asker dropped it unread.
    fn unread(&self, message: &'static str, failure: Option<&Error>);
    /// Lets an asker give up under the lock of the mailbox: see [`Mailbox::withdraw`](crate::mailbox::Mailbox::withdraw).
    fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>);
}

/// An ask that has been sent. Its owner [leaves](Self::leave) it when it is dropped.
pub(crate) struct InFlight<M: Message> {
    reply: Arc<Reply<M>>,
    pid: Pid,
    /// Answered or given up: nothing is left to do.
    over: bool,
    patience: Option<Box<Patience>>,
    trail: Option<Box<Trail>>,
}

impl<M: Message> InFlight<M> {
    pub(crate) fn send(
        target: &dyn Target<M>,
        message: M,
        manner: Manner,
        waker: Option<Waker>,
        patience: Option<Box<Patience>>,
        mut trail: Option<Box<Trail>>,
    ) -> Result<Self> {
        let terms = patience.as_ref().map(|patience| patience.terms()).unwrap_or_default();
        let reply = Arc::new(Reply::new(message, manner.headers, terms, waker));
        match target.deliver(reply.clone(), manner.priority) {
            Ok(delivered) => {
                if let (Delivered::Queued, Some(trail)) = (delivered, &mut trail) {
                    trail.is_sent();
                }
                Ok(Self { reply, pid: target.pid(), over: false, patience, trail })
            }
            Err(error) => Err(turn_back(trail, error)),
        }
    }

    /// Whether it waits for nothing but the reply.
    #[inline]
    pub(crate) fn is_patient(&self) -> bool {
        self.patience.is_none()
    }

    /// The reply, and the headers beside it. `holder` is asked for only by an asker who gives up.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        holder: impl Fn() -> Arc<dyn Holder>,
    ) -> Poll<(Result<M::Reply>, Headers)> {
        let (ended, mut headers) = if let Poll::Ready((reply, headers)) = self.reply.poll(cx) {
            self.over = true;
            (reply, headers)
        } else if turn::current() == self.pid {
            // Its path is not at hand here, and would have to be carried by every ask.
            let error = Error::new(ErrorKind::AskedItself).with("id", self.pid);
            // It is in the mailbox while this value is kept, or a handler has it.
            (Err(error.with("message", type_name::<M>()).perhaps_handled()), Headers::default())
        } else if let Some(patience) = &mut self.patience {
            match patience.poll::<M>(cx) {
                Some(error) => self.run_out(error, holder),
                None => return Poll::Pending,
            }
        } else {
            match cycles::waits(self.pid, cx.waker(), || self.reply.clone()) {
                Some(error) => self.close_cycle(error, holder),
                None => return Poll::Pending,
            }
        };
        let ended = match self.trail.take() {
            Some(trail) => trail.arrive(ended, &mut headers),
            None => ended,
        };
        Poll::Ready((ended, headers))
    }

    /// The asker's patience is over, unless the answer has come since the last look. From here on it waits for nothing,
    /// also while this value is kept.
    #[cold]
    fn run_out(&mut self, error: Error, holder: impl Fn() -> Arc<dyn Holder>) -> (Result<M::Reply>, Headers) {
        self.over = true;
        match self.give_up(&holder) {
            GivenUp::Answered(answer, headers) => return (answer, headers),
            GivenUp::Held(answer) => unread::<M>(&*holder(), &answer),
            // Taken back before a handler had it.
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
        let error = error.about(&*holder()).with("message", type_name::<M>());
        self.run_out(error, holder)
    }

    /// Takes the message out of the mailbox that holds it, if one does.
    fn give_up(&self, first: impl Fn() -> Arc<dyn Holder>) -> GivenUp<M> {
        let parting = self.reply.give_up().unwrap_or_else(|| {
            loop {
                let holder = self.reply.holder().unwrap_or_else(&first);
                let mut parting = None;
                holder.withdraw(&mut || {
                    parting = self.reply.withdraw_from(holder.pid());
                    parting.as_ref().and_then(|parting| parting.slot)
                });
                // None when it was forwarded meanwhile.
                if let Some(parting) = parting {
                    return parting;
                }
            }
        });
        if let Some(gone) = parting.gone {
            gone.cancel();
        }
        parting.found
    }

    /// Gives up, if that is still to be done.
    #[inline]
    pub(crate) fn leave(&mut self, holder: impl Fn() -> Arc<dyn Holder>) {
        if !self.over {
            self.over = true;
            match self.give_up(&holder) {
                GivenUp::Answered(answer, _) | GivenUp::Held(answer) => unread::<M>(&*holder(), &answer),
                GivenUp::Withdrawn(message) => drop(message),
                GivenUp::Claimed => {}
            }
        }
    }
}

fn unread<M: Message>(holder: &dyn Holder, answer: &Result<M::Reply>) {
    holder.unread(type_name::<M>(), answer.as_ref().err());
}

/// The reply to an ask that has been sent. Dropping it gives up, as with [`Ask`](crate::Ask). A reply that has come and
/// is dropped unread is a dead letter ([`AskerGone`](ErrorKind::AskerGone)).
#[must_use = "dropping the pending reply withdraws the ask"]
pub struct PendingReply<M: Message> {
    ask: InFlight<M>,
    holder: Arc<dyn Holder>,
}

impl<M: Message> PendingReply<M> {
    pub(crate) fn new(ask: InFlight<M>, holder: Arc<dyn Holder>) -> Self {
        Self { ask, holder }
    }
}

impl<M: Message> Unpin for PendingReply<M> {}

impl<M: Message> Future for PendingReply<M> {
    type Output = Result<M::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { ask, holder } = &mut *self;
        ask.poll(cx, || holder.clone()).map(|(reply, _)| reply)
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
pub(crate) struct Limits {
    /// The time allowed, and when it is over.
    pub(crate) timeout: Option<(Duration, Instant)>,
    pub(crate) deadline: Option<Instant>,
    /// Of the message in whose handler the ask is made.
    pub(crate) inherited: Option<Instant>,
}

impl Limits {
    /// The one that the asker set.
    pub(crate) fn own(&self) -> Option<Instant> {
        [self.timeout.map(|(_, at)| at), self.deadline].into_iter().flatten().min()
    }

    pub(crate) fn earliest(&self) -> Option<Instant> {
        [self.timeout.map(|(_, at)| at), self.deadline, self.inherited].into_iter().flatten().min()
    }

    /// The error when the earliest is over: it says which one it was.
    pub(crate) fn late<M>(&self, actor: &dyn Labelled) -> Error {
        let error = Error::new(ErrorKind::Timeout).about(actor).with("message", type_name::<M>());
        let earliest = self.earliest();
        match self.timeout {
            Some((after, at)) if Some(at) == earliest => error.with("after", format!("{after:?}")),
            _ if self.deadline == earliest => error.with("deadline", "of the ask"),
            _ => error.with("deadline", "of the message being handled"),
        }
    }
}

/// What ends the patience of an asker.
pub(crate) struct Patience {
    limits: Limits,
    timer: Option<Pin<Box<Sleep>>>,
    cancel: Option<(CancellationToken, Pin<Box<WaitForCancellationFutureOwned>>)>,
    actor: Arc<dyn Labelled>,
}

impl Patience {
    pub(crate) fn new(
        limits: Limits,
        cancel: Option<CancellationToken>,
        actor: Arc<dyn Labelled>,
    ) -> Result<Self> {
        let timer = limits.earliest().map(sleep).transpose()?;
        let cancel = cancel.map(|token| (token.clone(), Box::pin(token.cancelled_owned())));
        Ok(Self { limits, timer, cancel, actor })
    }

    fn terms(&self) -> Terms {
        let cancel = self.cancel.as_ref().map(|(token, _)| token.clone());
        Terms { deadline: self.limits.earliest(), cancel }
    }

    /// The error, when it is over.
    pub(crate) fn poll<M>(&mut self, cx: &mut Context<'_>) -> Option<Error> {
        if let Some((_, cancelled)) = &mut self.cancel
            && cancelled.as_mut().poll(cx).is_ready()
        {
            let error = Error::new(ErrorKind::Cancelled).about(&*self.actor);
            return Some(error.with("message", type_name::<M>()));
        }
        let timer = self.timer.as_mut()?;
        timer.as_mut().poll(cx).is_ready().then(|| self.limits.late::<M>(&*self.actor))
    }
}

fn sleep(until: Instant) -> Result<Pin<Box<Sleep>>> {
    tokio::runtime::Handle::try_current().map_err(|error| {
        Error::new(ErrorKind::NoRuntime).because(error).with("call", "ask with a timeout")
    })?;
    Ok(Box::pin(tokio::time::sleep_until(until)))
}
