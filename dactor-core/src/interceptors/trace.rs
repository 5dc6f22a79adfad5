use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span};

use crate::{
    About, Around, Completion, Delivery, Header, Inbound, Mode, Next, Outbound, StreamEnd, SystemBuilder,
    TraceParent, Verdict,
};

/// Distributed tracing: puts every handler into a [`tracing`] span linked to the cause of the message, and
/// propagates a W3C trace context.
///
/// The span is named `handle`, at level `INFO`, with the fields `actor`, `actor_type`, `message`, `mode`,
/// `sender` (if an actor sent it), `trace_id`, `span_id`, `parent_id`, and `error` when the message failed.
/// The span of an ask is a child of the asker's span; that of a tell follows from the sender's span, because
/// the sender does not wait. The sender's span is kept open until the message is handled.
///
/// The end of each stream of an actor is an event at level `INFO`, also when the stream outlives its handler: `stream ended`, with the fields
/// `actor`, `request`, `mode`, `direction`, `items`, `outcome`, `error`, and the `trace_id` and `span_id` of its handler.
///
/// The message carries a [`TraceParent`] header: the one set by the sender; else the position of the handler
/// in which it was sent, or of the code inside [`within`](Self::within); else the start of a new trace. The
/// handler's own position is in its headers and is [`current`](Self::current), so the messages it sends
/// continue the trace. Code that a handler moves to another task has to be wrapped in
/// [`within`](Self::within) again.
///
/// ```
/// # use dactor_core::{System, TraceParent};
/// use dactor_core::interceptors::Trace;
///
#[doc = include_str!("backend.md")]
/// # struct Where;
/// # impl Message for Where { type Reply = TraceParent; type Access = dactor_core::Exclusive; }
/// impl Handler<Where> for Echo {
///     async fn handle(&mut self, _: Where, _ctx: &mut Context<Self>) -> Outcome<TraceParent> {
///         Ok(Trace::current().expect("every handler has a position"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// let system = System::builder("traced").backend(TokioTasks).with(Trace::install).build()?;
/// let echo = system.spawn(Echo).await?;
/// let request: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse()?;
/// let handler = Trace::within(request, echo.ask(Where)).await?;
/// assert_eq!(handler.trace_id, request.trace_id);
/// assert_ne!(handler.parent_id, request.parent_id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Trace(());

thread_local! {
    /// The trace position of the code being polled.
    static CURRENT: Cell<Option<TraceParent>> = const { Cell::new(None) };
}

impl Trace {
    /// Installs tracing, for [`SystemBuilder::with`]: an inbound and an outbound interceptor.
    pub fn install(builder: SystemBuilder) -> SystemBuilder {
        builder.inbound(Self(())).outbound(Self(()))
    }

    /// The trace position of the calling code: a handler, or code that runs [`within`](Self::within) one.
    pub fn current() -> Option<TraceParent> {
        CURRENT.get()
    }

    /// Runs code at this trace position: the messages it sends continue the trace.
    pub fn within<F: Future>(position: TraceParent, code: F) -> impl Future<Output = F::Output> + use<F> {
        Within { code, position }
    }
}

pin_project! {
    struct Within<F> {
        #[pin]
        code: F,
        position: TraceParent,
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        /// Restores the position, also after a panic.
        struct Back(Option<TraceParent>);
        impl Drop for Back {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let this = self.project();
        let _back = Back(CURRENT.replace(Some(*this.position)));
        this.code.poll(cx)
    }
}

/// The span in which a message was sent.
#[derive(Clone)]
struct Cause(Span);

impl Header for Cause {
    const NAME: &'static str = "cause";
}

/// The span in which a message is handled. Emptied when it ends, because an actor keeps the headers of its
/// last message.
#[derive(Clone)]
struct Handling(Arc<Mutex<Option<Span>>>);

impl Handling {
    fn of(span: Span) -> Self {
        Self(Arc::new(Mutex::new(Some(span))))
    }

    fn span(&self) -> Option<Span> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end(&self) -> Option<Span> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Header for Handling {
    const NAME: &'static str = "handling";
}

impl Outbound for Trace {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let cause = Span::current();
        let headers = delivery.headers_mut();
        if !cause.is_disabled() {
            headers.insert(Cause(cause));
        }
        if headers.get::<TraceParent>().is_none() {
            headers.insert(Self::current().unwrap_or_else(TraceParent::start));
        }
        Verdict::Continue
    }
}

impl Inbound for Trace {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let parent = delivery.headers().get::<TraceParent>().copied();
        let position = parent.map_or_else(TraceParent::start, TraceParent::child);
        // It stays in the headers: a stashed message comes here again.
        let cause = delivery.headers().get::<Cause>().map(|Cause(span)| span.clone());
        let span = open(delivery, cause.as_ref(), parent, position);
        let headers = delivery.headers_mut();
        headers.insert(position);
        if !span.is_disabled() {
            headers.insert(Handling::of(span));
        }
        Verdict::Continue
    }

    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn on_complete(&self, completion: &mut Completion<'_>) {
        let span = completion.headers().get().and_then(Handling::end);
        if let (Some(span), Some(error)) = (span, completion.error()) {
            span.record("error", display(format_args!("{error:#}")));
        }
    }

    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        note_end(end);
    }
}

/// The end of a stream, at the position of its handler.
fn note_end(end: &StreamEnd<'_>) {
    let position = end.headers().get::<TraceParent>();
    tracing::info!(
        actor = end.actor(),
        request = end.message_type(),
        mode = end.mode().name(),
        direction = end.direction().name(),
        items = end.items(),
        outcome = end.outcome().name(),
        error = end.error().map(|error| display(format!("{error:#}"))),
        trace_id = position.map(|position| format!("{:032x}", position.trace_id)),
        span_id = position.map(|position| format!("{:016x}", position.parent_id)),
        "stream ended",
    );
}

impl Around for Trace {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let span = about.headers().get().and_then(Handling::span).unwrap_or_else(Span::none);
        let next = next.instrument(span);
        match about.headers().get::<TraceParent>() {
            Some(position) => Box::pin(Self::within(*position, next)),
            None => Box::pin(next),
        }
    }
}

/// The span of a message that is about to be handled.
fn open(about: &About<'_>, cause: Option<&Span>, parent: Option<TraceParent>, position: TraceParent) -> Span {
    // The sender does not wait for a tell: the handler's span follows from the sender's instead of being its
    // child.
    let enclosing = cause.filter(|_| about.mode().has_caller()).and_then(Span::id);
    let span = tracing::info_span!(
        parent: enclosing,
        "handle",
        actor = about.actor(),
        actor_type = about.actor_type(),
        message = about.message_type(),
        mode = about.mode().name(),
        sender = about.sender().map(display),
        trace_id = format!("{:032x}", position.trace_id),
        span_id = format!("{:016x}", position.parent_id),
        parent_id = parent.map(|parent| format!("{:016x}", parent.parent_id)),
        error = Empty,
    );
    if about.mode() == Mode::Tell
        && let Some(cause) = cause
    {
        span.follows_from(cause);
    }
    span
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

#[cfg(test)]
mod tests;
