use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use crate::actor_ref::outbound::{OutboundGuard, delay_unsupported, not_sent, run_on_send};
use crate::actor_ref::pending::{AskLimits, Deadlines, InFlight, PendingReply, can_join};
use crate::base::current;
use crate::base::label::Labelled;
use crate::delivery::ask_state::AskState;
use crate::delivery::ask_state::Holder;
use crate::interceptor::api::Outbound;
use crate::interceptor::chain::{Chain, Pause};
use crate::kernel::actor_core::{Delivered, DynActor};
use crate::kernel::cycles;
use crate::message::options::SendOptions;
use crate::{Deadline, Error, ErrorKind, Header, Headers, Message, Priority, Result, SendError};

/// An actor that handles `M`, with its own type erased.
pub(crate) trait Target<M: Message>: Labelled {
    fn tell(&self, message: M, options: SendOptions) -> Result<()>;
    fn try_tell(&self, message: M, options: SendOptions) -> Result<(), SendError<M>>;
    fn send(&self, message: M, options: SendOptions) -> Sending<'_>;
    fn deliver(&self, ask: Arc<AskState<M>>, priority: Priority) -> Result<Delivered>;
    fn outbound(&self) -> &Chain<dyn Outbound>;
    fn labelled(&self) -> Arc<dyn Labelled>;
    fn holder(&self) -> Arc<dyn Holder>;
    fn erased(&self) -> Arc<dyn DynActor>;
    /// The timeout of an ask that sets none.
    fn ask_timeout(&self) -> Option<Duration>;
    /// Publishes a dead letter for a message that was not sent.
    fn dead_letter(&self, message: &M, error: &Error);
}

/// A send with the target's type erased.
pub(crate) type Sending<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// An ask (request-response): configure it, then await it.
///
/// It is sent when first polled. Dropping it before the handler has started withdraws the message, so no
/// handler works for an asker that has given up. A handler that is already running finishes, unless its
/// message type sets [`Message::ABORT`]; it can check for cancellation with
/// [`Context::cancelled`](crate::Context::cancelled).
///
/// A reply that arrives before the timeout or cancellation is always delivered. A reply that arrives later,
/// or is dropped unread, is a dead letter ([`AskerGone`](ErrorKind::AskerGone)).
#[must_use = "an ask is sent when it is awaited; `enqueue` sends it at once, `tell` needs no reply"]
pub struct Ask<'a, M: Message> {
    target: &'a dyn Target<M>,
    options: SendOptions,
    timeout: Option<Duration>,
    /// The timeout is not the asker's own, and gives way to a deadline.
    is_default_timeout: bool,
    /// The target lives elsewhere, and asks of it have a default timeout.
    is_far: bool,
    deadline: Option<Instant>,
    cancel: Option<CancellationToken>,
    stage: Stage<M>,
}

enum Stage<M: Message> {
    Unsent(M),
    /// Waits out the delay that an interceptor asked for.
    Delayed(Box<Delayed<M>>),
    Sent(InFlight<M>),
    Over,
}

/// An ask that its outbound interceptors have admitted.
struct Intercepted {
    pause: Pause,
    limits: Option<Box<AskLimits>>,
    guard: Option<Box<OutboundGuard>>,
}

struct Delayed<M> {
    message: M,
    delay: Pin<Box<Sleep>>,
    limits: Option<Box<AskLimits>>,
    guard: Option<Box<OutboundGuard>>,
}

impl<'a, M: Message> Ask<'a, M> {
    #[inline(always)]
    pub(crate) fn new(target: &'a dyn Target<M>, message: M, options: SendOptions) -> Self {
        let stage = Stage::Unsent(message);
        Self {
            target,
            options,
            timeout: None,
            is_default_timeout: false,
            is_far: false,
            deadline: None,
            cancel: None,
            stage,
        }
    }

    /// Gives up after this long unless the asker says something else.
    #[cold]
    pub(crate) fn or_timeout(mut self, timeout: Option<Duration>) -> Self {
        (self.timeout, self.is_default_timeout) = (timeout, timeout.is_some());
        self.is_far = timeout.is_some();
        self
    }

