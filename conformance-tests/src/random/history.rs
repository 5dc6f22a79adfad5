//! What callers and actors observed, in one order.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_core::{ErrorKind, Event, StopReason};
use tokio::time::Instant;

use super::program::{Ending, How, Lane};

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Who {
    /// A client of the program.
    Client(usize),
    /// An actor in a handler.
    Actor(usize),
    /// An actor in a hook.
    Hook(usize),
    /// A task that sends once: it has no order with anything.
    Task,
}

/// How a handler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Replied,
    Failed,
    Panicked,
    Stashed,
    StashFull,
    Forwarded,
    ForwardRefused,
    Promised,
    /// It was dropped at an await.
    Cut,
}

/// How a hook went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Begin,
    Done,
    Failed,
    Panicked,
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Start,
    Restart,
    Error,
    Stop,
}

/// A [`StopReason`] without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Stopped,
    Drained,
    Killed,
    Failed(ErrorKind),
}

impl Reason {
    pub(super) fn of(reason: &StopReason) -> Self {
        match reason {
            StopReason::Stopped => Self::Stopped,
            StopReason::Drained => Self::Drained,
            StopReason::Failed(error) => Self::Failed(error.kind()),
            _ => Self::Killed,
        }
    }
}

/// One observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A message is about to be sent.
    Send {
        id: u64,
        by: Who,
        to: usize,
        how: How,
        lane: Lane,
    },
    /// The call that sent it has returned.
    Sent {
        id: u64,
        error: Option<ErrorKind>,
    },
    /// An asker has its answer: who replied, or the error.
    Answer {
        id: u64,
        reply: Result<u64, ErrorKind>,
    },
    /// The caller has dropped its future.
    Withdrawn {
        id: u64,
    },
    Begin {
        id: u64,
        actor: usize,
        instance: u64,
    },
    End {
        id: u64,
        actor: usize,
        how: Ended,
    },
    Unstash {
        actor: usize,
    },
    DeadLetter {
        id: Option<u64>,
        actor: Option<usize>,
        kind: ErrorKind,
    },
    Hook {
        actor: usize,
        instance: u64,
        which: Which,
        moment: Moment,
    },
    Dropped {
        actor: usize,
        instance: u64,
    },
    Watch {
        by: usize,
        target: usize,
    },
    Unwatch {
        by: usize,
        target: usize,
        was: bool,
    },
    Terminated {
        by: usize,
        target: usize,
        reason: Reason,
        settled: bool,
    },
    Signal {
        to: usize,
        how: Ending,
    },
    Spawn {
        actor: usize,
        parent: Option<usize>,
    },
    Spawned {
        actor: usize,
        error: Option<ErrorKind>,
    },
    Shutdown,
    ShutDown {
        error: Option<ErrorKind>,
    },
    /// What `wait` and `stop_reason` say.
    Final {
        actor: usize,
        reason: Option<Reason>,
    },
    Started {
        actor: usize,
    },
    Stopped {
        actor: usize,
        reason: Reason,
    },
    Restarted {
        actor: usize,
    },
    Failed {
        actor: usize,
        kind: ErrorKind,
    },
    /// Something that must not be, seen where it happened.
    Wrong(Wrong),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The clients, or the end of the system, took for ever.
    Hung,
    /// An ask was not answered although its actor has ended.
    Unanswered(usize),
    TasksLeft(usize),
    ActorsLeft(usize),
    MessagesKept(i64),
    InstancesKept(i64),
    /// The counter of dead letters and the events do not agree.
    Uncounted(i64),
    /// A panic of a handler or destructor came out of a call of a sender.
    SenderPanicked,
    /// The text of an error cannot be read.
    TextPanics,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Milliseconds since the beginning.
    pub(super) at: u64,
    pub(super) what: What,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7} {:?}", self.at, self.what)
    }
}

/// The observations of one run. Cheap to share.
pub(super) struct History {
    begin: Instant,
    entries: Mutex<Vec<Entry>>,
    pub(super) messages: AtomicI64,
    pub(super) instances: AtomicI64,
}

impl History {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            entries: Mutex::default(),
            messages: AtomicI64::new(0),
            instances: AtomicI64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, what: What) {
        let at = self.begin.elapsed().as_millis() as u64;
        self.lock().push(Entry { at, what });
    }

    pub(super) fn wrong(&self, wrong: Wrong) {
        self.note(What::Wrong(wrong));
    }

    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.lock())
    }

    pub(super) fn count(&self, wanted: impl Fn(&What) -> bool) -> usize {
        self.lock().iter().filter(|entry| wanted(&entry.what)).count()
    }

    /// The observer of a system.
    pub(super) fn event(&self, event: &Event) {
        match event {
            Event::DeadLetter(letter) => {
                self.read(&letter.error);
                let id = letter.text.as_deref().and_then(|text| text.strip_prefix('#')?.parse().ok());
                self.note(What::DeadLetter { id, actor: slot(&letter.actor), kind: letter.error.kind() });
            }
            Event::Failed { actor, error, .. } => {
                self.read(error);
                self.about(actor, |actor| What::Failed { actor, kind: error.kind() });
            }
            Event::Restarted { actor, error } => {
                self.read(error);
                self.about(actor, |actor| What::Restarted { actor });
            }
            Event::Spawned { actor, .. } => self.about(actor, |actor| What::Started { actor }),
            Event::Stopped { actor, reason, .. } => {
                if let Some(error) = reason.failure() {
                    self.read(error);
                }
                self.about(actor, |actor| What::Stopped { actor, reason: Reason::of(reason) });
            }
            _ => {}
        }
    }

    fn about(&self, label: &str, what: impl FnOnce(usize) -> What) {
        if let Some(actor) = slot(label) {
            self.note(what(actor));
        }
    }

    /// Reads the text of an error as a log would.
    pub(super) fn read(&self, error: &dactor_core::Error) {
        let read = std::panic::AssertUnwindSafe(|| format!("{error} {error:?}"));
        if std::panic::catch_unwind(read).is_err() {
            self.wrong(Wrong::TextPanics);
        }
    }
}

/// The number of the actor with this path: the last segment is `a` and the number.
fn slot(label: &str) -> Option<usize> {
    label.rsplit('/').next()?.strip_prefix('a')?.parse().ok()
}

/// Counts what is alive.
pub(super) struct Canary {
    history: Arc<History>,
    count: fn(&History) -> &AtomicI64,
}

impl Canary {
    pub(super) fn message(history: &Arc<History>) -> Self {
        Self::new(history, |history| &history.messages)
    }

    pub(super) fn instance(history: &Arc<History>) -> Self {
        Self::new(history, |history| &history.instances)
    }

    fn new(history: &Arc<History>, count: fn(&History) -> &AtomicI64) -> Self {
        count(history).fetch_add(1, Ordering::SeqCst);
        Self { history: history.clone(), count }
    }
}

impl Clone for Canary {
    fn clone(&self) -> Self {
        Self::new(&self.history, self.count)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        (self.count)(&self.history).fetch_sub(1, Ordering::SeqCst);
    }
}
