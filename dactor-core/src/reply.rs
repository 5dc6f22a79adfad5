//! The meeting place of an asker and a handler: the message on its way there, the reply on its way back.
//!
//! One allocation serves both ways. The asker holds it to await the reply, the mailbox holds it as the
//! envelope.

use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use crate::sync::{Mutex, MutexGuard};
use crate::{Message, Result};

/// An ask in flight.
pub struct Reply<M: Message> {
    state: Mutex<State<M>>,
}

struct State<M: Message> {
    /// Until the handler, or an asker who gave up, takes it.
    message: Option<M>,
    /// The asker has given up.
    abandoned: bool,
    waker: Option<Waker>,
    answer: Option<Result<M::Reply>>,
}

impl<M: Message> Reply<M> {
    pub(crate) fn new(message: M, waker: Option<Waker>) -> Self {
        Self { state: Mutex::new(State { message: Some(message), abandoned: false, waker, answer: None }) }
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The message, unless it is taken already or the asker has given up.
    pub(crate) fn take_message(&self) -> Option<M> {
        self.lock().message.take()
    }

    /// Gives up, and takes the message back if it is still here.
    pub(crate) fn abandon(&self) -> Option<M> {
        let mut state = self.lock();
        state.abandoned = true;
        state.message.take()
    }

    /// The message as a text, if it is still here and opted in.
    pub(crate) fn describe_message(&self) -> Option<String> {
        self.lock().message.as_ref().and_then(M::describe)
    }

    /// Answers the asker. `false` when there is nobody to answer any more.
    pub(crate) fn answer(&self, answer: Result<M::Reply>) -> bool {
        let mut state = self.lock();
        if state.abandoned {
            return false;
        }
        state.answer = Some(answer);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Result<M::Reply>> {
        let mut state = self.lock();
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(answer);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl<M: Message> std::fmt::Debug for Reply<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

#[cfg(all(test, dactor_loom))]
mod models;
