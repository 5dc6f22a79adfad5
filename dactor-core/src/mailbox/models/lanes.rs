//! Loom models: messages of other lanes than the normal one, and a cell that may hold a batch of normal ones.

use super::*;

/// A mailbox that has been launched and whose cell has normal messages 10 and 11 in its batch.
fn holding_a_batch<'a>(mailbox: &'a MailboxRef, bell: &'a Arc<Bell>, at: At) -> Cell<'a> {
    assert!(tell(mailbox, bell, &[10, 11]).is_empty());
    let mut cell = Cell::new(mailbox, bell, at);
    assert!(cell.round());
    assert_eq!(cell.batch.len(), 2);
    cell
}

#[test]
fn every_lane_reaches_a_cell_that_holds_a_batch() {
    let outcomes = explore(|| {
        let mailbox = At::Host.mailbox();
        let bell = Bell::new();
        let cell = holding_a_batch(&mailbox, &bell, At::Host);
        let telling = [&[(3, Normal), (1, High)][..], &[(2, Low)]]
            .map(|messages| beside(&mailbox, &bell, move |mailbox, bell| tell_at(mailbox, bell, messages)));
        let lived = cell.live(5);
        for sender in telling {
            assert!(sender.join().unwrap().is_empty());
        }
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert!(lived.rest.is_empty());
        assert!(!mailbox.signals().overtaken(), "there is nothing in the lanes");
        lived.handled
    });
    // The batch comes before the low message, which came later, and before the normal one behind it.
    let expected = [
        vec![1, 10, 11, 3, 2],
        vec![10, 1, 11, 3, 2],
        vec![10, 11, 1, 3, 2],
        vec![10, 11, 3, 1, 2],
        vec![10, 11, 3, 2, 1],
        // The low message was alone.
        vec![10, 11, 2, 1, 3],
        vec![10, 11, 2, 3, 1],
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn a_high_message_that_was_accepted_is_next() {
    let outcomes = explore(|| {
        let mailbox = At::Pending.mailbox();
        let bell = Bell::new();
        let waker = Waker::from(bell.clone());
        let mut cell = holding_a_batch(&mailbox, &bell, At::Pending);
        let accepted = Arc::new(AtomicBool::new(false));
        let high = beside(&mailbox, &bell, {
            let accepted = accepted.clone();
            move |mailbox, bell| {
                assert!(tell_at(mailbox, bell, &[(1, High)]).is_empty());
                accepted.store(true, Ordering::Release);
            }
        });
        let low =
            beside(&mailbox, &bell, |mailbox, bell| assert!(tell_at(mailbox, bell, &[(2, Low)]).is_empty()));
        while cell.handled.len() < 4 {
            let due = accepted.load(Ordering::Acquire) && !cell.handled.contains(&1);
            assert!(cell.round());
            if due {
                assert_eq!(cell.handled.last(), Some(&1));
            }
            if cell.handled == [10] {
                // Its handler was pending once.
                assert!(!mailbox.wait_for_signal(&waker));
            }
        }
        let lived = cell.end();
        high.join().unwrap();
        low.join().unwrap();
        assert_eq!(bell.rung(), 0, "a message does not wake a pending handler");
        lived.handled
    });
    let expected = [vec![1, 10, 11, 2], vec![10, 1, 11, 2], vec![10, 11, 1, 2], vec![10, 11, 2, 1]];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

fn two_lanes(at: At) -> BTreeSet<(Vec<u32>, usize)> {
    explore(move || {
        let mailbox = at.mailbox();
        let bell = Bell::new();
        let senders = Senders::new(&mailbox, &bell, 2);
        let telling = [(1, High), (2, Low)]
            .map(|message| senders.spawn(move |mailbox, bell| tell_at(mailbox, bell, &[message])));
        let lived = Cell::new(&mailbox, &bell, at).live(usize::MAX);
        for sender in telling {
            assert!(sender.join().unwrap().is_empty());
        }
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert!(lived.rest.is_empty());
        assert!(!mailbox.signals().overtaken(), "there is nothing in the lanes");
        (lived.handled, lived.woken)
    })
}

#[test]
fn a_parked_cell_is_woken_for_every_lane_and_drains_all() {
    // Once for each message and once for the drain, at the most.
    for (at, least) in [(At::Host, 1), (At::Pending, 0)] {
        let orders = [vec![1, 2], vec![2, 1]];
        let expected =
            orders.into_iter().flat_map(|order| (least..=3).map(move |woken| (order.clone(), woken)));
        assert_eq!(two_lanes(at), expected.collect(), "{at:?}");
    }
}

/// The outcome of 10 and 11 in the batch, and of a low and a high message sent after it.
fn batch_and_end(ending: Ending) -> BTreeSet<[MessageOutcome; 4]> {
    explore(move || {
        let mailbox = At::Host.mailbox();
        let bell = Bell::new();
        let cell = holding_a_batch(&mailbox, &bell, At::Host);
        let sender = beside(&mailbox, &bell, |mailbox, bell| tell_at(mailbox, bell, &[(1, Low), (2, High)]));
        let stopper = beside(&mailbox, &bell, move |mailbox, bell| wake(mailbox.signal(ending), bell));
        let lived = cell.live(usize::MAX);
        let gone = sender.join().unwrap();
        stopper.join().unwrap();
        assert_eq!(mailbox.ending(), ending);
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        [10, 11, 1, 2].map(|message| lived.outcome(message, &gone))
    })
}

#[test]
fn a_message_of_any_lane_that_meets_a_drain_is_handled_or_given_back() {
    let expected = [[Handled, Handled], [Handled, Back], [Back, Back]];
    let expected = expected.map(|[low, high]| [Handled, Handled, low, high]);
    assert_eq!(batch_and_end(Ending::Drain), BTreeSet::from(expected));
}

#[test]
fn a_message_of_any_lane_that_meets_a_stop_is_in_one_place() {
    let waiting = [[Rest, Handled], [Rest, Rest], [Rest, Back], [Back, Back]];
    let batches = [[Rest, Rest], [Handled, Rest], [Handled, Handled]];
    let expected =
        batches.into_iter().flat_map(|[one, two]| waiting.map(|[low, high]| [one, two, low, high]));
    // The low message is taken when the batch is done.
    let all = [[Handled, Handled], [Handled, Rest], [Handled, Back]];
    let expected = expected.chain(all.map(|[low, high]| [Handled, Handled, low, high]));
    assert_eq!(batch_and_end(Ending::Stop), expected.collect());
}
