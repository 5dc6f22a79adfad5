//! Loom models: every interleaving of senders, signals and the cell at a mailbox.

mod call;
mod cell;
mod end;
mod lanes;
mod launch;
mod line;
mod native;
mod overflow;
mod reads;
mod wake;
mod withdraw;

use std::collections::BTreeSet;
use std::mem;
use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;

use loom::thread::{self, JoinHandle};

use super::bound::Ticket;
use super::overflow::Overflow;
use super::*;
use crate::Priority::{High, Low, Normal};
use crate::base::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::base::sync::model::{Bell, explore};
use crate::mailbox::shed::Shed;
use cell::{At, Cell, Lived};

/// The mailbox, and an extra atomic that orders lock-free reads of its signals against writes.
///
/// Loom explores other orders of a write and the last access before it. A writer of the signals has just read
/// them under the lock, so the last access is its own, and loom would skip orders in which the write comes
/// before the cell's read. So every thread first makes an access that depends on those of the others. It is
/// relaxed and synchronizes nothing.
#[derive(Debug)]
struct ModelMailbox {
    mailbox: Mailbox<u32>,
    meeting: AtomicUsize,
}

type MailboxRef = Arc<ModelMailbox>;

impl ModelMailbox {
    fn new(limit: Option<Limit>) -> MailboxRef {
        Arc::new(Self { mailbox: Mailbox::new(limit), meeting: AtomicUsize::new(0) })
    }

    fn launched(limit: Option<Limit>) -> MailboxRef {
        let mailbox = Self::new(limit);
        assert!(matches!(mailbox.launch(), Wakeup::None));
        mailbox
    }

    fn meet(&self) -> &Mailbox<u32> {
        self.meeting.fetch_add(1, Ordering::Relaxed);
        &self.mailbox
    }

    fn signals(&self) -> Signals {
        self.meet().signals()
    }

    fn ending(&self) -> Ending {
        self.meet().ending()
    }

    fn signal(&self, ending: Ending) -> Wakeup {
        self.meet().signal(ending)
    }

    fn call(&self) -> Wakeup {
        self.meet().call()
    }

    fn answer_call(&self) {
        self.meet().answer_call();
    }

    fn push(&self, message: u32, priority: Priority) -> Result<Wakeup, Refusal<u32>> {
        let mailbox = if priority == Normal { &self.mailbox } else { self.meet() };
        mailbox.push(message, priority)
    }
}

impl Deref for ModelMailbox {
    type Target = Mailbox<u32>;

    fn deref(&self) -> &Self::Target {
        &self.mailbox
    }
}

/// As `ActorMeta::wake` does.
fn wake(wakeup: Wakeup, host: &Bell) {
    match wakeup {
        Wakeup::None => {}
        Wakeup::Waker(waker) => waker.wake(),
        Wakeup::Native | Wakeup::Stop => host.ring(),
    }
}

/// Where a message ended up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MessageOutcome {
    Handled,
    /// The cell left it behind.
    Rest,
    /// Returned to its sender.
    Back,
    /// Dropped silently: it was evicted, or found no room.
    Dropped,
}
use MessageOutcome::{Back, Dropped, Handled, Rest};

/// Tells each message, in its lane, and returns the messages that did not stay in the mailbox: refused or
/// evicted ones.
fn tell_at(mailbox: &MailboxRef, host: &Bell, messages: &[(u32, Priority)]) -> Vec<(u32, MessageOutcome)> {
    let mut gone = Vec::new();
    for &(message, priority) in messages {
        match mailbox.push(message, priority) {
            Ok(wakeup) => wake(wakeup, host),
            Err(Refusal::Closed(message) | Refusal::Full(message) | Refusal::Overloaded(message, _)) => {
                gone.push((message, Back));
            }
            Err(Refusal::Dropped(message, wakeup)) => {
                wake(wakeup, host);
                gone.push((message, Dropped));
            }
            Err(Refusal::Withdrawn(_)) => unreachable!("a told message has no asker"),
        }
    }
    gone
}

fn tell(mailbox: &MailboxRef, host: &Bell, messages: &[u32]) -> Vec<(u32, MessageOutcome)> {
    tell_at(mailbox, host, &messages.iter().map(|&message| (message, Normal)).collect::<Vec<_>>())
}

/// A thread beside the cell's.
fn beside<R: 'static>(
    mailbox: &MailboxRef,
    host: &Arc<Bell>,
    work: impl FnOnce(&MailboxRef, &Bell) -> R + 'static,
) -> JoinHandle<R> {
    let (mailbox, host) = (mailbox.clone(), host.clone());
    thread::spawn(move || work(&mailbox, &host))
}

/// Sender threads beside the cell's: the last one to finish drains the mailbox.
#[derive(Debug)]
struct Senders<'a> {
    mailbox: &'a MailboxRef,
    host: &'a Arc<Bell>,
    left: Arc<AtomicUsize>,
}

impl<'a> Senders<'a> {
    fn new(mailbox: &'a MailboxRef, host: &'a Arc<Bell>, count: usize) -> Self {
        Self { mailbox, host, left: Arc::new(AtomicUsize::new(count)) }
    }

    fn spawn<R: 'static>(&self, work: impl FnOnce(&MailboxRef, &Bell) -> R + 'static) -> JoinHandle<R> {
        let left = self.left.clone();
        beside(self.mailbox, self.host, move |mailbox, host| {
            let done = work(mailbox, host);
            if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                wake(mailbox.signal(Ending::Drain), host);
            }
            done
        })
    }
}
