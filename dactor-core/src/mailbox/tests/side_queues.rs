//! Stashed messages, and notices that come last. Numbers from two thousand on are such notices.

use super::*;

/// All waiting messages, in the order in which a cell takes them.
fn order(mailbox: &Mailbox<u32>) -> Vec<u32> {
    let (mut batch, mut order) = (Queue::new(), Vec::new());
    loop {
        let next = if mailbox.signals().overtaken() { pick(mailbox, &mut batch) } else { batch.pop_front() };
        match next {
            Some(message) => order.push(message),
            None if mailbox.take(&mut batch, Park::Native) == Taken::Some => {}
            None => return order,
        }
    }
}

fn each(check: impl Fn(Mailbox<u32>)) {
    check(launched());
    check(bounded(100, Overflow::Reject));
}

#[test]
fn a_stashed_message_comes_back_to_the_front_of_its_lane() {
    each(|mailbox| {
        for (number, priority) in [(1, Low), (2, High), (3, Normal), (4, High)] {
            mailbox.stash(number, priority, |_| true);
        }
        assert_eq!((mailbox.stashed(), mailbox.len()), (4, 0));
        for (number, priority) in [(5, Low), (6, Normal), (7, High)] {
            assert!(mailbox.push(number, priority).is_ok());
        }
        mailbox.unstash();
        assert_eq!((mailbox.stashed(), mailbox.len()), (0, 7));
        assert_eq!(order(&mailbox), [2, 4, 7, 3, 6, 1, 5]);
        assert_eq!(mailbox.len(), 0);
    });
}

#[test]
fn what_is_unstashed_later_comes_first() {
    each(|mailbox| {
        for number in [1, 2] {
            mailbox.stash(number, Normal, |_| true);
            mailbox.unstash();
        }
        assert_eq!(order(&mailbox), [2, 1]);
    });
}

#[test]
fn what_comes_back_takes_no_room_and_makes_none() {
    for overflow in [Overflow::Reject, Overflow::DropOldest] {
        let mailbox = bounded(1, overflow);
        (1..4).for_each(|number| mailbox.stash(number, Normal, |_| true));
        mailbox.unstash();
        assert!(mailbox.push(4, Normal).is_ok());
        let full = mailbox.push(5, Normal);
        match overflow {
            Overflow::DropOldest => assert!(matches!(full, Err(Refusal::Dropped(4, _)))),
            _ => assert!(matches!(full, Err(Refusal::Full(5)))),
        }
        assert_eq!(order(&mailbox)[..3], [1, 2, 3]);
    }
}

#[test]
fn a_stash_that_is_emptied_is_gone() {
    let mailbox = launched();
    (1..4).for_each(|number| mailbox.stash(number, High, |_| true));
    mailbox.unstash();
    mailbox.stash(4, Low, |_| true);
    mailbox.stash(5, Low, |_| false);
    assert!(mailbox.empty_stash().eq([1, 2, 3, 4]));
    assert_eq!((mailbox.len(), mailbox.stashed()), (0, 0));
}

#[test]
fn a_notice_that_comes_last_comes_behind_every_lane() {
    each(|mailbox| {
        (0..10).for_each(|number| drop(mailbox.push(number, High)));
        (10..20).for_each(|number| drop(mailbox.push(number, Normal)));
        (20..30).for_each(|number| drop(mailbox.push(number, Low)));
        let _ = mailbox.notify(2000);
        let _ = mailbox.notify(2001);
        (30..33).for_each(|number| drop(mailbox.push(number, Low)));
        (33..36).for_each(|number| drop(mailbox.push(number, High)));
        let order = order(&mailbox);
        let at = |number| order.iter().position(|other| *other == number).expect("it is handled");
        assert_eq!(order.len(), 38);
        for notice in [2000, 2001] {
            assert!((0..30).all(|number| at(number) < at(notice)), "{order:?}");
        }
        assert!(at(2000) < at(2001));
        assert_eq!(mailbox.len(), 0);
    });
}

#[test]
fn a_notice_is_behind_what_comes_back_from_the_stash() {
    each(|mailbox| {
        mailbox.stash(1, Low, |_| true);
        mailbox.stash(2, Normal, |_| true);
        let _ = mailbox.push(3, Low);
        let _ = mailbox.notify(2000);
        mailbox.unstash();
        assert_eq!(order(&mailbox), [2, 1, 3, 2000]);
    });
}

#[test]
fn a_notice_waits_for_what_is_dropped_no_longer() {
    let mailbox = bounded(2, Overflow::DropOldest);
    let _ = (mailbox.push(1, Low), mailbox.push(2, Low));
    let _ = mailbox.notify(2000);
    for number in [3, 4] {
        assert!(matches!(mailbox.push(number, Low), Err(Refusal::Dropped(..))));
    }
    assert_eq!(order(&mailbox), [2000, 3, 4]);
}

#[test]
fn without_lanes_a_notice_is_queued_at_once() {
    let mailbox = launched();
    let _ = (mailbox.push(1, Normal), mailbox.notify(2000), mailbox.push(2, Normal));
    assert!(mailbox.lock().lanes.is_none());
    assert_eq!(taken(&mailbox), [1, 2000, 2]);
}

#[test]
fn only_an_empty_mailbox_closes_without_a_rest() {
    let mailbox = launched();
    assert!(mailbox.push(1, Normal).is_ok() && mailbox.push(2, Normal).is_ok());
    assert!(!mailbox.close_if_empty() && !mailbox.is_closed());
    assert_eq!(order(&mailbox), [1, 2]);
    mailbox.stash(3, Normal, |_| true);
    assert!(!mailbox.close_if_empty() && !mailbox.is_closed());
    assert!(mailbox.empty_stash().eq([3]) && mailbox.close().count() == 0);

    let mailbox = launched();
    assert!(mailbox.push(1, Normal).is_ok() && mailbox.push(2, Normal).is_ok());
    assert_eq!(order(&mailbox), [1, 2]);
    assert!(mailbox.close_if_empty() && mailbox.is_closed());
    assert_eq!(mailbox.lock().queue.capacity(), 0, "the buffer is given back");
    assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Closed(3))));
    mailbox.stash(4, Normal, |_| true);
    assert!(!mailbox.close_if_empty(), "a hook has put it aside after the mailbox was closed");
    assert!(mailbox.empty_stash().eq([4]));
}
