use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::Sleep;

use crate::envelope::Labelled;
use crate::reply::Reply;
use crate::shared::Shared;
use crate::{Actor, Error, ErrorKind, Message, Pid, Priority, Result, SendError, SentTo, turn};

/// An actor seen as something that takes `M`.
pub(crate) trait Target<M: Message>: Labelled {
    fn pid(&self) -> Pid;
    fn tell(&self, message: M, priority: Priority) -> Result<()>;
    fn try_tell(&self, message: M, priority: Priority) -> Result<(), SendError<M>>;
    fn send(&self, message: M, priority: Priority) -> Sending<'_>;
    fn deliver(&self, reply: Arc<Reply<M>>, priority: Priority) -> Result<()>;
}

/// A send whose target's type is erased.
pub(crate) type Sending<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

impl<A: Actor, M: SentTo<A>> Target<M> for Shared<A> {
    fn pid(&self) -> Pid {
        self.head.pid
    }

    fn tell(&self, message: M, priority: Priority) -> Result<()> {
        Shared::tell(self, message, priority)
    }

    fn try_tell(&self, message: M, priority: Priority) -> Result<(), SendError<M>> {
        Shared::try_tell(self, message, priority)
    }

    fn send(&self, message: M, priority: Priority) -> Sending<'_> {
        Box::pin(Shared::send(self, message.into_tell(), priority))
    }

    fn deliver(&self, reply: Arc<Reply<M>>, priority: Priority) -> Result<()> {
        Shared::deliver(self, M::into_ask(reply), priority)
    }
}

/// An ask: configure it, then await it.
///
/// It is sent when first polled. Dropped before its message is being handled, it takes the message back:
/// a handler never works for an asker who gave up. One that is already running finishes.
#[must_use = "an ask is sent when it is awaited; `enqueue` sends it at once, `tell` needs no reply"]
pub struct Ask<'a, M: Message> {
    target: &'a dyn Target<M>,
    priority: Priority,
    timeout: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    stage: Stage<M>,
}

enum Stage<M: Message> {
    Unsent(M),
    Sent(PendingReply<M>),
    Over,
}

impl<'a, M: Message> Ask<'a, M> {
    pub(crate) fn new(target: &'a dyn Target<M>, message: M, priority: Priority) -> Self {
        Self { target, priority, timeout: None, timer: None, stage: Stage::Unsent(message) }
    }

    /// Gives up after this long, counted from the moment the ask is sent.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sends now and gives the reply to await later, from anywhere.
    pub fn enqueue(self) -> Result<PendingReply<M>> {
        let Stage::Unsent(message) = self.stage else {
            panic!("an ask was enqueued after it had been awaited");
        };
        let timer = match self.timeout {
            None => None,
            Some(after) => Some(Box::new(Timer { sleep: sleep(after)?, after, actor: self.target.label() })),
        };
        PendingReply::send(self.target, message, self.priority, None, timer)
    }
}

// Nothing in it is pinned: the timer is boxed, and exists only with a timeout.
impl<M: Message> Unpin for Ask<'_, M> {}

impl<M: Message> Future for Ask<'_, M> {
    type Output = Result<M::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match std::mem::replace(&mut this.stage, Stage::Over) {
            Stage::Sent(mut pending) => {
                if let Poll::Ready(reply) = Pin::new(&mut pending).poll(cx) {
                    return Poll::Ready(reply);
                }
                this.stage = Stage::Sent(pending);
            }
            Stage::Unsent(message) => {
                if turn::current() == this.target.pid() {
                    return Poll::Ready(Err(asked_itself::<M>(this.target.label())));
                }
                if let Some(after) = this.timeout {
                    this.timer = Some(sleep(after)?);
                }
                let waker = Some(cx.waker().clone());
                let sent = PendingReply::send(this.target, message, this.priority, waker, None)?;
                this.stage = Stage::Sent(sent);
            }
            Stage::Over => panic!("an ask was polled after it had ended"),
        }
        if let (Some(timer), Some(after)) = (&mut this.timer, this.timeout)
            && timer.as_mut().poll(cx).is_ready()
        {
            this.stage = Stage::Over;
            return Poll::Ready(Err(timed_out::<M>(&this.target.label(), after)));
        }
        Poll::Pending
    }
}

impl<M: Message> fmt::Debug for Ask<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask")
            .field("target", &self.target.label())
            .field("message", &type_name::<M>())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The reply to an ask that has been sent. Dropping it gives up, as with [`Ask`].
#[must_use = "dropping the pending reply withdraws the ask"]
pub struct PendingReply<M: Message> {
    reply: Arc<Reply<M>>,
    pid: Pid,
    answered: bool,
    timer: Option<Box<Timer>>,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    after: Duration,
    actor: String,
}

impl<M: Message> PendingReply<M> {
    fn send(
        target: &dyn Target<M>,
        message: M,
        priority: Priority,
        waker: Option<Waker>,
        timer: Option<Box<Timer>>,
    ) -> Result<Self> {
        let reply = Arc::new(Reply::new(message, waker));
        target.deliver(reply.clone(), priority)?;
        Ok(Self { reply, pid: target.pid(), answered: false, timer })
    }
}

impl<M: Message> Unpin for PendingReply<M> {}

impl<M: Message> Future for PendingReply<M> {
    type Output = Result<M::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(reply) = self.reply.poll(cx) {
            self.answered = true;
            return Poll::Ready(reply);
        }
        if turn::current() == self.pid {
            return Poll::Ready(Err(asked_itself::<M>(format!("#{}", self.pid))));
        }
        if let Some(timer) = &mut self.timer {
            ready!(timer.sleep.as_mut().poll(cx));
            return Poll::Ready(Err(timed_out::<M>(&timer.actor, timer.after)));
        }
        Poll::Pending
    }
}

impl<M: Message> Drop for PendingReply<M> {
    fn drop(&mut self) {
        if !self.answered {
            drop(self.reply.abandon());
        }
    }
}

impl<M: Message> fmt::Debug for PendingReply<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply").field("actor", &self.pid).finish_non_exhaustive()
    }
}

fn sleep(after: Duration) -> Result<Pin<Box<Sleep>>> {
    tokio::runtime::Handle::try_current().map_err(|error| {
        Error::new(ErrorKind::NoRuntime).because(error).with("call", "ask with a timeout")
    })?;
    Ok(Box::pin(tokio::time::sleep(after)))
}

fn asked_itself<M>(actor: String) -> Error {
    Error::new(ErrorKind::AskedItself).with("actor", actor).with("message", type_name::<M>())
}

fn timed_out<M>(actor: &str, after: Duration) -> Error {
    Error::new(ErrorKind::Timeout)
        .with("actor", actor)
        .with("message", type_name::<M>())
        .with("after", format!("{after:?}"))
}
