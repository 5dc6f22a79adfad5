//! A message with its type erased, and the way to its handler and back.

use std::any::{Any, type_name};
use std::sync::Arc;

use stackfuture::StackFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::handling::handle;
use crate::interceptor::{Inbound, Mode};
use crate::mailbox;
use crate::owed::{Answer, Nothing, Told};
use crate::panic::{Panic, discard};
use crate::reply::{Asker, Claim, Reply, Sink};
use crate::shared::Shared;
use crate::slot::AtomicSlot;
use crate::timers::Place;
use crate::{
    Actor, ActorPath, Context, Error, ErrorKind, Failure, Handler, Headers, Message, Pid, Terminated,
};

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

/// Where a message is handled.
pub(crate) struct Scene<'a, A: Actor> {
    pub(crate) actor: &'a mut A,
    pub(crate) ctx: &'a mut Context<A>,
    pub(crate) target: &'a Shared<A>,
    pub(crate) inbound: Option<&'a [Arc<dyn Inbound>]>,
    /// How many messages of the turn wait behind it.
    pub(crate) behind: usize,
}

/// Names an actor in an error.
pub(crate) trait Labelled: Send + Sync {
    fn path(&self) -> ActorPath;
    /// Its path without the UID, as it is printed everywhere.
    fn label(&self) -> String {
        self.path().into_text()
    }
    fn pid(&self) -> Pid;
    fn actor_type(&self) -> &'static str;
    /// How many messages wait in its mailbox.
    fn queued(&self) -> usize;
}

/// A message for `A`, whatever its type, with what is needed to answer it.
pub struct Envelope<A> {
    kind: Kind<A>,
}

enum Kind<A> {
    Tell(Box<dyn Tells<A>>),
    /// From the kernel itself.
    Notice(Box<dyn Tells<A>>),
    /// The end of another actor: a notice that comes behind all that the other actor sent.
    Last(Box<dyn Tells<A>>),
    /// From a stream or a piped future. It takes no room, but is a letter like others.
    Item(Box<dyn Tells<A>>),
    Ask(Arc<dyn Asks<A>>),
    /// Its asker asked another actor, or the message was put aside before.
    Forward(Box<dyn Tells<A>>),
}

impl<A: Actor> Envelope<A> {
    pub(crate) fn tell<M: Message>(message: M, headers: Headers) -> Self
    where
        A: Handler<M>,
    {
        // A message without content needs no memory, unless something travels beside it.
        let tell: Box<dyn Tells<A>> = if headers.is_empty() {
            Box::new(Tell(message))
        } else {
            Box::new(Annotated { message, headers })
        };
        Self { kind: Kind::Tell(tell) }
    }

    pub(crate) fn ask<M: Message>(reply: Arc<Reply<M>>) -> Self
    where
        A: Handler<M>,
    {
        Self { kind: Kind::Ask(reply) }
    }

    /// A message whose handler answers somebody who asked another actor.
    pub(crate) fn forward<M: Message>(message: M, headers: Headers, asker: Arc<dyn Sink<M::Reply>>) -> Self
    where
        A: Handler<M>,
    {
        Self { kind: Kind::Forward(Box::new(Forwarded { message, headers, asker })) }
    }

    /// Says that an actor which this one watches has ended.
    pub(crate) fn terminated(terminated: Terminated, watch: u64) -> Self
    where
        A: Handler<Terminated>,
    {
        Self { kind: Kind::Last(Box::new(Obituary { terminated, watch })) }
    }

    /// Says that the timer in this place is due.
    pub(crate) fn tick(timer: Place, message: &'static str) -> Self {
        Self { kind: Kind::Notice(Box::new(Tick { timer, message })) }
    }

    /// An item of a stream or the result of a piped future, until that is detached.
    pub(crate) fn item<M: Message>(message: M, link: CancellationToken, receipt: oneshot::Sender<()>) -> Self
    where
        A: Handler<M>,
    {
        Self { kind: Kind::Item(Box::new(Item { message, link, receipt })) }
    }

    /// Whether it comes from somebody who would miss it.
    pub(crate) fn is_letter(&self) -> bool {
        !matches!(self.kind, Kind::Notice(_) | Kind::Last(_))
    }

    /// Whether its asker has given up.
    pub(crate) fn is_withdrawn(&self) -> bool {
        match &self.kind {
            Kind::Ask(ask) => ask.has_given_up(),
            Kind::Forward(forward) => forward.asker().is_some_and(Asker::has_given_up),
            Kind::Tell(_) | Kind::Notice(_) | Kind::Last(_) | Kind::Item(_) => false,
        }
    }

