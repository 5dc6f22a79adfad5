//! One item of a stream, or the result of a piped future, as a message.

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::base::panic::discard;
use crate::delivery::envelope::dispatch::{DispatchContext, Running, skip};
use crate::delivery::envelope::{DeliveryClass, DynMessage, Envelope};
use crate::{Actor, ErrorKind, SentTo};

/// A message that is handled unless its stream was detached meanwhile.
pub(super) struct Item<M> {
    message: M,
    link: CancellationToken,
    /// Dropped when the item has been handled: the stream waits for that.
    receipt: oneshot::Sender<()>,
}

impl<M> Item<M> {
    pub(super) fn new(message: M, link: CancellationToken, receipt: oneshot::Sender<()>) -> Self {
        Self { message, link, receipt }
    }

    pub(super) fn into_envelope<A: Actor>(self) -> Envelope<A>
    where
        M: SentTo<A>,
    {
        Envelope::new(DeliveryClass::Item, Box::new(self))
    }
}

impl<A: Actor, M: SentTo<A>> DynMessage<A> for Item<M> {
    fn dispatch<'a>(self: Box<Self>, context: DispatchContext<'a, A>) -> Running<'a> {
        let Item { message, link, receipt } = *self;
        if link.is_cancelled() {
            let error = context.route.target.error(ErrorKind::Detached, M::type_name());
            context.route.target.report_dead_letter(M::type_name(), &error, &|| message.describe());
            discard(message);
            return skip();
        }
        message.handle_told(context, receipt)
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn keeps_alive(&self) -> bool {
        M::KEEP_ALIVE
    }

    fn describe(&self) -> Option<String> {
        self.message.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::item::Item as _;
    use crate::{Context, Handler, Message, Outcome};

    struct Reader;
    impl Actor for Reader {}

    struct Line;
    impl Message for Line {
        type Reply = ();
        type Access = crate::Exclusive;

        fn describe(&self) -> Option<String> {
            Some("a line".to_owned())
        }
    }

    impl Handler<Line> for Reader {
        async fn handle(&mut self, _: Line, _: &mut Context<Self>) -> Outcome<()> {
            Ok(())
        }
    }

    #[test]
    fn an_item_takes_no_room_and_says_what_is_in_it() {
        let (receipt, _handled) = oneshot::channel();
        let item: Envelope<Reader> = Item::new(Line, CancellationToken::new(), receipt).into_envelope();
        assert!(item.is_letter() && item.is_notice());
        assert_eq!(item.message_type(), Line::type_name());
        assert_eq!(item.describe().as_deref(), Some("a line"));
    }
}
