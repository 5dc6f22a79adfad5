//! What every reference to an actor shares.

use std::any::{Any, type_name};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Wake, Waker};

use tokio::task::coop::cooperative;
use tracing::span;

use crate::bound::Ticket;
use crate::ended::Ended;
use crate::envelope::{Envelope, Labelled};
use crate::family::{Family, Supervisor};
use crate::mailbox::{Ending, Item, Mailbox, Nudge, Refusal};
use crate::panic::{contain, discard};
use crate::path::Guardian;
use crate::pending::Holder;
use crate::pipeline::Chain;
use crate::place::path_length;
use crate::post::Manner;
use crate::reply::{Asker, AtSlot, HolderRef};
use crate::slot::Slot;
use crate::spi::Host;
use crate::turn::{self, ActorSpan, Entered, Member, Slate};
use crate::watch::Watchers;
use crate::{
    Actor, ActorPath, Error, ErrorKind, Outbound, Pid, Priority, Result, SendError, SentTo, Supervision,
    System,
};

pub(crate) struct Shared<A: Actor> {
    pub(crate) mailbox: Mailbox<Envelope<A>>,
    pub(crate) head: Head,
}

/// The part that does not depend on the actor's type.
pub(crate) struct Head {
    pub(crate) pid: Pid,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) system: System,
    pub(crate) host: OnceLock<Box<dyn Host>>,
    pub(crate) end: Ended,
    pub(crate) slate: Slate,
    pub(crate) guardian: Guardian,
    pub(crate) path_length: u16,
    /// As its system does: here, beside what a turn reads anyway.
    pub(crate) detects_cycles: bool,
    /// None at the top, right below its guardian.
    pub(crate) parent: Option<Arc<dyn Control>>,
    pub(crate) family: Family,
    pub(crate) watchers: Watchers,
    /// What sees messages to this actor leave; there, and empty, when only the actor itself has interceptors.
    pub(crate) outbound: Chain<dyn Outbound>,
    exposed: AtomicBool,
    span: ActorSpan,
}

impl Head {
    pub(crate) fn new(
        name: Option<Arc<str>>,
        system: System,
        guardian: Guardian,
        parent: Option<Arc<dyn Control>>,
        outbound: Chain<dyn Outbound>,
    ) -> Result<Self> {
        let pid = Pid::next();
        let above = match &parent {
            Some(parent) => usize::from(parent.head().path_length),
            None => system.guardian_length(guardian),
        };
        let path_length = path_length(above, name.as_deref(), pid, &system)?;
        Ok(Self {
            pid,
            path_length,
            detects_cycles: system.detects_cycles(),
            name,
            system,
            guardian,
            parent,
            family: Family::default(),
            watchers: Watchers::default(),
            host: OnceLock::new(),
            end: Ended::new(),
            slate: Slate::new(),
            outbound,
            exposed: AtomicBool::new(false),
            span: ActorSpan::default(),
        })
    }

    /// Whether its parent waits for its end.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.head().family.is_dismissing())
    }

    /// Who decides over its failures.
    pub(crate) fn supervisor(&self) -> Supervisor<'_> {
        match &self.parent {
            Some(parent) => Supervisor::Parent(&**parent),
            None => Supervisor::Guardian(&self.system, self.guardian),
        }
    }

    /// Whether anyone may have the native handle, and so signal the actor behind the mailbox's back.
    pub(crate) fn is_exposed(&self) -> bool {
        self.exposed.load(Ordering::Relaxed)
    }

    pub(crate) fn act(&self, nudge: Nudge) {
        match nudge {
            Nudge::Nothing => {}
            Nudge::Waker(waker) => waker.wake(),
            // Only a cell that is in its host is parked there.
            Nudge::Host => self.host.get().into_iter().for_each(|host| host.wake()),
            Nudge::Stop => self.host.get().into_iter().for_each(|host| host.stop()),
        }
    }
}

/// A dead actor may be all that still holds its ancestors. They are let go one by one: each in the destructor of the next
/// would take a stack as deep as the tree.
impl Drop for Head {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut parent) = next {
            next = Arc::get_mut(&mut parent).and_then(|last| last.head_mut().parent.take());
        }
    }
}