    pub(crate) fn message_type(&self) -> &'static str {
        match &self.kind {
            Kind::Tell(tell)
            | Kind::Notice(tell)
            | Kind::Last(tell)
            | Kind::Item(tell)
            | Kind::Forward(tell) => tell.message_type(),
            Kind::Ask(ask) => ask.message_type(),
        }
    }

    /// The message as a text, if it opted in and is still here.
    pub(crate) fn describe(&self) -> Option<String> {
        match &self.kind {
            Kind::Tell(tell)
            | Kind::Notice(tell)
            | Kind::Last(tell)
            | Kind::Item(tell)
            | Kind::Forward(tell) => tell.describe(),
            Kind::Ask(ask) => ask.describe(),
        }
    }

    /// Starts the handler. A message whose answer nobody wants any more is done at once.
    pub(crate) fn dispatch(self, scene: Scene<'_, A>) -> Running<'_> {
        match self.kind {
            Kind::Tell(tell)
            | Kind::Notice(tell)
            | Kind::Last(tell)
            | Kind::Item(tell)
            | Kind::Forward(tell) => tell.dispatch(scene),
            Kind::Ask(ask) => ask.dispatch(scene),
        }
    }

    /// Answers the asker, if there is one, that the message is not going to be handled.
    pub(crate) fn refuse(self, error: &Error) {
        match self.kind {
            Kind::Tell(tell)
            | Kind::Notice(tell)
            | Kind::Last(tell)
            | Kind::Item(tell)
            | Kind::Forward(tell) => tell.refuse(error),
            Kind::Ask(ask) => ask.refuse(error),
        }
    }

    /// The told message, to hand it back.
    pub(crate) fn into_message(self) -> Option<Box<dyn Any>> {
        match self.kind {
            Kind::Tell(tell) | Kind::Notice(tell) | Kind::Last(tell) | Kind::Item(tell) => {
                Some(tell.into_any())
            }
            Kind::Ask(_) | Kind::Forward(_) => None,
        }
    }
}

impl<A: Actor> mailbox::Item for Envelope<A> {
    fn is_notice(&self) -> bool {
        matches!(self.kind, Kind::Notice(_) | Kind::Last(_) | Kind::Item(_))
    }

    fn comes_last(&self) -> bool {
        matches!(self.kind, Kind::Last(_))
    }

    #[inline]
    fn slot(&self) -> Option<&AtomicSlot> {
        match &self.kind {
            Kind::Tell(_) | Kind::Notice(_) | Kind::Last(_) | Kind::Item(_) => None,
            Kind::Ask(ask) => Some(ask.slot()),
            Kind::Forward(forward) => forward.asker().map(Asker::slot),
        }
    }
}

impl<A> std::fmt::Debug for Envelope<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}

trait Tells<A: Actor>: Send {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a>;
    fn message_type(&self) -> &'static str;
    fn describe(&self) -> Option<String>;
    fn refuse(&self, error: &Error);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// Of a forwarded message.
    fn asker(&self) -> Option<&dyn Asker> {
        None
    }
}

trait Asks<A: Actor>: Asker {
    fn dispatch<'a>(self: Arc<Self>, scene: Scene<'a, A>) -> Running<'a>;
    fn message_type(&self) -> &'static str;
    fn describe(&self) -> Option<String>;
    fn refuse(&self, error: &Error);
}

pub(crate) struct Tell<M>(pub(crate) M);

impl<A: Handler<M>, M: Message> Tells<A> for Tell<M> {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        handle(scene, self.0, Headers::default(), Mode::Tell, Nothing(()))
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }

    fn refuse(&self, _: &Error) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A told message with headers beside it.
pub(crate) struct Annotated<M> {
    pub(crate) message: M,
    headers: Headers,
}

impl<A: Handler<M>, M: Message> Tells<A> for Annotated<M> {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        let Annotated { message, headers } = *self;
        handle(scene, message, headers, Mode::Tell, Nothing(()))
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.message.describe()
    }

    fn refuse(&self, _: &Error) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl<A: Handler<M>, M: Message> Asks<A> for Reply<M> {
    fn dispatch<'a>(self: Arc<Self>, scene: Scene<'a, A>) -> Running<'a> {
        let (kind, message) = match self.claim() {
            Claim::Message(message, headers) => {
                let answer = Answer::new::<M>(self, 0, scene.target);
                return handle(scene, message, headers, Mode::Ask, answer);
            }
            Claim::Withdrawn => {
                // Headers, perhaps.
                discard(self);
                return done();
            }
            Claim::Late(message) => (ErrorKind::Timeout, message),
            Claim::Cancelled(message) => (ErrorKind::Cancelled, message),
        };
        discard(message);
        Sink::answer(&*self, Err(scene.target.error(kind, type_name::<M>()).unhandled()));
        discard(self);
        done()
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.describe_message()
    }

    fn refuse(&self, error: &Error) {
        Sink::answer(self, Err(error.clone()));
        // Not left to the asker, who has not done anything wrong.
        match self.claim() {
            Claim::Message(message, headers) => {
                discard(message);
                discard(headers);
            }
            Claim::Late(message) | Claim::Cancelled(message) => discard(message),
            Claim::Withdrawn => {}
        }
    }
}

/// A message that is skipped.
fn done<'a>() -> Running<'a> {
    Running::from_or_box(std::future::ready(Handled::Done))
}

