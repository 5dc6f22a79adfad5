//! Messages of any type in one queue.

use std::any::{Any, type_name};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use pin_project_lite::pin_project;
use stackfuture::StackFuture;

use crate::panic::Panic;
use crate::reply::Reply;
use crate::{Actor, Context, Error, ErrorKind, Failure, Handler, Message, Outcome};

/// A handler's future lives in this many bytes inside the cell; a larger one is boxed.
const INLINE: usize = 256;

/// The running handler.
pub(crate) type Running<'a> = StackFuture<'a, Handled, INLINE>;

/// How a handler ended. An asker has been answered by then.
#[derive(Debug)]
pub(crate) enum Handled {
    Done,
    /// The asker was gone when the reply was ready.
    Unheard,
    /// Whether anyone was told of the failure.
    Failed(Failure, Told),
    Panicked(Panic),
}

/// Whether an asker got the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Somebody,
    Nobody,
}

/// A message for `A`, whatever its type, with what is needed to answer it.
pub struct Envelope<A> {
    kind: Kind<A>,
}

enum Kind<A> {
    Tell(Box<dyn Tells<A>>),
    Ask(Arc<dyn Asks<A>>),
}

impl<A: Actor> Envelope<A> {
    pub(crate) fn tell<M: Message>(message: M) -> Self
    where
        A: Handler<M>,
    {
        Self { kind: Kind::Tell(Box::new(Tell(message))) }
    }

    pub(crate) fn ask<M: Message>(reply: Arc<Reply<M>>) -> Self
    where
        A: Handler<M>,
    {
        Self { kind: Kind::Ask(reply) }
    }

    pub(crate) fn message_type(&self) -> &'static str {
        match &self.kind {
            Kind::Tell(tell) => tell.message_type(),
            Kind::Ask(ask) => ask.message_type(),
        }
    }

    /// The message as a text, if it opted in and is still here.
    pub(crate) fn describe(&self) -> Option<String> {
        match &self.kind {
            Kind::Tell(tell) => tell.describe(),
            Kind::Ask(ask) => ask.describe(),
        }
    }

    /// Starts the handler. `None` when the asker has given up: the message is skipped.
    pub(crate) fn dispatch<'a>(
        self,
        actor: &'a mut A,
        ctx: &'a mut Context<A>,
        target: &'a dyn Labelled,
    ) -> Option<Running<'a>> {
        match self.kind {
            Kind::Tell(tell) => Some(tell.dispatch(actor, ctx)),
            Kind::Ask(ask) => ask.dispatch(actor, ctx, target),
        }
    }

    /// Answers the asker, if there is one, that the message is not going to be handled.
    pub(crate) fn refuse(self, error: &Error) {
        if let Kind::Ask(ask) = self.kind {
            ask.refuse(error.clone());
        }
    }

    /// The told message, to hand it back.
    pub(crate) fn into_message(self) -> Option<Box<dyn Any>> {
        match self.kind {
            Kind::Tell(tell) => Some(tell.into_any()),
            Kind::Ask(_) => None,
        }
    }
}

impl<A> std::fmt::Debug for Envelope<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}

trait Tells<A: Actor>: Send {
    fn dispatch<'a>(self: Box<Self>, actor: &'a mut A, ctx: &'a mut Context<A>) -> Running<'a>;
    fn message_type(&self) -> &'static str;
    fn describe(&self) -> Option<String>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

trait Asks<A: Actor>: Send + Sync {
    fn dispatch<'a>(
        self: Arc<Self>,
        actor: &'a mut A,
        ctx: &'a mut Context<A>,
        target: &'a dyn Labelled,
    ) -> Option<Running<'a>>;
    fn message_type(&self) -> &'static str;
    fn describe(&self) -> Option<String>;
    fn refuse(&self, error: Error);
}

pub(crate) struct Tell<M>(pub(crate) M);

