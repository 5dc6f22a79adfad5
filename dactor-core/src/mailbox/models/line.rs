//! Loom models: a mailbox with backpressure (`Overflow::Block`).

use super::*;

/// Such a mailbox, launched and full of normal messages from 0 on, with its host, which has been asked for a
/// turn.
fn full(capacity: u32) -> (MailboxRef, Arc<Bell>) {
    let limit = Limit { capacity: capacity as usize, overflow: Overflow::Block, shed: None };
    let mailbox = ModelMailbox::launched(Some(limit));
    let host = Bell::new();
    assert!(tell(&mailbox, &host, &Vec::from_iter(0..capacity)).is_empty());
    (mailbox, host)
}

fn live(mailbox: &MailboxRef, host: &Arc<Bell>, capacity: usize) -> Lived {
    live_until(usize::MAX, mailbox, host, capacity)
}

fn live_until(enough: usize, mailbox: &MailboxRef, host: &Arc<Bell>, capacity: usize) -> Lived {
    let lived = Cell::new(mailbox, host, At::Host).within(capacity).live(enough);
    assert!(!mailbox.signals().overtaken(), "a bounded mailbox gives one at a time");
    lived
}

/// The outcome of a send that may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    /// There was room.
    AtOnce,
    /// It was admitted from the line.
    InTurn(Ticket),
    /// It was removed from the line.
    Dispersed,
    /// The mailbox was closed.
    Refused,
}
use Sent::{AtOnce, Dispersed, InTurn, Refused};

/// Waits in line, as `ActorCore::send` does.
fn wait_in_line(mailbox: &MailboxRef, ticket: Ticket) -> bool {
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    loop {
        match mailbox.poll_ticket(ticket, &waker) {
            Some(admitted) => return admitted,
            None => assert_eq!(bell.wait(), 1),
        }
    }
}

fn send(mailbox: &MailboxRef, host: &Bell, message: u32, priority: Priority) -> Sent {
    // The first poll has another waker: the waker of the latest poll counts.
    match mailbox.push_or_join(message, priority, Some(Waker::noop())) {
        Ok((wakeup, ticket)) => {
            wake(wakeup, host);
            match ticket {
                None => AtOnce,
                Some(ticket) if wait_in_line(mailbox, ticket) => InTurn(ticket),
                Some(_) => Dispersed,
            }
        }
        Err(Refusal::Closed(_)) => Refused,
        Err(refusal) => unreachable!("{refusal:?}"),
    }
}

