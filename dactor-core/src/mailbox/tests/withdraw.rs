//! Asks that are withdrawn while they wait.

use std::sync::Arc;
use std::time::Duration;

use super::reads::order;
use super::*;
use crate::mailbox::shed::Shed;
use crate::mailbox::slot::AtomicSlot;

#[derive(Debug, Clone)]
struct Ask(u32, Option<Arc<AtomicSlot>>);

impl Item for Ask {
    fn is_notice(&self) -> bool {
        self.0 >= 1000
    }

    fn comes_last(&self) -> bool {
        self.0 >= 2000
    }

    fn slot(&self) -> Option<&AtomicSlot> {
        self.1.as_deref()
    }
}

fn ask(number: u32) -> Ask {
    Ask(number, Some(Arc::new(AtomicSlot::new())))
}

fn told(number: u32) -> Ask {
    Ask(number, None)
}

fn mailbox(limit: Option<Limit>) -> Mailbox<Ask> {
    let mailbox = Mailbox::new(limit);
    let _ = mailbox.launch();
    mailbox
}

fn limit(capacity: usize, overflow: Overflow) -> Option<Limit> {
    Some(Limit { capacity, overflow, shed: None })
}

fn withdraw(mailbox: &Mailbox<Ask>, ask: &Ask) {
    let _ = mailbox.withdraw(&mut || ask.slot().and_then(AtomicSlot::withdraw));
}

fn numbers(queue: Queue<Ask>) -> Vec<u32> {
    queue.map(|ask| ask.0).collect()
}

fn take(mailbox: &Mailbox<Ask>) -> Vec<u32> {
    let mut batch = Queue::new();
    mailbox.take(&mut batch, Park::Native);
    numbers(batch)
}

/// How many items the mailbox holds, including withdrawn ones.
fn held(mailbox: &Mailbox<Ask>) -> usize {
    mailbox.lock().len()
}

#[test]
fn withdrawn_asks_are_compacted() {
    for limit in [None, limit(10_000, Overflow::Reject)] {
        let mailbox = mailbox(limit);
        let asks: Vec<_> = (0..1000).map(ask).collect();
        for ask in &asks {
            let _ = mailbox.push(ask.clone(), [Normal, High, Low][ask.0 as usize % 3]);
        }
        for (gone, ask) in asks.iter().rev().enumerate().filter(|(_, ask)| ask.0 % 10 != 0) {
            withdraw(&mailbox, ask);
            withdraw(&mailbox, ask);
            assert!(held(&mailbox) <= 2 * mailbox.len(), "after {gone}");
        }
        assert_eq!(mailbox.len(), 100);
        let left = mailbox.close();
        assert!(left.capacity() < 400);
        let mut left = numbers(left);
        left.sort_unstable();
        assert!(left.into_iter().eq((0..100).map(|number| 10 * number)));
    }
}

#[test]
fn a_batch_is_limited_and_leaves_withdrawn_asks_behind() {
    let mailbox = mailbox(None);
    let asks: Vec<_> = (0..1000).map(ask).collect();
    asks.iter().for_each(|ask| drop(mailbox.push(ask.clone(), Normal)));
    asks.iter().filter(|ask| ask.0 % 4 == 0).for_each(|ask| withdraw(&mailbox, ask));
    let mut taken = take(&mailbox);
    assert_eq!(taken.len(), 3 * BATCH / 4);
    withdraw(&mailbox, &asks[1]);
    assert_eq!(mailbox.len(), 750 - taken.len(), "taken messages are not in the mailbox");
    while taken.len() < 750 {
        taken.extend(take(&mailbox));
    }
    assert!(taken.into_iter().eq((0..1000).filter(|number| number % 4 != 0)));
    assert_eq!((held(&mailbox), mailbox.lock().withdrawn), (0, 0));
}

#[test]
fn the_bound_counts_what_is_wanted() {
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let mailbox = mailbox(limit(1, overflow));
        let gone = ask(0);
        assert!(mailbox.push(gone.clone(), Normal).is_ok());
        withdraw(&mailbox, &gone);
        assert!(mailbox.push(told(1), Normal).is_ok(), "{overflow:?}");
        assert_eq!((held(&mailbox), numbers(mailbox.close())), (1, vec![1]));
    }
}

#[test]
fn only_a_wanted_message_makes_room() {
    let mailbox = mailbox(limit(2, Overflow::DropOldest));
    let asks = [ask(0), ask(1)];
    assert!(mailbox.push(asks[0].clone(), Normal).is_ok() && mailbox.push(asks[1].clone(), Normal).is_ok());
    withdraw(&mailbox, &asks[1]);
    assert!(mailbox.push(told(2), Normal).is_ok());
    assert!(matches!(mailbox.push(told(3), Normal), Err(Refusal::Dropped(Ask(0, _), _))));
    assert_eq!(numbers(mailbox.close()), [2, 3]);
}

