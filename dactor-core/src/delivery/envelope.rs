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

use self::dispatch::{DispatchContext, Running};
use self::far::FarMessage;
use self::forward::Forwarded;
pub(crate) use self::tell::{Annotated, Tell};
use crate::delivery::access::Handles;
use crate::delivery::ask_state::{AskState, Asker, Sink};
#[cfg(feature = "wire")]
use crate::delivery::ask_state::{AtSlot, HolderRef};
use crate::delivery::far::FarAsk;
use crate::mailbox::item;
use crate::mailbox::slot::AtomicSlot;
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
    /// From a sender that waits for no reply.
    Tell,
    /// From the kernel itself.
    Notice,
    /// A notice that comes behind all that another actor sent.
    Last,
    /// From a source that waits for each of its messages to be handled.
    Item,
    /// Its asker asked another actor, or the message was stashed before.
    Forward,
}

/// A message for `A`, whatever its type, with what is needed to answer it.
pub struct Envelope<A> {
    kind: Kind<A>,
}

enum Kind<A> {
    Message(DeliveryClass, Box<dyn DynMessage<A>>),
    Ask(Arc<dyn DynAsk<A>>),
}

impl<A: Actor> Envelope<A> {
    pub(crate) fn new(class: DeliveryClass, message: Box<dyn DynMessage<A>>) -> Self {
        Self { kind: Kind::Message(class, message) }
    }

    pub(crate) fn tell<M: Message>(message: M, headers: Headers) -> Self
    where
        A: Handles<M>,
    {
        // A message without content needs no memory, unless something travels beside it.
        let tell: Box<dyn DynMessage<A>> = if headers.is_empty() {
            Box::new(Tell(message))
        } else {
            Box::new(Annotated { message, headers })
        };
        Self::new(DeliveryClass::Tell, tell)
    }

    pub(crate) fn ask<M: Message>(ask: Arc<AskState<M>>) -> Self
    where
        A: Handles<M>,
    {
        Self { kind: Kind::Ask(ask) }
    }

    /// A message whose handler answers an asker of another actor.
    pub(crate) fn forward<M: Message>(message: M, headers: Headers, asker: Arc<dyn Sink<M::Reply>>) -> Self
    where
        A: Handles<M>,
    {
        Self::new(DeliveryClass::Forward, Box::new(Forwarded { message, headers, asker }))
    }

    /// Whether it comes from a sender that would miss it.
    pub(crate) fn is_letter(&self) -> bool {
        !matches!(self.kind, Kind::Message(DeliveryClass::Notice | DeliveryClass::Last, _))
    }

    /// The asker, if one waits for a reply.
    #[inline]
    pub(crate) fn asker(&self) -> Option<&dyn Asker> {
        match &self.kind {
            Kind::Ask(ask) => Some(&**ask),
            Kind::Message(DeliveryClass::Forward, forward) => forward.asker(),
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
            Kind::Message(_, message) => message.message_type(),
            Kind::Ask(ask) => ask.message_type(),
        }
    }

    /// The message as a text, if it opted in and is still here.
    pub(crate) fn describe(&self) -> Option<String> {
        match &self.kind {
            Kind::Message(_, message) => message.describe(),
            Kind::Ask(ask) => ask.describe(),
        }
    }

    /// Starts the handler. A message whose answer nobody wants any more is done at once.
    pub(crate) fn dispatch(self, context: DispatchContext<'_, A>) -> Running<'_> {
        match self.kind {
            Kind::Message(_, message) => message.dispatch(context),
            Kind::Ask(ask) => ask.dispatch(context),
        }
    }

    /// Answers the asker, if there is one, that the message is not going to be handled.
    pub(crate) fn refuse(self, error: &Error) {
        match self.kind {
            Kind::Message(_, message) => message.refuse(error),
            Kind::Ask(ask) => ask.refuse(error),
        }
    }

    /// The told message, to hand it back.
    pub(crate) fn into_message(self) -> Option<Box<dyn Any>> {
        match self.kind {
            Kind::Message(_, message) => message.into_any(),
            Kind::Ask(_) => None,
        }
    }
}

impl<A: Actor> item::Item for Envelope<A> {
    #[inline]
    fn is_notice(&self) -> bool {
        use DeliveryClass::{Item, Last, Notice};
        matches!(self.kind, Kind::Message(Notice | Last | Item, _))
    }

    fn comes_last(&self) -> bool {
        matches!(self.kind, Kind::Message(DeliveryClass::Last, _))
    }

    #[inline]
    fn slot(&self) -> Option<&AtomicSlot> {
        match &self.kind {
            Kind::Ask(ask) => Some(ask.slot()),
            Kind::Message(DeliveryClass::Forward, forward) => forward.asker().map(Asker::slot),
            Kind::Message(..) => None,
        }
    }
}

impl<A> std::fmt::Debug for Envelope<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Envelope").finish_non_exhaustive()
    }
}

/// A message for `A` with its type erased, from whatever source.
pub(crate) trait DynMessage<A: Actor>: Send {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a>;

    fn message_type(&self) -> &'static str;

    /// The message as a text, if it opted in.
    fn describe(&self) -> Option<String> {
        None
    }

    /// The message is not going to be handled.
    fn refuse(&self, _: &Error) {}

    /// Itself, if it can be handed back to its sender.
    fn into_any(self: Box<Self>) -> Option<Box<dyn Any>> {
        None
    }

    /// Of a [forwarded](DeliveryClass::Forward) message.
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

/// The same for a message that was asked, which its asker shares.
trait DynAsk<A: Actor>: Asker {
    fn dispatch<'a>(self: Arc<Self>, context: DispatchContext<'a, A>) -> Running<'a>;
    fn message_type(&self) -> &'static str;
    fn describe(&self) -> Option<String>;
    fn refuse(&self, error: &Error);
    fn as_far(&self) -> &dyn FarAsk;
    fn into_far(self: Arc<Self>) -> Arc<dyn FarAsk>;
}

#[cfg(test)]
mod tests {
    use std::any::type_name;

    use super::*;
    use crate::delivery::ask_state::Terms;
    use crate::{Context, CorrelationId, Handler, Outcome};

    struct Nobody;
    impl Actor for Nobody {}

    struct Note;
    impl Message for Note {
        type Reply = ();
        type Access = crate::Exclusive;

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
        let ask = || Arc::new(AskState::new(Note, Headers::default(), Terms::default(), None));
        let letters: [(&str, Envelope<Nobody>); 4] = [
            ("tell", Envelope::tell(Note, Headers::default())),
            ("with headers", Envelope::tell(Note, headers)),
            ("ask", Envelope::ask(ask())),
            ("forward", Envelope::forward(Note, Headers::default(), ask())),
        ];
        for (which, letter) in letters {
            assert!(letter.is_letter(), "{which}");
            assert!(!item::Item::is_notice(&letter), "{which} takes room");
            assert_eq!(letter.message_type(), type_name::<Note>(), "{which}");
            assert_eq!(letter.describe().as_deref(), Some("a note"), "{which}");
        }
    }
}
