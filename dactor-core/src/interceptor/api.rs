use std::any::{Any, type_name};
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::time::Duration;

use crate::base::label::Labelled;
use crate::interceptor::stream::{ItemVerdict, StreamEnd, StreamItem};
use crate::message::mode::Mode;
use crate::{Error, Header, Headers, Pid};

/// Intercepts messages where they are handled: for one actor ([`Spawn::inbound`](crate::Spawn::inbound)) or a
/// whole system ([`SystemBuilder::inbound`](crate::SystemBuilder::inbound)).
///
/// Interceptors run in registration order, those of the system first. The first verdict other than
/// [`Continue`](Verdict::Continue) or [`Delay`](Verdict::Delay) decides, and later interceptors do not see
/// the message. A panic in an interceptor is an error of that message, not of the actor.
///
/// An error that an interceptor causes names it, as `interceptor`.
///
/// The order matters: a counter registered after a limit counts only the messages that the limit admits.
///
/// ```
/// use dactor_core::{Delivery, Inbound, Verdict};
///
/// /// Admits one message type.
/// struct Only(&'static str);
///
/// impl Inbound for Only {
///     fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
///         if delivery.message_type() == self.0 {
///             Verdict::Continue
///         } else {
///             Verdict::Reject(format!("{} is not for {}", delivery.message_type(), delivery.actor()))
///         }
///     }
/// }
/// ```
pub trait Inbound: Send + Sync + 'static {
    /// Called before the message is handled.
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let _ = delivery;
        Verdict::Continue
    }

    /// The scope to run around the handler, if any. Called for every message. Without a scope, a message needs
    /// no allocation for its interceptors.
    fn scope(&self) -> Option<&dyn Around> {
        None
    }

    /// Called after the message, exactly once for every message that `on_receive` saw, including rejected,
    /// failed and panicked ones and those whose actor was killed. The reply is sent after it.
    fn on_complete(&self, completion: &mut Completion<'_>) {
        let _ = completion;
    }

    /// For each item of a stream: before the actor's producer sends it, and before the actor's input gives it to the handler.
    /// Called in the task that sends or takes the item, which may outlive the handler. An interceptor that refuses an item
    /// ends the stream with [`Rejected`](crate::ErrorKind::Rejected), for both sides; a panic ends it as well.
    ///
    /// ```
    /// use dactor_core::{Direction, Inbound, ItemVerdict, StreamItem};
    ///
    /// /// Limits the length of uploads.
    /// struct AtMost(u64);
    ///
    /// impl Inbound for AtMost {
    ///     fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
    ///         if item.direction() == Direction::ToActor && item.index() >= self.0 {
    ///             return ItemVerdict::Reject(format!("more than {} items", self.0));
    ///         }
    ///         ItemVerdict::Continue
    ///     }
    /// }
    /// ```
    fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        let _ = item;
        ItemVerdict::Continue
    }

    /// After the last item of a stream of this actor, once for each direction of each request that got to its handler: when the
    /// producer or the input is done or dropped, which may be long after [`on_complete`](Self::on_complete).
    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        let _ = end;
    }

    /// The name in errors: by default, the type name.
    fn name(&self) -> &'static str {
        type_name::<Self>()
    }
}

/// Runs around a handler, returned by an interceptor as its [`scope`](Inbound::scope). The scope of the first
/// interceptor is the outermost.
///
/// ```
/// use dactor_core::{About, Around, Inbound, Next};
/// use tokio::time::Instant;
///
/// /// Prints how long a handler took.
/// struct Watch;
///
/// impl Inbound for Watch {
///     fn scope(&self) -> Option<&dyn Around> {
///         Some(self)
///     }
/// }
///
/// impl Around for Watch {
///     fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
///         Box::pin(async move {
///             let start = Instant::now();
///             next.await;
///             println!("{} took {:?}", about.message_type(), start.elapsed());
///         })
///     }
/// }
/// ```
pub trait Around: Send + Sync {
    /// Awaits `next`, running code before, after or beside it. A scope that ends without awaiting `next` to
    /// its end drops the handler, and the message fails with [`Dropped`](crate::ErrorKind::Dropped).
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a>;
}

/// Intercepts messages where they are sent: for one ref ([`ActorRef::outbound`](crate::ActorRef::outbound))
/// or a whole system ([`SystemBuilder::outbound`](crate::SystemBuilder::outbound)), in registration order,
/// those of the system first.
///
/// Every message that `on_send` saw but that was not sent ends in one call of `on_reply`: refused by a later
/// interceptor or by the mailbox, or given up while it was delayed or waited for room. So an interceptor can
/// release what it reserved in `on_send`: [`Completion::got_through`] tells whether the message was sent.
pub trait Outbound: Send + Sync + 'static {
    /// Called before the message is sent. The sender gets a verdict other than
    /// [`Continue`](Verdict::Continue) as an error. `send` and `ask` wait for a [`Delay`](Verdict::Delay);
    /// other sends fail with `Unsupported`.
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        let _ = delivery;
        Verdict::Continue
    }

    /// When a message ends, for its sender. Called once for every ask that `on_send` saw, with the reply or with the error
    /// that the asker gets; and once for every other message that `on_send` saw and that was not sent, with the reason.
    /// A message that was told and sent has no end here. An `expand` or `transform` request ends with its stream: as the
    /// consumer sees it, with [`Cancelled`](crate::ErrorKind::Cancelled) when the consumer is dropped before.
    fn on_reply(&self, completion: &mut Completion<'_>) {
        let _ = completion;
    }

    /// For each item of a stream: before an item of the caller's stream is sent, and before the caller gets an item. An
    /// interceptor that refuses an item ends the stream with [`Rejected`](crate::ErrorKind::Rejected); a panic ends it as well.
    fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        let _ = item;
        ItemVerdict::Continue
    }

    /// After the last item of a stream, once for each direction of each request that was sent.
    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        let _ = end;
    }

    /// The name in errors: by default, the type name.
    fn name(&self) -> &'static str {
        type_name::<Self>()
    }
}

