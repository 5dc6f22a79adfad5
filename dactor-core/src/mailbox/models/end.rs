//! A sender and the end of the actor.

use super::*;

fn sender_and_end(ending: Ending, at: At) -> BTreeSet<[MessageOutcome; 2]> {
    explore(move || {
        let mailbox = at.mailbox();
        let bell = Bell::new();
        let sender = beside(&mailbox, &bell, |mailbox, bell| tell(mailbox, bell, &[1, 2]));
        let stopper = beside(&mailbox, &bell, move |mailbox, bell| wake(mailbox.signal(ending), bell));
        let lived = Cell::new(&mailbox, &bell, at).live(usize::MAX);
        let gone = sender.join().unwrap();
        stopper.join().unwrap();
        assert_eq!(mailbox.ending(), ending);
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Closed(3))));
        [1, 2].map(|message| lived.outcome(message, &gone))
    })
}

#[test]
fn a_message_that_meets_a_stop_is_in_one_place() {
    let expected =
        [[Handled, Handled], [Handled, Rest], [Handled, Back], [Rest, Rest], [Rest, Back], [Back, Back]];
    for ending in [Ending::Stop, Ending::Kill] {
        for at in [At::Host, At::Pending] {
            assert_eq!(sender_and_end(ending, at), BTreeSet::from(expected), "{ending:?} {at:?}");
        }
    }
}

#[test]
fn a_message_that_meets_a_drain_is_handled_or_given_back() {
    let expected = [[Handled, Handled], [Handled, Back], [Back, Back]];
    for at in [At::Host, At::Pending] {
        assert_eq!(sender_and_end(Ending::Drain, at), BTreeSet::from(expected), "{at:?}");
    }
}

#[test]
fn a_message_that_meets_a_dropped_cell_is_left_behind_or_given_back() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::launched(None);
        let sender = beside(&mailbox, &Bell::new(), |mailbox, host| tell(mailbox, host, &[1, 2]));
        let rest = mailbox.close().collect();
        let gone = sender.join().unwrap();
        let lived = Lived { handled: Vec::new(), rest, woken: 0 };
        [1, 2].map(|message| lived.outcome(message, &gone))
    });
    assert_eq!(outcomes, BTreeSet::from([[Rest, Rest], [Rest, Back], [Back, Back]]));
}

#[test]
fn the_strongest_of_two_requests_wins_and_one_wakes_the_cell() {
    let outcomes = explore(|| {
        let mailbox = ModelMailbox::launched(None);
        let bell = Bell::new();
        assert!(tell(&mailbox, &bell, &[1]).is_empty());
        let stoppers = [Ending::Drain, Ending::Kill]
            .map(|ending| beside(&mailbox, &bell, move |mailbox, bell| wake(mailbox.signal(ending), bell)));
        let lived = Cell::new(&mailbox, &bell, At::Host).live(usize::MAX);
        stoppers.into_iter().for_each(|stopper| stopper.join().unwrap());
        assert_eq!(mailbox.ending(), Ending::Kill);
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        (lived.outcome(1, &[]), lived.woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, 1), (Handled, 2), (Rest, 1)]));
}
