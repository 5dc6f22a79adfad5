//! Load shedding: a mailbox refuses new messages while it is too long or too slow.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, ErrorKind, Priority, Result};

/// Load shedding limits of a mailbox: passed to [`Spawn::shed`](crate::Spawn::shed) or
/// [`SystemBuilder::shed`](crate::SystemBuilder::shed).
///
/// A refused message fails with [`Overloaded`](ErrorKind::Overloaded); [`Error::retry_after`] is the age of
/// the oldest message, an estimate of the time to work off the queue. A bound limits the memory of a mailbox;
/// shedding limits its latency.
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
    /// Sheds load while this many messages wait.
    pub fn length(mut self, length: usize) -> Self {
        self.length = Some(length);
        self
    }

    /// Sheds load while a message has waited longer than this.
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

/// The minimum `retry_after`, so that a retrying caller does not spin.
const LEAST: Duration = Duration::from_millis(1);

/// The arrival time of each waiting message, by lane.
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

    /// Keeps only these messages of the lane.
    pub(crate) fn compact(&mut self, priority: Priority, mut kept: impl Iterator<Item = bool>) {
        self.came[priority as usize].retain(|_| kept.next().unwrap_or(true));
    }

    /// When to retry, if it sheds load now. `withdrawn` is the number of withdrawn messages; the first of
    /// each lane is not.
    pub(crate) fn overload(&self, withdrawn: usize) -> Option<Duration> {
        let waiting = self.came.iter().map(VecDeque::len).sum::<usize>() - withdrawn;
        let oldest = self.came.iter().filter_map(VecDeque::front).min()?;
        let too_long = self.shed.length.is_some_and(|length| waiting >= length);
        let age = oldest.elapsed();
        let too_old = self.shed.age.is_some_and(|limit| age > limit);
        (too_long || too_old).then(|| age.max(LEAST))
    }
}
