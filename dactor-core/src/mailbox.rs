//! The queue of one actor and the protocol by which it is woken.
//!
//! Everything that must agree is under one lock: the messages, whether new ones are accepted, how the actor
//! has been asked to end, and who must be woken. So there is no push-then-check race to reason about: a
//! refused message goes back whole, and exactly one caller is told to wake the actor.
//!
//! ```text
//!   Starting ── launch finds nothing ──► Idle ◄──────────── take finds nothing (turns) ──┐
//!      │                                  │ push / signal: Nudge::Host                    │
//!      └── launch finds work: Nudge::Host ┴───────────────► Scheduled ───────────────────┤
//!                                                              ▲                          │
//!                          push / signal: Nudge::Waker         │    take finds nothing (resident,
//!                                                           Waiting ◄─ lingering), handler pending ┘
//! ```

mod aside;
mod chunks;
mod members;
mod withdraw;

use std::mem;
use std::sync::PoisonError;
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

pub(crate) use self::aside::Aside;
use self::chunks::Chunks;
use self::withdraw::{is_withdrawn, mark_taken, throw_away};
use crate::Priority;
use crate::bound::{Admitted, Bound, Limit, Overflow, Ticket};
use crate::lanes::Lanes;
use crate::queue::Queue;
use crate::slot::{AtomicSlot, Slot};
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::turn::is_member;

/// Beyond this many slots a queue gives memory back when it runs empty.
const KEPT_SLOTS: usize = 256;

/// The most that a cell takes at once.
const BATCH: usize = 128;

/// How an actor has been asked to end. A stronger request replaces a weaker one, never the reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Ending {
    None,
    Drain,
    Stop,
    Kill,
}

impl Ending {
    fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::None,
            1 => Self::Drain,
            2 => Self::Stop,
            _ => Self::Kill,
        }
    }
}

/// What a mailbox holds.
pub(crate) trait Item {
    /// Whether it comes from the kernel itself: such an item takes no room.
    fn is_notice(&self) -> bool;

    /// Whether it comes behind everything that was sent before it, also in other lanes.
    fn comes_last(&self) -> bool {
        false
    }

    /// Where it is, if there is an asker who may withdraw it.
    fn slot(&self) -> Option<&AtomicSlot> {
        None
    }
}

/// What a cell has to know between two messages, read in one go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals(u8);

impl Signals {
    const ENDING: u8 = 0b11;
    const OVERTAKEN: u8 = 0b100;
    const CALLED: u8 = 0b1000;
    const MEMBERS: u8 = 0b1_0000;
    const LANE: u8 = 0b110_0000;
    const HIGH: u8 = 0b010_0000;
    const LOW: u8 = 0b100_0000;

    /// How the actor has been asked to end.
    pub(crate) fn ending(self) -> Ending {
        Ending::from_bits(self.0 & Self::ENDING)
    }

    /// Whether another lane than the normal one has messages, so that the next one is not simply the next of the
    /// batch: see [`Mailbox::pick`].
    pub(crate) fn overtaken(self) -> bool {
        self.0 & Self::OVERTAKEN != 0
    }

    /// The lane of the batch: of the one message that a cell with a bound takes at a time, else the normal one.
    pub(crate) fn lane(self) -> Priority {
        match self.0 & Self::LANE {
            Self::HIGH => Priority::High,
            Self::LOW => Priority::Low,
            _ => Priority::Normal,
        }
    }

    /// What a cell finds that takes from this lane.
    fn of_lane(lane: Priority) -> Self {
        Self(match lane {
            Priority::High => Self::HIGH,
            Priority::Normal => 0,
            Priority::Low => Self::LOW,
        })
    }

    /// Whether there is something else to look at than messages: a timer is due, or the actor's family wants something.
    pub(crate) fn is_called(self) -> bool {
        self.0 & Self::CALLED != 0
    }
}