#[test]
fn those_in_line_move_up() {
    let mailbox = mailbox(limit(1, Overflow::Block));
    let asks: Vec<_> = (0..100).map(ask).collect();
    for ask in &asks {
        let (_, ticket) = mailbox.push_or_join(ask.clone(), Normal, None).unwrap();
        assert_eq!(ticket.is_some(), ask.0 > 0);
    }
    asks[2..99].iter().rev().for_each(|ask| withdraw(&mailbox, ask));
    assert!(mailbox.lock().bound.as_ref().unwrap().in_line() <= 4);
    withdraw(&mailbox, &asks[0]);
    assert_eq!(mailbox.len(), 1, "the next sender was admitted");
    assert_eq!(take(&mailbox), [1]);
    assert_eq!(take(&mailbox), [99]);
    assert!(mailbox.push(told(100), Normal).is_ok());
}

#[test]
fn shedding_goes_by_what_is_wanted() {
    let shed = Shed::default().length(2);
    let mailbox = mailbox(Some(Limit { capacity: usize::MAX, overflow: Overflow::Reject, shed: Some(shed) }));
    let asks: Vec<_> = (0..4).map(ask).collect();
    let _ = mailbox.notify(told(1000));
    assert!(mailbox.push(asks[0].clone(), Normal).is_ok() && mailbox.push(asks[1].clone(), Normal).is_ok());
    assert!(matches!(mailbox.push(told(9), Normal), Err(Refusal::Overloaded(..))));
    withdraw(&mailbox, &asks[0]);
    assert_eq!(held(&mailbox), 2, "removed, behind the notice");
    assert!(mailbox.push(asks[2].clone(), Normal).is_ok());
    withdraw(&mailbox, &asks[2]);
    assert!(mailbox.push(asks[3].clone(), Low).is_ok());
    assert!(matches!(mailbox.push(told(9), Normal), Err(Refusal::Overloaded(..))));
    withdraw(&mailbox, &asks[1]);
    withdraw(&mailbox, &asks[3]);
    assert_eq!(take(&mailbox), [1000]);
    assert!(mailbox.push(told(4), Normal).is_ok() && mailbox.push(told(5), Normal).is_ok());
    assert!(matches!(mailbox.push(told(9), Normal), Err(Refusal::Overloaded(..))));
    assert_eq!(numbers(mailbox.close()), [4, 5]);
}

#[tokio::test(start_paused = true)]
async fn ages_stay_with_their_messages() {
    let shed = Some(Shed::default().age(Duration::from_secs(1)));
    let mailbox = mailbox(Some(Limit { capacity: usize::MAX, overflow: Overflow::Reject, shed }));
    let step = Duration::from_millis(600);
    assert!(mailbox.push(told(10), Normal).is_ok());
    let asks: Vec<_> = (0..3).map(ask).collect();
    asks.iter().for_each(|ask| assert!(mailbox.push(ask.clone(), Normal).is_ok()));
    tokio::time::advance(step).await;
    assert!(mailbox.push(told(11), Normal).is_ok());
    asks.iter().for_each(|ask| withdraw(&mailbox, ask));
    assert_eq!(held(&mailbox), 2);
    tokio::time::advance(step).await;
    assert!(matches!(mailbox.push(told(12), Normal), Err(Refusal::Overloaded(..))));
    assert_eq!(take(&mailbox), [10]);
    assert!(mailbox.push(told(12), Normal).is_ok(), "the oldest message has waited for 600 ms");
}

#[test]
fn the_order_is_that_without_the_withdrawn_asks() {
    for many in [4, 300] {
        let [with, without] = [true, false].map(|sent| {
            let mailbox = mailbox(None);
            let asks: Vec<_> = (0..many).map(ask).collect();
            let tell = |number, priority| assert!(mailbox.push(told(number), priority).is_ok());
            tell(900, Normal);
            tell(901, Low);
            for ask in asks.iter().filter(|_| sent) {
                assert!(mailbox.push(ask.clone(), [Normal, Low][ask.0 as usize % 2]).is_ok());
            }
            assert!(mailbox.notify(told(2000)).is_ok());
            tell(902, Normal);
            tell(903, Normal);
            tell(904, Low);
            tell(905, Low);
            asks.iter().filter(|_| sent).for_each(|ask| withdraw(&mailbox, ask));
            order(&mailbox, Queue::new()).into_iter().map(|ask| ask.0).collect::<Vec<_>>()
        });
        assert_eq!(with, without, "with {many} asks");
    }
}

