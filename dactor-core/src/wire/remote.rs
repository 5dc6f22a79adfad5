use crate::Actor;
use crate::wire::Accepts;

/// An actor that receives messages from other processes.
///
/// Used for remote and virtual actors alike. A message that is not listed is answered with
/// [`UnknownMessage`](crate::ErrorKind::UnknownMessage).
pub trait Remote: Actor {
    /// The name of the actor's type in other processes. It must stay the same when the type is renamed.
    const TYPE: &'static str;

    /// Lists the accepted messages.
    fn accepts(messages: &mut Accepts<Self>) {
        let _ = messages;
    }
}
