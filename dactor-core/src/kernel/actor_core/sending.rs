//! Sending messages into an actor's mailbox.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use tokio::task::coop::cooperative;

use super::route::{FarRefused, FarSend};
use super::{ActorCore, Delivered};
use crate::base::current::{self, Member};
use crate::delivery::ask_state::{Asker, AtSlot, HolderRef};
use crate::delivery::envelope::{Envelope, Sharing};
use crate::mailbox::bound::Ticket;
use crate::mailbox::{Refusal, Wakeup};
use crate::message::access::Access;
use crate::message::options::SendOptions;
use crate::{Actor, Message, Priority, Result, SendError, SentTo};

impl<A: Actor> ActorCore<A> {
    pub(crate) fn tell<M: SentTo<A>>(&self, message: M, options: SendOptions) -> Result<Delivered> {
        let told = match self.mailbox.push(message.into_tell(options.headers), options.priority) {
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.retell(refusal, options.priority),
        };
        self.rouse_for::<M>();
        told
    }

    /// Tells a cell whose reads others wait behind that a message was sent, if it joins them.
    #[inline(always)]
    pub(crate) fn rouse_for<M: Message>(&self) {
        if M::Access::INTERLEAVES {
            self.meta.wake(self.mailbox.rouse_reads());
        }
    }

