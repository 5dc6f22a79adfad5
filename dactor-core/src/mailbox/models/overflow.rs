//! Loom models: a bounded mailbox without waiting senders.

use super::*;

fn bounded(capacity: usize, overflow: Overflow) -> Limit {
    Limit { capacity, overflow, shed: None }
}

/// The cell and two senders, one of which has two messages: the outcomes of messages 1 and 2, and of 3.
fn two_senders(limit: Limit, capacity: usize) -> BTreeSet<[MessageOutcome; 3]> {
    explore(move || {
        let mailbox = ModelMailbox::launched(Some(limit));
        let host = Bell::new();
        let senders = Senders::new(&mailbox, &host, 2);
        let telling = [&[1, 2][..], &[3]]
            .map(|messages| senders.spawn(move |mailbox, host| tell(mailbox, host, messages)));
        let lived = Cell::new(&mailbox, &host, At::Host).within(capacity).live(usize::MAX);
        let gone = telling.map(|sender| sender.join().unwrap()).concat();
        assert_eq!(host.rung(), 0, "a cell that runs is not woken");
        let of_one_sender = lived.handled.iter().filter(|&&message| message < 3);
        assert!(of_one_sender.is_sorted(), "{:?}", lived.handled);
        [1, 2, 3].map(|message| lived.outcome(message, &gone))
    })
}

/// The outcomes with a capacity of one: the first message finds room, and `late` is the outcome of the others.
fn too_late_for_one(late: MessageOutcome) -> BTreeSet<[MessageOutcome; 3]> {
    BTreeSet::from([
        [Handled, Handled, Handled],
        [Handled, Handled, late],
        [Handled, late, Handled],
        [Handled, late, late],
        [late, Handled, Handled],
        [late, late, Handled],
    ])
}

/// The same with room for two.
fn too_late_for_two(late: MessageOutcome) -> BTreeSet<[MessageOutcome; 3]> {
    BTreeSet::from([[Handled, Handled, Handled], [Handled, Handled, late], [Handled, late, Handled]])
}

#[test]
fn a_message_that_is_rejected_goes_back() {
    assert_eq!(two_senders(bounded(1, Overflow::Reject), 1), too_late_for_one(Back));
    assert_eq!(two_senders(bounded(2, Overflow::Reject), 2), too_late_for_two(Back));
}

#[test]
fn a_message_that_is_shed_goes_back() {
    let shed = Limit { shed: Some(Shed::default().length(1)), ..Limit::NONE };
    assert_eq!(two_senders(shed, 1), too_late_for_one(Back));
}

#[test]
fn the_newest_is_dropped_or_had_room() {
    assert_eq!(two_senders(bounded(1, Overflow::DropNewest), 1), too_late_for_one(Dropped));
    assert_eq!(two_senders(bounded(2, Overflow::DropNewest), 2), too_late_for_two(Dropped));
}

#[test]
fn the_oldest_is_dropped_and_the_newest_is_handled() {
    // Either 2 or 3 is the last.
    let expected = [
        [Handled, Handled, Handled],
        [Handled, Handled, Dropped],
        [Handled, Dropped, Handled],
        [Dropped, Handled, Handled],
        [Dropped, Handled, Dropped],
        [Dropped, Dropped, Handled],
    ];
    assert_eq!(two_senders(bounded(1, Overflow::DropOldest), 1), BTreeSet::from(expected));
    // Either 1 or 3 is the first.
    let expected = [[Handled, Handled, Handled], [Handled, Handled, Dropped], [Dropped, Handled, Handled]];
    assert_eq!(two_senders(bounded(2, Overflow::DropOldest), 2), BTreeSet::from(expected));
}

#[test]
fn the_oldest_that_meets_a_stop_is_in_one_place() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::launched(Some(bounded(1, Overflow::DropOldest)));
        let host = Bell::new();
        let telling = [1, 2]
            .map(|message| beside(&mailbox, &host, move |mailbox, host| tell(mailbox, host, &[message])));
        let stopper = beside(&mailbox, &host, |mailbox, host| {
            wake(mailbox.signal(Ending::Stop), host);
            assert_eq!(tell(mailbox, host, &[3]), [(3, Back)], "nothing makes room in a closed mailbox");
        });
        let lived = Cell::new(&mailbox, &host, At::Host).within(1).live(usize::MAX);
        let gone = telling.map(|sender| sender.join().unwrap()).concat();
        stopper.join().unwrap();
        assert_eq!(host.rung(), 0, "a cell that runs is not woken");
        [1, 2].map(|message| lived.outcome(message, &gone))
    });
    let all = [Handled, Rest, Back, Dropped];
    // A message is evicted only for another, which was then admitted.
    let expected = all.into_iter().flat_map(|one| all.map(|other| [one, other]));
    let impossible = [[Dropped, Dropped], [Dropped, Back], [Back, Dropped]];
    assert_eq!(outcomes, expected.filter(|outcome| !impossible.contains(outcome)).collect());
}

#[test]
fn the_lowest_is_dropped_whichever_comes_first() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::launched(Some(bounded(1, Overflow::DropOldest)));
        let host = Bell::new();
        let senders = Senders::new(&mailbox, &host, 2);
        let telling = [(1, Low), (2, High)]
            .map(|message| senders.spawn(move |mailbox, host| tell_at(mailbox, host, &[message])));
        let lived = Cell::new(&mailbox, &host, At::Host).within(1).live(usize::MAX);
        let gone = telling.map(|sender| sender.join().unwrap()).concat();
        assert_eq!(host.rung(), 0, "a cell that runs is not woken");
        ([1, 2].map(|message| lived.outcome(message, &gone)), lived.handled)
    });
    let expected =
        [([Handled, Handled], vec![1, 2]), ([Handled, Handled], vec![2, 1]), ([Dropped, Handled], vec![2])];
    assert_eq!(outcomes, BTreeSet::from(expected));
}
