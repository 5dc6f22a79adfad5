//! The messages and replies of a program, and values that panic.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dactor_core::{Header, Message};

use super::history::LiveCounter;
use super::program::Job;
use super::run::Run;

/// The text of all injected panics.
pub(super) const INJECTED: &str = "a panic injected by the program";

/// A message with the job of its handler.
#[derive(Clone)]
pub(super) struct ProgramMessage {
    pub(super) id: u64,
    pub(super) job: Arc<Job>,
    pub(super) stashed: bool,
    _live: LiveCounter,
}

impl ProgramMessage {
    pub(super) fn new(run: &Run, job: Arc<Job>) -> Self {
        Self { id: run.next_id(), job, stashed: false, _live: LiveCounter::message(&run.history) }
    }
}

impl Message for ProgramMessage {
    type Reply = Answer;
    type Access = dactor_core::Exclusive;

    fn describe(&self) -> Option<String> {
        Some(format!("#{}", self.id))
    }
}

/// A message whose handler is dropped when its asker gives up.
pub(super) struct Abortable(pub(super) ProgramMessage);

impl Message for Abortable {
    type Reply = Answer;
    type Access = dactor_core::Exclusive;
    const ABORT: bool = true;

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}

/// A message that only reads.
pub(super) struct ReadOnly(pub(super) ProgramMessage);

impl Message for ReadOnly {
    type Reply = Answer;
    type Access = dactor_core::Shared;

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}

/// A message that only reads and does not wait behind a write.
pub(super) struct Interleaving(pub(super) ProgramMessage);

impl Message for Interleaving {
    type Reply = Answer;
    type Access = dactor_core::Interleaved;

    fn describe(&self) -> Option<String> {
        self.0.describe()
    }
}

/// A reply with the id of the handled message. A bad one panics in its destructor unless it is read.
pub(super) struct Answer {
    pub(super) id: u64,
    pub(super) bad: bool,
    pub(super) _live: LiveCounter,
}

impl Answer {
    /// The id of the handled message.
    pub(super) fn read(mut self) -> u64 {
        self.bad = false;
        self.id
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.bad && !std::thread::panicking() {
            panic!("{INJECTED}");
        }
    }
}

/// A header whose last clone panics in its destructor, once a handler has seen it.
#[derive(Clone)]
pub(super) struct PanickingHeader(pub(super) Arc<PanicsOnDrop>);

#[derive(Default)]
pub(super) struct PanicsOnDrop(pub(super) AtomicBool);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if *self.0.get_mut() && !std::thread::panicking() {
            panic!("{INJECTED}");
        }
    }
}

impl PanickingHeader {
    pub(super) fn new() -> Self {
        Self(Arc::default())
    }
}

impl Header for PanickingHeader {
    const NAME: &'static str = "bad";
}

/// An error that panics when it is formatted or when it is dropped.
#[derive(Debug)]
pub(super) struct PanickingError {
    pub(super) shown: bool,
}

impl fmt::Display for PanickingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.shown {
            panic!("{INJECTED}");
        }
        f.write_str(INJECTED)
    }
}

impl Drop for PanickingError {
    fn drop(&mut self) {
        if self.shown && !std::thread::panicking() {
            panic!("{INJECTED}");
        }
    }
}

impl std::error::Error for PanickingError {}
