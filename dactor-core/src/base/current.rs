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

thread_local! {
    static READS: Cell<Option<Reads>> = const { Cell::new(None) };
}

/// The running reads whose code is being polled on this thread.
#[derive(Debug, Clone, Copy)]
struct Reads {
    actor: Pid,
    /// Whether another read may begin beside them.
    open: bool,
    /// Whether one of them waits for a reply of its own actor.
    waits_for_itself: bool,
}

/// Marks this thread as polling reads of an actor until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading(Option<Reads>);

impl Reading {
    pub(crate) fn enter(actor: Pid, open: bool) -> Self {
        Self(READS.replace(Some(Reads { actor, open, waits_for_itself: false })))
    }

    /// Whether a read has said that it waits for a reply of its own actor.
    pub(crate) fn waits_for_itself(&self) -> bool {
        READS.get().is_some_and(|reads| reads.waits_for_itself)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        READS.set(self.0);
    }
}

/// Says that a read of this actor, which is the one whose code is being polled, waits for a reply of the same actor. `None` when
/// that code is not a read, else whether another read may begin beside it.
pub(crate) fn read_waits_for_itself(actor: Pid) -> Option<bool> {
    let reads = READS.get().filter(|reads| reads.actor == actor)?;
    READS.set(Some(Reads { waits_for_itself: true, ..reads }));
    Some(reads.open)
}
