use crate::message::access::Access;
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::message::priority::Priority;
use crate::message::wire::Wire;

/// A message that can be sent to an actor.
///
/// Derive it (`#[derive(Message)] #[message(reply = u64)]`) or implement it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "write `#[derive(Message)]` on `{Self}`, and `#[message(reply = Type)]` if it is answered"
)]
pub trait Message: Sized + Send + 'static {
    /// The reply type; `()` for a message without a reply.
    type Reply: Send + 'static;

    /// Which handler trait the message goes to: [`Exclusive`](crate::Exclusive), and so
    /// [`Handler`](crate::Handler), unless it only reads: then [`Shared`](crate::Shared) or
    /// [`Interleaved`](crate::Interleaved), and so [`ReadHandler`](crate::ReadHandler). `#[message(read)]` and
    /// `#[message(interleave)]` on the derive set it.
    type Access: Access;

    /// The priority lane of the message; set by `#[message(priority = High)]` on the derive.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether giving up an ask (by drop, timeout or cancellation) also aborts the running handler, which is
    /// dropped at its await. Otherwise it finishes, and may check
    /// [`Context::cancelled`](crate::Context::cancelled). Set by `#[message(abort)]` on the derive.
    const ABORT: bool = false;

    /// Whether it never leaves the process: because it holds a file handle, say, or a secret. Sending it to an actor of
    /// another process is an error, [`NotRemotable`](crate::ErrorKind::NotRemotable). `#[message(local)]` on the derive sets it.
    const LOCAL_ONLY: bool = false;

    /// Whether it counts as activity for [`Context::idle_timeout`](crate::Context::idle_timeout): a probe or a request for
    /// statistics should not keep an actor alive. `#[message(no_keep_alive)]` on the derive clears it.
    const KEEP_ALIVE: bool = true;

    /// Its form outside of the process; `None` for a message that stays inside. `#[message(wire = "bank.Deposit")]` on the
    /// derive sets it.
    const WIRE: Option<Wire<Self>> = None;

    /// The message as text for dead letters; `None` by default, because messages may hold secrets.
    /// `#[message(debug)]` on the derive uses its `Debug` text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Whether a reply without a waiting caller is a loss. Not for a stream: its items are the answer, not
    /// the `()` of its handler.
    #[doc(hidden)]
    const REPLY_IS_ANSWER: bool = true;

    /// The mode of a send with a waiting caller.
    #[doc(hidden)]
    const MODE: Mode = Mode::Ask;

    /// The streams that come with it, when it leaves the process.
    #[doc(hidden)]
    fn into_streams(self) -> FarStreams {
        FarStreams::default()
    }

    /// The name in errors and events.
    #[doc(hidden)]
    fn type_name() -> &'static str {
        std::any::type_name::<Self>()
    }
}
