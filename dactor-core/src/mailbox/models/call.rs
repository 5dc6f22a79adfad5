//! Loom models: calls, from a due timer or from the actor's family.

use super::*;

/// The state that the cell checks is written before the call.
fn ring(due: &AtomicUsize, mailbox: &MailboxRef, host: &Bell) {
    due.fetch_add(1, Ordering::Relaxed);
    wake(mailbox.call(), host);
}

/// Some calls, and perhaps a message, race with a cell that parks. Returns how often it was woken.
fn calls(at: At, calls: usize, message: Option<u32>) -> BTreeSet<usize> {
    explore(move || {
        let mailbox = at.mailbox();
        let bell = Bell::new();
        let due = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..calls)
            .map(|_| {
                let due = due.clone();
                beside(&mailbox, &bell, move |mailbox, bell| ring(&due, mailbox, bell))
            })
            .collect();
        let sender = message
            .map(|message| beside(&mailbox, &bell, move |mailbox, bell| tell(mailbox, bell, &[message])));
        let mut cell = Cell::new(&mailbox, &bell, at).minding(&due);
        // A lost wake-up would be a deadlock.
        while cell.found < calls || cell.handled.len() < message.iter().len() {
            assert!(cell.round(), "no thread ends the cell");
        }
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        sender.into_iter().for_each(|sender| assert!(sender.join().unwrap().is_empty()));
        // A call whose reason was found with an earlier one may still wake.
        assert!(bell.rung() <= calls);
        cell.end().woken
    })
}

#[test]
fn a_call_that_meets_a_parking_cell_is_never_lost() {
    assert_eq!(calls(At::Host, 2, None), BTreeSet::from([1, 2]));
    assert_eq!(calls(At::Pending, 2, None), BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_call_and_a_message_that_meet_a_parking_cell_are_both_seen() {
    assert_eq!(calls(At::Host, 1, Some(1)), BTreeSet::from([1, 2]));
    assert_eq!(calls(At::Pending, 1, Some(1)), BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_call_before_the_launch_wakes_the_host_at_the_launch() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::new(None);
        let bell = Bell::new();
        let due = Arc::new(AtomicUsize::new(0));
        let caller = {
            let due = due.clone();
            beside(&mailbox, &bell, move |mailbox, bell| ring(&due, mailbox, bell))
        };
        mailbox.started();
        wake(mailbox.launch(), &bell);
        let mut cell = Cell::new(&mailbox, &bell, At::Host).minding(&due);
        while cell.found < 1 {
            assert!(cell.round(), "no thread ends the cell");
        }
        caller.join().unwrap();
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        cell.end().woken
    });
    assert_eq!(outcomes, BTreeSet::from([1]));
}
