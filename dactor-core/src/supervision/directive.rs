/// What to do with an actor after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Directive {
    /// Keep the state and continue with the next message.
    Resume,
    /// Replace the instance by a new one from the factory: same ref, id, mailbox and waiters. The failed
    /// message is not retried. Without a factory the actor stops as failed.
    Restart,
    /// Stop the actor as failed.
    Stop,
    /// From [`on_error`](crate::Actor::on_error): let the [`Supervision`](crate::Supervision) strategy
    /// decide, as after a panic. From a supervision strategy: stop the actor as failed, and fail its parent
    /// in turn. A top-level actor has no parent: same as `Stop`.
    Escalate,
}
