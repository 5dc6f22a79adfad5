//! Messages that an actor has put aside for later.

use std::any::type_name;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::context::into_sink;
use crate::envelope::Envelope;
use crate::exclusive::Exclusive;
use crate::shared::{Control, Shared};
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
/// # impl Message for Row { type Reply = u64; }
/// struct Loaded(Vec<u64>);
/// # impl Message for Loaded { type Reply = (); }
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
    /// twice, when it is put aside and when it is handled.
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
        let shared = &self.myself.shared;
        let asker = self.asker.clone().filter(|_| !self.promised);
        let stash = self.stash.get_or_insert_with(|| Box::new(Exclusive::new(Stash::new(shared.clone()))));
        let stash = stash.get();
        if stash.len() >= self.stash_capacity {
            let error = shared.error(ErrorKind::StashFull, type_name::<M>());
            return Err(error.with("capacity", self.stash_capacity).into());
        }
        let headers = self.headers.clone();
        stash.held.push_back(match asker.map(into_sink::<M::Reply>) {
            None => message.into_tell(headers),
            Some(Some(sink)) => {
                sink.pass_on();
                message.into_forward(headers, sink)
            }
            Some(None) => {
                let error = shared.error(ErrorKind::Unsupported, type_name::<M>());
                return Err(error
                    .with("because", "the message in hand wants a reply of another type")
                    .into());
            }
        });
        self.promised = true;
        Err(Failure::promise())
    }

    /// Puts everything that is stashed back in front of the mailbox, in the order in which it was stashed. Messages of a
    /// higher priority still come before it.
    pub fn unstash_all(&mut self) {
        if let Some(stash) = &mut self.stash {
            let Stash { held, released, .. } = stash.get();
            released.append(held);
            // The cell fetches it before its next message.
            self.myself.shared.call();
        }
    }

    /// How many messages are stashed.
    pub fn stashed(&mut self) -> usize {
        self.stash.as_mut().map_or(0, |stash| stash.get().held.len())
    }

    /// What is to be handled next, the last first.
    pub(crate) fn unstashed(&mut self) -> impl Iterator<Item = Envelope<A>> {
        let released = self.stash.as_mut().map(|stash| std::mem::take(&mut stash.get().released));
        released.into_iter().flatten().rev()
    }
}

/// The messages that one actor has put aside. Dropped, it refuses them.
pub(crate) struct Stash<A: Actor> {
    shared: Arc<Shared<A>>,
    held: VecDeque<Envelope<A>>,
    /// On their way back to the mailbox.
    released: VecDeque<Envelope<A>>,
}

impl<A: Actor> Stash<A> {
    fn new(shared: Arc<Shared<A>>) -> Self {
        Self { shared, held: VecDeque::new(), released: VecDeque::new() }
    }

    fn len(&self) -> usize {
        self.held.len() + self.released.len()
    }
}

impl<A: Actor> Drop for Stash<A> {
    fn drop(&mut self) {
        for envelope in self.released.drain(..).chain(self.held.drain(..)) {
            self.shared.refuse(envelope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::puppet::{Puppet, puppet, system};
    use crate::{Handler, Headers, Message};

    struct Note;
    impl Message for Note {
        type Reply = ();
    }

    impl Handler<Note> for Puppet {
        async fn handle(&mut self, _: Note, _: &mut Context<Self>) -> Outcome<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_on_its_way_back_takes_room() {
        let mut stash = Stash::new(puppet(&system(), Guardian::User));
        for (held, released) in [(0, 0), (1, 0), (1, 2), (0, 2)] {
            let notes = |count| (0..count).map(|_| Envelope::tell(Note, Headers::default())).collect();
            (stash.held, stash.released) = (notes(held), notes(released));
            assert_eq!(stash.len(), held + released);
        }
    }
}