impl<A: Actor> Shared<A> {
    /// Marks this thread as running the actor's code until it is dropped: for what it asks, and for what it logs.
    pub(crate) fn enter(&self) -> (Entered, Option<span::Entered<'_>>) {
        (Entered::new(self.head.pid), self.head.span.enter(self))
    }

    /// The native handle. From here on the cell lets its runtime look at native signals.
    pub(crate) fn native(&self) -> Option<&(dyn Any + Send + Sync)> {
        let host = self.head.host.get()?;
        if !self.head.exposed.swap(true, Ordering::Relaxed) {
            // Before or after the cell parks: it looks at the flag again after the mailbox's lock.
            self.head.act(self.mailbox.rouse());
        }
        Some(host.native())
    }

    pub(crate) fn tell<M: SentTo<A>>(&self, message: M, manner: Manner) -> Result<Delivered> {
        match self.push(message.into_tell(manner.headers), manner.priority) {
            Ok(nudge) => {
                self.head.act(nudge);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    pub(crate) fn try_tell<M: SentTo<A>>(
        &self,
        message: M,
        manner: Manner,
    ) -> Result<Delivered, SendError<M>> {
        let refusal = match self.push(message.into_tell(manner.headers), manner.priority) {
            Ok(nudge) => {
                self.head.act(nudge);
                return Ok(Delivered::Queued);
            }
            Err(refusal) => refusal,
        };
        let (envelope, reason) = match self.explain(refusal) {
            Ok(refused) => refused,
            Err(dropped) => return Ok(Delivered::Dropped(dropped)),
        };
        match M::take_back(envelope) {
            Some(message) => Err(SendError { message, reason }),
            None => unreachable!("a told message comes back as what it was"),
        }
    }

    fn push(&self, envelope: Envelope<A>, priority: Priority) -> Result<Nudge, Refusal<Envelope<A>>> {
        match self.mailbox.push(envelope, priority) {
            Err(Refusal::Closed(envelope)) => {
                self.as_member(envelope, |envelope| self.mailbox.push(envelope, priority))
            }
            pushed => pushed,
        }
    }

    fn push_or_join(
        &self,
        envelope: Envelope<A>,
        priority: Priority,
        waker: Option<&Waker>,
    ) -> Result<(Nudge, Option<Ticket>), Refusal<Envelope<A>>> {
        let push = |envelope| self.mailbox.push_or_join(envelope, priority, waker.cloned());
        match push(envelope) {
            Err(Refusal::Closed(envelope)) => self.as_member(envelope, push),
            pushed => pushed,
        }
    }

    /// Sends once more, as an actor of this system if the sender is one: while the system is shut down, they are let
    /// in where others are not. Looked at only when the mailbox is closed.
    #[cold]
    fn as_member<R>(
        &self,
        envelope: Envelope<A>,
        push: impl FnOnce(Envelope<A>) -> Result<R, Refusal<Envelope<A>>>,
    ) -> Result<R, Refusal<Envelope<A>>> {
        let system = &self.head.system;
        if !system.registry().is_closed() || !system.has_actor(turn::current()) {
            return Err(Refusal::Closed(envelope));
        }
        let member = Member::enter();
        let pushed = push(envelope);
        drop(member);
        if let Err(Refusal::Closed(_)) = &pushed {
            system.closing().lose_sent();
        }
        pushed
    }

    /// The same for a message that cannot be sent twice.
    fn member(&self) -> Option<Member> {
        let admits = self.mailbox.admits_members() && self.head.system.has_actor(turn::current());
        admits.then(Member::enter)
    }

    /// Sends, waiting in line for room where the mailbox makes senders wait.
    ///
    /// It spends tokio's budget like every wait: a loop of sends that always finds room lets others run, too.
    pub(crate) async fn send(&self, envelope: Envelope<A>, priority: Priority) -> Result<Delivered> {
        cooperative(self.queue_up(envelope, priority)).await
    }

    async fn queue_up(&self, envelope: Envelope<A>, priority: Priority) -> Result<Delivered> {
        let message = envelope.message_type();
        let mut envelope = Some(envelope);
        let mut place = Place { mailbox: &self.mailbox, ticket: None };
        poll_fn(|cx| {
            if let Some(ticket) = place.ticket {
                let Some(admitted) = self.mailbox.poll_ticket(ticket, cx.waker()) else {
                    return Poll::Pending;
                };
                place.ticket = None;
                return Poll::Ready(if admitted {
                    Ok(Delivered::Queued)
                } else {
                    Err(self.stopped(message))
                });
            }
            let Some(envelope) = envelope.take() else { unreachable!("a send is polled to its end once") };
            // Room for this message could only come after the turn that waits for it.
            let pushed = if turn::current() == self.head.pid {
                self.push(envelope, priority).map(|nudge| (nudge, None))
            } else {
                self.push_or_join(envelope, priority, Some(cx.waker()))
            };
            match pushed {
                Err(refusal) => Poll::Ready(self.refused(refusal)),
                Ok((nudge, ticket)) => {
                    self.head.act(nudge);
                    place.ticket = ticket;
                    if place.ticket.is_some() { Poll::Pending } else { Poll::Ready(Ok(Delivered::Queued)) }
                }
            }
        })
        .await
    }

    /// Sends an ask, which waits in line where it has to: its asker waits for the reply anyway.
    pub(crate) fn deliver(&self, envelope: Envelope<A>, priority: Priority) -> Result<Delivered> {
        match self.push_or_join(envelope, priority, None) {
            Ok((nudge, _)) => {
                self.head.act(nudge);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    /// The same for a message that was asked of another actor. One whose asker has given up goes no further.
    pub(crate) fn deliver_forwarded(
        self: &Arc<Self>,
        envelope: Envelope<A>,
        asker: &dyn Asker,
        priority: Priority,
    ) -> Result<Delivered> {
        let holder = HolderRef(self.clone());
        let enter = |_: &Envelope<A>, slot| asker.enter(AtSlot(slot), Some(&holder));
        let member = self.member();
        let pushed = self.mailbox.push_or_join_forwarded(envelope, priority, enter);
        drop(member);
        match pushed {
            Ok(nudge) => {
                self.head.act(nudge);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    /// Answers for a message that was not accepted. One that is dropped by the mailbox's policy is no error of
    /// its sender's.
    fn refused(&self, refusal: Refusal<Envelope<A>>) -> Result<Delivered> {
        match self.explain(refusal) {
            Err(dropped) => Ok(Delivered::Dropped(dropped)),
            Ok((envelope, error)) => {
                self.bury(envelope, &error);
                Err(error)
            }
        }
    }

    /// Why a message was not accepted; one that is dropped by the mailbox's policy is buried already, with this error.
    fn explain(&self, refusal: Refusal<Envelope<A>>) -> Result<(Envelope<A>, Error)> {
        match refusal {
            Refusal::Closed(envelope) => {
                let error = self.stopped(envelope.message_type());
                Ok((envelope, error))
            }
            Refusal::Full(envelope) => {
                let error = self.error(ErrorKind::MailboxFull, envelope.message_type());
                Ok((envelope, error))
            }
            Refusal::Overloaded(envelope, retry_after) => {
                let error = self.error(ErrorKind::Overloaded, envelope.message_type());
                Ok((envelope, error.with_retry_after(retry_after)))
            }
            Refusal::Dropped(envelope, nudge) => {
                self.head.act(nudge);
                let error = self.error(ErrorKind::MailboxFull, envelope.message_type());
                self.bury(envelope, &error);
                Err(error)
            }
            Refusal::Withdrawn(envelope) => {
                let error = self.error(ErrorKind::Cancelled, envelope.message_type());
                discard(envelope);
                Err(error)
            }
        }
    }

    /// Answers for a message that the actor will not handle because it ends.
    pub(crate) fn refuse(&self, envelope: Envelope<A>) -> Error {
        let error = self.stopped(envelope.message_type());
        self.bury(envelope, &error);
        error
    }

    /// A dead letter; its asker, if there is one, is answered. Its destructor runs under the guard: it may be another
    /// sender's message that makes room for this one.
    fn bury(&self, envelope: Envelope<A>, error: &Error) {
        if envelope.is_withdrawn() {
            // Its asker took it back: it is not missing anywhere.
            return discard(envelope);
        }
        let message = envelope.message_type();
        let buried = contain(|| {
            self.head.system.events().dead_letter(self, &envelope, error);
            envelope.refuse(error);
        });
        if let Err(panic) = buried {
            tracing::warn!(actor = %self.label(), message, %panic, "a refused message panicked");
        }
    }

    pub(crate) fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind).about(self).with("message", message)
    }

    pub(crate) fn stopped(&self, message: &'static str) -> Error {
        let error = self.error(ErrorKind::Stopped, message);
        match self.head.end.get() {
            Some(reason) => error.with("reason", reason),
            None => error,
        }
    }
}

/// What became of a message whose sender hears no error.
#[derive(Debug)]
pub(crate) enum Delivered {
    Queued,
    /// By the mailbox's policy, as a dead letter with this error.
    Dropped(Error),
}

/// A sender's place in line, given up when the sender gives up.
struct Place<'a, T: Item> {
    mailbox: &'a Mailbox<T>,
    ticket: Option<Ticket>,
}

impl<T: Item> Drop for Place<'_, T> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            drop(self.mailbox.leave(ticket));
        }
    }
}

impl<A: Actor> Labelled for Shared<A> {
    fn path(&self) -> ActorPath {
        self.head.path()
    }

    fn pid(&self) -> Pid {
        self.head.pid
    }

    fn actor_type(&self) -> &'static str {
        type_name::<A>()
    }

    fn queued(&self) -> usize {
        self.mailbox.len()
    }
}

impl<A: Actor> Holder for Shared<A> {
    fn unread(&self, message: &'static str, failure: Option<&Error>) {
        let events = self.head.system.events();
        match failure {
            None => events.unheard(self, message),
            // As when the asker was gone before. Other errors have been reported where they were made, or are no loss.
            Some(error) if error.kind() == ErrorKind::Failed => events.failed(self, message, error),
            Some(_) => {}
        }
    }

    fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>) {
        self.head.act(self.mailbox.withdraw(give_up));
    }
}

impl<A: Actor> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.path().to_serialization_format(), self.actor_type())
    }
}

