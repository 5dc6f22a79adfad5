//! The answer that is owed for a message.

use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context as TaskContext;

use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::envelope::Labelled;
use crate::panic::Panic;
use crate::reply::{Asker, Reply, Sink};
use crate::{Error, ErrorKind, Failure, Message, Result};

/// Whether an asker got the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Somebody,
    /// The asker has given up.
    Nobody,
    /// Nobody asked.
    NotAsked,
}

/// What a handler owes for a message: an answer, or nothing.
pub(crate) trait Owed<R>: Send {
    /// The handler has the message from here on.
    fn begin(&mut self);
    fn give(&mut self, answer: Result<R>) -> Told;
    fn failed(&mut self, failure: &Failure) -> Told;
    fn panicked(&mut self, panic: &Panic) -> Told;
    /// Somebody else has promised to answer.
    fn pass_on(&mut self);
    fn asker(&self) -> Option<Arc<dyn Asker>>;
    /// The same, to look at.
    fn waiting(&self) -> Option<&dyn Asker>;
    /// Lets no answer leave, of whoever it is, until it is released or dropped.
    fn hold(&mut self);
    fn release(&mut self);
    fn deadline(&self) -> Option<Instant>;
    /// Whether the handler is to be dropped because the asker has given up.
    fn is_aborted(&mut self, cx: &mut TaskContext<'_>) -> bool;
}

/// For a message that was told. What is in it is dropped when the message has been handled.
pub(crate) struct Nothing<D = ()>(pub(crate) D);

impl<R, D: Send> Owed<R> for Nothing<D> {
    fn begin(&mut self) {}

    fn give(&mut self, _: Result<R>) -> Told {
        Told::NotAsked
    }

    fn failed(&mut self, _: &Failure) -> Told {
        Told::NotAsked
    }

    fn panicked(&mut self, _: &Panic) -> Told {
        Told::NotAsked
    }

    fn pass_on(&mut self) {}

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

/// Whoever is to get an `R`, of a known type or not.
pub(crate) trait Seat<R>: Send + Clone {
    fn sink(&self) -> &dyn Sink<R>;
    fn asker(&self) -> Arc<dyn Asker>;
}

impl<M: Message> Seat<M::Reply> for Arc<Reply<M>> {
    fn sink(&self) -> &dyn Sink<M::Reply> {
        &**self
    }

    fn asker(&self) -> Arc<dyn Asker> {
        self.clone()
    }
}

impl<R: 'static> Seat<R> for Arc<dyn Sink<R>> {
    fn sink(&self) -> &dyn Sink<R> {
        &**self
    }

    fn asker(&self) -> Arc<dyn Asker> {
        self.clone()
    }
}

/// For a message that was asked. Dropped without an answer, because the actor was killed, it says whether the handler had
/// begun by then.
pub(crate) struct Answer<'a, R, S: Seat<R>> {
    seat: S,
    target: &'a dyn Labelled,
    message: &'static str,
    owing: bool,
    begun: bool,
    held: bool,
    /// How often the answer had been passed on before.
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

impl<'a, R, S: Seat<R>> Answer<'a, R, S> {
    pub(crate) fn new<M: Message<Reply = R>>(seat: S, passes: u32, target: &'a dyn Labelled) -> Self {
        let abort = if M::ABORT { Abort::WhenGone } else { Abort::Never };
        let message = std::any::type_name::<M>();
        Self {
            seat,
            target,
            message,
            owing: true,
            begun: false,
            held: false,
            passes,
            abort,
            reply: PhantomData,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).about(self.target).with("message", self.message)
    }

    fn settle(&mut self, answer: Result<R>) -> Told {
        self.owing = false;
        if self.seat.sink().answer(answer) { Told::Somebody } else { Told::Nobody }
    }
}

impl<R, S: Seat<R>> Owed<R> for Answer<'_, R, S> {
    fn begin(&mut self) {
        self.begun = true;
    }

    fn give(&mut self, answer: Result<R>) -> Told {
        self.settle(answer)
    }

    fn failed(&mut self, failure: &Failure) -> Told {
        let error = self.error(ErrorKind::Failed).because_shared(failure.shared());
        self.settle(Err(error))
    }

    fn panicked(&mut self, panic: &Panic) -> Told {
        let error = self.error(ErrorKind::Panicked).because(panic.clone());
        self.settle(Err(error))
    }

    fn pass_on(&mut self) {
        self.owing = false;
        if self.seat.sink().passes() == self.passes {
            let error = self.error(ErrorKind::NoReply);
            self.settle(Err(error));
        }
    }

    fn asker(&self) -> Option<Arc<dyn Asker>> {
        Some(self.seat.asker())
    }

    fn waiting(&self) -> Option<&dyn Asker> {
        Some(self.seat.sink())
    }

    fn hold(&mut self) {
        self.held = true;
        self.seat.sink().hold();
    }

    fn release(&mut self) {
        if mem::take(&mut self.held) {
            self.seat.sink().release();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.seat.sink().deadline()
    }

    fn is_aborted(&mut self, cx: &mut TaskContext<'_>) -> bool {
        let aborted = loop {
            match &mut self.abort {
                Abort::Never => return false,
                Abort::WhenGone => {
                    let gone = self.seat.sink().gone().cancelled_owned();
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

impl<R, S: Seat<R>> Drop for Answer<'_, R, S> {
    fn drop(&mut self) {
        self.release();
        if self.owing {
            let kind = if self.begun { ErrorKind::Interrupted } else { ErrorKind::Stopped };
            let error = self.error(kind);
            self.settle(Err(error));
        }
    }
}
