//! Uses of a higher room that are inherent in a typed design.

/// A module that uses a room above its own.
pub(crate) struct Exception {
    pub(crate) module: &'static str,
    pub(crate) room: &'static str,
    pub(crate) reason: &'static str,
}

pub(crate) const MOST_EXCEPTIONS: usize = 15;

const fn because(module: &'static str, room: &'static str, reason: &'static str) -> Exception {
    Exception { module, room, reason }
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    because(
        "delivery::envelope",
        "actor",
        "an envelope for `A` is dispatched to `A: Handler<M>` with its `Context<A>`",
    ),
    because("delivery::access", "actor", "the access of a message chooses the handler trait that is called"),
    because("delivery::handler", "actor", "it calls `Handler::handle`"),
    because("delivery::intercepted", "actor", "it calls `Handler::handle` inside the interceptors"),
    because("delivery::sent_to", "actor", "`M: SentTo<A>` holds when `A: Handler<M>`"),
    because(
        "kernel::actor_core",
        "actor",
        "what the refs to an `A` share has a mailbox of envelopes for `A`",
    ),
    because("kernel::actor_core", "system", "an actor knows its system"),
    because(
        "kernel::cycles",
        "system",
        "a cycle of asks may lead through several systems, and names the actors of each",
    ),
    because("kernel::task", "actor", "it runs the hooks of the `Actor`, owns its `Context` and its factory"),
    because(
        "actor::context",
        "actor_ref",
        "a context has the ref to its own actor, and forwards messages to others",
    ),
    because("actor::context", "system", "a context spawns children"),
    because("actor::watch", "actor_ref", "`Terminated::is` compares with a ref"),
    because("actor_ref::actor_ref", "system", "a ref tells the system of its actor"),
];
