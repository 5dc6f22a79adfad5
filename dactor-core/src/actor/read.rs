use std::future::Future;

use crate::{Actor, Message, Outcome, ReadContext};

/// An actor's behaviour for one type of message that only reads.
///
/// Reads run *concurrently, not in parallel*: the actor polls them in its own turn, one after the other, and a read that
/// awaits something lets the others go on. A read gains by waiting for I/O or for other actors, not by computing.
///
/// Reads and writes keep the order in which they were sent. A message that is not a read waits for the reads before it,
/// and the reads behind it wait for that message, so neither starves the other. At most 64 reads run at once, see
/// [`Spawn::max_reads`](crate::Spawn::max_reads).
///
/// ```
/// use dactor_core::{Actor, Message, Outcome, ReadContext, ReadHandler};
///
/// struct Account { cents: u64 }
/// impl Actor for Account {}
///
/// struct Balance;
/// impl Message for Balance {
///     type Reply = u64;
///     type Access = dactor_core::Shared; // `#[message(read)]` of the derive
/// }
///
/// impl ReadHandler<Balance> for Account {
///     async fn read(&self, _: Balance, _: &ReadContext<Self>) -> Outcome<u64> {
///         Ok(self.cents)
///     }
/// }
/// ```
///
/// A failure or a panic answers the asker at once. [`on_error`](Actor::on_error) and the
/// [`Supervision`](crate::Supervision) follow when the reads beside it are done; until then no other read begins.
#[diagnostic::on_unimplemented(
    message = "the actor `{Self}` does not read the message `{M}`",
    label = "no `ReadHandler<{M}>` for `{Self}`",
    note = "write `impl ReadHandler<{M}> for {Self} {{ async fn read(&self, message: {M}, ctx: &ReadContext<Self>) -> Outcome<..> {{ .. }} }}`, because `{M}` has `#[message(read)]` or `#[message(interleave)]`"
)]
pub trait ReadHandler<M: Message>: Actor + Sync {
    /// Handles one message, beside other reads.
    ///
    /// A message that comes from a timer, a stream or a pipe has the actor to itself nevertheless.
    fn read(&self, message: M, ctx: &ReadContext<Self>) -> impl Future<Output = Outcome<M::Reply>> + Send; // `#[message(reply = ..)]` on the message says which type
}