/// What a caller must do, after the lock is released, so that the actor runs.
#[derive(Debug)]
#[must_use]
pub(crate) enum Nudge {
    Nothing,
    /// The cell is parked in the runtime: ask the backend for a turn.
    Host,
    /// The cell is parked in the runtime and is to stop: ask the backend to stop it.
    Stop,
    /// The cell's future is pending: wake it.
    Waker(Waker),
}

/// Why a message is not in the queue.
#[derive(Debug)]
pub(crate) enum Refusal<T> {
    /// The mailbox is closed.
    Closed(T),
    /// It is full, and the sender is to know.
    Full(T),
    /// It sheds load, and the sender is to know when to try again.
    Overloaded(T, Duration),
    /// It is full, and the message is to be dropped: this one, or an older one that made room for it.
    Dropped(T, Nudge),
    /// Its asker had given up before it came.
    Withdrawn(T),
}

/// What wakes a pending cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heeds {
    /// Only a system signal: a handler is running and has the actor to itself.
    Signals,
    /// A system signal or a message.
    All,
}

/// Where a cell that finds nothing to do goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Park<'a> {
    /// Back to the runtime; the next push asks the backend for a turn.
    Native,
    /// Its future stays pending; the next push wakes this waker.
    Pending(&'a Waker),
}

/// What [`Mailbox::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Messages, now in the caller's batch.
    Some,
    /// Nothing, and the actor has been asked to end.
    Ending,
    /// Nothing, but the cell is [called](Signals::is_called).
    Called,
    /// Nothing: the cell is parked.
    Parked,
}

#[derive(Debug)]
enum Phase {
    Starting,
    Idle,
    Scheduled,
    Waiting(Waker, Heeds),
}

#[derive(Debug)]
struct Inner<T> {
    /// The normal lane, or the end of it.
    queue: Queue<T>,
    /// What comes before that, once more than a batch waits. Only without a bound.
    chunks: Option<Box<Chunks<T>>>,
    /// The others, once there was a message for one.
    lanes: Option<Box<Lanes<T>>>,
    phase: Phase,
    open: bool,
    /// Not open, except to the actors of the same system.
    members: bool,
    /// How often the cell was woken.
    wakes: u32,
    /// How many of the queued are withdrawn.
    withdrawn: u32,
    bound: Option<Box<Bound<T>>>,
}

impl<T: Item> Inner<T> {
    fn len(&self) -> usize {
        self.lanes_len() + self.aside().map_or(0, Aside::len)
    }

    /// How many messages are in the lanes, without what is put aside.
    fn lanes_len(&self) -> usize {
        let chunked = self.chunks.as_ref().map_or(0, |chunks| chunks.len());
        chunked + self.queue.len() + self.lanes.as_ref().map_or(0, |lanes| lanes.len())
    }