    /// Reports a told message that was not accepted, after a retry [as a member](Self::as_member).
    #[cold]
    fn retell(&self, refusal: Refusal<Envelope<A>>, priority: Priority) -> Result<Delivered> {
        let refusal = match self.reroute(refusal, priority) {
            Ok(sent) => return self.rerouted(sent),
            Err(refusal) => refusal,
        };
        match self.unless_member(refusal, |envelope| self.mailbox.push(envelope, priority)) {
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    pub(crate) fn try_tell<M: SentTo<A>>(
        &self,
        message: M,
        options: SendOptions,
    ) -> Result<Delivered, SendError<M>> {
        let refusal = match self.push(message.into_tell(options.headers), options.priority) {
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                self.rouse_for::<M>();
                return Ok(Delivered::Queued);
            }
            Err(refusal) => refusal,
        };
        let explained = match self.reroute(refusal, options.priority) {
            Ok(Ok(())) => return Ok(Delivered::Queued),
            Ok(Err(FarRefused { envelope, error })) => Ok((envelope, error)),
            Err(refusal) => self.explain(refusal),
        };
        let (envelope, reason) = match explained {
            Ok(refused) => refused,
            Err(dropped) => return Ok(Delivered::Dropped(dropped)),
        };
        match M::take_back(envelope) {
            Some(message) => Err(SendError { message, reason }),
            None => unreachable!("a refused tell returns its message unchanged"),
        }
    }

    fn push(&self, envelope: Envelope<A>, priority: Priority) -> Result<Wakeup, Refusal<Envelope<A>>> {
        let push = |envelope| self.mailbox.push(envelope, priority);
        push(envelope).or_else(|refusal| self.unless_member(refusal, push))
    }

    fn push_or_join(
        &self,
        envelope: Envelope<A>,
        priority: Priority,
        waker: Option<&Waker>,
    ) -> Result<(Wakeup, Option<Ticket>), Refusal<Envelope<A>>> {
        let push = |envelope| self.mailbox.push_or_join(envelope, priority, waker);
        match push(envelope) {
            Ok(pushed) => Ok(pushed),
            Err(refusal) => self.unless_member(refusal, push),
        }
    }

    /// The outcome of a message that was not accepted, after a retry [as a member](Self::as_member).
    #[cold]
    fn unless_member<R>(
        &self,
        refusal: Refusal<Envelope<A>>,
        push: impl FnOnce(Envelope<A>) -> Result<R, Refusal<Envelope<A>>>,
    ) -> Result<R, Refusal<Envelope<A>>> {
        match refusal {
            Refusal::Closed(envelope) => self.as_member(envelope, push),
            refusal => Err(refusal),
        }
    }

    /// Retries as a member, if the sender is an actor of this system: during a shutdown, the mailbox still
    /// admits members. Checked only when the mailbox is closed.
    fn as_member<R>(
        &self,
        envelope: Envelope<A>,
        push: impl FnOnce(Envelope<A>) -> Result<R, Refusal<Envelope<A>>>,
    ) -> Result<R, Refusal<Envelope<A>>> {
        let system = self.meta.system();
        if !system.registry().is_closed() || !system.has_actor(current::actor()) {
            return Err(Refusal::Closed(envelope));
        }
        let member = Member::enter();
        let pushed = push(envelope);
        drop(member);
        if let Err(Refusal::Closed(_)) = &pushed {
            system.shutdown_state().lose_sent();
        }
        pushed
    }

    /// The same for a message that cannot be sent twice.
    pub(super) fn member(&self) -> Option<Member> {
        let admits = self.mailbox.admits_members() && self.meta.system().has_actor(current::actor());
        admits.then(Member::enter)
    }

    /// Sends, waiting in line for room if the overflow policy is `Block`.
    ///
    /// It consumes tokio's coop budget like every wait: a loop of sends that always finds room yields to
    /// other tasks.
    pub(crate) fn send(
        &self,
        envelope: Envelope<A>,
        priority: Priority,
    ) -> impl Future<Output = Result<Delivered>> + Send {
        cooperative(BlockingSend { core: self, state: SendState::New(envelope, priority) })
    }

    /// Sends an ask. It waits in line if necessary, because its asker waits for the reply anyway.
    #[inline]
    pub(crate) fn deliver(&self, envelope: Envelope<A>, priority: Priority) -> Result<Delivered> {
        match self.mailbox.push_or_join(envelope, priority, None) {
            Ok((wakeup, _)) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.redeliver(refusal, priority),
        }
    }

    /// As [`retell`](Self::retell), for an ask.
    #[cold]
    fn redeliver(&self, refusal: Refusal<Envelope<A>>, priority: Priority) -> Result<Delivered> {
        let refusal = match self.reroute(refusal, priority) {
            Ok(sent) => return self.rerouted(sent),
            Err(refusal) => refusal,
        };
        let push = |envelope| self.mailbox.push_or_join(envelope, priority, None);
        match self.unless_member(refusal, push) {
            Ok((wakeup, _)) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    /// The same for a message forwarded from another actor. It is discarded if its asker has given up.
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
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => match self.reroute(refusal, priority) {
                Ok(sent) => self.rerouted(sent),
                Err(refusal) => self.refused(refusal),
            },
        }
    }

    /// Queues a message that came from another process. An ask remembers where it is, so that it can be taken back; a
    /// told message does not wait for room.
    #[cfg(feature = "wire")]
    pub(crate) fn deliver_incoming(
        self: &Arc<Self>,
        envelope: Envelope<A>,
        priority: Priority,
    ) -> Result<Delivered> {
        if envelope.mode().has_caller() {
            let holder = HolderRef(self.clone());
            let enter = |envelope: &Envelope<A>, slot| envelope.enter(AtSlot(slot), &holder);
            return match self.mailbox.push_or_join_forwarded(envelope, priority, enter) {
                Ok(wakeup) => {
                    self.meta.wake(wakeup);
                    Ok(Delivered::Queued)
                }
                Err(refusal) => self.refused(refusal),
            };
        }
        match self.mailbox.push(envelope, priority) {
            Ok(wakeup) => {
                self.meta.wake(wakeup);
                Ok(Delivered::Queued)
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    /// Queues a kernel notice regardless of the bound. Returned when the actor is ending.
    pub(crate) fn notify(&self, notice: Envelope<A>) -> Result<(), Envelope<A>> {
        self.mailbox.notify(notice).map(|wakeup| self.meta.wake(wakeup))
    }
}

/// A message on its way into a mailbox that may be full. Dropping it leaves the line.
struct BlockingSend<'a, A: Actor> {
    core: &'a ActorCore<A>,
    state: SendState<'a, A>,
}

enum SendState<'a, A> {
    New(Envelope<A>, Priority),
    /// In line, with the type of the message.
    InLine(Ticket, &'static str),
    /// On its way to an actor that lives elsewhere.
    Far(FarSend<'a, A>),
    Done,
}

impl<A: Actor> Future for BlockingSend<'_, A> {
    type Output = Result<Delivered>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.state, SendState::Done) {
            SendState::New(envelope, priority) => self.begin(envelope, priority, cx),
            SendState::InLine(ticket, message) => self.poll_line(ticket, message, cx.waker()),
            SendState::Far(sending) => self.poll_far(sending, cx),
            SendState::Done => unreachable!("a send is polled to its end once"),
        }
    }
}

impl<'a, A: Actor> BlockingSend<'a, A> {
    #[inline]
    fn begin(
        &mut self,
        envelope: Envelope<A>,
        priority: Priority,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<Delivered>> {
        let core = self.core;
        let message = envelope.message_type();
        let interleaves = envelope.sharing() == Sharing::Interleaved;
        // The actor itself: room would only come after this turn, so waiting would be a deadlock.
        let pushed = if current::actor() == core.meta.pid() {
            core.push(envelope, priority).map(|wakeup| (wakeup, None))
        } else {
            core.push_or_join(envelope, priority, Some(cx.waker()))
        };
        match pushed {
            Err(refusal) => self.begin_far(refusal, priority, cx),
            Ok((wakeup, ticket)) => {
                core.meta.wake(wakeup);
                if interleaves {
                    core.meta.wake(core.mailbox.rouse_reads());
                }
                let Some(ticket) = ticket else { return Poll::Ready(Ok(Delivered::Queued)) };
                self.state = SendState::InLine(ticket, message);
                Poll::Pending
            }
        }
    }

    /// A message that is refused may be one to an actor that lives elsewhere.
    #[cold]
    fn begin_far(
        &mut self,
        refusal: Refusal<Envelope<A>>,
        priority: Priority,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<Delivered>> {
        match (refusal, self.core.route()) {
            (Refusal::Closed(envelope), Some(route)) => match self.core.known_end(&envelope) {
                None => self.poll_far(route.send(envelope, priority), cx),
                Some(error) => Poll::Ready(self.core.rerouted(Err(FarRefused { envelope, error }))),
            },
            (refusal, _) => Poll::Ready(self.core.refused(refusal)),
        }
    }

    fn poll_far(&mut self, mut sending: FarSend<'a, A>, cx: &mut TaskContext<'_>) -> Poll<Result<Delivered>> {
        match sending.as_mut().poll(cx) {
            Poll::Ready(sent) => Poll::Ready(self.core.rerouted(sent)),
            Poll::Pending => {
                self.state = SendState::Far(sending);
                Poll::Pending
            }
        }
    }

    #[inline]
    fn poll_line(&mut self, ticket: Ticket, message: &'static str, waker: &Waker) -> Poll<Result<Delivered>> {
        match self.core.mailbox.poll_ticket(ticket, waker) {
            None => {
                self.state = SendState::InLine(ticket, message);
                Poll::Pending
            }
            Some(true) => Poll::Ready(Ok(Delivered::Queued)),
            Some(false) => Poll::Ready(Err(self.core.stopped(message))),
        }
    }
}

impl<A: Actor> Drop for BlockingSend<'_, A> {
    #[inline]
    fn drop(&mut self) {
        if let SendState::InLine(ticket, _) = self.state {
            drop(self.core.mailbox.leave(ticket));
        }
    }
}
