//! What running reads take and wait for. Numbers from five hundred to six hundred join them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;

use super::*;
use crate::mailbox::shed::Shed;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn send(mailbox: &Mailbox<u32>, number: u32, priority: crate::Priority) {
    run(mailbox.push(number, priority).unwrap());
    if number.interleaves() {
        run(mailbox.rouse_reads());
    }
}

fn run(wakeup: Wakeup) {
    if let Wakeup::Waker(waker) = wakeup {
        waker.wake();
    }
}

/// All that waits, in the order in which a cell takes it.
pub(super) fn order<T: Item>(mailbox: &Mailbox<T>, mut batch: Queue<T>) -> Vec<T> {
    let mut order = Vec::new();
    loop {
        let overtaken = mailbox.signals().overtaken();
        let next =
            if overtaken { mailbox.pick(&mut batch, &mut Signals::default()) } else { batch.pop_front() };
        match next {
            Some(message) => order.push(message),
            None if mailbox.take(&mut batch, Park::Native) == Taken::Some => {}
            None => return order,
        }
    }
}

/// Takes out what joins.
fn joined(mailbox: &Mailbox<u32>) -> (Queue<u32>, Vec<u32>) {
    let (mut batch, mut joining) = (Queue::new(), Vec::new());
    mailbox.join_or_wait(&mut batch, &mut joining, Waker::noop());
    (batch, joining)
}

#[test]
fn the_order_is_that_without_the_messages_that_joined() {
    for many in [0, 300] {
        let [with, without] = [true, false].map(|joins| {
            let mailbox = launched();
            let messages = (10..10 + many).map(|number| (number, Normal)).chain([
                (1, Normal),
                (500, Normal),
                (501, Normal),
                (2, Low),
                (502, Low),
            ]);
            let sent = |number: &u32| joins || !number.interleaves();
            messages
                .filter(|(number, _)| sent(number))
                .for_each(|(number, priority)| send(&mailbox, number, priority));
            // It comes after all that was sent before it, and before the messages after it.
            assert!(mailbox.notify(2000).is_ok());
            [(3, Normal), (4, Normal), (5, Low), (6, Low)]
                .into_iter()
                .for_each(|(number, priority)| send(&mailbox, number, priority));
            let (batch, joining) = joined(&mailbox);
            assert_eq!(joining.len(), if joins { 3 } else { 0 });
            order(&mailbox, batch)
        });
        assert_eq!(with, without, "behind {many}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_joins_takes_its_age_along() {
    let shed = Some(Shed::default().age(Duration::from_secs(1)));
    let limit = Limit { capacity: usize::MAX, overflow: Overflow::Reject, shed };
    let mailbox = launch(Mailbox::new(Some(limit)));
    let step = Duration::from_millis(600);
    assert!(mailbox.notify(1000).is_ok());
    send(&mailbox, 500, Normal);
    tokio::time::advance(step).await;
    send(&mailbox, 1, Normal);
    assert_eq!(joined(&mailbox).1, [500]);
    tokio::time::advance(step).await;
    assert!(mailbox.push(2, Normal).is_ok(), "the oldest message has waited for 600 ms");
    tokio::time::advance(step).await;
    assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Overloaded(..))));
}

#[test]
fn what_joins_is_taken_out_wherever_it_waits() {
    for mailbox in [launched(), bounded(1000, Overflow::Reject)] {
        let mut batch = Queue::new();
        if !mailbox.is_bounded() {
            (0..3).chain([500]).for_each(|number| send(&mailbox, number, Normal));
            assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
        }
        mailbox.stash(501, Normal, |_| true);
        mailbox.stash(3, Normal, |_| true);
        mailbox.unstash();
        (10..300).chain([502]).for_each(|number| send(&mailbox, number, Normal));
        [300, 503, 301].into_iter().for_each(|number| send(&mailbox, number, High));
        [302, 504].into_iter().for_each(|number| send(&mailbox, number, Low));
        assert!(mailbox.notify(2000).is_ok());
        let mut joining = Vec::new();
        mailbox.join_or_wait(&mut batch, &mut joining, Waker::noop());
        joining.sort_unstable();
        let first = if mailbox.is_bounded() { 501 } else { 500 };
        assert!(joining.into_iter().eq(first..505));
        let left = order(&mailbox, batch);
        assert_eq!(left.len(), 295 + if mailbox.is_bounded() { 0 } else { 3 });
        assert_eq!(left.last(), Some(&2000), "a notice stays behind all that was sent before it");
        let normal: Vec<_> = left.into_iter().filter(|number| (10..300).contains(number)).collect();
        assert!(normal.is_sorted());
        assert_eq!(mailbox.len(), 0);
    }
}

