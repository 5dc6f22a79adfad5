//! Streams whose items are messages of an actor.

use std::any::type_name;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::mailbox::Ending;
use crate::panic::{Panic, discard};
use crate::shared::Shared;
use crate::{Actor, Context, ErrorKind, SentTo};

/// Streams.
impl<A: Actor> Context<A> {
    /// Makes the items of a stream messages of this actor. The next item is asked for when the last one has been
    /// handled: a stream never fills the mailbox, and needs no room in it.
    ///
    /// The stream belongs to the instance: it is dropped on a restart and when the actor ends. A stream that panics ends
    /// there, and the panic is an [`Event::Failed`](crate::Event::Failed). The end of a stream is no message unless one
    /// is chained to it:
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// use futures_util::stream::{self, StreamExt};
    ///
    /// # struct Reader;
    /// enum Line { Text(String), End }
    /// # impl Message for Line { type Reply = (); }
    ///
    /// impl Actor for Reader {
    ///     async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         let lines = stream::iter(["one".to_owned(), "two".to_owned()]);
    ///         ctx.attach(lines.map(Line::Text).chain(stream::iter([Line::End])));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// impl Handler<Line> for Reader {
    ///     async fn handle(&mut self, line: Line, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         match line {
    ///             Line::Text(text) => println!("{text}"),
    ///             Line::End => ctx.stop(),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn attach<S>(&mut self, stream: S) -> Attached
    where
        S: Stream<Item: SentTo<A>> + Send + 'static,
    {
        let link = self.streams.get_or_insert_with(Streams::new).0.child_token();
        let shared = self.myself.shared.clone();
        let task = tokio::spawn(run(stream, shared, link.clone())).abort_handle();
        Attached { link, task }
    }
}

/// The streams of one instance. Dropped, it detaches them.
pub(crate) struct Streams(CancellationToken);

impl Streams {
    fn new() -> Self {
        Self(CancellationToken::new())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A stream that is attached to an actor: from [`Context::attach`]. Dropping this changes nothing.
#[derive(Clone)]
pub struct Attached {
    link: CancellationToken,
    task: AbortHandle,
}

impl Attached {
    /// Drops the stream. No item of it is handled any more: one that is in the mailbox already becomes a dead letter with
    /// [`Detached`](ErrorKind::Detached).
    pub fn detach(&self) {
        self.link.cancel();
    }

    /// Whether no item comes any more: the stream has ended, and its last item was handled, or it was detached.
    pub fn is_finished(&self) -> bool {
        self.link.is_cancelled() || self.task.is_finished()
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("finished", &self.is_finished()).finish()
    }
}

async fn run<A, S>(stream: S, shared: Arc<Shared<A>>, link: CancellationToken)
where
    A: Actor,
    S: Stream<Item: SentTo<A>> + Send + 'static,
{
    let mut stream = Box::pin(stream);
    let fed = AssertUnwindSafe(feed(&mut stream, &shared, &link)).catch_unwind();
    let ended = match select(pin!(link.cancelled()), pin!(fed)).await {
        Either::Left(_) => Ok(()),
        Either::Right((ended, _)) => ended,
    };
    discard(stream);
    if let Err(payload) = ended {
        let message = type_name::<S::Item>();
        let error = shared.error(ErrorKind::Panicked, message).with("in", "an attached stream");
        shared.head.system.events().failed(&*shared, message, &error.because(Panic::new(payload)));
    }
}

/// Gives the actor one item after the other.
async fn feed<A, S>(
    stream: &mut (impl Stream<Item = S> + Unpin),
    shared: &Shared<A>,
    link: &CancellationToken,
) where
    A: Actor,
    S: SentTo<A>,
{
    while shared.mailbox.ending() == Ending::None {
        let Some(item) = stream.next().await else { return };
        // Gone when the item has been handled, or dropped.
        let (receipt, handled) = oneshot::channel();
        match shared.mailbox.notify(item.into_item(link.clone(), receipt)) {
            Ok(nudge) => shared.head.act(nudge),
            Err(envelope) => {
                shared.refuse(envelope);
                return;
            }
        }
        let _ = handled.await;
    }
}
