//! The stash: messages put aside for later.

use crate::actor::context::into_sink;
use crate::delivery::ask_state::AtSlot;
use crate::{Actor, Context, ErrorKind, Failure, Outcome, SentTo};

/// Default capacity of a stash.
pub(crate) const CAPACITY: usize = 1000;

/// Stash messages until the actor can handle them.
///
/// With an enum as its state, this is all an actor needs to change its behaviour:
///
/// ```
/// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
/// enum Store { Loading, Ready { rows: Vec<u64> } }
/// # impl Actor for Store {}
///
/// struct Row(usize);
/// # impl Message for Row { type Reply = u64; type Access = dactor_core::Exclusive; }
/// struct Loaded(Vec<u64>);
/// # impl Message for Loaded { type Reply = (); type Access = dactor_core::Exclusive; }
///
/// impl Handler<Row> for Store {
///     async fn handle(&mut self, row: Row, ctx: &mut Context<Self>) -> Outcome<u64> {
///         match self {
///             Self::Loading => ctx.stash(row),
///             Self::Ready { rows } => Ok(rows[row.0]),
///         }
///     }
/// }
///
/// impl Handler<Loaded> for Store {
///     async fn handle(&mut self, Loaded(rows): Loaded, ctx: &mut Context<Self>) -> Outcome<()> {
///         *self = Self::Ready { rows };
///         ctx.unstash_all();
///         Ok(())
///     }
/// }
/// ```
impl<A: Actor> Context<A> {
    /// Stashes the current message until [`unstash_all`](Self::unstash_all). The handler returns the value.
    ///
    /// The asker keeps waiting: headers, deadline and cancellation stay with the message. Interceptors see
    /// the message twice, when it is stashed and when it is handled. An asker that gives up withdraws its
    /// message from the stash.
    ///
    /// A restart keeps the stash and unstashes it, so the new instance handles it first. When the actor ends,
    /// stashed messages become dead letters, and their askers get [`Stopped`](ErrorKind::Stopped): a draining
    /// actor handles the messages it unstashes, and none that are still stashed.
    ///
    /// # Errors
    ///
    /// [`StashFull`](ErrorKind::StashFull) when the stash is at its [capacity](crate::Spawn::stash). Returned
    /// by the handler it is a failure like any other: the asker gets `Failed` with this as the source, and
    /// `on_error` decides. [`Unsupported`](ErrorKind::Unsupported) when the current message is an ask with
    /// another reply type.
    pub fn stash<M: SentTo<A>>(&mut self, message: M) -> Outcome<M::Reply> {
        let core = &self.myself.core;
        // Only this actor stashes: room found here is still there below.
        if core.mailbox.stashed() >= self.stash_capacity {
            let error = core.error(ErrorKind::StashFull, M::type_name());
            return Err(error.with("capacity", self.stash_capacity).into());
        }
        let headers = self.current.headers.clone();
        let asker = self.current.asker.clone().filter(|_| !self.promised);
        match asker.map(into_sink::<M::Reply>) {
            None => core.mailbox.stash(message.into_tell(headers), self.taken.lane(), |_| true),
            Some(Some(sink)) => {
                sink.pass_on();
                let envelope = message.into_forward(headers, sink.clone());
                core.mailbox.stash(envelope, self.taken.lane(), |slot| sink.enter(AtSlot(slot), None));
            }
            Some(None) => {
                let error = core.error(ErrorKind::Unsupported, M::type_name());
                return Err(error.with("because", "the current message has another reply type").into());
            }
        }
        self.promised = true;
        Err(Failure::promise())
    }

    /// Moves all stashed messages back to the front of the mailbox, in stash order. Each message keeps its
    /// priority: it goes in front of its lane, behind messages of a higher priority. It was accepted before,
    /// so it needs no room in a bounded mailbox, and does not count for load shedding.
    pub fn unstash_all(&mut self) {
        self.myself.core.mailbox.unstash();
    }

    /// The number of stashed messages, excluding asks given up since.
    pub fn stashed(&mut self) -> usize {
        self.myself.core.mailbox.stashed()
    }
}
