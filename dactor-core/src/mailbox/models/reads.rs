//! A cell whose reads others wait behind, and messages that join them.

use super::*;

/// Sends a message that joins, as a sender does.
fn join(mailbox: &MailboxRef, host: &Bell, message: u32) {
    assert!(tell(mailbox, host, &[message]).is_empty());
    wake(mailbox.meet().rouse_reads(), host);
}

/// `count` messages join while another message is sent and waits. Returns how often the cell was woken.
fn joins(count: u32, other: Option<u32>) -> BTreeSet<usize> {
    explore(move || {
        let mailbox = ModelMailbox::new(None);
        let (bell, host) = (Bell::new(), Bell::new());
        let senders: Vec<_> = (0..count)
            .map(|number| beside(&mailbox, &host, move |mailbox, host| join(mailbox, host, 500 + number)))
            .collect();
        let sender = other
            .map(|message| beside(&mailbox, &host, move |mailbox, host| tell(mailbox, host, &[message])));
        let waker = Waker::from(bell.clone());
        let (mut batch, mut joined, mut woken) = (Queue::new(), Vec::new(), 0);
        // A cell that slept through a message would wait for ever.
        while joined.len() < count as usize {
            let before = joined.len();
            let mut joining = Vec::new();
            mailbox.meet().join_or_wait(&mut batch, &mut joining, &waker);
            joined.extend(joining);
            if joined.len() == before {
                woken += bell.wait();
            }
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        sender.into_iter().for_each(|sender| assert!(sender.join().unwrap().is_empty()));
        assert_eq!(host.rung(), 0, "the cell is not in its host");
        assert!(mailbox.close().eq(other));
        woken
    })
}

#[test]
fn a_message_that_joins_is_never_slept_through() {
    assert_eq!(joins(2, None), BTreeSet::from([0, 1, 2]));
}

#[test]
fn a_message_that_waits_wakes_no_reads_that_it_waits_behind() {
    assert_eq!(joins(1, Some(1)), BTreeSet::from([0, 1]));
}

#[test]
fn a_stop_is_seen_by_reads_that_others_wait_behind() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::new(None);
        let (bell, host) = (Bell::new(), Bell::new());
        let stopper = beside(&mailbox, &host, |mailbox, host| wake(mailbox.signal(Ending::Stop), host));
        let waker = Waker::from(bell.clone());
        let (mut batch, mut woken) = (Queue::new(), 0);
        while mailbox.meet().join_or_wait(&mut batch, &mut Vec::new(), &waker).ending() != Ending::Stop {
            woken += bell.wait();
        }
        stopper.join().unwrap();
        woken
    });
    assert_eq!(outcomes, BTreeSet::from([0, 1]));
}
