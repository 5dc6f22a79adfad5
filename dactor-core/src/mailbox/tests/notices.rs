//! Kernel notices and calls. Numbers from a thousand on are notices.

use super::*;

fn call(mailbox: &Mailbox<u32>) -> &'static str {
    kind::<()>(Ok(mailbox.call()))
}

#[test]
fn a_notice_takes_no_room() {
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let mailbox = bounded(2, overflow);
        assert_eq!(kind(mailbox.notify(1000)), "host");
        let _ = (mailbox.push(1, Normal), mailbox.push(2, Normal));
        assert_eq!(kind(mailbox.notify(1001)), "nothing");
        assert!(mailbox.push(3, Normal).is_err(), "{overflow:?}: the two places are taken");
        let (kept, in_order) = match overflow {
            Overflow::DropOldest => ([1000, 2, 1001, 3], "only a message is dropped"),
            _ => ([1000, 1, 2, 1001], "the new one stays outside"),
        };
        let rest: Vec<u32> = std::iter::from_fn(|| taken(&mailbox).pop()).collect();
        assert_eq!(rest, kept, "{overflow:?}: {in_order}");
        assert!(mailbox.push(4, Normal).is_ok());
    }
}

#[test]
fn a_notice_that_leaves_makes_no_room() {
    let mailbox = bounded(1, Overflow::Block);
    let _ = (mailbox.notify(1000), mailbox.push(1, Normal));
    assert!(mailbox.push_or_join(2, Normal, None).unwrap().1.is_some());
    assert_eq!(taken(&mailbox), [1000]);
    assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Full(3))), "one is queued, one is in line");
    assert_eq!(taken(&mailbox), [1]);
    assert_eq!(taken(&mailbox), [2]);
}

#[test]
fn a_notice_stays_behind_those_in_line() {
    let mailbox = bounded(1, Overflow::Block);
    let _ = mailbox.push(1, Normal);
    for number in [2, 3] {
        assert!(mailbox.push_or_join(number, Normal, None).unwrap().1.is_some());
    }
    assert_eq!(kind(mailbox.notify(1000)), "nothing");
    assert!(mailbox.push_or_join(4, Normal, None).unwrap().1.is_some());
    let order: Vec<u32> = std::iter::from_fn(|| taken(&mailbox).pop()).collect();
    assert_eq!(order, [1, 2, 3, 1000, 4]);
}

#[test]
fn the_lowest_lane_with_a_message_loses_it() {
    let mailbox = bounded(1, Overflow::DropOldest);
    let _ = (mailbox.notify(1000), mailbox.push(1, High));
    assert!(
        matches!(mailbox.push(2, High), Err(Refusal::Dropped(1, _))),
        "the normal lane has only a notice"
    );
    assert!(mailbox.close().eq([1000, 2]));
}

#[test]
fn a_closed_mailbox_gives_a_notice_back() {
    let mailbox = launched();
    signal(&mailbox, Ending::Drain);
    assert_eq!(mailbox.notify(1000).unwrap_err(), 1000);
}

#[test]
fn a_call_wakes_and_is_answered_before_the_cell_parks() {
    let mailbox = launched();
    assert_eq!(call(&mailbox), "host");
    assert_eq!(call(&mailbox), "nothing");
    assert!(mailbox.signals().is_called());
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Called);
    mailbox.answer_call();
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Parked);

    assert_eq!(mailbox.take(&mut Queue::new(), Park::Pending(noop_waker_ref())), Taken::Parked);
    assert_eq!(call(&mailbox), "waker");
    mailbox.answer_call();
    assert!(!mailbox.wait_for_signal(noop_waker_ref()));
    assert_eq!(call(&mailbox), "nothing", "a running handler is left alone");
    assert_eq!((signal(&mailbox, Ending::Drain), mailbox.signals().is_called()), ("waker", true));
    assert_eq!(mailbox.take(&mut Queue::new(), Park::Native), Taken::Called, "before it ends");
}

#[test]
fn a_call_before_the_launch_is_due_at_it() {
    let mailbox = Mailbox::<u32>::new(None);
    assert_eq!(call(&mailbox), "nothing");
    assert_eq!(kind::<()>(Ok(mailbox.launch())), "host");
}
