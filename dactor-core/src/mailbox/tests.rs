mod notices;
mod reads;
mod side_queues;
mod withdraw;

use std::task::Waker;

use super::overflow::Overflow;
use super::take::{BATCH, KEPT_SLOTS};
use super::*;
use crate::Priority::{High, Low, Normal};
use futures_util::task::noop_waker_ref;

fn kind<T: std::fmt::Debug>(wakeup: Result<Wakeup, T>) -> &'static str {
    match wakeup.expect("the mailbox is open") {
        Wakeup::None => "nothing",
        Wakeup::Native => "host",
        Wakeup::Stop => "stop",
        Wakeup::Waker(_) => "waker",
    }
}

fn signal(mailbox: &Mailbox<u32>, ending: Ending) -> &'static str {
    kind::<()>(Ok(mailbox.signal(ending)))
}

fn launched() -> Mailbox<u32> {
    launch(Mailbox::new(None))
}

fn bounded(capacity: usize, overflow: Overflow) -> Mailbox<u32> {
    launch(Mailbox::new(Some(Limit { capacity, overflow, shed: None })))
}

fn launch(mailbox: Mailbox<u32>) -> Mailbox<u32> {
    assert_eq!(kind::<()>(Ok(mailbox.launch())), "nothing");
    mailbox
}

fn pick(mailbox: &Mailbox<u32>, batch: &mut Queue<u32>) -> Option<u32> {
    mailbox.pick(batch, &mut Signals::default())
}

fn taken(mailbox: &Mailbox<u32>) -> Vec<u32> {
    let mut batch = Queue::new();
    mailbox.take(&mut batch, Park::Native);
    batch.collect()
}

#[test]
fn a_push_wakes_an_idle_cell_once() {
    let mailbox = launched();
    assert_eq!(kind(mailbox.push(1, Normal)), "host");
    assert_eq!(kind(mailbox.push(2, Normal)), "nothing");
    assert_eq!(mailbox.len(), 2);
    assert_eq!(taken(&mailbox), [1, 2]);
    assert_eq!(kind(mailbox.push(3, Normal)), "nothing", "the turn continues");
    assert_eq!(taken(&mailbox), [3]);
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Parked);
    assert_eq!(kind(mailbox.push(4, Normal)), "host");
}

#[test]
fn what_comes_before_the_launch_is_due_at_it() {
    let mailbox = Mailbox::new(None);
    assert_eq!(kind(mailbox.push(1, Normal)), "nothing");
    assert_eq!(kind::<()>(Ok(mailbox.launch())), "host");
    assert_eq!(kind::<()>(Ok(mailbox.launch())), "nothing");

    let stopped = Mailbox::<u32>::new(None);
    assert_eq!(signal(&stopped, Ending::Stop), "nothing");
    assert_eq!(kind::<()>(Ok(stopped.launch())), "host");

    let waited = Mailbox::new(None);
    assert!(!waited.wait_for_signal(noop_waker_ref()));
    waited.started();
    assert_eq!(kind(waited.push(1, Normal)), "nothing");
    assert_eq!(kind::<()>(Ok(waited.launch())), "host");

    let running = Mailbox::new(None);
    assert_eq!(running.take(&mut Queue::new(), Park::Pending(noop_waker_ref())), Taken::Parked);
    assert_eq!(kind::<()>(Ok(running.launch())), "nothing", "its host is already running it");
    assert_eq!(kind(running.push(1, Normal)), "waker");
}

#[test]
fn a_pending_handler_is_woken_by_signals_only() {
    let mailbox = launched();
    assert_eq!(kind(mailbox.push(1, Normal)), "host");
    assert!(!mailbox.wait_for_signal(noop_waker_ref()));
    assert_eq!(kind(mailbox.push(2, Normal)), "nothing");
    assert_eq!(signal(&mailbox, Ending::Drain), "waker");
    assert!(!mailbox.wait_for_signal(noop_waker_ref()));
    assert_eq!(signal(&mailbox, Ending::Kill), "waker");
    assert!(mailbox.wait_for_signal(noop_waker_ref()));
}

#[test]
fn a_cell_can_wait_for_messages_and_its_own_work_at_once() {
    let mailbox = launched();
    let mut batch = Queue::new();
    assert_eq!(mailbox.take(&mut batch, Park::Pending(noop_waker_ref())), Taken::Parked);
    assert_eq!(kind(mailbox.push(1, Normal)), "waker");
    assert_eq!(kind(mailbox.push(2, Normal)), "nothing");
    assert_eq!(mailbox.take(&mut batch, Park::Pending(noop_waker_ref())), Taken::Some);
    assert!(batch.eq([1, 2]));
}