    /// Sets a timeout, counted from the moment the ask is sent. A second call replaces the first.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        (self.timeout, self.is_default_timeout) = (Some(timeout), false);
        self
    }

    /// Sets an absolute deadline. The earliest limit counts: the timeout, this deadline, a [`Deadline`]
    /// header, and the deadline of the message in whose handler the ask is made. A second call replaces the
    /// first.
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
        self.options.headers.insert(header);
        self
    }

    /// Also returns the headers beside the reply.
    pub fn with_headers(mut self) -> impl Future<Output = Result<(M::Reply, Headers)>> + Send + use<'a, M> {
        poll_fn(move |cx| {
            let (reply, headers) = ready!(self.poll_whole(cx));
            Poll::Ready(reply.map(|reply| (reply, headers)))
        })
    }

    /// Sends now and returns the pending reply, which can be awaited later and elsewhere.
    pub fn enqueue(mut self) -> Result<PendingReply<M>> {
        let Stage::Unsent(message) = std::mem::replace(&mut self.stage, Stage::Over) else {
            panic!("an ask was enqueued after it had been awaited");
        };
        let intercepted = self.run_on_send(&message)?;
        match intercepted {
            Intercepted { pause: Pause { delay: Duration::ZERO, .. }, limits, guard } => {
                let options = self.take_options();
                let ask = InFlight::send(self.target, message, options, None, limits, guard)?;
                Ok(PendingReply::new(ask, self.target.holder()))
            }
            Intercepted { pause, guard, .. } => {
                let error = not_sent(guard, delay_unsupported(self.target, pause));
                self.target.dead_letter(&message, &error);
                Err(error)
            }
        }
    }

    /// Sends, after a delay that an interceptor wants, and gives the reply to await later. The limits of the ask hold during
    /// the delay.
    pub(crate) async fn into_pending(mut self) -> Result<PendingReply<M>> {
        let Stage::Unsent(message) = std::mem::replace(&mut self.stage, Stage::Over) else {
            unreachable!("a new ask has not been polled");
        };
        let Intercepted { pause: Pause { delay, .. }, mut limits, guard } = self.run_on_send(&message)?;
        if !delay.is_zero() {
            let mut delay = pin!(tokio::time::sleep(delay));
            let over = poll_fn(|cx| match limits.as_mut().and_then(|limits| limits.poll::<M>(cx)) {
                Some(error) => Poll::Ready(Some(error)),
                None => delay.as_mut().poll(cx).map(|()| None),
            });
            if let Some(error) = over.await {
                return Err(not_sent(guard, error.unhandled()));
            }
        }
        let options = self.take_options();
        let ask = InFlight::send(self.target, message, options, None, limits, guard)?;
        Ok(PendingReply::new(ask, self.target.holder()))
    }

    /// The deadlines after which the ask gives up.
    fn deadlines(&self) -> Deadlines {
        let deadline = [self.deadline, self.header_deadline()].into_iter().flatten().min();
        let timeout = self.timeout.filter(|_| !self.is_default_timeout || deadline.is_none());
        Deadlines {
            timeout: timeout.map(|after| (after, Deadline::after(after).0)),
            deadline,
            inherited: current::deadline(),
        }
    }

    fn header_deadline(&self) -> Option<Instant> {
        self.options.headers.get::<Deadline>().map(|deadline| deadline.0)
    }

    /// The deadline and the cancellation that end the ask early, if it has any.
    fn limits(&mut self, deadlines: Deadlines) -> Result<Option<Box<AskLimits>>> {
        self.in_time(&deadlines)?;
        let cancel = self.cancel.take();
        if deadlines.earliest().is_none() && cancel.is_none() {
            return Ok(None);
        }
        // Such an ask has a limit without its asker's wish: it may wait in a cycle like one without.
        let may_be_cyclic = self.is_default_timeout && deadlines.deadline.is_none() && cancel.is_none();
        let limits = AskLimits::new(deadlines, cancel, self.target.labelled(), may_be_cyclic)?;
        Ok(Some(Box::new(limits)))
    }

    fn in_time(&self, deadlines: &Deadlines) -> Result<()> {
        match deadlines.earliest() {
            Some(deadline) if deadline <= Instant::now() => Err(deadlines.late::<M>(self.target).unhandled()),
            _ => Ok(()),
        }
    }

    /// Runs the interceptors. They see the ask's own deadline as a header, and may set one or shorten it.
    fn run_on_send(&mut self, message: &M) -> Result<Intercepted> {
        let mut deadlines = self.deadlines();
        self.in_time(&deadlines)?;
        let unseen = self.target.outbound().as_ref().is_none_or(|chain| chain.is_empty());
        // The deadline in the header takes precedence.
        if let Some(own) = deadlines.own().filter(|_| !unseen || self.header_deadline().is_some()) {
            self.options.headers.insert(Deadline(own));
        }
        if unseen {
            let limits = self.limits(deadlines)?;
            let (pause, _) = run_on_send(self.target, message, M::MODE, &mut self.options.headers)?;
            return Ok(Intercepted { pause, limits, guard: None });
        }
        let (pause, guard) = match run_on_send(self.target, message, M::MODE, &mut self.options.headers) {
            Ok((pause, guard)) => (pause, guard.map(Box::new)),
            Err(error) => {
                self.target.dead_letter(message, &error);
                return Err(error);
            }
        };
        if let Some(set) = self.header_deadline() {
            deadlines.deadline = deadlines.deadline.map_or(Some(set), |deadline| Some(deadline.min(set)));
        }
        match self.limits(deadlines) {
            Ok(limits) => Ok(Intercepted { pause, limits, guard }),
            Err(error) => Err(not_sent(guard, error)),
        }
    }

    /// The reply and its headers.
    fn poll_whole(&mut self, cx: &mut Context<'_>) -> Poll<(Result<M::Reply>, Headers)> {
        if !matches!(self.stage, Stage::Sent(_)) {
            let begun = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Unsent(message) => self.begin(message, cx),
                Stage::Delayed(delayed) => self.wait(delayed, cx),
                Stage::Sent(_) | Stage::Over => panic!("an ask was polled after it had ended"),
            };
            match (begun, &self.stage) {
                (Err(error), _) => return Poll::Ready((Err(error), Headers::default())),
                // Sent with this task's waker and without limits: no need to poll the reply yet.
                (Ok(()), Stage::Sent(ask)) if !ask.is_unlimited() => {}
                (Ok(()), _) => {
                    cycles::sent();
                    return Poll::Pending;
                }
            }
        }
        let Stage::Sent(ask) = &mut self.stage else { unreachable!("the ask has been sent") };
        let polled = ask.poll(cx, || self.target.holder());
        if polled.is_ready() {
            self.stage = Stage::Over;
        }
        polled
    }

    fn begin(&mut self, message: M, cx: &mut Context<'_>) -> Result<()> {
        let pid = self.target.pid();
        if current::actor() == pid && !can_join::<M>(pid, || true) {
            return Err(self.asked_itself());
        }
        if self.is_plain() {
            return self.send(message, cx.waker().clone(), None, None);
        }
        self.begin_limited(message, cx)
    }

    #[cold]
    fn asked_itself(&self) -> Error {
        Error::new(ErrorKind::AskedItself).about(self.target).with("message", M::type_name())
    }

    #[inline(never)]
    fn begin_limited(&mut self, message: M, cx: &mut Context<'_>) -> Result<()> {
        if self.is_far && self.target.is_own_code() && !can_join::<M>(current::actor(), || true) {
            return Err(self.asked_itself());
        }
        let Intercepted { pause: Pause { delay, .. }, limits, guard } = self.run_on_send(&message)?;
        if delay.is_zero() {
            return self.send(message, cx.waker().clone(), limits, guard);
        }
        let delay = Box::pin(tokio::time::sleep(delay));
        self.wait(Box::new(Delayed { message, delay, limits, guard }), cx)
    }

    /// Whether the ask has neither limits nor interceptors: the common case.
    fn is_plain(&self) -> bool {
        let unlimited = self.timeout.is_none() && self.deadline.is_none() && self.cancel.is_none();
        unlimited
            && self.options.headers.is_empty()
            && current::deadline().is_none()
            && self.target.outbound().is_none()
    }

    #[cold]
    fn wait(&mut self, mut delayed: Box<Delayed<M>>, cx: &mut Context<'_>) -> Result<()> {
        if let Some(error) = delayed.limits.as_mut().and_then(|limits| limits.poll::<M>(cx)) {
            return Err(not_sent(delayed.guard.take(), error.unhandled()));
        }
        if delayed.delay.as_mut().poll(cx).is_pending() {
            self.stage = Stage::Delayed(delayed);
            return Ok(());
        }
        let Delayed { message, limits, guard, .. } = *delayed;
        self.send(message, cx.waker().clone(), limits, guard)
    }

    fn send(
        &mut self,
        message: M,
        waker: Waker,
        limits: Option<Box<AskLimits>>,
        guard: Option<Box<OutboundGuard>>,
    ) -> Result<()> {
        let options = self.take_options();
        let ask = InFlight::send(self.target, message, options, Some(waker), limits, guard)?;
        self.stage = Stage::Sent(ask);
        Ok(())
    }

    fn take_options(&mut self) -> SendOptions {
        let headers = std::mem::take(&mut self.options.headers);
        SendOptions { priority: self.options.priority, headers }
    }
}

// Nothing in it is pinned: the timers are boxed, and exist only while there is a limit or a delay.
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
            .field("message", &M::type_name())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
