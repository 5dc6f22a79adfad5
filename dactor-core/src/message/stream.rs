use crate::message::priority::Priority;
use crate::message::wire::StreamWire;

/// A request that is answered by a stream of items: 1 → n.
///
/// Derive it (`#[derive(Expand)] #[message(item = Line)]`) or implement it by hand. An actor answers it with
/// [`ExpandHandler`](crate::ExpandHandler), a caller sends it with [`ActorRef::expand`](crate::ActorRef::expand).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request for a stream of items",
    note = "write `#[derive(Expand)] #[message(item = Type)]` on `{Self}`"
)]
pub trait Expand: Sized + Send + 'static {
    /// The items of the stream.
    type Item: Send + 'static;

    /// The priority of the request, as [`Message::PRIORITY`](crate::Message::PRIORITY). Items have no priority.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether it never leaves the process: see [`Message::LOCAL_ONLY`](crate::Message::LOCAL_ONLY).
    const LOCAL_ONLY: bool = false;

    /// Whether the request counts as activity: see [`Message::KEEP_ALIVE`](crate::Message::KEEP_ALIVE). Items do not.
    const KEEP_ALIVE: bool = true;

    /// Its form outside of the process, with that of its items; `None` for a request that stays inside.
    const WIRE: Option<StreamWire<Self, (), Self::Item>> = None;

    /// The request as text for dead letters: see [`Message::describe`](crate::Message::describe).
    fn describe(&self) -> Option<String> {
        None
    }
}

/// A request with a stream of items, answered by one reply: n → 1.
///
/// Derive it (`#[derive(Reduce)] #[message(item = Chunk, reply = u64)]`) or implement it by hand. An actor
/// answers it with
/// [`ReduceHandler`](crate::ReduceHandler), a caller sends it with [`ActorRef::reduce`](crate::ActorRef::reduce).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request with a stream of items",
    note = "write `#[derive(Reduce)] #[message(item = Type, reply = Type)]` on `{Self}`"
)]
pub trait Reduce: Sized + Send + 'static {
    /// The items that come with the request.
    type Item: Send + 'static;
    /// The reply type.
    type Reply: Send + 'static;

    /// The priority of the request, as [`Message::PRIORITY`](crate::Message::PRIORITY). Items have no priority.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether it never leaves the process: see [`Message::LOCAL_ONLY`](crate::Message::LOCAL_ONLY).
    const LOCAL_ONLY: bool = false;

    /// Whether the request counts as activity: see [`Message::KEEP_ALIVE`](crate::Message::KEEP_ALIVE). Items do not.
    const KEEP_ALIVE: bool = true;

    /// Its form outside of the process, with that of its items; `None` for a request that stays inside.
    const WIRE: Option<StreamWire<Self, Self::Item, Self::Reply>> = None;

    /// The request as text for dead letters: see [`Message::describe`](crate::Message::describe).
    fn describe(&self) -> Option<String> {
        None
    }
}

/// A request with a stream of items, answered by a stream of items: n → n.
///
/// Derive it (`#[derive(Transform)] #[message(input = Chunk, output = Chunk)]`) or implement it by hand. An
/// actor answers it
/// with [`TransformHandler`](crate::TransformHandler), a caller sends it with
/// [`ActorRef::transform`](crate::ActorRef::transform).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request that transforms a stream of items",
    note = "write `#[derive(Transform)] #[message(input = Type, output = Type)]` on `{Self}`"
)]
pub trait Transform: Sized + Send + 'static {
    /// The items that come with the request.
    type Input: Send + 'static;
    /// The items of the answer.
    type Output: Send + 'static;

    /// The priority of the request, as [`Message::PRIORITY`](crate::Message::PRIORITY). Items have no priority.
    const PRIORITY: Priority = Priority::Normal;

    /// Whether it never leaves the process: see [`Message::LOCAL_ONLY`](crate::Message::LOCAL_ONLY).
    const LOCAL_ONLY: bool = false;

    /// Whether the request counts as activity: see [`Message::KEEP_ALIVE`](crate::Message::KEEP_ALIVE). Items do not.
    const KEEP_ALIVE: bool = true;

    /// Its form outside of the process, with that of its items; `None` for a request that stays inside.
    const WIRE: Option<StreamWire<Self, Self::Input, Self::Output>> = None;

    /// The request as text for dead letters: see [`Message::describe`](crate::Message::describe).
    fn describe(&self) -> Option<String> {
        None
    }
}