impl<A: Handler<M>, M: Message> Tells<A> for Tell<M> {
    fn dispatch<'a>(self: Box<Self>, actor: &'a mut A, ctx: &'a mut Context<A>) -> Running<'a> {
        let Tell(message) = *self;
        match catch_unwind(AssertUnwindSafe(|| actor.handle(message, ctx))) {
            Ok(handling) => Running::from_or_box(Telling { handling }),
            Err(payload) => Running::from_or_box(std::future::ready(Handled::Panicked(Panic::new(payload)))),
        }
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<A: Handler<M>, M: Message> Asks<A> for Reply<M> {
    fn dispatch<'a>(
        self: Arc<Self>,
        actor: &'a mut A,
        ctx: &'a mut Context<A>,
        target: &'a dyn Labelled,
    ) -> Option<Running<'a>> {
        let message = self.take_message()?;
        let mut answer = Answer { reply: self, target, answered: false };
        Some(match catch_unwind(AssertUnwindSafe(|| actor.handle(message, ctx))) {
            Ok(handling) => Running::from_or_box(Asking { handling, answer }),
            Err(payload) => {
                let handled = answer.panicked(Panic::new(payload));
                Running::from_or_box(std::future::ready(handled))
            }
        })
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.describe_message()
    }

    fn refuse(&self, error: Error) {
        self.answer(Err(error));
    }
}

pin_project! {
    /// Runs the handler of a tell.
    struct Telling<F> {
        #[pin]
        handling: F,
    }
}

impl<F: Future<Output = Outcome<R>>, R> Future for Telling<F> {
    type Output = Handled;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Handled> {
        let handling = self.project().handling;
        Poll::Ready(match catch_unwind(AssertUnwindSafe(|| handling.poll(cx))) {
            Ok(outcome) => match ready!(outcome) {
                Ok(_) => Handled::Done,
                Err(failure) => Handled::Failed(failure, Told::Nobody),
            },
            Err(payload) => Handled::Panicked(Panic::new(payload)),
        })
    }
}

pin_project! {
    /// Runs the handler of an ask and answers with its outcome.
    struct Asking<'a, F, M: Message> {
        #[pin]
        handling: F,
        answer: Answer<'a, M>,
    }
}

impl<F: Future<Output = Outcome<M::Reply>>, M: Message> Future for Asking<'_, F, M> {
    type Output = Handled;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Handled> {
        let this = self.project();
        let handling = this.handling;
        Poll::Ready(match catch_unwind(AssertUnwindSafe(|| handling.poll(cx))) {
            Ok(outcome) => this.answer.handled(ready!(outcome)),
            Err(payload) => this.answer.panicked(Panic::new(payload)),
        })
    }
}

/// Owes the asker an answer: dropped without one, because the handler was, it says that the actor is gone.
struct Answer<'a, M: Message> {
    reply: Arc<Reply<M>>,
    target: &'a dyn Labelled,
    answered: bool,
}

/// Names an actor in an error.
pub(crate) trait Labelled: Send + Sync {
    fn label(&self) -> String;
}

impl<M: Message> Answer<'_, M> {
    fn give(&mut self, answer: Result<M::Reply, Error>) -> Told {
        self.answered = true;
        if self.reply.answer(answer) { Told::Somebody } else { Told::Nobody }
    }

    fn handled(&mut self, outcome: Outcome<M::Reply>) -> Handled {
        match outcome {
            Ok(reply) => match self.give(Ok(reply)) {
                Told::Somebody => Handled::Done,
                Told::Nobody => Handled::Unheard,
            },
            Err(failure) => {
                let told = self.give(Err(self.error(ErrorKind::Failed).because_shared(failure.shared())));
                Handled::Failed(failure, told)
            }
        }
    }

    fn panicked(&mut self, panic: Panic) -> Handled {
        self.give(Err(self.error(ErrorKind::Panicked).because(panic.clone())));
        Handled::Panicked(panic)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).with("actor", self.target.label()).with("message", type_name::<M>())
    }
}

impl<M: Message> Drop for Answer<'_, M> {
    fn drop(&mut self) {
        if !self.answered {
            let error = self.error(ErrorKind::Stopped);
            self.give(Err(error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl Actor for Nobody {}

    #[test]
    fn an_envelope_is_three_words() {
        assert_eq!(size_of::<Envelope<Nobody>>(), 3 * size_of::<usize>());
    }
}
