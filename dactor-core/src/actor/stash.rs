//! Messages that an actor has put aside for later.

use crate::actor::context::into_sink;
use crate::delivery::ask_state::AtSlot;
use crate::{Actor, Context, ErrorKind, Failure, Outcome, SentTo};

/// How many messages a stash holds, unless the spawn says otherwise.
pub(crate) const CAPACITY: usize = 1000;

/// Putting messages aside until the actor can handle them.
///
/// An actor that behaves differently from time to time needs no more than this and an enum in its state:
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
    /// Puts the message in hand aside, until [`unstash_all`](Self::unstash_all). The handler returns the value.
    ///
    /// Whoever asked goes on waiting: headers, deadline and cancellation stay with the message. Interceptors see it
    /// twice, when it is put aside and when it is handled. An asker who gives up takes its message out of the stash.
    ///
    /// A restart keeps the stash and puts it back, so that the fresh instance handles it first. When the actor ends, what
    /// is in it becomes dead letters, and its askers are told [`Stopped`](ErrorKind::Stopped): an actor that drains
    /// handles what it unstashes, and nothing else of it.
    ///
    /// # Errors
    ///
    /// [`StashFull`](ErrorKind::StashFull) when there is no room, see [`Spawn::stash`](crate::Spawn::stash). As the outcome
    /// of the handler it is a failure like others: the asker gets `Failed` with this as the source, and `on_error`
    /// decides what follows. [`Unsupported`](ErrorKind::Unsupported) when the message in hand is an ask for another type of
    /// reply.
    pub fn stash<M: SentTo<A>>(&mut self, message: M) -> Outcome<M::Reply> {
        let core = &self.myself.core;
        // Nothing else puts messages into the stash: what has room now has room below.
        if core.mailbox.stashed() >= self.stash_capacity {
            let error = core.error(ErrorKind::StashFull, M::type_name());
            return Err(error.with("capacity", self.stash_capacity).into());
        }
        let headers = self.headers.clone();
        let asker = self.asker.clone().filter(|_| !self.promised);
        match asker.map(into_sink::<M::Reply>) {
            None => core.mailbox.stash(message.into_tell(headers), self.taken.lane(), |_| true),
            Some(Some(sink)) => {
                sink.pass_on();
                let envelope = message.into_forward(headers, sink.clone());
                core.mailbox.stash(envelope, self.taken.lane(), |slot| sink.enter(AtSlot(slot), None));
            }
            Some(None) => {
                let error = core.error(ErrorKind::Unsupported, M::type_name());
                return Err(error
                    .with("because", "the message in hand wants a reply of another type")
                    .into());
            }
        }
        self.promised = true;
        Err(Failure::promise())
    }

    /// Puts everything that is stashed back in front of the mailbox, in the order in which it was stashed. Each message
    /// keeps the priority it came with: it comes before all that waits in its lane, and messages of a higher priority
    /// still come before it. It was accepted before, so it takes no room in a bounded mailbox, and does not count for
    /// load shedding.
    pub fn unstash_all(&mut self) {
        self.myself.core.mailbox.unstash();
    }

    /// How many messages are stashed, without asks that were given up since.
    pub fn stashed(&mut self) -> usize {
        self.myself.core.mailbox.stashed()
    }
}
