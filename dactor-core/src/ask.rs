use std::any::type_name;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use crate::envelope::Labelled;
use crate::interceptor::Outbound;
use crate::outbound::{Trail, depart, nobody_waits, turn_back};
use crate::pending::{Holder, InFlight, Limits, Patience, PendingReply};
use crate::pipeline::{Chain, Pause};
use crate::post::Manner;
use crate::reply::Reply;
use crate::shared::Delivered;
use crate::{
    Deadline, Error, ErrorKind, Header, Headers, Message, Mode, Priority, Result, SendError, cycles, turn,
};

/// An actor seen as something that takes `M`.
pub(crate) trait Target<M: Message>: Labelled {
    fn tell(&self, message: M, manner: Manner) -> Result<()>;
    fn try_tell(&self, message: M, manner: Manner) -> Result<(), SendError<M>>;
    fn send(&self, message: M, manner: Manner) -> Sending<'_>;
    fn deliver(&self, reply: Arc<Reply<M>>, priority: Priority) -> Result<Delivered>;
    fn outbound(&self) -> &Chain<dyn Outbound>;
    fn labelled(&self) -> Arc<dyn Labelled>;
    fn holder(&self) -> Arc<dyn Holder>;
    /// Answers for a message that was not sent.
    fn bury(&self, message: &M, error: &Error);
}

/// A send whose target's type is erased.
pub(crate) type Sending<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// An ask: configure it, then await it.
///
/// It is sent when first polled. Dropped before its message is being handled, it takes the message back:
/// a handler never works for an asker who gave up. One that is already running finishes, unless its message
/// says otherwise ([`Message::ABORT`]), and may look whether anyone still waits
/// ([`Context::cancelled`](crate::Context::cancelled)).
///
/// An answer that comes before the timeout or the cancellation is given, however close the two are; one that comes
/// after it is a dead letter ([`AskerGone`](ErrorKind::AskerGone)), and so is one that is dropped unread.
#[must_use = "an ask is sent when it is awaited; `enqueue` sends it at once, `tell` needs no reply"]
pub struct Ask<'a, M: Message> {
    target: &'a dyn Target<M>,
    manner: Manner,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    cancel: Option<CancellationToken>,
    stage: Stage<M>,
}

enum Stage<M: Message> {
    Unsent(M),
    /// An interceptor wants it to wait.
    Delayed(Box<Delayed<M>>),
    Sent(InFlight<M>),
    Over,
}

/// An ask that its interceptors let go.
struct Departed {
    pause: Pause,
    patience: Option<Box<Patience>>,
    trail: Option<Box<Trail>>,
}

struct Delayed<M> {
    message: M,
    delay: Pin<Box<Sleep>>,
    patience: Option<Box<Patience>>,
    trail: Option<Box<Trail>>,
}

impl<'a, M: Message> Ask<'a, M> {
    pub(crate) fn new(target: &'a dyn Target<M>, message: M, manner: Manner) -> Self {
        Self { target, manner, timeout: None, deadline: None, cancel: None, stage: Stage::Unsent(message) }
    }

