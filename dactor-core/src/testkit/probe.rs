use std::fmt::{self, Debug};

use tokio::sync::mpsc;

use crate::{Actor, Context, Handler, Message, Outcome};

/// An actor that records every message it receives, in order.
///
/// ```
/// use dactor_core::testkit::{Inbox, Probe};
/// use dactor_core::{Message, System};
///
/// #[derive(Debug, PartialEq)]
/// struct Ping(u32);
/// impl Message for Ping {
///     type Reply = ();
///     type Access = dactor_core::Exclusive;
/// }
///
/// async fn pings(system: &System) -> dactor_core::Result<()> {
///     let (probe, mut inbox) = Probe::new();
///     let probe = system.spawn(probe).await?;
///     probe.tell(Ping(1))?;
///     probe.tell(Ping(2))?;
///     assert_eq!(inbox.next().await, Ping(1));
///     assert_eq!(inbox.next().await, Ping(2));
///     Ok(())
/// }
/// ```
pub struct Probe<M> {
    seen: mpsc::UnboundedSender<M>,
}

impl<M: Message<Reply = ()> + Debug> Probe<M> {
    /// A probe to spawn, and the inbox for its messages.
    pub fn new() -> (Self, Inbox<M>) {
        let (seen, messages) = mpsc::unbounded_channel();
        (Self { seen }, Inbox { messages })
    }
}

impl<M: Message<Reply = ()> + Debug> Actor for Probe<M> {}

impl<M: Message<Reply = ()> + Debug> Handler<M> for Probe<M> {
    async fn handle(&mut self, message: M, _ctx: &mut Context<Self>) -> Outcome<()> {
        // The test may have dropped the inbox.
        let _ = self.seen.send(message);
        Ok(())
    }
}

impl<M> Debug for Probe<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

/// The messages that a [`Probe`] has received.
pub struct Inbox<M> {
    messages: mpsc::UnboundedReceiver<M>,
}

impl<M> Inbox<M> {
    /// The next message; waits for it.
    ///
    /// # Panics
    ///
    /// When the probe is gone and no message is left.
    pub async fn next(&mut self) -> M {
        self.messages.recv().await.expect("the probe has ended, and no message is left")
    }

    /// The next message, if there is one.
    pub fn try_next(&mut self) -> Option<M> {
        self.messages.try_recv().ok()
    }
}

impl<M> Debug for Inbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("waiting", &self.messages.len()).finish()
    }
}
