//! The state of one ask, shared by asker and handler: the message, and the reply.
//!
//! One allocation serves both directions: the asker holds it to await the reply, the mailbox holds it as the
//! envelope.

mod asker;
mod far;

use std::any::Any;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use self::asker::{Asker, AtSlot, Holder, HolderRef, Sink};
use crate::base::panic::discard;
use crate::base::sync::{Mutex, MutexGuard};
use crate::mailbox::slot::{AtomicSlot, Slot};
use crate::message::access::Access;
use crate::{Headers, Message, Pid, Result};

/// An ask in flight.
pub struct AskState<M: Message> {
    terms: Terms,
    slot: AtomicSlot,
    state: Mutex<State<M>>,
}

/// The limits of an ask.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Option<CancellationToken>,
}

impl Terms {
    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

struct State<M: Message> {
    /// `None` once the handler, or an asker that gave up, has taken it.
    message: Option<M>,
    headers: Headers,
    /// The asker has given up.
    abandoned: bool,
    /// Created when a handler wants to be notified of that.
    gone: Option<CancellationToken>,
    waker: Option<Waker>,
    /// How many holders delay the answer.
    holds: u32,
    /// How often the obligation to answer was passed on.
    passes: u32,
    /// The actor that the message was forwarded to last.
    holder: Option<HolderRef>,
    answered: bool,
    answer: Option<Result<M::Reply>>,
    reply_headers: Headers,
}

/// The result of claiming a message for its handler.
#[derive(Debug)]
pub(crate) enum Claim<M> {
    Message(M, Headers),
    /// Withdrawn by the asker.
    Withdrawn,
    /// The asker's deadline has passed.
    Late(M),
    /// The asker has cancelled it.
    Cancelled(M),
}

/// The result of giving up an ask.
#[derive(Debug)]
pub(crate) enum GivenUp<M: Message> {
    /// The answer had already come. The lock decides the race: either this, or the answer is refused.
    Answered(Result<M::Reply>, Headers),
    /// There is an answer, but interceptors still hold it.
    Held(Result<M::Reply>),
    /// The message, which had not reached its handler.
    Withdrawn(M),
    /// A handler has it, and is notified that the asker is gone. Or the message was forwarded, and is
    /// discarded where it is.
    Claimed,
}

/// How an ask was given up.
pub(crate) struct Abandonment<M: Message> {
    pub(crate) found: GivenUp<M>,
    /// To be cancelled without holding a lock, because it wakes tasks.
    pub(crate) gone: Option<CancellationToken>,
    /// The slot of the message, which is now withdrawn.
    pub(crate) slot: Option<Slot>,
}

impl<M: Message> AskState<M> {
    pub(crate) fn new(message: M, headers: Headers, terms: Terms, waker: Option<Waker>) -> Self {
        let state = State {
            message: Some(message),
            headers,
            abandoned: false,
            gone: None,
            waker,
            holds: 0,
            passes: 0,
            holder: None,
            answered: false,
            answer: None,
            reply_headers: Headers::default(),
        };
        Self { terms, slot: AtomicSlot::new(), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the message for its handler.
    #[inline(always)]
    pub(crate) fn claim(&self) -> Claim<M> {
        let mut state = self.lock();
        let Some(message) = state.message.take() else { return Claim::Withdrawn };
        let headers = std::mem::take(&mut state.headers);
        drop(state);
        if self.terms.is_cancelled() {
            discard(headers);
            Claim::Cancelled(message)
        } else if self.terms.is_late() {
            discard(headers);
            Claim::Late(message)
        } else {
            Claim::Message(message, headers)
        }
    }

    /// Gives up, unless the answer has come. Races with [`answer`](Sink::answer): the first wins, and the
    /// other sees it.
    ///
    /// `None` when the message may be in a mailbox, and must be [withdrawn](Self::withdraw_from).
    pub(crate) fn give_up(&self) -> Option<Abandonment<M>> {
        let state = self.lock();
        if state.answer.is_none() && self.slot.get() != Slot::Taken {
            return None;
        }
        Some(abandon(state, None))
    }

    /// The same under the lock of the mailbox that may hold the message. `None` when another one does.
    pub(crate) fn withdraw_from(&self, holder: Pid) -> Option<Abandonment<M>> {
        let state = self.lock();
        if state.holder.as_ref().is_some_and(|other| other.0.pid() != holder) {
            return None;
        }
        let slot = if state.answer.is_none() { self.slot.withdraw() } else { None };
        Some(abandon(state, slot))
    }

    /// The actor that the message was forwarded to last.
    pub(crate) fn holder(&self) -> Option<Arc<dyn Holder>> {
        self.lock().holder.as_ref().map(|holder| holder.0.clone())
    }

    /// The message as text, if it is still here and opted in.
    pub(crate) fn describe_message(&self) -> Option<String> {
        self.lock().message.as_ref().and_then(M::describe)
    }

    #[inline]
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<(Result<M::Reply>, Headers)> {
        let mut state = self.lock();
        if state.holds == 0
            && let Some(answer) = state.answer.take()
        {
            return Poll::Ready((answer, std::mem::take(&mut state.reply_headers)));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

fn abandon<M: Message>(mut state: MutexGuard<'_, State<M>>, slot: Option<Slot>) -> Abandonment<M> {
    let answer = state.answer.take();
    if state.holds == 0
        && let Some(answer) = answer
    {
        let found = GivenUp::Answered(answer, std::mem::take(&mut state.reply_headers));
        return Abandonment { found, gone: None, slot };
    }
    state.abandoned = true;
    let found = match (answer, state.message.take()) {
        (Some(answer), _) => GivenUp::Held(answer),
        (None, Some(message)) => GivenUp::Withdrawn(message),
        (None, None) => GivenUp::Claimed,
    };
    Abandonment { found, gone: state.gone.take(), slot }
}

impl<M: Message> Sink<M::Reply> for AskState<M> {
    fn answer(&self, answer: Result<M::Reply>) -> bool {
        Self::settle(self.lock(), answer)
    }

    fn answer_of_handler(&self, reply: M::Reply, passes: u32) -> Result<bool, M::Reply> {
        let state = self.lock();
        if state.passes != passes {
            return Err(reply);
        }
        Ok(Self::settle(state, Ok(reply)))
    }
}

impl<M: Message> AskState<M> {
    #[inline(always)]
    fn settle(mut state: MutexGuard<'_, State<M>>, answer: Result<M::Reply>) -> bool {
        if state.abandoned || state.answered {
            drop(state);
            return false;
        }
        state.answered = true;
        // A handler has seen the message, whatever happened after it passed it on.
        let passed_on = state.passes > 0;
        state.answer = Some(if passed_on { answer.map_err(crate::Error::perhaps_handled) } else { answer });
        let waker = if state.holds > 0 { None } else { state.waker.take() };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

impl<M: Message> Asker for AskState<M> {
    fn deadline(&self) -> Option<Instant> {
        self.terms.deadline
    }

    fn is_gone(&self) -> bool {
        self.lock().abandoned || self.terms.is_cancelled()
    }

    fn has_given_up(&self) -> bool {
        self.lock().abandoned
    }

    fn slot(&self) -> &AtomicSlot {
        &self.slot
    }

    fn enter(&self, AtSlot(slot): AtSlot, holder: Option<&HolderRef>) -> bool {
        let mut state = self.lock();
        if state.abandoned {
            return false;
        }
        self.slot.set(slot);
        let before = holder.and_then(|holder| state.holder.replace(HolderRef(holder.0.clone())));
        drop(state);
        drop(before);
        true
    }

    fn gone(&self) -> CancellationToken {
        let mut state = self.lock();
        let new =
            || self.terms.cancel.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token);
        let gone = state.gone.get_or_insert_with(new).clone();
        if state.abandoned {
            gone.cancel();
        }
        gone
    }

    fn pass_on(&self) {
        self.lock().passes += 1;
    }

    fn passes(&self) -> u32 {
        self.lock().passes
    }

    fn is_held_up(&self) -> bool {
        let state = self.lock();
        !state.answered && !state.abandoned && state.passes == 0
    }

    fn held_by(&self) -> Option<Pid> {
        self.lock().holder.as_ref().map(|holder| holder.0.pid())
    }

    fn is_unclaimed(&self) -> bool {
        self.lock().message.is_some()
    }

    fn interleaves(&self) -> bool {
        M::Access::INTERLEAVES
    }

    fn hold(&self) {
        self.lock().holds += 1;
    }

    fn release(&self) {
        let mut state = self.lock();
        state.holds -= 1;
        let leaves = state.holds == 0 && state.answer.is_some();
        let waker = if leaves { state.waker.take() } else { None };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    fn change_headers(&self, change: &mut dyn FnMut(&mut Headers)) {
        change(&mut self.lock().reply_headers);
    }

    fn into_sink(self: Arc<Self>) -> Box<dyn Any + Send> {
        let sink: Arc<dyn Sink<M::Reply>> = self;
        Box::new(sink)
    }
}

impl<M: Message> std::fmt::Debug for AskState<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AskState").finish_non_exhaustive()
    }
}

#[cfg(all(test, dactor_loom))]
mod models;

#[cfg(test)]
#[cfg(not(dactor_loom))]
mod tests;