#[test]
fn an_ask_in_line_joins_and_makes_room_for_none() {
    let mailbox = bounded(1, Overflow::Block);
    for number in [1, 2, 500, 3] {
        assert!(mailbox.push_or_join(number, Normal, None).is_ok());
    }
    assert!(mailbox.push_or_join(501, Normal, Some(Waker::noop())).is_ok());
    run(mailbox.rouse_reads());
    let (mut batch, mut joining) = (Queue::new(), Vec::new());
    mailbox.join_or_wait(&mut batch, &mut joining, Waker::noop());
    assert_eq!(joining, [500], "a sender that waits for its place keeps it");
    assert_eq!(order(&mailbox, batch), [1, 2, 3, 501]);
}

#[test]
fn only_what_joins_wakes_reads_that_others_wait_behind() {
    let mailbox = launched();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let count = || woken.0.load(Ordering::Relaxed);
    let (mut batch, mut joining) = (Queue::new(), Vec::new());
    mailbox.join_or_wait(&mut batch, &mut joining, &waker);
    send(&mailbox, 1, Normal);
    run(mailbox.call());
    assert_eq!(count(), 0);
    send(&mailbox, 500, Normal);
    assert_eq!(count(), 1);
    mailbox.join_or_wait(&mut batch, &mut joining, &waker);
    assert_eq!(joining, [500]);
    joining.clear();
    mailbox.join_or_wait(&mut batch, &mut joining, &waker);
    run(mailbox.signal(Ending::Kill));
    assert_eq!(count(), 2);
}

#[test]
fn reads_are_woken_by_any_message_while_others_may_begin() {
    let mailbox = launched();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut batch = Queue::new();
    assert_eq!(mailbox.take(&mut batch, Park::Reading(&waker)), Taken::Parked);
    assert_eq!(mailbox.idle_wakes(), None, "an actor that reads is not idle");
    send(&mailbox, 1, Normal);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    // A cell with nothing to do is not woken twice for one message.
    assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Parked);
    assert!(matches!(mailbox.rouse_reads(), Wakeup::None));
}

#[test]
fn a_message_that_is_given_back_is_first_in_its_lane() {
    for mailbox in [launched(), bounded(2, Overflow::Reject)] {
        [(1, High), (2, Normal)].into_iter().for_each(|(number, priority)| send(&mailbox, number, priority));
        mailbox.stash(5, High, |_| true);
        mailbox.give_back(3, High);
        mailbox.give_back(4, Normal);
        mailbox.unstash();
        assert_eq!(order(&mailbox, Queue::new()), [5, 3, 1, 4, 2]);
    }
}

#[test]
fn a_notice_waits_for_the_messages_that_did_not_join() {
    for (lane, many) in [(Normal, 1), (Normal, 300), (Low, 1), (Low, 300)] {
        let mailbox = launched();
        // With a message in another lane, the notice is deferred.
        send(&mailbox, 1, High);
        (0..many).for_each(|_| send(&mailbox, 2, lane));
        (500..503).for_each(|number| send(&mailbox, number, lane));
        assert!(mailbox.notify(2000).is_ok());
        send(&mailbox, 3, lane);
        assert_eq!(joined(&mailbox).1, [500, 501, 502]);
        let before = mailbox.lock().side_queues().unwrap().before_notices();
        assert_eq!((before[0][lane as usize], before[0][High as usize]), (many, 1), "in {lane:?}");
    }
}
