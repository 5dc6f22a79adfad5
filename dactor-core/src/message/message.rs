use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::message::priority::Priority;
use crate::message::wire::Wire;

/// Something that can be sent to an actor.
///
/// Derive it (`#[derive(Message)] #[message(reply = u64)]`) or write it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "write `#[derive(Message)]` on `{Self}`, and `#[message(reply = Type)]` if it is answered"
)]
pub trait Message: Sized + Send + 'static {
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

    /// Its form outside of the process; `None` for a message that stays inside. `#[message(wire = "bank.Deposit")]` on the
    /// derive sets it.
    const WIRE: Option<Wire<Self>> = None;

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

    /// The streams that come with it, when it leaves the process.
    #[doc(hidden)]
    fn into_streams(self) -> FarStreams {
        FarStreams::default()
    }

    /// What errors and events call it.
    #[doc(hidden)]
    fn type_name() -> &'static str {
        std::any::type_name::<Self>()
    }
}
