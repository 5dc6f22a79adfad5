//! The observations of callers and actors, in one order.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_core::{ActorPath, ErrorKind, Event, StopReason};
use tokio::time::Instant;

use super::program::{EndMethod, Lane, SendMethod, Sharing};

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sender {
    /// A client of the program.
    Client(usize),
    /// An actor in a handler.
    Actor(usize),
    /// An actor in a read, beside others.
    Read(usize),
    /// An actor in a hook.
    Hook(usize),
    /// A task that sends one message, without an order.
    Task,
}

/// How a handler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandlerEnd {
    Replied,
    Failed,
    Panicked,
    Stashed,
    StashFull,
    Forwarded,
    ForwardRefused,
    Promised,
    /// It was dropped at an await.
    Interrupted,
}

/// The progress of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookMoment {
    Begin,
    Done,
    Failed,
    Panicked,
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookKind {
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

/// An observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observation {
    /// A message is about to be sent.
    Send {
        id: u64,
        by: Sender,
        to: usize,
        how: SendMethod,
        lane: Lane,
    },
    /// The call that sent it has returned.
    Sent {
        id: u64,
        error: Option<ErrorKind>,
    },
    /// An asker has its answer: the id of the message that was answered, or the error.
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
        sharing: Sharing,
    },
    End {
        id: u64,
        actor: usize,
        how: HandlerEnd,
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
        which: HookKind,
        moment: HookMoment,
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
        how: EndMethod,
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
    /// The result of `wait` and `stop_reason`.
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
    /// A violation that was detected during the run.
    Violation(Violation),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Violation {
    /// The clients or the shutdown did not finish.
    Hung,
    /// An ask was not answered although its actor ended.
    Unanswered(usize),
    TasksLeft(usize),
    ActorsLeft(usize),
    MessagesKept(i64),
    InstancesKept(i64),
    /// The dead-letter counter differs from the number of events.
    Uncounted(i64),
    /// A panic of user code reached a sender.
    SenderPanicked,
    /// Formatting an error panicked.
    TextPanics,
    /// An item of a stream is not the next one, or a sum is wrong.
    WrongItem(u64),
    /// A stream ended without all its items, without being finished, or twice.
    WrongEnd(u64),
    /// Two actors of one name of `get_or_spawn` were alive.
    TwoAlive,
    /// `get_or_spawn` failed while the system was running.
    NotFound(ErrorKind),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Milliseconds since the start.
    pub(super) at: u64,
    pub(super) what: Observation,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>7} {:?}", self.at, self.what)
    }
}

/// The observations of one run.
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

    pub(super) fn note(&self, what: Observation) {
        let at = self.begin.elapsed().as_millis() as u64;
        self.lock().push(Entry { at, what });
    }

    pub(super) fn wrong(&self, wrong: Violation) {
        self.note(Observation::Violation(wrong));
    }

    pub(super) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.lock())
    }

    pub(super) fn count(&self, wanted: impl Fn(&Observation) -> bool) -> usize {
        self.lock().iter().filter(|entry| wanted(&entry.what)).count()
    }

    /// Records an event of the system.
    pub(super) fn event(&self, event: &Event) {
        match event {
            Event::DeadLetter(letter) => {
                self.read(&letter.error);
                let id = letter.text.as_deref().and_then(|text| text.strip_prefix('#')?.parse().ok());
                self.note(Observation::DeadLetter {
                    id,
                    actor: letter.target.path().and_then(slot),
                    kind: letter.error.kind(),
                });
            }
            Event::Failed { actor, error, .. } => {
                self.read(error);
                self.about(actor, |actor| Observation::Failed { actor, kind: error.kind() });
            }
            Event::Restarted { actor, error } => {
                self.read(error);
                self.about(actor, |actor| Observation::Restarted { actor });
            }
            Event::Spawned { actor, .. } => self.about(actor, |actor| Observation::Started { actor }),
            Event::Stopped { actor, reason, .. } => {
                if let Some(error) = reason.failure() {
                    self.read(error);
                }
                self.about(actor, |actor| Observation::Stopped { actor, reason: Reason::of(reason) });
            }
            _ => {}
        }
    }

    fn about(&self, path: &ActorPath, what: impl FnOnce(usize) -> Observation) {
        if let Some(actor) = slot(path) {
            self.note(what(actor));
        }
    }

    /// Formats an error as a log would.
    pub(super) fn read(&self, error: &dactor_core::Error) {
        let read = std::panic::AssertUnwindSafe(|| format!("{error} {error:?}"));
        if std::panic::catch_unwind(read).is_err() {
            self.wrong(Violation::TextPanics);
        }
    }
}

/// The number of the actor with this path; its name is `a` and the number.
fn slot(path: &ActorPath) -> Option<usize> {
    path.name()?.as_str().strip_prefix('a')?.parse().ok()
}

/// Counts live values.
pub(super) struct LiveCounter {
    history: Arc<History>,
    count: fn(&History) -> &AtomicI64,
}

impl LiveCounter {
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

impl Clone for LiveCounter {
    fn clone(&self) -> Self {
        Self::new(&self.history, self.count)
    }
}

impl Drop for LiveCounter {
    fn drop(&mut self) {
        (self.count)(&self.history).fetch_sub(1, Ordering::SeqCst);
    }
}
