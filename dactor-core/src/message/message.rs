use crate::message::mode::Mode;
use crate::message::priority::Priority;

/// Something that can be sent to an actor.
///
/// Derive it (`#[derive(Message)] #[message(reply = u64)]`) or write it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "write `#[derive(Message)]` on `{Self}`, and `#[message(reply = Type)]` if it is answered"
)]
pub trait Message: Send + 'static {
    /// What the handler answers; `()` for a message that only tells.
    type Reply: Send + 'static;

    /// Which handler trait the message goes to: [`Exclusive`](crate::Exclusive), and so
    /// [`Handler`](crate::Handler), unless it only reads.
    type Access;

    /// The lane it travels in; `#[message(priority = High)]` on the derive sets it.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether an asker who gives up, by dropping the ask, by its timeout or by cancelling, takes the running handler
    /// along: it is dropped at its await. Otherwise it finishes, and may look at
    /// [`Context::cancelled`](crate::Context::cancelled). `#[message(abort)]` on the derive sets it.
    const ABORT: bool = false;

    /// Whether it never leaves the process: because it holds a file handle, say, or a secret. Sending it to an actor of another
    /// process is an error. It has no effect while all actors of a system are in one process. `#[message(local)]` on the derive sets
    /// it.
    const LOCAL_ONLY: bool = false;

    /// Whether it counts as activity for [`Context::idle_timeout`](crate::Context::idle_timeout): a probe or a request for
    /// statistics should not keep an actor alive. `#[message(no_keep_alive)]` on the derive clears it.
    const KEEP_ALIVE: bool = true;

    /// The message as a text for dead letters; nothing unless it opts in, because messages may hold secrets.
    /// `#[message(debug)]` on the derive gives its `Debug` text.
    fn describe(&self) -> Option<String> {
        None
    }

    /// Whether a reply that the caller does not wait for any more is a loss. The items of a stream are its answer, not the
    /// `()` of its handler.
    #[doc(hidden)]
    const REPLY_IS_ANSWER: bool = true;

    /// How it is sent when a caller waits.
    #[doc(hidden)]
    const MODE: Mode = Mode::Ask;

    /// What errors and events call it.
    #[doc(hidden)]
    fn type_name() -> &'static str {
        std::any::type_name::<Self>()
    }
}