/// The error of a message whose answer nobody wants any more.
pub(crate) fn unwanted<A: Actor>(
    asker: &(impl Asker + ?Sized),
    target: &Shared<A>,
    message: &'static str,
) -> Option<Error> {
    if asker.is_gone() {
        return Some(target.error(ErrorKind::Cancelled, message));
    }
    let late = asker.deadline().is_some_and(|deadline| deadline <= Instant::now());
    late.then(|| target.error(ErrorKind::Timeout, message))
}

struct Forwarded<M: Message> {
    message: M,
    headers: Headers,
    asker: Arc<dyn Sink<M::Reply>>,
}

impl<A: Handler<M>, M: Message> Tells<A> for Forwarded<M> {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        let Forwarded { message, headers, asker } = *self;
        if let Some(error) = unwanted(&*asker, scene.target, type_name::<M>()) {
            discard(message);
            asker.answer(Err(error));
            discard(headers);
            discard(asker);
            return done();
        }
        let passes = asker.passes();
        let answer = Answer::new::<M>(asker, passes, scene.target);
        handle(scene, message, headers, Mode::Ask, answer)
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.message.describe()
    }

    fn refuse(&self, error: &Error) {
        self.asker.answer(Err(error.clone()));
    }

    fn asker(&self) -> Option<&dyn Asker> {
        Some(&*self.asker)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The end of an actor that is watched, unless the watch was given up meanwhile.
struct Obituary {
    terminated: Terminated,
    watch: u64,
}

impl<A: Handler<Terminated>> Tells<A> for Obituary {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        let Obituary { terminated, watch } = *self;
        if !scene.ctx.claims(&terminated, watch) {
            return done();
        }
        handle(scene, terminated, Headers::default(), Mode::Tell, Nothing(()))
    }

    fn message_type(&self) -> &'static str {
        type_name::<Terminated>()
    }

    fn describe(&self) -> Option<String> {
        self.terminated.describe()
    }

    fn refuse(&self, _: &Error) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A timer is due, unless it was cancelled or replaced meanwhile.
struct Tick {
    timer: Place,
    message: &'static str,
}

impl<A: Actor> Tells<A> for Tick {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        match scene.ctx.claims_tick(self.timer) {
            Some(Ok(envelope)) => envelope.dispatch(scene),
            Some(Err(panic)) => Running::from_or_box(std::future::ready(Handled::Panicked(panic))),
            None => done(),
        }
    }

    fn message_type(&self) -> &'static str {
        self.message
    }

    fn describe(&self) -> Option<String> {
        None
    }

    fn refuse(&self, _: &Error) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct Item<M> {
    message: M,
    link: CancellationToken,
    /// Dropped when the item has been handled: the stream waits for that.
    receipt: oneshot::Sender<()>,
}

impl<A: Handler<M>, M: Message> Tells<A> for Item<M> {
    fn dispatch<'a>(self: Box<Self>, scene: Scene<'a, A>) -> Running<'a> {
        let Item { message, link, receipt } = *self;
        if link.is_cancelled() {
            let error = scene.target.error(ErrorKind::Detached, type_name::<M>());
            let events = scene.target.head.system.events();
            events.bury(scene.target, type_name::<M>(), &error, || message.describe());
            discard(message);
            return done();
        }
        handle(scene, message, Headers::default(), Mode::Tell, Nothing(receipt))
    }

    fn message_type(&self) -> &'static str {
        type_name::<M>()
    }

    fn describe(&self) -> Option<String> {
        self.message.describe()
    }

    fn refuse(&self, _: &Error) {}

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::reply::Terms;
    use crate::{CorrelationId, Outcome};

    struct Nobody;
    impl Actor for Nobody {}

    struct Note;
    impl Message for Note {
        type Reply = ();

        fn describe(&self) -> Option<String> {
            Some("a note".to_owned())
        }
    }

    impl Handler<Note> for Nobody {
        async fn handle(&mut self, _: Note, _: &mut Context<Self>) -> Outcome<()> {
            Ok(())
        }
    }

    #[test]
    fn an_envelope_is_three_words() {
        assert_eq!(size_of::<Envelope<Nobody>>(), 3 * size_of::<usize>());
    }

    #[test]
    fn a_letter_says_what_is_in_it() {
        let mut headers = Headers::default();
        headers.insert(CorrelationId::new(1));
        let reply = || Arc::new(Reply::new(Note, Headers::default(), Terms::default(), None));
        let (receipt, _handled) = oneshot::channel();
        let letters: [(&str, Envelope<Nobody>); 5] = [
            ("tell", Envelope::tell(Note, Headers::default())),
            ("with headers", Envelope::tell(Note, headers)),
            ("ask", Envelope::ask(reply())),
            ("forward", Envelope::forward(Note, Headers::default(), reply())),
            ("item", Envelope::item(Note, CancellationToken::new(), receipt)),
        ];
        for (which, letter) in letters {
            assert!(letter.is_letter(), "{which}");
            assert_eq!(
                mailbox::Item::is_notice(&letter),
                which == "item",
                "{which}: whether it takes no room"
            );
            assert_eq!(letter.message_type(), type_name::<Note>(), "{which}");
            assert_eq!(letter.describe().as_deref(), Some("a note"), "{which}");
        }
    }
}