/// A live actor of any type, as its system and its backend see it.
pub(crate) trait Control: Labelled {
    fn head(&self) -> &Head;
    fn head_mut(&mut self) -> &mut Head;
    fn signal(&self, ending: Ending);
    /// The same for a native host, which may have been asked to stop before it says so: the cell is run in any case.
    fn end(&self, ending: Ending);
    /// How it has been asked to end.
    fn ending(&self) -> Ending;
    /// Refuses what does not come from an actor of its system.
    fn admit_members_only(&self);
    /// See [`Mailbox::resting`].
    fn resting(&self) -> Option<u32>;
    /// Makes the cell look at its timers and its family.
    fn call(&self);
    /// How its children are supervised.
    fn supervision(&self) -> Supervision;
    fn into_labelled(self: Arc<Self>) -> Arc<dyn Labelled>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<A: Actor> Control for Shared<A> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn signal(&self, ending: Ending) {
        self.head.act(self.mailbox.signal(ending));
    }

    fn end(&self, ending: Ending) {
        match self.mailbox.signal(ending) {
            Nudge::Waker(waker) => waker.wake(),
            // `Nothing` says that the host has been asked already. It may have been asked for the stop that it is
            // telling us about now, and then it would run no turn.
            Nudge::Nothing | Nudge::Host | Nudge::Stop if self.head.end.get().is_none() => {
                self.head.act(Nudge::Host);
            }
            _ => {}
        }
    }

    fn ending(&self) -> Ending {
        self.mailbox.ending()
    }

    fn admit_members_only(&self) {
        self.mailbox.admit_members_only();
    }

    fn resting(&self) -> Option<u32> {
        self.mailbox.resting()
    }

    fn call(&self) {
        self.head.act(self.mailbox.call());
    }

    fn supervision(&self) -> Supervision {
        A::supervision()
    }

    fn into_labelled(self: Arc<Self>) -> Arc<dyn Labelled> {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Wakes the cell for something beside its messages, wherever it is: so it is the waker of an actor's timers.
impl<A: Actor> Wake for Shared<A> {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}

/// The whole life of an actor as one future.
pub(crate) type Life = Pin<Box<dyn Future<Output = ()> + Send>>;
