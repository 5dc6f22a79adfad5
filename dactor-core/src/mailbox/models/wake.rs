//! Loom models: senders, and a cell that parks or whose handler is pending.

use super::*;

fn two_senders(at: At) -> BTreeSet<(Vec<u32>, usize)> {
    explore(move || {
        let mailbox = at.mailbox();
        let bell = Bell::new();
        let senders = [1, 2]
            .map(|message| beside(&mailbox, &bell, move |mailbox, bell| tell(mailbox, bell, &[message])));
        let lived = Cell::new(&mailbox, &bell, at).live(2);
        for sender in senders {
            assert!(sender.join().unwrap().is_empty());
        }
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert!(lived.rest.is_empty());
        (lived.handled, lived.woken)
    })
}

#[test]
fn a_cell_in_its_host_is_woken_once_each_time() {
    let outcomes = two_senders(At::Host);
    let orders = [vec![1, 2], vec![2, 1]];
    assert_eq!(outcomes, orders.into_iter().flat_map(|order| [(order.clone(), 1), (order, 2)]).collect());
}

#[test]
fn a_pending_cell_is_woken_once_each_time() {
    let outcomes = two_senders(At::Pending);
    let orders = [vec![1, 2], vec![2, 1]];
    let expected = orders.into_iter().flat_map(|order| (0..=2).map(move |woken| (order.clone(), woken)));
    assert_eq!(outcomes, expected.collect());
}

#[test]
fn a_pending_cell_that_is_polled_again_is_woken_by_its_last_waker() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::new(None);
        let host = Bell::new();
        let sender = beside(&mailbox, &host, |mailbox, host| tell(mailbox, host, &[1]));
        let mut batch = Queue::new();
        let bells = [Bell::new(), Bell::new()];
        let mut polls = 0;
        for bell in &bells {
            polls += 1;
            if mailbox.take(&mut batch, Park::Pending(&Waker::from(bell.clone()))) == Taken::Some {
                break;
            }
        }
        if batch.is_empty() {
            assert_eq!(bells[1].wait(), 1);
            polls += 1;
            assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
        }
        sender.join().unwrap();
        assert!(batch.eq([1]));
        (polls, bells.map(|bell| bell.rung()), host.rung())
    });
    // Found immediately; found by the second poll, after a spurious wake of the first waker; woken for.
    assert_eq!(outcomes, BTreeSet::from([(1, [0, 0], 0), (2, [1, 0], 0), (3, [0, 0], 0)]));
}

#[test]
fn a_kill_reaches_a_pending_handler_and_a_message_does_not_wake_it() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::new(None);
        let (bell, host) = (Bell::new(), Bell::new());
        let sender = beside(&mailbox, &host, |mailbox, host| tell(mailbox, host, &[1]));
        let stoppers = [Ending::Stop, Ending::Kill]
            .map(|ending| beside(&mailbox, &host, move |mailbox, host| wake(mailbox.signal(ending), host)));
        let waker = Waker::from(bell.clone());
        let mut woken = 0;
        while !mailbox.wait_for_signal(&waker) {
            woken += bell.wait();
        }
        let rest = mailbox.close().collect();
        stoppers.into_iter().for_each(|stopper| stopper.join().unwrap());
        let gone = sender.join().unwrap();
        assert_eq!(host.rung(), 0, "the cell is not in its host");
        (Lived { handled: Vec::new(), rest, woken }.outcome(1, &gone), woken)
    });
    let expected = [Rest, Back].into_iter().flat_map(|outcome| (0..=2).map(move |woken| (outcome, woken)));
    assert_eq!(outcomes, expected.collect());
}