#[test]
fn a_stash_holds_what_is_wanted() {
    let mailbox = mailbox(None);
    let asks: Vec<_> = (0..100).map(ask).collect();
    for ask in &asks {
        mailbox.stash(ask.clone(), [Normal, High, Low][ask.0 as usize % 3], |slot| {
            ask.slot().unwrap().set(slot);
            true
        });
    }
    asks.iter().filter(|ask| ask.0 % 10 != 9).for_each(|ask| withdraw(&mailbox, ask));
    assert_eq!((mailbox.stashed(), mailbox.len()), (10, 0));
    mailbox.unstash();
    assert_eq!((mailbox.stashed(), mailbox.len()), (0, 10));
    (0..5).for_each(|ten| withdraw(&mailbox, &asks[ten * 10 + 9]));
    assert_eq!(mailbox.len(), 5);
    let mut left = numbers(mailbox.empty_stash());
    left.sort_unstable();
    assert_eq!(left, [59, 69, 79, 89, 99]);
}

/// A notice that comes last is due when everything sent before it is taken or withdrawn, in any order.
#[test]
fn a_notice_does_not_wait_for_what_is_withdrawn() {
    struct Case {
        withdrawn: Vec<usize>,
        expected: Vec<u32>,
    }
    let all: Vec<u32> = (0..12).collect();
    let cases = [
        Case { withdrawn: vec![], expected: all.clone() },
        Case { withdrawn: vec![0, 1, 2], expected: all[3..].to_vec() },
        Case { withdrawn: vec![11, 10, 9, 8, 7], expected: all[..7].to_vec() },
        Case { withdrawn: (1..12).rev().collect(), expected: vec![0] },
        Case { withdrawn: (0..12).collect(), expected: vec![] },
    ];
    for Case { withdrawn, mut expected } in cases {
        let mailbox = mailbox(limit(100, Overflow::Reject));
        let asks: Vec<_> = (0..12).map(ask).collect();
        let later: Vec<_> = (20..32).map(ask).collect();
        let lane = |ask: &Ask| [Low, High, Normal][ask.0 as usize % 3];
        asks.iter().for_each(|ask| drop(mailbox.push(ask.clone(), lane(ask))));
        let _ = mailbox.notify(told(2000));
        later.iter().for_each(|ask| drop(mailbox.push(ask.clone(), Low)));
        withdrawn.iter().for_each(|&at| withdraw(&mailbox, &asks[at]));
        later.iter().step_by(2).for_each(|ask| withdraw(&mailbox, ask));
        let mut order = Vec::new();
        while !order.contains(&2000) {
            let next = take(&mailbox);
            assert!(!next.is_empty(), "{order:?}");
            order.extend(next);
        }
        order.retain(|number| *number < 20);
        order.sort_unstable();
        expected.sort_unstable();
        assert_eq!(order, expected);
    }
}

#[test]
fn a_notice_waits_for_the_messages_that_are_left_before_it() {
    for (many, lane) in [(8, Normal), (8, Low), (5 * BATCH, Normal), (5 * BATCH, Low)] {
        let mailbox = mailbox(None);
        // With a message in another lane, the notice is deferred.
        assert!(mailbox.push(told(900), High).is_ok());
        let asks: Vec<_> = (0..many as u32).map(ask).collect();
        asks.iter().for_each(|ask| drop(mailbox.push(ask.clone(), lane)));
        assert!(mailbox.notify(told(2000)).is_ok());
        assert!(mailbox.push(told(901), lane).is_ok());
        for gone in asks.iter().rev().filter(|ask| ask.0 % 4 != 0) {
            withdraw(&mailbox, gone);
            // All that the mailbox holds, but the notice and the two messages that are not asks.
            let expected = held(&mailbox) - 3;
            let before = mailbox.lock().side_queues().unwrap().before_notices();
            let found = (before[0][lane as usize], before[0][High as usize]);
            assert_eq!(found, (expected, 1), "{many} in {lane:?}, without {}", gone.0);
        }
        assert_eq!(mailbox.len(), many / 4 + 3);
    }
}

#[test]
fn the_front_of_a_lane_is_wanted_after_its_chunks_are_taken() {
    let mailbox = mailbox(None);
    let asks: Vec<_> = (0..BATCH as u32 + 4).map(ask).collect();
    asks.iter().for_each(|ask| drop(mailbox.push(ask.clone(), Normal)));
    assert_eq!(take(&mailbox).len(), BATCH);
    withdraw(&mailbox, &asks[BATCH]);
    assert_eq!(held(&mailbox), 3, "removed at the front");
}
