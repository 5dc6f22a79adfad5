//! A call, as of a timer that rings or of the actor's family.

use super::*;

/// What the cell finds when it looks up is written before the call.
fn ring(due: &AtomicUsize, mailbox: &Mail, host: &Bell) {
    due.fetch_add(1, Ordering::Relaxed);
    act(mailbox.call(), host);
}

/// Two calls, and perhaps a message, meet a cell that parks.
fn calls(at: At, messages: &'static [u32]) -> BTreeSet<usize> {
    explore(move || {
        let mailbox = at.mailbox();
        let bell = Bell::new();
        let due = Arc::new(AtomicUsize::new(0));
        let callers = [(), ()].map(|()| {
            let due = due.clone();
            beside(&mailbox, &bell, move |mailbox, bell| ring(&due, mailbox, bell))
        });
        let sender = beside(&mailbox, &bell, move |mailbox, bell| tell(mailbox, bell, messages));
        let mut cell = Cell::new(&mailbox, &bell, at).minding(&due);
        // One that slept through a call would wait for ever.
        while cell.found < 2 || cell.handled.len() < messages.len() {
            assert!(cell.round(), "nobody ends it");
        }
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert!(sender.join().unwrap().is_empty());
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert_eq!(cell.handled, messages);
        cell.end().woken
    })
}

#[test]
fn a_call_that_meets_a_parking_cell_is_never_lost() {
    assert_eq!(calls(At::Host, &[]), BTreeSet::from([1, 2]));
    assert_eq!(calls(At::Pending, &[]), BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_call_and_a_message_wake_the_cell_once_each_time() {
    assert_eq!(calls(At::Host, &[1]), BTreeSet::from([1, 2, 3]));
    assert_eq!(calls(At::Pending, &[1]), BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn a_call_before_the_launch_wakes_the_host_at_the_launch() {
    let outcomes = explore(|| {
        let mailbox = Post::new(None);
        let bell = Bell::new();
        let due = Arc::new(AtomicUsize::new(0));
        let caller = {
            let due = due.clone();
            beside(&mailbox, &bell, move |mailbox, bell| ring(&due, mailbox, bell))
        };
        mailbox.started();
        act(mailbox.launch(), &bell);
        let mut cell = Cell::new(&mailbox, &bell, At::Host).minding(&due);
        while cell.found < 1 {
            assert!(cell.round(), "nobody ends it");
        }
        caller.join().unwrap();
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        cell.end().woken
    });
    assert_eq!(outcomes, BTreeSet::from([1]));
}
