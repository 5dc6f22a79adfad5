use std::future::Future;

use crate::{Context, Directive, Failure, Message, Outcome, ReadContext, StopReason, Supervision};

/// An actor: state that handles one message at a time and is never shared.
///
/// Every hook has a default, so `impl Actor for Account {}` is enough.
///
/// # Lifecycle hooks
///
/// | hook | when | if it fails or panics |
/// | --- | --- | --- |
/// | [`on_start`](Actor::on_start) | before the first message, while `spawn` is awaited | `spawn` fails with that error |
/// | [`on_restart`](Actor::on_restart) | on the new instance that replaces a failed one | another failure, handled by the [`Supervision`] strategy |
/// | [`on_error`](Actor::on_error) | after a handler returned `Err` (not after a panic) | handled by the [`Supervision`] strategy, like a panic of the handler |
/// | [`on_stop`](Actor::on_stop) | after the last message, unless the actor was killed or its instance is lost | the stop reason becomes that failure |
///
/// # Panics
///
/// All user code runs under a panic guard: handlers and hooks (their call, body and destructors); supervision
/// deciders, interceptors, observers, factories, streams, pipes and timers; destructors of messages, replies,
/// headers, errors and of the actor itself; and the `Display` of errors. A panic while a message is handled,
/// including in the destructor of a told reply or of a header, is handled by the [`Supervision`] strategy and
/// published as an event. Once the instance is gone, because it was killed or has ended, a panic is only
/// logged as a warning. An error whose `Display`, `Debug` or destructor panics harms neither its actor nor
/// any other actor that gets the error.
///
/// One case cannot be guarded: two values dropped together, such as two locals of one handler, that both
/// panic. The second panics while the first one unwinds, which aborts any Rust program.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an actor",
    label = "not an actor",
    note = "write `impl Actor for {Self} {{}}`: every hook has a default"
)]
pub trait Actor: Sized + Send + 'static {
    /// The supervision strategy for this actor's children: see [`Supervision`].
    fn supervision() -> Supervision {
        Supervision::default()
    }

    /// Runs before the first message. Messages sent in the meantime wait.
    fn on_start(&mut self, ctx: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        let _ = ctx;
        async { Ok(()) }
    }

    /// Runs on the new instance after a restart, instead of [`on_start`](Actor::on_start), to which it
    /// delegates by default.
    ///
    /// The failed instance has been dropped by then. Its `on_stop` does not run, because its state cannot be
    /// trusted after a panic.
    fn on_restart(
        &mut self,
        failure: &crate::Error,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        let _ = failure;
        self.on_start(ctx)
    }

    /// Decides what happens after a handler returned `Err`. The asker has already been answered.
    ///
    /// The default is to resume: an `Err` is an answer, not a broken actor.
    fn on_error(
        &mut self,
        failure: &Failure,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Directive> + Send {
        let _ = (failure, ctx);
        async { Directive::Resume }
    }

    /// Runs after the last message, with the reason. The mailbox is closed by then.
    fn on_stop(
        &mut self,
        reason: &StopReason,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        let _ = (reason, ctx);
        async { Ok(()) }
    }
}

/// Handles one type of message.
///
/// ```
/// use dactor_core::{Actor, Context, Handler, Message, Outcome};
///
/// struct Account { cents: u64 }
/// impl Actor for Account {}
///
/// struct Deposit(u64);
/// impl Message for Deposit {
///     type Reply = u64;
///     type Access = dactor_core::Exclusive;
/// }
///
/// impl Handler<Deposit> for Account {
///     async fn handle(&mut self, Deposit(cents): Deposit, _ctx: &mut Context<Self>) -> Outcome<u64> {
///         self.cents += cents;
///         Ok(self.cents)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the actor `{Self}` does not handle the message `{M}`",
    label = "no `Handler<{M}>` for `{Self}`",
    note = "write `impl Handler<{M}> for {Self} {{ async fn handle(&mut self, message: {M}, ctx: &mut Context<Self>) -> Outcome<..> {{ .. }} }}`"
)]
pub trait Handler<M: Message>: Actor {
    /// Handles one message. The actor handles nothing else until the future completes.
    ///
    /// Its output is the message's [`Reply`](Message::Reply): set by `#[message(reply = Type)]` on the
    /// derive, `()` by default.
    fn handle(
        &mut self,
        message: M,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send; // `#[message(reply = ..)]` on the message says which type
}

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
