//! A message with its type erased.
//!
//! A source of messages (a ref, a timer, a watch, a stream) implements [`DynMessage`] in its own module and chooses a
//! [`DeliveryClass`]. The envelope knows the classes, not the sources.

mod ask;
pub(crate) mod dispatch;
pub(crate) mod far;
mod forward;
pub(crate) mod lifecycle;
mod tell;

use std::any::Any;
use std::sync::Arc;

use self::dispatch::{DispatchContext, ReadDispatch, Running, RunningRead};
use self::far::FarMessage;
use self::forward::Forwarded;
pub(crate) use self::tell::{Annotated, Tell};
use crate::delivery::access::{Handles, SharedActor};
use crate::delivery::ask_state::{AskState, Asker, Sink};
#[cfg(feature = "wire")]
use crate::delivery::ask_state::{AtSlot, HolderRef};
use crate::delivery::far::FarAsk;
use crate::mailbox::item;
use crate::mailbox::slot::AtomicSlot;
use crate::message::access::Access;
use crate::{Actor, Error, Headers, Message};

/// How the mailbox and a stopping actor treat a message.
///
/// | class | takes room in a bounded mailbox | a dead letter when it is not handled |
/// | --- | --- | --- |
/// | `Tell`, `Forward`, an ask | yes | yes |
/// | `Item` | no | yes |
/// | `Notice`, `Last` | no | no |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryClass {
    /// From a sender that does not wait for a reply.
    Tell,
    /// From the kernel itself.
    Notice,
    /// A notice that comes after all messages another actor sent.
    Last,
    /// From a source that waits until each of its messages is handled.
    Item,
    /// The asker asked another actor, or the message was stashed.
    Forward,
}

/// How a message shares the actor with others: see [`Access`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Exclusive,
    Read,
    Interleaved,
}

impl Sharing {
    const fn of<M: Message>() -> Self {
        if M::Access::INTERLEAVES {
            Self::Interleaved
        } else if M::Access::READS {
            Self::Read
        } else {
            Self::Exclusive
        }
    }
}

/// A type-erased message for `A`, with its reply obligation.
pub struct Envelope<A> {
    kind: Kind<A>,
}

enum Kind<A> {
    Message(Sharing, DeliveryClass, Box<dyn DynMessage<A>>),
    Ask(Sharing, Arc<dyn DynAsk<A>>),
}

impl<A: Actor> Envelope<A> {
    pub(crate) fn new(class: DeliveryClass, message: Box<dyn DynMessage<A>>) -> Self {
        Self { kind: Kind::Message(Sharing::Exclusive, class, message) }
    }

    pub(crate) fn tell<M: Message>(message: M, headers: Headers) -> Self
    where
        A: Handles<M>,
    {
        // A zero-sized message needs no allocation, unless it has headers.
        let tell: Box<dyn DynMessage<A>> = if headers.is_empty() {
            Box::new(Tell(message))
        } else {
            Box::new(Annotated { message, headers })
        };
        Self { kind: Kind::Message(Sharing::of::<M>(), DeliveryClass::Tell, tell) }
    }

    pub(crate) fn ask<M: Message>(ask: Arc<AskState<M>>) -> Self
    where
        A: Handles<M>,
    {
        Self { kind: Kind::Ask(Sharing::of::<M>(), ask) }
    }

    /// A message whose handler answers the asker of another actor.
    pub(crate) fn forward<M: Message>(message: M, headers: Headers, asker: Arc<dyn Sink<M::Reply>>) -> Self
    where
        A: Handles<M>,
    {
        let forwarded = Box::new(Forwarded { message, headers, asker });
        Self { kind: Kind::Message(Sharing::of::<M>(), DeliveryClass::Forward, forwarded) }
    }

    /// Whether it is a dead letter when it is not handled.
    pub(crate) fn is_letter(&self) -> bool {
        !matches!(self.kind, Kind::Message(_, DeliveryClass::Notice | DeliveryClass::Last, _))
    }

    /// Whether its type counts as activity.
    pub(crate) fn keeps_alive(&self) -> bool {
        match &self.kind {
            Kind::Message(_, _, message) => message.keeps_alive(),
            Kind::Ask(_, ask) => ask.keeps_alive(),
        }
    }

    /// The asker, if one waits for a reply.
    #[inline]
    pub(crate) fn asker(&self) -> Option<&dyn Asker> {
        match &self.kind {
            Kind::Ask(_, ask) => Some(&**ask),
            Kind::Message(_, DeliveryClass::Forward, forward) => forward.asker(),
            Kind::Message(..) => None,
        }
    }

    /// Its ask comes into the mailbox of an actor: see [`Asker::enter`].
    #[cfg(feature = "wire")]
    pub(crate) fn enter(&self, slot: AtSlot, holder: &HolderRef) -> bool {
        self.asker().is_none_or(|asker| asker.enter(slot, Some(holder)))
    }

    /// Whether its asker has given up.
    pub fn is_withdrawn(&self) -> bool {
        self.asker().is_some_and(Asker::has_given_up)
    }

