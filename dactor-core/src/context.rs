use std::fmt;
use std::future::Future;
use std::mem;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ask::Target;
use crate::attached::Streams;
use crate::envelope::Labelled;
use crate::exclusive::Exclusive;
use crate::later::Later;
use crate::mailbox::Signals;
use crate::outbound::settle;
use crate::panic::{Panic, contain};
use crate::post::Manner;
use crate::reply::{Asker, Sink};
use crate::shared::Head;
use crate::timers::Timers;
use crate::watch::Watching;
use crate::{
    Actor, ActorPath, ActorRef, Error, ErrorKind, Failure, Handler, Header, Headers, Message, Outcome, Pid,
    Result, SentTo, Source, Spawn, System, Terminated,
};

/// What a handler or hook knows about its own actor, and about the message in hand.
pub struct Context<A: Actor> {
    pub(crate) myself: ActorRef<A>,
    pub(crate) headers: Headers,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// Somebody else has the reply to give.
    pub(crate) promised: bool,
    /// There is an idle timeout.
    pub(crate) idles: bool,
    /// Since the first watch.
    watching: Option<Box<Watching>>,
    /// Since the first timer.
    pub(crate) timers: Option<Box<Exclusive<Timers<A>>>>,
    /// Of the lane in which the message in hand came.
    pub(crate) taken: Signals,
    /// How many messages the stash holds.
    pub(crate) stash_capacity: usize,
    /// Since the first stream of this instance.
    pub(crate) streams: Option<Streams>,
}

impl<A: Actor> Context<A> {
    pub(crate) fn new(myself: ActorRef<A>, stash_capacity: usize) -> Self {
        Self {
            myself,
            headers: Headers::default(),
            asker: None,
            promised: false,
            idles: false,
            watching: None,
            timers: None,
            taken: Signals::default(),
            stash_capacity,
            streams: None,
        }
    }

    /// The instance is gone, and with it what belonged to it alone. Its stash is the next one's.
    pub(crate) fn part_with_instance(&mut self) {
        self.cancel_timers();
        self.streams = None;
    }

    /// The actor ends: what it has kept is refused.
    pub(crate) fn close(&mut self) {
        self.part_with_instance();
        self.abandon();
    }

    /// Lets go of a message that the actor was killed over.
    fn abandon(&mut self) {
        if let Err(panic) = self.rest() {
            tracing::warn!(actor = %self.myself.shared.label(), %panic, "a destructor panicked");
        }
    }

    /// The next message is in hand.
    #[inline]
    pub(crate) fn begin(&mut self, headers: Headers, asker: Option<Arc<dyn Asker>>) {
        self.headers = headers;
        self.asker = asker;
        self.promised = false;
    }

    /// No message is in hand any more. What came with it is let go here and not with the next message: an idle actor
    /// keeps nobody's permits. A header, and a reply that nobody has fetched, may panic when they are dropped.
    #[inline]
    pub(crate) fn rest(&mut self) -> Result<(), Panic> {
        self.promised = false;
        if self.headers.is_empty() && self.asker.is_none() { Ok(()) } else { self.let_go() }
    }

    fn let_go(&mut self) -> Result<(), Panic> {
        let (headers, asker) = (mem::take(&mut self.headers), self.asker.take());
        let dropped = contain(|| drop(asker));
        contain(|| drop(headers)).and(dropped)
    }

    /// The reference to this actor.
    pub fn actor_ref(&self) -> &ActorRef<A> {
        &self.myself
    }

    /// This actor's number.
    pub fn id(&self) -> Pid {
        self.myself.id()
    }

    /// This actor's name, if it was spawned with one.
    pub fn name(&self) -> Option<&str> {
        self.myself.name()
    }

    /// This actor's path, with its number as the UID: see [`ActorRef::path`].
    pub fn path(&self) -> ActorPath {
        self.myself.path()
    }

    /// The system this actor lives in.
    pub fn system(&self) -> &System {
        self.myself.system()
    }

    /// Stops this actor after the current message: see [`ActorRef::stop`].
    pub fn stop(&self) {
        self.myself.stop();
    }