#[test]
fn reparking_wakes_only_a_cell_with_nothing_to_do() {
    let repark = |mailbox: &Mailbox<u32>| kind::<()>(Ok(mailbox.repark()));
    let mailbox = launched();
    assert_eq!(repark(&mailbox), "nothing");
    assert!(!mailbox.wait_for_signal(noop_waker_ref()));
    assert_eq!(repark(&mailbox), "nothing");
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Pending(noop_waker_ref())), Taken::Parked);
    assert_eq!(repark(&mailbox), "waker");
    assert_eq!(repark(&mailbox), "nothing");
}

#[test]
fn the_stronger_ending_wins_and_closes() {
    let mailbox = launched();
    assert_eq!(signal(&mailbox, Ending::Drain), "host");
    assert!(matches!(mailbox.push(1, Normal), Err(Refusal::Closed(1))));
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Ending);
    for (ending, expected) in
        [(Ending::Drain, Ending::Drain), (Ending::Kill, Ending::Kill), (Ending::Stop, Ending::Kill)]
    {
        signal(&mailbox, ending);
        assert_eq!(mailbox.ending(), expected);
    }
    assert_eq!(signal(&launched(), Ending::Stop), "stop", "an idle cell is stopped by its host");
}

#[test]
fn closing_gives_the_rest() {
    let mailbox = launched();
    assert_eq!(kind(mailbox.push(1, Normal)), "host");
    assert_eq!(kind(mailbox.push(2, Normal)), "nothing");
    assert!(mailbox.close().eq([1, 2]));
    assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Closed(3))));
}

#[test]
fn memory_is_given_back_after_a_burst() {
    let mailbox = launched();
    for number in 0..100_000 {
        let _ = mailbox.push(number, Normal);
    }
    let mut batch = Queue::new();
    while mailbox.take(&mut batch, Park::Native) == Taken::Some {
        assert!(batch.by_ref().count() <= BATCH);
    }
    assert!(batch.capacity() <= 2 * KEPT_SLOTS, "{}", batch.capacity());
    assert!(mailbox.lock().queue.capacity() <= 2 * KEPT_SLOTS);
}

#[test]
fn a_bound_holds_exactly_its_capacity() {
    let mailbox = bounded(2, Overflow::Reject);
    let _ = (mailbox.push(1, Normal), mailbox.push(2, Normal));
    assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Full(3))));
    assert_eq!(taken(&mailbox), [1], "one at a time");
    assert!(mailbox.push(4, Normal).is_ok());
    assert!(matches!(mailbox.push(5, Normal), Err(Refusal::Full(5))));
    assert!(mailbox.close().eq([2, 4]));
}

#[test]
fn dropping_keeps_the_oldest_or_the_newest() {
    for (overflow, dropped, kept) in
        [(Overflow::DropNewest, [3, 4], [1, 2]), (Overflow::DropOldest, [1, 2], [3, 4])]
    {
        let mailbox = bounded(2, overflow);
        let lost: Vec<u32> = (1..=4)
            .filter_map(|number| match mailbox.push(number, Normal) {
                Err(Refusal::Dropped(lost, _)) => Some(lost),
                _ => None,
            })
            .collect();
        assert_eq!(lost, dropped);
        assert!(mailbox.close().eq(kept));
    }
}

#[test]
fn a_batch_is_overtaken_by_higher_messages_and_overtakes_lower_ones() {
    let mailbox = launched();
    let mut batch = Queue::new();
    for (number, priority) in [(1, Normal), (2, Normal), (3, Normal)] {
        let _ = mailbox.push(number, priority);
    }
    assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
    assert_eq!(batch.pop_front(), Some(1));
    assert!(!mailbox.signals().overtaken());
    for (number, priority) in [(4, Low), (5, High), (6, Normal), (7, High)] {
        assert_eq!(kind(mailbox.push(number, priority)), "nothing");
    }
    assert!(mailbox.signals().overtaken());
    assert_eq!(mailbox.ending(), Ending::None);
    assert_eq!(mailbox.len(), 4);
    let picked: Vec<_> = std::iter::from_fn(|| pick(&mailbox, &mut batch)).collect();
    assert_eq!(picked, [5, 7, 2, 3, 6, 4]);
    assert!(!mailbox.signals().overtaken());
}

