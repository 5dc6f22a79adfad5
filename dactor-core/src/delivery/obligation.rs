//! The obligation to answer a message.

use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context as TaskContext;

use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::base::label::Labelled;
use crate::base::panic::{Panic, discard};
use crate::delivery::ask_state::{AskState, Asker, Sink};
use crate::{Error, ErrorKind, Failure, Message, Result};

/// Whether the asker got the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyStatus {
    Delivered,
    /// The asker has given up.
    AskerGone,
    /// The message was told, not asked.
    NotAsked,
    /// The handler had deferred its reply, which takes precedence.
    Deferred,
}

/// The obligation of a handler to answer its message.
pub(crate) trait ReplyObligation<R>: Send {
    /// The handler has started.
    fn begin(&mut self);
    fn give(&mut self, answer: Result<R>) -> ReplyStatus;
    fn failed(&mut self, failure: &Failure) -> ReplyStatus;
    fn panicked(&mut self, panic: &Panic) -> ReplyStatus;
    /// The handler has passed the obligation on.
    fn pass_on(&mut self);
    /// Whether the handler has deferred its reply.
    fn is_deferred(&self) -> bool;
    fn asker(&self) -> Option<Arc<dyn Asker>>;
    /// The same, by reference.
    fn waiting(&self) -> Option<&dyn Asker>;
    /// Delays every answer until released or dropped.
    fn hold(&mut self);
    fn release(&mut self);
    fn deadline(&self) -> Option<Instant>;
    /// Whether the handler must be aborted because the asker has given up.
    fn is_aborted(&mut self, cx: &mut TaskContext<'_>) -> bool;
}

/// For a told message, which has no asker. Its content is dropped when the message has been handled.
pub(crate) struct NoObligation<D = ()>(pub(crate) D);

impl<R, D: Send> ReplyObligation<R> for NoObligation<D> {
    fn begin(&mut self) {}

    fn give(&mut self, _: Result<R>) -> ReplyStatus {
        ReplyStatus::NotAsked
    }

    fn failed(&mut self, _: &Failure) -> ReplyStatus {
        ReplyStatus::NotAsked
    }

    fn panicked(&mut self, _: &Panic) -> ReplyStatus {
        ReplyStatus::NotAsked
    }

    fn pass_on(&mut self) {}

    fn is_deferred(&self) -> bool {
        false
    }

    fn asker(&self) -> Option<Arc<dyn Asker>> {
        None
    }

    fn waiting(&self) -> Option<&dyn Asker> {
        None
    }

    fn hold(&mut self) {}

    fn release(&mut self) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn is_aborted(&mut self, _: &mut TaskContext<'_>) -> bool {
        false
    }
}

/// A handle to the asker that waits for an `R`: its ask state, typed or erased.
pub(crate) trait ReplySlot<R>: Send + Clone {
    fn sink(&self) -> &dyn Sink<R>;
    fn asker(&self) -> Arc<dyn Asker>;
}

impl<M: Message> ReplySlot<M::Reply> for Arc<AskState<M>> {
    fn sink(&self) -> &dyn Sink<M::Reply> {
        &**self
    }

    fn asker(&self) -> Arc<dyn Asker> {
        self.clone()
    }
}

impl<R: 'static> ReplySlot<R> for Arc<dyn Sink<R>> {
    fn sink(&self) -> &dyn Sink<R> {
        &**self
    }

    fn asker(&self) -> Arc<dyn Asker> {
        self.clone()
    }
}

/// For an asked message. Dropped without an answer, because the actor was killed, it reports whether the
/// handler had started.
pub(crate) struct AskObligation<'a, R, S: ReplySlot<R>> {
    slot: S,
    target: &'a dyn Labelled,
    message: &'static str,
    outstanding: bool,
    begun: bool,
    held: bool,
    /// Whether a late reply is a loss.
    reply_is_answer: bool,
    /// How often the obligation had been passed on before.
    passes: u32,
    abort: Abort,
    reply: PhantomData<fn(R)>,
}