    fn is_full(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| {
            self.lanes_len() - self.withdrawn as usize - bound.notices >= bound.limit.capacity
        })
    }

    /// Whether a sender has to wait, and may.
    fn admits_waiters(&self) -> bool {
        let withdrawn = self.withdrawn as usize;
        let may_wait = |bound: &Bound<T>| bound.admits_waiters(withdrawn);
        self.is_open() && self.is_full() && self.bound.as_deref().is_some_and(may_wait)
    }

    /// Whether there is anything in a lane beside the normal one.
    fn has_lanes(&self) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| !lanes.is_empty())
    }

    fn nudge(&mut self, by: Heeds) -> Nudge {
        match &self.phase {
            Phase::Starting | Phase::Scheduled => return Nudge::Nothing,
            Phase::Waiting(_, Heeds::Signals) if by == Heeds::All => return Nudge::Nothing,
            Phase::Waiting(..) | Phase::Idle => {}
        }
        self.wakes = self.wakes.wrapping_add(1);
        match mem::replace(&mut self.phase, Phase::Scheduled) {
            Phase::Waiting(waker, _) => Nudge::Waker(waker),
            _ => Nudge::Host,
        }
    }

    #[inline(always)]
    fn put(&mut self, message: T, priority: Priority) {
        if let Some(bound) = &mut self.bound {
            bound.put(&message, priority);
        } else if self.queue.len() >= BATCH {
            self.begin_chunk();
        }
        match priority {
            Priority::Normal => self.queue.push_back(message),
            _ => self.lanes.get_or_insert_default().lane(&mut self.queue, priority).push_back(message),
        }
    }

    fn pop(&mut self, priority: Priority) -> Option<T> {
        if self.lanes.is_some()
            && let Some(returned) = self.pop_returned(priority)
        {
            return Some(returned);
        }
        let popped = self.lane(priority).pop_front()?;
        mark_taken(&popped);
        if let Some(bound) = &mut self.bound {
            bound.pop(&popped, priority);
        }
        Some(popped)
    }

    fn lane(&mut self, priority: Priority) -> &mut Queue<T> {
        match &mut self.lanes {
            Some(lanes) => lanes.lane(&mut self.queue, priority),
            None => &mut self.queue,
        }
    }

    /// Takes the oldest message of the lowest lane out. What the kernel sent stays.
    fn evict(&mut self) -> Option<T> {
        let notices = self.bound.as_ref().map_or(0, |bound| bound.notices);
        let normal = self.queue.len() > notices;
        let lowest = self.lanes.as_ref().and_then(|lanes| lanes.lowest(normal)).unwrap_or_default();
        let lane = self.lane(lowest);
        let at = lane.iter().position(|message| !message.is_notice() && !is_withdrawn(message))?;
        let oldest = lane.remove(at)?;
        mark_taken(&oldest);
        if let Some(aside) = self.aside_mut() {
            aside.note_removed(lowest, at);
        }
        if let Some(bound) = &mut self.bound {
            bound.pop(&oldest, lowest);
        }
        Some(oldest)
    }

    /// The message whose turn it is.
    fn next(&mut self, lane: &mut Priority) -> Option<T> {
        let normal = !self.queue.is_empty();
        *lane = match &mut self.lanes {
            Some(lanes) => lanes.choose(normal)?,
            None => Priority::Normal,
        };
        self.pop(*lane)
    }

    /// Whether it is open to the caller.
    fn is_open(&self) -> bool {
        self.open || (self.members && is_member())
    }

    /// Accepts the message, if the mailbox is open.
    ///
    /// Inlined, like the two others: a message that is refused is handed back by value, and each call would move it once
    /// more.
    #[inline(always)]
    fn accept(&mut self, message: T, priority: Priority) -> Result<Nudge, Refusal<T>> {
        if !self.is_open() {
            return Err(Refusal::Closed(message));
        }
        let withdrawn = self.withdrawn as usize;
        if let Some(retry_after) = self.bound.as_ref().and_then(|bound| bound.overload(withdrawn)) {
            return Err(Refusal::Overloaded(message, retry_after));
        }
        if self.is_full() {
            return Err(self.overflow(message, priority));
        }
        self.put(message, priority);
        Ok(self.nudge(Heeds::All))
    }

    /// What becomes of a message that finds the mailbox full.
    fn overflow(&mut self, message: T, priority: Priority) -> Refusal<T> {
        let overflow = self.bound.as_ref().map(|bound| bound.limit.overflow);
        match overflow {
            Some(Overflow::DropNewest) => Refusal::Dropped(message, Nudge::Nothing),
            Some(Overflow::DropOldest) => {
                self.put(message, priority);
                let evicted = self.evict();
                self.release_due();
                match evicted {
                    Some(oldest) => Refusal::Dropped(oldest, self.nudge(Heeds::All)),
                    None => unreachable!("a full queue is not empty"),
                }
            }
            Some(Overflow::Reject | Overflow::Block) | None => Refusal::Full(message),
        }
    }

    fn wait(&mut self, waker: &Waker, heeds: Heeds) {
        match &mut self.phase {
            Phase::Waiting(current, current_heeds) if current.will_wake(waker) => *current_heeds = heeds,
            phase => *phase = Phase::Waiting(waker.clone(), heeds),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
    /// The bits of [`Signals`]. Written under the lock, read without it between messages.
    signals: AtomicU8,
}

impl<T: Item> Mailbox<T> {
    /// An open mailbox of a cell that is not in its host yet.
    pub(crate) fn new(limit: Option<Limit>) -> Self {
        let bound = limit.map(|limit| Box::new(Bound::new(limit)));
        let inner = Inner {
            queue: Queue::new(),
            chunks: None,
            lanes: None,
            phase: Phase::Starting,
            open: true,
            members: false,
            wakes: 0,
            withdrawn: 0,
            bound,
        };
        Self { inner: Mutex::new(inner), signals: AtomicU8::new(Ending::None as u8) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the cell has to know between two messages.
    pub(crate) fn signals(&self) -> Signals {
        Signals(self.signals.load(Ordering::Acquire))
    }

    /// How the actor has been asked to end.
    pub(crate) fn ending(&self) -> Ending {
        self.signals().ending()
    }

    /// Sets the bits of `mask` to `bits`. The lock is held.
    fn set_signals(&self, mask: u8, bits: u8) {
        self.signals.store(self.signals().0 & !mask | bits, Ordering::Release);
    }

    /// Tells the cell whether its batch is still all that comes next. A cell with a bound has no batch.
    fn mind_lanes(&self, inner: &Inner<T>) {
        let overtaken = inner.has_lanes() && inner.bound.is_none();
        if overtaken != self.signals().overtaken() {
            self.set_signals(Signals::OVERTAKEN, if overtaken { Signals::OVERTAKEN } else { 0 });
        }
    }

    /// Tells the cell the lane of the message that it gets. The lock is held.
    fn show_lane(&self, lane: Priority) {
        if lane != self.signals().lane() {
            self.set_signals(Signals::LANE, Signals::of_lane(lane).0);
        }
    }

    /// Accepts the message, or says what became of it.
    pub(crate) fn push(&self, message: T, priority: Priority) -> Result<Nudge, Refusal<T>> {
        self.accept(&mut self.lock(), message, priority)
    }

    #[inline(always)]
    fn accept(&self, inner: &mut Inner<T>, message: T, priority: Priority) -> Result<Nudge, Refusal<T>> {
        let accepted = inner.accept(message, priority);
        if priority != Priority::Normal {
            self.mind_lanes(inner);
        }
        accepted
    }

    /// Accepts the message or, where senders wait for room, lets it join the line.
    pub(crate) fn push_or_join(
        &self,
        message: T,
        priority: Priority,
        waker: Option<Waker>,
    ) -> Result<(Nudge, Option<Ticket>), Refusal<T>> {
        let mut inner = self.lock();
        if inner.admits_waiters()
            && let Some(bound) = &mut inner.bound
        {
            return Ok((Nudge::Nothing, Some(bound.join(message, priority, waker))));
        }
        self.accept(&mut inner, message, priority).map(|nudge| (nudge, None))
    }

    /// The same for a message whose asker asked another actor, and may have given up meanwhile. `enter` says whether it
    /// has not, and from then on the asker looks for its message here.
    pub(crate) fn push_or_join_forwarded(
        &self,
        message: T,
        priority: Priority,
        enter: impl FnOnce(&T, Slot) -> bool,
    ) -> Result<Nudge, Refusal<T>> {
        let mut inner = self.lock();
        let waits = inner.admits_waiters();
        if !enter(&message, if waits { Slot::InLine } else { Slot::Queued }) {
            return Err(Refusal::Withdrawn(message));
        }
        if waits && let Some(bound) = &mut inner.bound {
            bound.join(message, priority, None);
            return Ok(Nudge::Nothing);
        }
        let accepted = self.accept(&mut inner, message, priority);
        if let Err(
            Refusal::Closed(back)
            | Refusal::Full(back)
            | Refusal::Overloaded(back, _)
            | Refusal::Dropped(back, _),
        ) = &accepted
        {
            mark_taken(back);
        }
        accepted
    }

    /// `None` while the ticket waits; then whether its message was accepted.
    pub(crate) fn poll_ticket(&self, ticket: Ticket, waker: &Waker) -> Option<bool> {
        let mut inner = self.lock();
        let bound = inner.bound.as_mut()?;
        if bound.renew(ticket, waker) { None } else { Some(bound.is_admitted(ticket)) }
    }

    /// Accepts what the kernel sends, behind everything else and whether there is room or not.
    pub(crate) fn notify(&self, notice: T) -> Result<Nudge, T> {
        let mut inner = self.lock();
        if !inner.open && !inner.members {
            return Err(notice);
        }
        if let Some(bound) = inner.bound.as_mut().filter(|bound| bound.has_waiters()) {
            bound.join(notice, Priority::Normal, None);
            return Ok(Nudge::Nothing);
        }
        if notice.comes_last() {
            inner.put_last(notice);
        } else {
            inner.put(notice, Priority::Normal);
        }
        Ok(inner.nudge(Heeds::All))
    }

    /// Makes the cell look up from its messages, before the next one.
    pub(crate) fn call(&self) -> Nudge {
        let mut inner = self.lock();
        self.set_signals(Signals::CALLED, Signals::CALLED);
        inner.nudge(Heeds::All)
    }

    /// The cell looks up. Whatever it was called for before can be seen from here on.
    pub(crate) fn answer_call(&self) {
        let _inner = self.lock();
        self.set_signals(Signals::CALLED, 0);
    }

    /// Takes a waiting message out of the line.
    pub(crate) fn leave(&self, ticket: Ticket) -> Option<T> {
        let mut garbage = Vec::new();
        let left = self.lock().bound.as_mut().and_then(|bound| bound.leave(ticket, &mut garbage));
        throw_away(garbage);
        left
    }

    /// Asks the actor to end. Accepts nothing from here on; a weaker request than an earlier one is ignored.
    pub(crate) fn signal(&self, ending: Ending) -> Nudge {
        let mut inner = self.lock();
        if self.ending() >= ending {
            return Nudge::Nothing;
        }
        self.set_signals(Signals::ENDING | Signals::MEMBERS, ending as u8);
        (inner.open, inner.members) = (false, false);
        match inner.nudge(Heeds::Signals) {
            Nudge::Host if ending == Ending::Stop => Nudge::Stop,
            nudge => nudge,
        }
    }

    /// `on_start` is done, and whoever ran it wakes nobody any more.
    pub(crate) fn started(&self) {
        self.lock().phase = Phase::Starting;
    }

    /// The cell is in its host: whatever came while it started is due now.
    pub(crate) fn launch(&self) -> Nudge {
        let mut inner = self.lock();
        if !matches!(inner.phase, Phase::Starting) {
            // The host runs the cell already.
            return Nudge::Nothing;
        }
        inner.phase = Phase::Idle;
        if inner.len() == 0 && self.ending() == Ending::None && !self.signals().is_called() {
            return Nudge::Nothing;
        }
        inner.nudge(Heeds::All)
    }

    /// Moves what is due into the empty `batch`, or parks the cell. What is in other lanes than the normal one stays
    /// there for [`pick`](Self::pick).
    pub(crate) fn take(&self, batch: &mut Queue<T>, park: Park<'_>) -> Taken {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        if inner.len() == 0 {
            if self.signals().is_called() {
                return Taken::Called;
            }
            if self.ending() != Ending::None {
                return Taken::Ending;
            }
            batch.shrink_to(KEPT_SLOTS);
            inner.queue.shrink_to(KEPT_SLOTS);
            inner.lanes.iter_mut().for_each(|lanes| lanes.shrink(KEPT_SLOTS));
            inner.chunks = None;
            match park {
                Park::Native => inner.phase = Phase::Idle,
                Park::Pending(waker) => inner.wait(waker, Heeds::All),
            }
            return Taken::Parked;
        }
        if inner.bound.is_some() {
            // A bounded queue holds all but the one in hand.
            let mut lane = Priority::Normal;
            inner.next(&mut lane).into_iter().for_each(|message| batch.push_back(message));
            inner.sweep(&mut garbage);
            if inner.lanes.is_some() {
                self.show_lane(lane);
                inner.release_due();
            }
            let wakers = inner.admit_waiters(&mut garbage);
            drop(inner);
            wakers.into_iter().flatten().for_each(Waker::wake);
        } else {
            inner.fill(batch, &mut garbage);
            inner.release_due();
            drop(inner);
        }
        throw_away(garbage);
        Taken::Some
    }

    /// The next message of a cell whose batch has been [overtaken](Signals::overtaken): the batch is the front of the
    /// normal lane. Says in `from` which lane it is from.
    pub(crate) fn pick(&self, batch: &mut Queue<T>, from: &mut Signals) -> Option<T> {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        if batch.is_empty() {
            inner.fill(batch, &mut garbage);
        }
        let chosen = inner.lanes.as_mut().and_then(|lanes| lanes.choose(!batch.is_empty()));
        let lane = chosen.unwrap_or_default();
        let picked = match lane {
            // The batch has left its lane before.
            Priority::Normal if !inner.aside().is_some_and(|aside| aside.has_returned(lane)) => {
                batch.pop_front()
            }
            _ => inner.pop(lane),
        };
        inner.sweep(&mut garbage);
        inner.release_due();
        inner.lanes.iter_mut().for_each(|lanes| lanes.settle());
        self.mind_lanes(&inner);
        drop(inner);
        throw_away(garbage);
        *from = Signals::of_lane(lane);
        picked
    }

    /// Registers the waker of a cell whose handler is pending. `true` when the actor has been killed.
    pub(crate) fn wait_for_signal(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        inner.wait(waker, Heeds::Signals);
        self.ending() == Ending::Kill
    }

    /// Closes for good and gives what was never taken, and what never got in.
    pub(crate) fn close(&self) -> Queue<T> {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        (inner.open, inner.members) = (false, false);
        inner.phase = Phase::Scheduled;
        inner.release_all();
        let tail = mem::take(&mut inner.queue);
        let mut rest = match inner.chunks.take() {
            Some(chunks) => chunks.into_items().chain(tail).collect(),
            None => tail,
        };
        for message in inner.lanes.take().into_iter().flat_map(|lanes| lanes.into_messages()) {
            rest.push_back(message);
        }
        let mut wakers = Vec::new();
        for Admitted { message, waker, .. } in inner.bound.iter_mut().flat_map(|bound| bound.disperse()) {
            rest.push_back(message);
            wakers.extend(waker);
        }
        rest.split_off(is_withdrawn, &mut garbage);
        rest.iter().for_each(mark_taken);
        inner.withdrawn = 0;
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        throw_away(garbage);
        rest
    }

    /// Wakes a cell that is pending with nothing to do, so that it parks anew.
    pub(crate) fn rouse(&self) -> Nudge {
        let mut inner = self.lock();
        match inner.phase {
            Phase::Waiting(_, Heeds::All) => inner.nudge(Heeds::All),
            _ => Nudge::Nothing,
        }
    }

    /// How many messages wait, without those that are withdrawn.
    pub(crate) fn len(&self) -> usize {
        self.lock().wanted()
    }
}

#[cfg(test)]
impl Item for u32 {
    fn is_notice(&self) -> bool {
        *self >= 1000
    }

    fn comes_last(&self) -> bool {
        *self >= 2000
    }
}

#[cfg(all(test, dactor_loom))]
mod models;
#[cfg(test)]
mod tests;