    /// The type of its message.
    pub fn message_type(&self) -> &'static str {
        match &self.kind {
            Kind::Message(.., message) => message.message_type(),
            Kind::Ask(_, ask) => ask.message_type(),
        }
    }

    /// The message as text, if it opted in and is still here.
    pub(crate) fn describe(&self) -> Option<String> {
        match &self.kind {
            Kind::Message(.., message) => message.describe(),
            Kind::Ask(_, ask) => ask.describe(),
        }
    }

    /// Starts the handler. A message with a cancelled or expired ask is skipped.
    pub(crate) fn dispatch(self, context: DispatchContext<'_, A>) -> Running<'_> {
        match self.kind {
            Kind::Message(.., message) => message.dispatch(context),
            Kind::Ask(_, ask) => ask.dispatch(context),
        }
    }

    #[inline]
    pub(crate) fn sharing(&self) -> Sharing {
        match self.kind {
            Kind::Message(sharing, ..) | Kind::Ask(sharing, _) => sharing,
        }
    }

    /// The actor for several reads, of which this message is the first.
    pub(crate) fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>> {
        match &self.kind {
            Kind::Message(.., message) => message.share(actor),
            Kind::Ask(_, ask) => ask.share(actor),
        }
    }

    /// Starts the handler of a read.
    pub(crate) fn dispatch_read(self, context: ReadDispatch<'_, A>) -> RunningRead<'_> {
        match self.kind {
            Kind::Message(.., message) => message.dispatch_read(context),
            Kind::Ask(_, ask) => ask.dispatch_read(context),
        }
    }

    /// Tells the asker, if any, that the message will not be handled.
    pub(crate) fn refuse(self, error: &Error) {
        match self.kind {
            Kind::Message(.., message) => message.refuse(error),
            Kind::Ask(_, ask) => ask.refuse(error),
        }
    }

    /// The told message, to return it to its sender.
    pub(crate) fn into_message(self) -> Option<Box<dyn Any>> {
        match self.kind {
            Kind::Message(.., message) => message.into_any(),
            Kind::Ask(..) => None,
        }
    }
}

impl<A: Actor> item::Item for Envelope<A> {
    #[inline]
    fn is_notice(&self) -> bool {
        use DeliveryClass::{Item, Last, Notice};
        matches!(self.kind, Kind::Message(_, Notice | Last | Item, _))
    }

    fn comes_last(&self) -> bool {
        matches!(self.kind, Kind::Message(_, DeliveryClass::Last, _))
    }

    fn interleaves(&self) -> bool {
        self.sharing() == Sharing::Interleaved
    }

    #[inline]
    fn slot(&self) -> Option<&AtomicSlot> {
        match &self.kind {
            Kind::Ask(_, ask) => Some(ask.slot()),
            Kind::Message(_, DeliveryClass::Forward, forward) => forward.asker().map(Asker::slot),
            Kind::Message(..) => None,
        }
    }
}

impl<A> std::fmt::Debug for Envelope<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}

/// A type-erased message for `A`, from any source.
pub(crate) trait DynMessage<A: Actor>: Send {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a>;

    /// The actor for several reads, if the message is one.
    fn share<'a>(&self, _: &'a A) -> Option<&'a dyn SharedActor<A>> {
        None
    }

    /// Starts the handler of a read.
    fn dispatch_read<'a>(self: Box<Self>, _: ReadDispatch<'a, A>) -> RunningRead<'a> {
        unreachable!("only a read is dispatched as one")
    }

    fn message_type(&self) -> &'static str;

    /// See [`Message::KEEP_ALIVE`].
    fn keeps_alive(&self) -> bool {
        true
    }

    /// The message as text, if it opted in.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Called when the message will not be handled.
    fn refuse(&self, _: &Error) {}

    /// Itself, if it can be returned to its sender.
    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        None
    }

    /// The asker of a [forwarded](DeliveryClass::Forward) message.
    fn asker(&self) -> Option<&dyn Asker> {
        None
    }

    /// Itself, if it may leave the process.
    fn far(&self) -> Option<&dyn FarMessage> {
        None
    }

    /// The ask of a forwarded message that leaves the process.
    fn into_far(self: Box<Self>) -> Option<Arc<dyn FarAsk>> {
        None
    }
}

/// The same for an ask, shared with its asker.
trait DynAsk<A: Actor>: Asker {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a>;
    fn share<'a>(&self, actor: &'a A) -> Option<&'a dyn SharedActor<A>>;
    fn dispatch_read<'a>(self: Arc<Self>, context: ReadDispatch<'a, A>) -> RunningRead<'a>;
    fn message_type(&self) -> &'static str;
    fn keeps_alive(&self) -> bool;
    fn describe(&self) -> Option<String>;
    fn refuse(&self, error: &Error);
    fn as_far(&self) -> &dyn FarAsk;
    fn into_far(self: Arc<Self>) -> Arc<dyn FarAsk>;
}

#[cfg(test)]
mod tests;