/// Joins the line of a full mailbox.
fn join(mailbox: &MailboxRef, message: u32, priority: Priority) -> Ticket {
    match mailbox.push_or_join(message, priority, None) {
        Ok((Wakeup::None, Some(ticket))) => ticket,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn those_who_wait_are_let_in_in_order() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(1);
        let waiting = [1, 2].map(|message| {
            beside(&mailbox, &host, move |mailbox, host| send(mailbox, host, message, Normal))
        });
        let lived = live_until(3, &mailbox, &host, 1);
        let sent = waiting.map(|sender| sender.join().unwrap());
        assert!(lived.rest.is_empty());
        match sent {
            [InTurn(first), InTurn(second)] if first > second => assert_eq!(lived.handled, [0, 2, 1]),
            [InTurn(_), InTurn(_)] => assert_eq!(lived.handled, [0, 1, 2]),
            _ => {}
        }
        (lived.handled, sent)
    });
    let expected = [
        (vec![0, 1, 2], [AtOnce, AtOnce]),
        (vec![0, 1, 2], [AtOnce, InTurn(0)]),
        (vec![0, 1, 2], [InTurn(0), AtOnce]),
        (vec![0, 1, 2], [InTurn(0), InTurn(1)]),
        (vec![0, 2, 1], [AtOnce, AtOnce]),
        (vec![0, 2, 1], [AtOnce, InTurn(0)]),
        (vec![0, 2, 1], [InTurn(0), AtOnce]),
        (vec![0, 2, 1], [InTurn(1), InTurn(0)]),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_does_not_wait_gets_in_or_is_told_that_it_is_full() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(1);
        let senders = Senders::new(&mailbox, &host, 2);
        let waiting = senders.spawn(|mailbox, host| send(mailbox, host, 1, Normal));
        let hasty = senders.spawn(|mailbox, host| tell(mailbox, host, &[2]));
        let lived = live(&mailbox, &host, 1);
        let sent = waiting.join().unwrap();
        let gone = hasty.join().unwrap();
        assert_eq!(lived.outcome(1, &[]), Handled);
        let hasty = lived.outcome(2, &gone);
        (sent, hasty, lived.handled)
    });
    let expected = [
        (AtOnce, Handled, vec![0, 1, 2]),
        (AtOnce, Handled, vec![0, 2, 1]),
        (AtOnce, Back, vec![0, 1]),
        (InTurn(0), Handled, vec![0, 1, 2]),
        (InTurn(0), Handled, vec![0, 2, 1]),
        (InTurn(0), Back, vec![0, 1]),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_leaves_the_line_has_the_message_or_is_let_in() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(1);
        let [first, second] = [1, 2].map(|message| join(&mailbox, message, Normal));
        let senders = Senders::new(&mailbox, &host, 2);
        let leaving = senders.spawn(move |mailbox, _| mailbox.leave(first));
        let waiting = senders.spawn(move |mailbox, _| assert!(wait_in_line(mailbox, second)));
        let lived = live(&mailbox, &host, 1);
        let gone = Vec::from_iter(leaving.join().unwrap().map(|message| (message, Back)));
        waiting.join().unwrap();
        assert_eq!(lived.outcome(2, &[]), Handled);
        (lived.outcome(1, &gone), lived.handled)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, vec![0, 1, 2]), (Back, vec![0, 2])]));
}

#[test]
fn one_who_waits_when_the_mailbox_closes_is_sent_away() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(1);
        let waiting = beside(&mailbox, &host, |mailbox, host| send(mailbox, host, 1, Normal));
        let stopper = beside(&mailbox, &host, |mailbox, host| wake(mailbox.signal(Ending::Stop), host));
        let lived = live(&mailbox, &host, 1);
        let sent = waiting.join().unwrap();
        stopper.join().unwrap();
        let gone: &[(u32, MessageOutcome)] = if sent == Refused { &[(1, Back)] } else { &[] };
        (sent, lived.outcome(0, &[]), lived.outcome(1, gone))
    });
    let expected = [
        (AtOnce, Handled, Handled),
        (AtOnce, Handled, Rest),
        (AtOnce, Rest, Rest),
        (InTurn(0), Handled, Handled),
        (InTurn(0), Handled, Rest),
        (InTurn(0), Rest, Rest),
        (Dispersed, Rest, Rest),
        (Refused, Handled, Back),
        (Refused, Rest, Back),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_of_high_priority_that_is_let_in_goes_first() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(2);
        let senders = Senders::new(&mailbox, &host, 1);
        let waiting = senders.spawn(|mailbox, host| send(mailbox, host, 2, High));
        let lived = live(&mailbox, &host, 2);
        (waiting.join().unwrap(), lived.handled)
    });
    let expected = [(AtOnce, vec![0, 1, 2]), (AtOnce, vec![0, 2, 1]), (InTurn(0), vec![0, 2, 1])];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_of_high_priority_waits_its_turn_in_line() {
    let outcomes = explore(|| {
        let (mailbox, host) = full(2);
        let [first, second] =
            [(2, Normal), (3, High)].map(|(message, priority)| join(&mailbox, message, priority));
        let senders = Senders::new(&mailbox, &host, 2);
        let leaving = senders.spawn(move |mailbox, _| mailbox.leave(first));
        let waiting = senders.spawn(move |mailbox, _| assert!(wait_in_line(mailbox, second)));
        let lived = live(&mailbox, &host, 2);
        let gone = Vec::from_iter(leaving.join().unwrap().map(|message| (message, Back)));
        waiting.join().unwrap();
        (lived.outcome(2, &gone), lived.handled)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, vec![0, 1, 3, 2]), (Back, vec![0, 3, 1])]));
}