enum Abort {
    Never,
    /// Not waited for yet.
    WhenGone,
    Waiting(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl<'a, R, S: ReplySlot<R>> AskObligation<'a, R, S> {
    pub(crate) fn new<M: Message<Reply = R>>(slot: S, passes: u32, target: &'a dyn Labelled) -> Self {
        let abort = if M::ABORT { Abort::WhenGone } else { Abort::Never };
        let message = M::type_name();
        Self {
            slot,
            target,
            message,
            outstanding: true,
            begun: false,
            held: false,
            reply_is_answer: M::REPLY_IS_ANSWER,
            passes,
            abort,
            reply: PhantomData,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).about(self.target).with("message", self.message)
    }

    fn settle_reply(&mut self, reply: R) -> ReplyStatus {
        self.outstanding = false;
        match self.slot.sink().answer_of_handler(reply, self.passes) {
            Ok(true) => ReplyStatus::Delivered,
            Ok(false) => ReplyStatus::AskerGone,
            Err(unsent) => {
                discard(unsent);
                ReplyStatus::Deferred
            }
        }
    }

    fn settle(&mut self, answer: Result<R>) -> ReplyStatus {
        self.outstanding = false;
        if self.slot.sink().answer(answer) { ReplyStatus::Delivered } else { ReplyStatus::AskerGone }
    }
}

impl<R, S: ReplySlot<R>> ReplyObligation<R> for AskObligation<'_, R, S> {
    fn begin(&mut self) {
        self.begun = true;
    }

    fn give(&mut self, answer: Result<R>) -> ReplyStatus {
        let status = match answer {
            Ok(reply) => self.settle_reply(reply),
            Err(error) => self.settle(Err(error)),
        };
        if self.reply_is_answer { status } else { ReplyStatus::Delivered }
    }

    fn failed(&mut self, failure: &Failure) -> ReplyStatus {
        if self.is_deferred() {
            self.outstanding = false;
            return ReplyStatus::Deferred;
        }
        let error = self.error(ErrorKind::Failed).because_shared(failure.shared());
        self.settle(Err(error))
    }

    fn panicked(&mut self, panic: &Panic) -> ReplyStatus {
        let error = self.error(ErrorKind::Panicked).because(panic.clone());
        self.settle(Err(error))
    }

    fn pass_on(&mut self) {
        self.outstanding = false;
        if !self.is_deferred() {
            let error = self.error(ErrorKind::NoReply);
            self.settle(Err(error));
        }
    }

    fn is_deferred(&self) -> bool {
        self.slot.sink().passes() != self.passes
    }

    fn asker(&self) -> Option<Arc<dyn Asker>> {
        Some(self.slot.asker())
    }

    fn waiting(&self) -> Option<&dyn Asker> {
        Some(self.slot.sink())
    }

    fn hold(&mut self) {
        self.held = true;
        self.slot.sink().hold();
    }

    fn release(&mut self) {
        if mem::take(&mut self.held) {
            self.slot.sink().release();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.slot.sink().deadline()
    }

    fn is_aborted(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let aborted = loop {
            match &mut self.abort {
                Abort::Never => return false,
                Abort::WhenGone => {
                    let gone = self.slot.sink().gone().cancelled_owned();
                    self.abort = Abort::Waiting(Box::pin(gone));
                }
                Abort::Waiting(gone) => break gone.as_mut().poll(cx).is_ready(),
            }
        };
        if aborted {
            let error = self.error(ErrorKind::Cancelled);
            self.settle(Err(error));
        }
        aborted
    }
}

impl<R, S: ReplySlot<R>> Drop for AskObligation<'_, R, S> {
    fn drop(&mut self) {
        self.release();
        if self.outstanding {
            let kind = if self.begun { ErrorKind::Interrupted } else { ErrorKind::Stopped };
            let error = self.error(kind);
            self.settle(Err(error));
        }
    }
}