    /// Spawns a child of this actor. It is supervised as [`Actor::supervision`] says, ends before this actor does, and
    /// is stopped when this actor is restarted.
    ///
    /// Awaited in a handler or hook, the child has started when it is there. Its name is free again at once when it has
    /// ended.
    pub fn spawn<K, S: Source<K>>(&self, source: S) -> Spawn<S::Actor> {
        let Head { system, guardian, .. } = &self.myself.shared.head;
        Spawn::new(system.clone(), source.into_seed(), *guardian, Some(self.myself.shared.clone()))
    }

    /// The live child of this name, if there is one and it is a `B`.
    pub fn child<B: Actor>(&self, name: &str) -> Option<ActorRef<B>> {
        ActorRef::known(self.myself.shared.head.family.child(name)?)
    }

    /// How many live children this actor has.
    pub fn children(&self) -> usize {
        self.myself.shared.head.family.count()
    }

    /// Asks for a [`Terminated`] when the other actor ends, however that happens: at once if it has ended already.
    ///
    /// It comes once. To watch an actor that is watched already changes nothing; once it has ended, and that was
    /// handled, it can be watched anew. A restart of this actor keeps its watches, except those of its children, which
    /// the restart stops.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome, Terminated};
    /// # struct Worker; impl Actor for Worker {}
    /// struct Pool { worker: ActorRef<Worker> }
    ///
    /// impl Actor for Pool {
    ///     async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         Ok(ctx.watch(&self.worker)?)
    ///     }
    /// }
    ///
    /// impl Handler<Terminated> for Pool {
    ///     async fn handle(&mut self, worker: Terminated, _: &mut Context<Self>) -> Outcome<()> {
    ///         println!("{} has ended: {}", worker.label(), worker.reason());
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidWatch`](ErrorKind::InvalidWatch): an actor that watched itself would never hear of its end.
    pub fn watch<B: Actor>(&mut self, other: &ActorRef<B>) -> Result<()>
    where
        A: Handler<Terminated>,
    {
        if other.id() == self.id() {
            return Err(Error::new(ErrorKind::InvalidWatch).about(other));
        }
        let watching = self.watching.get_or_insert_with(|| Box::new(Watching::new(self.myself.id())));
        watching.begin(self.myself.shared.clone(), other.shared.clone());
        Ok(())
    }

    /// Gives up a watch. No [`Terminated`] of it comes any more, even if the actor has ended. `false` when there was
    /// no such watch.
    pub fn unwatch<B: Actor>(&mut self, other: &ActorRef<B>) -> bool {
        self.watching.as_mut().is_some_and(|watching| watching.end(other.id()))
    }

    /// Gives up the watches of this actor's own children, also of those that have ended.
    pub(crate) fn forget_children(&mut self) {
        self.watching.iter_mut().for_each(|watching| watching.end_children());
    }

    /// Whether the notice of a watch is still wanted.
    pub(crate) fn claims(&mut self, terminated: &Terminated, watch: u64) -> bool {
        self.watching.as_mut().is_some_and(|watching| watching.claim(terminated.who(), watch))
    }

    /// The headers beside the message in hand.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Sets a header beside the reply. A message that was told has no reply, and this does nothing.
    pub fn set_reply_header(&self, header: impl Header) {
        if let Some(asker) = &self.asker {
            asker.change_headers(&mut |headers| headers.insert(header.clone()));
        }
    }

    /// Until when the asker wants the reply, if it said so. An ask that is made while this message is being handled
    /// does not wait longer.
    pub fn deadline(&self) -> Option<Instant> {
        self.asker.as_ref().and_then(|asker| asker.deadline())
    }

    /// Whether nobody wants the reply any more. Never for a message that was told.
    pub fn is_cancelled(&self) -> bool {
        self.asker.as_ref().is_some_and(|asker| asker.is_gone())
    }

    /// Completes when nobody wants the reply any more, because the ask was cancelled, timed out or was dropped. Never
    /// for a message that was told.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<A> {
        self.cancellation().cancelled_owned()
    }

    /// The same as a token, to be given to other tasks.
    pub fn cancellation(&self) -> CancellationToken {
        self.asker.as_ref().map_or_else(CancellationToken::new, |asker| asker.gone())
    }

    /// Lets the handler return without a reply, and somebody else give it: the handler returns the second value.
    ///
    /// `M` is the message in hand. Its reply is given once: a second `Later` has nobody to answer. A [`Later`] that is dropped unanswered is an error for the asker at once.
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Oracle;
    /// # impl Actor for Oracle {}
    /// # struct Question;
    /// # impl Message for Question { type Reply = u64; }
    /// impl Handler<Question> for Oracle {
    ///     async fn handle(&mut self, question: Question, ctx: &mut Context<Self>) -> Outcome<u64> {
    ///         let (later, promised) = ctx.reply_later::<Question>();
    ///         tokio::spawn(async move { later.reply(42) });
    ///         promised
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// When the message in hand is an ask that wants another type of reply than `M`'s.
    pub fn reply_later<M: Message>(&mut self) -> (Later<M::Reply>, Outcome<M::Reply>) {
        let sink = self.asker.clone().filter(|_| !self.promised).map(|asker| {
            let sink = into_sink::<M::Reply>(asker).unwrap_or_else(|| {
                panic!("the message in hand is not a `{}`", std::any::type_name::<M>());
            });
            sink.pass_on();
            sink
        });
        self.promised = true;
        let later = Later::new(sink, self.myself.shared.clone(), std::any::type_name::<M>());
        (later, Err(Failure::promise()))
    }

    /// Hands a message over to another actor, whose reply goes to the asker of this one. The handler returns the value.
    /// The headers, the deadline and the cancellation of the ask go along. The interceptors of the ref see it leave, like
    /// a tell: the asker hears how it ends. Where the other mailbox is full and makes senders wait
    /// ([`Overflow::Block`](crate::Overflow::Block)), the message waits in line, told or asked.
    ///
    /// What becomes of the message is no failure of this actor. If the other actor has ended, refuses the message or has
    /// no room, or an interceptor of the ref refuses it, then the message is one dead letter, an asker gets that error,
    /// which names the other actor, and this actor goes on: its `on_error` does not run.
    ///
    /// # Errors
    ///
    /// Always: the value says that the reply was handed over, and is for the handler to return. It is a failure only if
    /// the other reply is not of the type that was asked for ([`Unsupported`](ErrorKind::Unsupported)).
    pub fn forward<B: Actor, M: SentTo<B>>(&mut self, to: &ActorRef<B>, message: M) -> Outcome<M::Reply> {
        let mut manner = Manner { priority: M::PRIORITY, headers: self.headers.clone() };
        let asker = self.asker.clone().filter(|_| !self.promised);
        let sink = match asker.map(into_sink::<M::Reply>) {
            None => None,
            Some(Some(sink)) => Some(sink),
            Some(None) => {
                let error = to.shared.error(ErrorKind::Unsupported, std::any::type_name::<M>());
                let because = "its reply is of another type than the one asked for";
                return Err(error.with("because", because).into());
            }
        };
        self.promised = true;
        sink.iter().for_each(|sink| sink.pass_on());
        let trail = match to.departs(&message, &mut manner) {
            Ok(trail) => trail,
            Err(error) => {
                to.bury(&message, &error);
                if let Some(sink) = sink {
                    sink.answer(Err(error));
                }
                return Err(Failure::promise());
            }
        };
        // Refused, it is a dead letter by now, and its asker is answered.
        let delivered = match sink {
            Some(sink) => {
                let asker = sink.clone();
                let envelope = message.into_forward(manner.headers, sink);
                to.shared.deliver_forwarded(envelope, &*asker, manner.priority)
            }
            None => to.shared.deliver(message.into_tell(manner.headers), manner.priority),
        };
        let _ = settle(trail, delivered);
        Err(Failure::promise())
    }
}

pub(crate) fn into_sink<R: 'static>(asker: Arc<dyn Asker>) -> Option<Arc<dyn Sink<R>>> {
    asker.into_sink().downcast::<Arc<dyn Sink<R>>>().ok().map(|sink| *sink)
}

/// A cell may be dropped by anyone, in the middle of a message.
impl<A: Actor> Drop for Context<A> {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl<A: Actor> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.myself).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;
    impl Actor for Nobody {}

    /// A handler may hold `&Context` over an await.
    #[test]
    fn a_context_can_be_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<Context<Nobody>>();
    }
}
