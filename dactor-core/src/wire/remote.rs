use crate::Actor;
use crate::wire::Accepts;

/// An actor that takes messages from other processes.
///
/// Remote and virtual actors use it alike. A frame for a message that it does not list is answered with
/// [`UnknownMessage`](crate::ErrorKind::UnknownMessage).
pub trait Remote: Actor {
    /// The name of the actor's type in other processes. It is the user's choice and stays the same when the type is renamed.
    const TYPE: &'static str;

    /// Lists the messages that it accepts.
    fn accepts(messages: &mut Accepts<Self>) {
        let _ = messages;
    }
}
