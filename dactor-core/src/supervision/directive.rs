/// What to do with an actor after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Directive {
    /// Keep the state and carry on with the next message.
    Resume,
    /// Replace the instance by a fresh one from the factory: same ref, id, mailbox and waiters. The
    /// failed message is not repeated. Without a factory the actor stops as failed.
    Restart,
    /// Stop the actor as failed.
    Stop,
    /// From [`on_error`](crate::Actor::on_error): leave it to the [`Supervision`](crate::Supervision), as after a panic. From a supervision: stop the
    /// actor as failed, and let its parent fail over it in turn. At the top of a system nobody is above, and it is the
    /// same as `Stop`.
    Escalate,
}
