//! Load shedding: new work is refused while a mailbox is too long or too slow.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, ErrorKind, Priority, Result};

/// When a mailbox refuses new messages because it is overloaded: give it to
/// [`Spawn::shed`](crate::Spawn::shed) or [`SystemBuilder::shed`](crate::SystemBuilder::shed).
///
/// A refused message fails with [`Overloaded`](ErrorKind::Overloaded); [`Error::retry_after`] says how long the message
/// that has waited longest waits already, which is about what the queue takes to be worked off. A bound says how much
/// memory a mailbox may use; shedding says how late an answer may come.
///
/// ```
/// use std::time::Duration;
/// use dactor_core::Shed;
///
/// let shed = Shed::default().length(10_000).age(Duration::from_millis(200));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Shed {
    length: Option<usize>,
    age: Option<Duration>,
}

impl Shed {
    /// Refuses while this many messages wait.
    pub fn length(mut self, length: usize) -> Self {
        self.length = Some(length);
        self
    }

    /// Refuses while a message waits that has waited longer than this.
    pub fn age(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    pub(crate) fn check(self) -> Result<Self> {
        let because = if self.length == Some(0) {
            "a mailbox that sheds at length 0 would refuse everything"
        } else if self.age == Some(Duration::ZERO) {
            "a mailbox that sheds at age 0 would refuse whatever has to wait"
        } else if self == Self::default() {
            "shedding needs a length or an age"
        } else {
            return Ok(self);
        };
        Err(Error::new(ErrorKind::InvalidCapacity).with("because", because))
    }
}

/// A retry is never advised sooner: whoever obeys must not spin.
const LEAST: Duration = Duration::from_millis(1);

/// When each waiting message came, lane by lane.
#[derive(Debug)]
pub(crate) struct Shedding {
    shed: Shed,
    came: [VecDeque<Instant>; 3],
}

impl Shedding {
    pub(crate) fn new(shed: Shed) -> Self {
        Self { shed, came: Default::default() }
    }

    pub(crate) fn put(&mut self, priority: Priority) {
        self.came[priority as usize].push_back(Instant::now());
    }

    pub(crate) fn pop(&mut self, priority: Priority) {
        self.came[priority as usize].pop_front();
    }

    /// Only these messages of the lane are kept.
    pub(crate) fn compact(&mut self, priority: Priority, mut kept: impl Iterator<Item = bool>) {
        self.came[priority as usize].retain(|_| kept.next().unwrap_or(true));
    }

    /// When to try again, if it is too much now. So many of those that wait are withdrawn, and the first of each lane is
    /// not.
    pub(crate) fn overload(&self, withdrawn: usize) -> Option<Duration> {
        let waiting = self.came.iter().map(VecDeque::len).sum::<usize>() - withdrawn;
        let oldest = self.came.iter().filter_map(VecDeque::front).min()?;
        let too_long = self.shed.length.is_some_and(|length| waiting >= length);
        let age = oldest.elapsed();
        let too_old = self.shed.age.is_some_and(|limit| age > limit);
        (too_long || too_old).then(|| age.max(LEAST))
    }
}
