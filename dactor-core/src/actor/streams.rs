//! Attached streams and piped futures: their items and results become messages of the actor.

mod item;

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use self::item::Item;
use crate::base::panic::{Contained, Panic, discard};
use crate::delivery::envelope::Envelope;
use crate::kernel::actor_core::ActorCore;
use crate::mailbox::Ending;
use crate::{Actor, Context, ErrorKind, Message, SentTo};

/// Streams.
impl<A: Actor> Context<A> {
    /// Attaches a stream: its items become messages of this actor. The next item is polled once the last one
    /// has been handled, so a stream never fills the mailbox, and needs no room in it.
    ///
    /// The stream belongs to the instance: it is dropped on a restart and when the actor ends. A panic ends
    /// the stream, and is an [`Event::Failed`](crate::Event::Failed). The end of a stream is not a message,
    /// unless one is chained to it:
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// use futures_util::stream::{self, StreamExt};
    ///
    /// # struct Reader;
    /// enum Line { Text(String), End }
    /// # impl Message for Line { type Reply = (); type Access = dactor_core::Exclusive; }
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
        let link = self.link();
        let core = self.myself.core.clone();
        let task = tokio::spawn(run(stream, core, link.clone())).abort_handle();
        Attached { link, task }
    }

    /// Runs a future beside this actor, and tells the actor its output. Like a timer's message, it goes to
    /// the back of the mailbox, whatever its type's priority, and needs no room in a bounded mailbox.
    ///
    /// The future belongs to the instance: it is dropped on a restart and when the actor ends. A future that
    /// panics is an [`Event::Failed`](crate::Event::Failed), and sends no message.
    ///
    /// ```
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Reader;
    /// # impl Actor for Reader {}
    /// # struct Read; struct Loaded(String);
    /// # impl Message for Read { type Reply = (); type Access = dactor_core::Exclusive; }
    /// # impl Message for Loaded { type Reply = (); type Access = dactor_core::Exclusive; }
    /// # impl Handler<Loaded> for Reader {
    /// #     async fn handle(&mut self, _: Loaded, _: &mut Context<Self>) -> Outcome<()> { Ok(()) }
    /// # }
    /// impl Handler<Read> for Reader {
    ///     async fn handle(&mut self, _: Read, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         ctx.pipe(async { Loaded(tokio::fs::read_to_string("notes").await.unwrap_or_default()) });
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn pipe<M: SentTo<A>>(&mut self, future: impl Future<Output = M> + Send + 'static) {
        let (core, link) = (self.myself.core.clone(), self.link());
        tokio::spawn(pipe(Contained::new(future), core, link));
    }

    /// A token that is cancelled when this instance is gone.
    fn link(&mut self) -> CancellationToken {
        self.streams.get_or_insert_with(Streams::new).0.child_token()
    }
}

/// The streams and pipes of one instance. Dropping it detaches them.
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

/// A handle to an attached stream: from [`Context::attach`]. Dropping the handle has no effect.
#[derive(Clone)]
pub struct Attached {
    link: CancellationToken,
    task: AbortHandle,
}

impl Attached {
    /// Drops the stream. No further item is handled: an item already in the mailbox becomes a dead letter
    /// with [`Detached`](ErrorKind::Detached).
    pub fn detach(&self) {
        self.link.cancel();
    }

    /// Whether the stream is over: detached, or ended with its last item handled.
    pub fn is_finished(&self) -> bool {
        self.link.is_cancelled() || self.task.is_finished()
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("finished", &self.is_finished()).finish()
    }
}

async fn run<A, S>(stream: S, core: Arc<ActorCore<A>>, link: CancellationToken)
where
    A: Actor,
    S: Stream<Item: SentTo<A>> + Send + 'static,
{
    let mut stream = Box::pin(stream);
    let fed = AssertUnwindSafe(feed(&mut stream, &core, &link)).catch_unwind();
    let ended = match select(pin!(link.cancelled()), pin!(fed)).await {
        Either::Left(_) => Ok(()),
        Either::Right((ended, _)) => ended,
    };
    discard(stream);
    if let Err(payload) = ended {
        panicked::<A, S::Item>(&core, "an attached stream", Panic::new(payload));
    }
}

/// Reports a panic of a stream or pipe, which is not a failure of the instance.
fn panicked<A: Actor, M: Message>(core: &ActorCore<A>, which: &'static str, panic: Panic) {
    let error = core.error(ErrorKind::Panicked, M::type_name()).with("in", which);
    core.meta.system().events().failed(core, M::type_name(), &error.because(panic));
}

async fn pipe<A: Actor, M: SentTo<A>>(
    future: Contained<impl Future<Output = M>>,
    core: Arc<ActorCore<A>>,
    link: CancellationToken,
) {
    let Either::Right((ended, _)) = select(pin!(link.cancelled()), pin!(future)).await else { return };
    match ended {
        Ok(message) => {
            let (unread, _) = oneshot::channel();
            hand_over(Item::new(message, link.clone(), unread).into_envelope(), &core);
        }
        Err(panic) => panicked::<A, M>(&core, "a piped future", panic),
    }
}

/// Sends the actor one item at a time.
async fn feed<A, S>(
    stream: &mut (impl Stream<Item = S> + Unpin),
    core: &ActorCore<A>,
    link: &CancellationToken,
) where
    A: Actor,
    S: SentTo<A>,
{
    while core.mailbox.ending() == Ending::None {
        let Some(item) = stream.next().await else { return };
        // Dropped when the item has been handled, or was dropped.
        let (receipt, handled) = oneshot::channel();
        let item = Item::new(item, link.clone(), receipt).into_envelope();
        if core.mailbox.admits_members() {
            // A system that shuts down takes no input from outside.
            core.refuse(item);
            return;
        }
        if !hand_over(item, core) {
            return;
        }
        let _ = handled.await;
    }
}

/// Pushes a message into the mailbox regardless of its bound. `false` when the actor is ending: the message
/// is a dead letter.
fn hand_over<A: Actor>(envelope: Envelope<A>, core: &ActorCore<A>) -> bool {
    core.notify(envelope).map_err(|envelope| core.refuse(envelope)).is_ok()
}