#[test]
fn who_was_passed_over_is_forgotten_when_the_lanes_run_empty() {
    let mailbox = launched();
    let mut batch = Queue::new();
    (0..20).for_each(|number| drop(mailbox.push(number, Normal)));
    assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
    (100..107).for_each(|number| drop(mailbox.push(number, High)));
    let high: Vec<_> = (0..7).filter_map(|_| pick(&mailbox, &mut batch)).collect();
    assert_eq!(high, [100, 101, 102, 103, 104, 105, 106]);
    assert!(!mailbox.signals().overtaken());
    assert!((0..5).all(|number| batch.pop_front() == Some(number)));
    let _ = mailbox.push(107, High);
    assert_eq!(pick(&mailbox, &mut batch), Some(107), "the normal lane has just had five turns");
}

#[test]
fn a_message_of_any_lane_wakes_and_is_due() {
    for priority in [Low, High] {
        let mailbox = launched();
        assert_eq!(kind(mailbox.push(1, priority)), "host");
        let mut batch = Queue::new();
        assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
        assert_eq!(pick(&mailbox, &mut batch), Some(1));
        assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Parked);

        let early = Mailbox::new(None);
        assert_eq!(kind(early.push(1, priority)), "nothing");
        assert_eq!(kind::<()>(Ok(early.launch())), "host");
        assert_eq!(signal(&early, Ending::Stop), "nothing");
        assert!(early.signals().overtaken(), "a signal leaves the lanes alone");
        assert!(early.close().eq([1]));
    }
}

#[test]
fn a_bound_counts_all_lanes_and_the_lowest_loses_first() {
    let mailbox = bounded(2, Overflow::Reject);
    let _ = (mailbox.push(1, Low), mailbox.push(2, High));
    assert!(matches!(mailbox.push(3, High), Err(Refusal::Full(3))));
    assert!(!mailbox.signals().overtaken(), "a bounded mailbox gives one at a time, the right one");
    assert_eq!((taken(&mailbox), taken(&mailbox)), (vec![2], vec![1]));

    let mailbox = bounded(2, Overflow::DropOldest);
    let lost: Vec<u32> = [(1, Low), (2, High), (3, Normal), (4, High), (5, Low)]
        .into_iter()
        .filter_map(|(number, priority)| match mailbox.push(number, priority) {
            Err(Refusal::Dropped(lost, _)) => Some(lost),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [1, 3, 5]);
    assert!(mailbox.close().eq([2, 4]));
}

#[test]
fn those_in_line_are_admitted_in_order() {
    let mailbox = bounded(1, Overflow::Block);
    assert!(mailbox.push(0, Normal).is_ok());
    let join = |number| mailbox.push_or_join(number, Normal, None).unwrap().1.expect("there is no room");
    let (one, two, three) = (join(1), join(2), join(3));
    assert!(matches!(mailbox.push(9, Normal), Err(Refusal::Full(9))), "a sender does not overtake the line");
    let poll = |ticket| mailbox.poll_ticket(ticket, noop_waker_ref());
    assert_eq!(poll(one), None);
    assert_eq!(mailbox.leave(two), Some(2));
    assert_eq!(mailbox.leave(two), None);
    assert_eq!(taken(&mailbox), [0]);
    assert_eq!((poll(one), poll(three)), (Some(true), None));
    assert_eq!(mailbox.len(), 1);
    assert!(mailbox.close().eq([1, 3]));
    assert_eq!((poll(one), poll(three)), (Some(true), Some(false)));
}

#[test]
fn an_actor_without_priorities_pays_for_no_lanes() {
    let mailbox = launched();
    assert_eq!(kind(mailbox.push(1, Normal)), "host");
    assert!(mailbox.lock().lanes.is_none());
    assert_eq!(kind(mailbox.push(2, High)), "nothing");
    assert!(mailbox.lock().lanes.is_some());
}

#[test]
fn the_last_waker_is_woken() {
    struct Quiet;
    impl std::task::Wake for Quiet {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    let [first, last] = [(); 2].map(|()| Waker::from(std::sync::Arc::new(Quiet)));
    let mailbox = launched();
    for waker in [&first, &last] {
        assert_eq!(mailbox.take(&mut Queue::new(), Park::Pending(waker)), Taken::Parked);
    }
    let Ok(Wakeup::Waker(woken)) = mailbox.push(1, Normal) else { panic!("a pending cell is woken") };
    assert!(woken.will_wake(&last) && !woken.will_wake(&first));
}