    /// Gives up after this long, counted from the moment the ask is sent. Set again, it replaces the one set before.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives up at this time. Of several limits the earliest counts: the timeout, the deadline, a [`Deadline`] header,
    /// and the deadline of the message in whose handler the ask is made. Set again, it replaces the one set before.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Gives up when the token is cancelled.
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = Some(token);
        self
    }

    /// Sends with this header.
    pub fn header(mut self, header: impl Header) -> Self {
        self.manner.headers.insert(header);
        self
    }

    /// Gives the headers beside the reply, too.
    pub fn with_headers(mut self) -> impl Future<Output = Result<(M::Reply, Headers)>> + Send + use<'a, M> {
        poll_fn(move |cx| {
            let (reply, headers) = ready!(self.poll_whole(cx));
            Poll::Ready(reply.map(|reply| (reply, headers)))
        })
    }

    /// Sends now and gives the reply to await later, from anywhere.
    pub fn enqueue(mut self) -> Result<PendingReply<M>> {
        let Stage::Unsent(message) = std::mem::replace(&mut self.stage, Stage::Over) else {
            panic!("an ask was enqueued after it had been awaited");
        };
        let departed = self.depart(&message)?;
        match departed {
            Departed { pause: Pause { delay: Duration::ZERO, .. }, patience, trail } => {
                let manner = self.take_manner();
                let ask = InFlight::send(self.target, message, manner, None, patience, trail)?;
                Ok(PendingReply::new(ask, self.target.holder()))
            }
            Departed { pause, trail, .. } => {
                let error = turn_back(trail, nobody_waits(self.target, pause));
                self.target.bury(&message, &error);
                Err(error)
            }
        }
    }

    /// When the ask is of no use any more.
    fn limits(&self) -> Limits {
        Limits {
            timeout: self.timeout.map(|after| (after, Deadline::after(after).0)),
            deadline: [self.deadline, self.header_deadline()].into_iter().flatten().min(),
            inherited: turn::deadline(),
        }
    }

    fn header_deadline(&self) -> Option<Instant> {
        self.manner.headers.get::<Deadline>().map(|deadline| deadline.0)
    }

    /// What ends the asker's patience, if anything does.
    fn patience(&mut self, limits: Limits) -> Result<Option<Box<Patience>>> {
        self.in_time(&limits)?;
        let cancel = self.cancel.take();
        if limits.earliest().is_none() && cancel.is_none() {
            return Ok(None);
        }
        Patience::new(limits, cancel, self.target.labelled()).map(|patience| Some(Box::new(patience)))
    }

    fn in_time(&self, limits: &Limits) -> Result<()> {
        match limits.earliest() {
            Some(deadline) if deadline <= Instant::now() => Err(limits.late::<M>(self.target).unhandled()),
            _ => Ok(()),
        }
    }

    /// Runs the interceptors. They see the ask's own deadline as a header, and may set one or an earlier one.
    fn depart(&mut self, message: &M) -> Result<Departed> {
        let mut limits = self.limits();
        self.in_time(&limits)?;
        let unseen = self.target.outbound().as_ref().is_none_or(|chain| chain.is_empty());
        // A deadline that travels beside the message is the one that counts.
        if let Some(own) = limits.own().filter(|_| !unseen || self.header_deadline().is_some()) {
            self.manner.headers.insert(Deadline(own));
        }
        if unseen {
            let patience = self.patience(limits)?;
            let (pause, _) = depart(self.target, message, Mode::Ask, &mut self.manner.headers)?;
            return Ok(Departed { pause, patience, trail: None });
        }
        let (pause, trail) = match depart(self.target, message, Mode::Ask, &mut self.manner.headers) {
            Ok((pause, trail)) => (pause, trail.map(Box::new)),
            Err(error) => {
                self.target.bury(message, &error);
                return Err(error);
            }
        };
        if let Some(set) = self.header_deadline() {
            limits.deadline = limits.deadline.map_or(Some(set), |deadline| Some(deadline.min(set)));
        }
        match self.patience(limits) {
            Ok(patience) => Ok(Departed { pause, patience, trail }),
            Err(error) => Err(turn_back(trail, error)),
        }
    }

    /// The reply, and the headers beside it.
    fn poll_whole(&mut self, cx: &mut Context<'_>) -> Poll<(Result<M::Reply>, Headers)> {
        if !matches!(self.stage, Stage::Sent(_)) {
            let begun = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Unsent(message) => self.begin(message, cx),
                Stage::Delayed(delayed) => self.wait(delayed, cx),
                Stage::Sent(_) | Stage::Over => panic!("an ask was polled after it had ended"),
            };
            match (begun, &self.stage) {
                (Err(error), _) => return Poll::Ready((Err(error), Headers::default())),
                // Sent with this task's waker, and nothing else to wait for: there is nothing to look at yet.
                (Ok(()), Stage::Sent(ask)) if !ask.is_patient() => {}
                (Ok(()), _) => {
                    cycles::sent();
                    return Poll::Pending;
                }
            }
        }
        let Stage::Sent(ask) = &mut self.stage else { unreachable!("it has been sent") };
        let polled = ask.poll(cx, || self.target.holder());
        if polled.is_ready() {
            self.stage = Stage::Over;
        }
        polled
    }

    fn begin(&mut self, message: M, cx: &mut Context<'_>) -> Result<()> {
        if turn::current() == self.target.pid() {
            let error = Error::new(ErrorKind::AskedItself).about(self.target);
            return Err(error.with("message", std::any::type_name::<M>()));
        }
        if self.is_plain() {
            return self.send(message, cx.waker().clone(), None, None);
        }
        let Departed { pause: Pause { delay, .. }, patience, trail } = self.depart(&message)?;
        if delay.is_zero() {
            return self.send(message, cx.waker().clone(), patience, trail);
        }
        let delay = Box::pin(tokio::time::sleep(delay));
        self.wait(Box::new(Delayed { message, delay, patience, trail }), cx)
    }

    /// Whether nothing limits or intercepts it: most asks.
    fn is_plain(&self) -> bool {
        let unlimited = self.timeout.is_none() && self.deadline.is_none() && self.cancel.is_none();
        unlimited
            && self.manner.headers.is_empty()
            && turn::deadline().is_none()
            && self.target.outbound().is_none()
    }

    fn wait(&mut self, mut delayed: Box<Delayed<M>>, cx: &mut Context<'_>) -> Result<()> {
        if let Some(error) = delayed.patience.as_mut().and_then(|patience| patience.poll::<M>(cx)) {
            return Err(turn_back(delayed.trail.take(), error.unhandled()));
        }
        if delayed.delay.as_mut().poll(cx).is_pending() {
            self.stage = Stage::Delayed(delayed);
            return Ok(());
        }
        let Delayed { message, patience, trail, .. } = *delayed;
        self.send(message, cx.waker().clone(), patience, trail)
    }

    fn send(
        &mut self,
        message: M,
        waker: Waker,
        patience: Option<Box<Patience>>,
        trail: Option<Box<Trail>>,
    ) -> Result<()> {
        let manner = self.take_manner();
        let ask = InFlight::send(self.target, message, manner, Some(waker), patience, trail)?;
        self.stage = Stage::Sent(ask);
        Ok(())
    }

    fn take_manner(&mut self) -> Manner {
        let headers = std::mem::take(&mut self.manner.headers);
        Manner { priority: self.manner.priority, headers }
    }
}

// Nothing in it is pinned: the timers are boxed, and exist only where there is something to wait for.
impl<M: Message> Unpin for Ask<'_, M> {}

impl<M: Message> Future for Ask<'_, M> {
    type Output = Result<M::Reply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_whole(cx).map(|(reply, _)| reply)
    }
}

impl<M: Message> Drop for Ask<'_, M> {
    fn drop(&mut self) {
        if let Stage::Sent(ask) = &mut self.stage {
            ask.leave(|| self.target.holder());
        }
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
