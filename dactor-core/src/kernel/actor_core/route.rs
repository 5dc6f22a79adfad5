//! The way to an actor that lives elsewhere.

use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;

use crate::delivery::envelope::Envelope;
use crate::{Actor, End, Error, Priority, Result};

/// The way to one actor that lives elsewhere: on another node, or wherever a virtual actor is active.
///
/// A crate that carries messages implements it and makes refs with [`far_ref`](crate::spi::far_ref). A route is called on the
/// thread of the sender, in any task and also outside of a runtime, so it must not block. Only
/// [`send`](Self::send) may wait, as a future.
///
/// What the core does before it asks the route: it runs the outbound interceptors of the ref; it refuses a message to an actor
/// that is [known](crate::spi::far_ended) to have ended; and it makes a dead letter of each message that the route refuses.
pub trait FarRoute<A: Actor>: Send + Sync + 'static {
    /// Takes a message: told, asked or forwarded. `Ok` says that it is on its way.
    ///
    /// # Errors
    ///
    /// The envelope, whole, and why it is refused. Its sender gets that error, and so does its asker: the route does not
    /// answer an envelope that it gives back.
    fn deliver(&self, envelope: Envelope<A>, priority: Priority) -> Result<(), FarRefused<A>>;

    /// The same for a sender that waits until there is room for the message, where there is a limit. Dropped while it
    /// waits, the message is not sent.
    ///
    /// # Errors
    ///
    /// Those of [`deliver`](Self::deliver).
    fn send(&self, envelope: Envelope<A>, priority: Priority) -> FarSend<'_, A> {
        Box::pin(ready(self.deliver(envelope, priority)))
    }

    /// Asks the actor to end.
    ///
    /// # Errors
    ///
    /// When the request cannot be sent, or is not allowed there.
    fn end(&self, how: End) -> Result<()>;

    /// Asks to be told of the actor's end: the carrier calls [`far_ended`](crate::spi::far_ended) then, at once if it has
    /// ended already. It is called for the first watcher or waiter, and again for the first one after an
    /// [`unwatch`](Self::unwatch); never at the same time as that one.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a virtual actor, which has no end; and when the request cannot be sent.
    fn watch(&self) -> Result<()>;

    /// The last watcher and waiter is gone.
    fn unwatch(&self);

    /// How long an ask waits whose asker sets neither a timeout nor a deadline. `None`, the default, is without limit.
    fn ask_timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether the code that runs on this thread is the actor's own: an ask of it could not be answered, and fails with
    /// [`AskedItself`](crate::ErrorKind::AskedItself). Called for asks with a limit, as all are of a route that has an
    /// [`ask_timeout`](Self::ask_timeout).
    fn is_own_code(&self) -> bool {
        false
    }

    /// An asker has given up an ask that this route took. The route can look for it among its pending asks, and cancel
    /// it at the actor.
    fn asker_gone(&self) {}
}

/// A message that a route did not take, whole, and the reason.
#[derive(Debug)]
pub struct FarRefused<A> {
    /// The message.
    pub envelope: Envelope<A>,
    /// Why it was refused.
    pub error: Error,
}

/// A message that waits for room on its way.
pub type FarSend<'a, A> = Pin<Box<dyn Future<Output = Result<(), FarRefused<A>>> + Send + 'a>>;
