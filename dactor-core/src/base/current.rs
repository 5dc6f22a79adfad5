//! Thread-local state of the code being polled: its actor, its system and its deadline.

use std::cell::Cell;

use tokio::time::Instant;

use crate::base::error::{Error, ErrorKind};
use crate::base::label::Labelled;
use crate::base::pid::Pid;

thread_local! {
    static CURRENT: Cell<Pid> = const { Cell::new(Pid::NOBODY) };
}

/// The actor whose code is being polled on this thread.
pub(crate) fn actor() -> Pid {
    CURRENT.get()
}

/// The error of a call that an actor awaits in its own turn, and that could only return after the turn.
pub(crate) fn awaits_itself(actor: &(impl Labelled + ?Sized), call: &'static str) -> Error {
    Error::new(ErrorKind::AskedItself).about(actor).with("call", call)
}

/// Marks this thread as polling `pid`'s code until it is dropped.
#[derive(Debug)]
pub(crate) struct Entered(Pid);

impl Entered {
    #[inline]
    pub(crate) fn new(pid: Pid) -> Self {
        Self(CURRENT.replace(pid))
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

thread_local! {
    static MEMBER: Cell<bool> = const { Cell::new(false) };
}

/// Whether messages sent on this thread come from an actor of the receiving system: see [`Member`].
pub(crate) fn is_member() -> bool {
    MEMBER.get()
}

/// Until dropped, messages sent on this thread are admitted to mailboxes of the same system during its
/// shutdown.
#[derive(Debug)]
pub(crate) struct Member(());

impl Member {
    pub(crate) fn enter() -> Self {
        MEMBER.set(true);
        Self(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        MEMBER.set(false);
    }
}

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The deadline of the message that this thread is handling.
pub(crate) fn deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Sets the asker's deadline for the handler code, until dropped.
#[derive(Debug)]
pub(crate) struct Until(Option<Instant>);

impl Until {
    pub(crate) fn enter(deadline: Instant) -> Self {
        Self(DEADLINE.replace(Some(deadline)))
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        DEADLINE.set(self.0);
    }
}