/// The rest of the chain: later interceptors, and the handler.
pub type Next<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What an interceptor decides about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Admit it.
    Continue,
    /// Admit it after a delay. The delays of all interceptors add up, to one hour at most. The actor handles
    /// no other message meanwhile, which preserves message order.
    Delay(Duration),
    /// Drop it, as [`Dropped`](crate::ErrorKind::Dropped).
    Drop,
    /// Refuse it, as [`Rejected`](crate::ErrorKind::Rejected) for this reason.
    Reject(String),
    /// Refuse it for now, as [`RetryLater`](crate::ErrorKind::RetryLater); [`Error::retry_after`] is this duration.
    Retry(Duration),
}

/// Describes a message to an interceptor.
#[derive(Clone, Copy)]
pub struct About<'a> {
    pub(crate) target: &'a dyn Labelled,
    pub(crate) message: &'static str,
    pub(crate) mode: Mode,
    pub(crate) sender: Option<Pid>,
    pub(crate) behind: usize,
    pub(crate) headers: &'a Headers,
}

impl About<'_> {
    /// The target actor, as named in errors.
    pub fn actor(&self) -> String {
        self.target.label()
    }

    /// The id of the target actor.
    pub fn actor_id(&self) -> Pid {
        self.target.pid()
    }

    /// The type of the target actor.
    pub fn actor_type(&self) -> &'static str {
        self.target.actor_type()
    }

    /// The type of the message.
    pub fn message_type(&self) -> &'static str {
        self.message
    }

    /// How it was sent.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The actor that sent it, if an actor did.
    pub fn sender(&self) -> Option<Pid> {
        self.sender
    }

    /// The number of messages in the actor's mailbox, not counting this one.
    pub fn queued(&self) -> usize {
        self.target.queued() + self.behind
    }

    /// The headers of the message, as [`around`](Around::around) sees them; before and after, use
    /// [`Delivery::headers`] and [`Completion::headers`].
    pub fn headers(&self) -> &Headers {
        self.headers
    }
}

impl fmt::Debug for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("About")
            .field("actor", &self.actor())
            .field("message", &self.message)
            .field("mode", &self.mode)
            .field("sender", &self.sender)
            .finish()
    }
}

/// A message on its way to the mailbox or the handler.
#[derive(Debug)]
pub struct Delivery<'a> {
    pub(crate) about: About<'a>,
    pub(crate) headers: &'a mut Headers,
    pub(crate) message: &'a (dyn Any + Send),
}

impl<'a> Delivery<'a> {
    /// The headers of the message.
    pub fn headers(&self) -> &Headers {
        self.headers
    }

    /// The same, mutable: later interceptors and the handler see the changes.
    pub fn headers_mut(&mut self) -> &mut Headers {
        self.headers
    }

    /// The message itself, if it is an `M`.
    pub fn message<M: 'static>(&self) -> Option<&'a M> {
        self.message.downcast_ref()
    }
}

impl<'a> Deref for Delivery<'a> {
    type Target = About<'a>;

    fn deref(&self) -> &About<'a> {
        &self.about
    }
}

/// How a message ended.
#[derive(Debug)]
pub struct Completion<'a> {
    pub(crate) about: About<'a>,
    pub(crate) headers: &'a Headers,
    pub(crate) outcome: Result<Option<&'a (dyn Any + Send)>, &'a Error>,
    pub(crate) reply_headers: &'a mut Headers,
    pub(crate) got_through: bool,
}

impl<'a> Completion<'a> {
    /// The error; `None` when the message was handled.
    pub fn error(&self) -> Option<&'a Error> {
        self.outcome.err()
    }

    /// The reply, if there is one and it is an `R`.
    pub fn reply<R: 'static>(&self) -> Option<&'a R> {
        self.outcome.ok()??.downcast_ref()
    }

    /// Whether the message got through: into the mailbox for an [`Outbound`], to its handler for an
    /// [`Inbound`]. Always `true` without an [`error`](Self::error).
    pub fn got_through(&self) -> bool {
        self.got_through
    }

    /// The headers of the message.
    pub fn headers(&self) -> &Headers {
        self.headers
    }

    /// The headers of the reply.
    pub fn reply_headers(&self) -> &Headers {
        self.reply_headers
    }

    /// Sets a header beside the reply.
    pub fn set_reply_header(&mut self, header: impl Header) {
        self.reply_headers.insert(header);
    }
}

impl<'a> Deref for Completion<'a> {
    type Target = About<'a>;

    fn deref(&self) -> &About<'a> {
        &self.about
    }
}
