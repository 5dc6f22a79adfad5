//! Every order in which senders, signals and the cell can meet at a mailbox.

use std::collections::BTreeSet;
use std::sync::Arc;

use loom::thread;

use super::*;
use crate::Priority::Normal;
use crate::sync::atomic::{AtomicBool, AtomicUsize};
use crate::sync::model::{Bell, explore};

type Mail = Arc<Mailbox<u32>>;

/// As `Head::act` does.
fn act(nudge: Nudge, host: &Bell) {
    match nudge {
        Nudge::Nothing => {}
        Nudge::Waker(waker) => waker.wake(),
        Nudge::Host | Nudge::Stop => host.ring(),
    }
}

/// Tells each message in turn, and gives those that came back.
fn tell(mailbox: &Mail, host: &Bell, messages: &[u32]) -> Vec<u32> {
    let mut back = Vec::new();
    for &message in messages {
        match mailbox.push(message, Normal) {
            Ok(nudge) => act(nudge, host),
            Err(Refusal::Closed(message) | Refusal::Full(message)) => back.push(message),
            Err(Refusal::Dropped(..) | Refusal::Overloaded(..)) => {
                unreachable!("the mailbox drops and sheds nothing")
            }
        }
    }
    back
}

fn launched(limit: Option<Limit>) -> Mail {
    let mailbox = Mailbox::new(limit);
    assert!(matches!(mailbox.launch(), Nudge::Nothing));
    Arc::new(mailbox)
}

/// Where the cell goes when there is nothing to do, and whether it is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Parked in its host since the launch, and parks there.
    Host,
    /// In its first poll, and stays pending.
    Pending,
}

/// What became of the cell.
#[derive(Debug)]
struct Lived {
    handled: Vec<u32>,
    /// What it left behind, unhandled.
    rest: Vec<u32>,
    /// How often it was parked and woken.
    woken: usize,
}

/// The cell, as in `life.rs`, until it has handled `enough` messages or is to end. `bell` is what wakes it.
fn live(mailbox: &Mail, bell: &Arc<Bell>, at: At, enough: usize) -> Lived {
    let waker = Waker::from(bell.clone());
    let (mut handled, mut batch, mut woken) = (Vec::new(), VecDeque::new(), 0);
    let mut parked = at == At::Host;
    while handled.len() < enough {
        if mem::take(&mut parked) {
            assert_eq!(bell.wait(), 1, "one nudge for each time that it parks");
            woken += 1;
        }
        if mailbox.ending() >= Ending::Stop {
            break;
        }
        if let Some(message) = batch.pop_front() {
            handled.push(message);
            continue;
        }
        let park = match at {
            At::Host => Park::Native,
            At::Pending => Park::Pending(&waker),
        };
        match mailbox.take(&mut batch, park) {
            Taken::Some => {}
            Taken::Ending => break,
            Taken::Parked => parked = true,
        }
    }
    let rest = batch.into_iter().chain(mailbox.close()).collect();
    Lived { handled, rest, woken }
}

/// Where a message ended up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Handled,
    /// The cell left it behind.
    Rest,
    /// Its sender has it back.
    Back,
}
use Fate::{Back, Handled, Rest};

/// Where `message` is: in one place, and once.
fn fate(message: u32, lived: &Lived, back: &[u32]) -> Fate {
    let places = [(Handled, &*lived.handled), (Rest, &*lived.rest), (Back, back)];
    let found: Vec<_> = places
        .into_iter()
        .flat_map(|(fate, place)| place.iter().filter(|&&other| other == message).map(move |_| fate))
        .collect();
    assert_eq!(found.len(), 1, "message {message} is in {found:?}");
    found[0]
}

// Two senders and a cell that parks.

fn two_senders(at: At) -> BTreeSet<(Vec<u32>, usize)> {
    explore(move || {
        let mailbox = match at {
            At::Host => launched(None),
            At::Pending => Arc::new(Mailbox::new(None)),
        };
        let bell = Bell::new();
        let senders = [1, 2].map(|message| {
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            thread::spawn(move || tell(&mailbox, &bell, &[message]))
        });
        let lived = live(&mailbox, &bell, at, 2);
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
        let mailbox = Arc::new(Mailbox::new(None));
        let host = Bell::new();
        let sender = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || tell(&mailbox, &host, &[1])
        });
        let mut batch = VecDeque::new();
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
        assert_eq!(batch, [1]);
        (polls, bells.map(|bell| bell.rung()), host.rung())
    });
    // Found at once; found by the second poll, after which the first waker is rung for nothing; woken for.
    assert_eq!(outcomes, BTreeSet::from([(1, [0, 0], 0), (2, [1, 0], 0), (3, [0, 0], 0)]));
}

// A sender and the end.

fn sender_and_end(ending: Ending, at: At) -> BTreeSet<[Fate; 2]> {
    explore(move || {
        let mailbox = match at {
            At::Host => launched(None),
            At::Pending => Arc::new(Mailbox::new(None)),
        };
        let bell = Bell::new();
        let sender = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            move || tell(&mailbox, &bell, &[1, 2])
        });
        let stopper = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            move || act(mailbox.signal(ending), &bell)
        });
        let lived = live(&mailbox, &bell, at, usize::MAX);
        let back = sender.join().unwrap();
        stopper.join().unwrap();
        assert_eq!(mailbox.ending(), ending);
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        assert!(matches!(mailbox.push(3, Normal), Err(Refusal::Closed(3))));
        [1, 2].map(|message| fate(message, &lived, &back))
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
        let mailbox = launched(None);
        let sender = thread::spawn({
            let mailbox = mailbox.clone();
            move || tell(&mailbox, &Bell::new(), &[1, 2])
        });
        let rest = mailbox.close().into();
        let back = sender.join().unwrap();
        let lived = Lived { handled: Vec::new(), rest, woken: 0 };
        [1, 2].map(|message| fate(message, &lived, &back))
    });
    assert_eq!(outcomes, BTreeSet::from([[Rest, Rest], [Rest, Back], [Back, Back]]));
}

#[test]
fn the_strongest_of_two_requests_wins_and_one_wakes_the_cell() {
    let outcomes = explore(|| {
        let mailbox = launched(None);
        let bell = Bell::new();
        assert!(tell(&mailbox, &bell, &[1]).is_empty());
        let stoppers = [Ending::Drain, Ending::Kill].map(|ending| {
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            thread::spawn(move || act(mailbox.signal(ending), &bell))
        });
        let lived = live(&mailbox, &bell, At::Host, usize::MAX);
        stoppers.into_iter().for_each(|stopper| stopper.join().unwrap());
        assert_eq!(mailbox.ending(), Ending::Kill);
        assert_eq!(bell.rung(), 0, "a cell that runs is not woken");
        (fate(1, &lived, &[]), lived.woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, 1), (Handled, 2), (Rest, 1)]));
}

#[test]
fn a_kill_reaches_a_pending_handler_and_a_message_does_not_wake_it() {
    let outcomes = explore(|| {
        let mailbox = Arc::new(Mailbox::new(None));
        let (bell, host) = (Bell::new(), Bell::new());
        let sender = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || tell(&mailbox, &host, &[1])
        });
        let stoppers = [Ending::Stop, Ending::Kill].map(|ending| {
            let (mailbox, host) = (mailbox.clone(), host.clone());
            thread::spawn(move || act(mailbox.signal(ending), &host))
        });
        let waker = Waker::from(bell.clone());
        let mut woken = 0;
        while !mailbox.wait_for_signal(&waker) {
            woken += bell.wait();
        }
        let rest = mailbox.close().into();
        stoppers.into_iter().for_each(|stopper| stopper.join().unwrap());
        let back = sender.join().unwrap();
        assert_eq!(host.rung(), 0, "the cell is not in its host");
        (fate(1, &Lived { handled: Vec::new(), rest, woken }, &back), woken)
    });
    let expected = [Rest, Back].into_iter().flat_map(|fate| (0..=2).map(move |woken| (fate, woken)));
    assert_eq!(outcomes, expected.collect());
}

// A mailbox that holds one message and makes senders wait.

/// Such a mailbox, launched and full of message 0, with its host, which has been asked for a turn.
fn full() -> (Mail, Arc<Bell>) {
    let mailbox = launched(Some(Limit { capacity: 1, overflow: Overflow::Block, shed: None }));
    let host = Bell::new();
    assert!(tell(&mailbox, &host, &[0]).is_empty());
    (mailbox, host)
}

/// How a send that may wait went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    /// There was room.
    AtOnce,
    /// It was let in from the line.
    InTurn(Ticket),
    /// It was sent away from the line.
    Dispersed,
    /// The mailbox was closed.
    Refused,
}

/// Waits in line, as `Shared::send` does.
fn wait_in_line(mailbox: &Mail, ticket: Ticket) -> bool {
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    loop {
        match mailbox.poll_ticket(ticket, &waker) {
            Some(admitted) => return admitted,
            None => assert_eq!(bell.wait(), 1),
        }
    }
}

fn send(mailbox: &Mail, host: &Bell, message: u32) -> Sent {
    // The first poll has another waker: the one of a later poll counts.
    match mailbox.push_or_join(message, Normal, Some(Waker::noop().clone())) {
        Ok((nudge, ticket)) => {
            act(nudge, host);
            match ticket {
                None => Sent::AtOnce,
                Some(ticket) if wait_in_line(mailbox, ticket) => Sent::InTurn(ticket),
                Some(_) => Sent::Dispersed,
            }
        }
        Err(Refusal::Closed(_)) => Sent::Refused,
        Err(refusal) => unreachable!("{refusal:?}"),
    }
}

/// Drains the mailbox when the last of several senders is done.
#[derive(Debug)]
struct Senders(AtomicUsize);

impl Senders {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(count)))
    }

    fn done(&self, mailbox: &Mail, host: &Bell) {
        if self.0.fetch_sub(1, Ordering::AcqRel) == 1 {
            act(mailbox.signal(Ending::Drain), host);
        }
    }
}

/// As [`live`], in its host, and looks at the capacity before it takes: only taking makes room.
fn live_within_capacity(mailbox: &Mail, host: &Arc<Bell>) -> Lived {
    let (mut handled, mut batch, mut woken) = (Vec::new(), VecDeque::new(), 1);
    assert_eq!(host.wait(), 1);
    while mailbox.ending() < Ending::Stop {
        assert!(mailbox.len() <= 1, "over capacity");
        match mailbox.take(&mut batch, Park::Native) {
            Taken::Some => {
                assert_eq!(batch.len(), 1, "a bounded queue holds all but the one in hand");
                handled.extend(batch.pop_front());
            }
            Taken::Ending => break,
            Taken::Parked => {
                assert_eq!(host.wait(), 1, "one nudge for each time that it parks");
                woken += 1;
            }
        }
    }
    Lived { handled, rest: mailbox.close().into(), woken }
}

#[test]
fn those_who_wait_are_let_in_in_order() {
    let outcomes = explore(|| {
        let (mailbox, host) = full();
        let senders = Senders::new(2);
        let waiting = [1, 2].map(|message| {
            let (mailbox, host, senders) = (mailbox.clone(), host.clone(), senders.clone());
            thread::spawn(move || {
                let sent = send(&mailbox, &host, message);
                senders.done(&mailbox, &host);
                sent
            })
        });
        let lived = live_within_capacity(&mailbox, &host);
        let sent = waiting.map(|sender| sender.join().unwrap());
        assert!(lived.rest.is_empty());
        match sent {
            [Sent::InTurn(first), Sent::InTurn(second)] if first > second => {
                assert_eq!(lived.handled, [0, 2, 1]);
            }
            [Sent::InTurn(_), Sent::InTurn(_)] => assert_eq!(lived.handled, [0, 1, 2]),
            _ => {}
        }
        (lived.handled, sent)
    });
    let (at_once, in_turn) = (Sent::AtOnce, Sent::InTurn);
    let expected = [
        (vec![0, 1, 2], [at_once, at_once]),
        (vec![0, 1, 2], [at_once, in_turn(0)]),
        (vec![0, 1, 2], [in_turn(0), at_once]),
        (vec![0, 1, 2], [in_turn(0), in_turn(1)]),
        (vec![0, 2, 1], [at_once, at_once]),
        (vec![0, 2, 1], [at_once, in_turn(0)]),
        (vec![0, 2, 1], [in_turn(0), at_once]),
        (vec![0, 2, 1], [in_turn(1), in_turn(0)]),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_does_not_wait_gets_in_or_is_told_that_it_is_full() {
    let outcomes = explore(|| {
        let (mailbox, host) = full();
        let senders = Senders::new(2);
        let waiting = thread::spawn({
            let (mailbox, host, senders) = (mailbox.clone(), host.clone(), senders.clone());
            move || {
                let sent = send(&mailbox, &host, 1);
                senders.done(&mailbox, &host);
                sent
            }
        });
        let hasty = thread::spawn({
            let (mailbox, host, senders) = (mailbox.clone(), host.clone(), senders.clone());
            move || {
                let back = tell(&mailbox, &host, &[2]);
                senders.done(&mailbox, &host);
                back
            }
        });
        let lived = live_within_capacity(&mailbox, &host);
        let sent = waiting.join().unwrap();
        let back = hasty.join().unwrap();
        assert_eq!(fate(1, &lived, &[]), Handled);
        let hasty = fate(2, &lived, &back);
        (sent, hasty, lived.handled)
    });
    let expected = [
        (Sent::AtOnce, Handled, vec![0, 1, 2]),
        (Sent::AtOnce, Handled, vec![0, 2, 1]),
        (Sent::AtOnce, Back, vec![0, 1]),
        (Sent::InTurn(0), Handled, vec![0, 1, 2]),
        (Sent::InTurn(0), Handled, vec![0, 2, 1]),
        (Sent::InTurn(0), Back, vec![0, 1]),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

#[test]
fn one_who_leaves_the_line_has_the_message_or_is_let_in() {
    let outcomes = explore(|| {
        let (mailbox, host) = full();
        let [first, second] = [1, 2].map(|message| match mailbox.push_or_join(message, Normal, None) {
            Ok((Nudge::Nothing, Some(ticket))) => ticket,
            other => unreachable!("{other:?}"),
        });
        let senders = Senders::new(2);
        let leaving = thread::spawn({
            let (mailbox, host, senders) = (mailbox.clone(), host.clone(), senders.clone());
            move || {
                let back = mailbox.leave(first);
                senders.done(&mailbox, &host);
                back
            }
        });
        let waiting = thread::spawn({
            let (mailbox, host, senders) = (mailbox.clone(), host.clone(), senders.clone());
            move || {
                assert!(wait_in_line(&mailbox, second));
                senders.done(&mailbox, &host);
            }
        });
        let lived = live_within_capacity(&mailbox, &host);
        let back = Vec::from_iter(leaving.join().unwrap());
        waiting.join().unwrap();
        assert_eq!(fate(2, &lived, &[]), Handled);
        (fate(1, &lived, &back), lived.handled)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, vec![0, 1, 2]), (Back, vec![0, 2])]));
}

#[test]
fn one_who_waits_when_the_mailbox_closes_is_sent_away() {
    let outcomes = explore(|| {
        let (mailbox, host) = full();
        let waiting = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || send(&mailbox, &host, 1)
        });
        let stopper = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || act(mailbox.signal(Ending::Stop), &host)
        });
        let lived = live_within_capacity(&mailbox, &host);
        let sent = waiting.join().unwrap();
        stopper.join().unwrap();
        let back: &[u32] = if sent == Sent::Refused { &[1] } else { &[] };
        (sent, fate(0, &lived, &[]), fate(1, &lived, back))
    });
    let expected = [
        (Sent::AtOnce, Handled, Handled),
        (Sent::AtOnce, Handled, Rest),
        (Sent::InTurn(0), Handled, Handled),
        (Sent::InTurn(0), Handled, Rest),
        (Sent::Dispersed, Rest, Rest),
        (Sent::Refused, Handled, Back),
        (Sent::Refused, Rest, Back),
    ];
    assert_eq!(outcomes, BTreeSet::from(expected));
}

// The launch.

/// A host that a cell may not be in yet.
#[derive(Debug)]
struct Unbound {
    bound: AtomicBool,
    bell: Arc<Bell>,
}

impl Unbound {
    fn act(&self, nudge: Nudge) {
        if matches!(nudge, Nudge::Host | Nudge::Stop) {
            assert!(self.bound.load(Ordering::Relaxed), "only a cell that is in its host is parked there");
        }
        act(nudge, &self.bell);
    }
}

fn launch_and_send(ending: Option<Ending>) -> BTreeSet<Fate> {
    explore(move || {
        let mailbox = Arc::new(Mailbox::new(None));
        let host = Arc::new(Unbound { bound: AtomicBool::new(false), bell: Bell::new() });
        let sender = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || mailbox.push(1, Normal).map(|nudge| host.act(nudge)).is_err()
        });
        let stopper = ending.map(|ending| {
            let (mailbox, host) = (mailbox.clone(), host.clone());
            thread::spawn(move || host.act(mailbox.signal(ending)))
        });
        let cell = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), host.bell.clone());
            let enough = if ending.is_some() { usize::MAX } else { 1 };
            move || live(&mailbox, &bell, At::Host, enough)
        });
        // `on_start` was pending once.
        let spawner = Bell::new();
        assert!(!mailbox.wait_for_signal(&Waker::from(spawner)));
        mailbox.started();
        host.bound.store(true, Ordering::Relaxed);
        host.act(mailbox.launch());
        let back: &[u32] = if sender.join().unwrap() { &[1] } else { &[] };
        if let Some(stopper) = stopper {
            stopper.join().unwrap();
        }
        let lived = cell.join().unwrap();
        assert_eq!(host.bell.rung(), 0, "a cell that runs is not woken");
        fate(1, &lived, back)
    })
}

#[test]
fn a_launch_that_meets_a_message_wakes_the_host_once() {
    assert_eq!(launch_and_send(None), BTreeSet::from([Handled]));
}

#[test]
fn a_launch_that_meets_a_message_and_an_end_wakes_the_host_once() {
    assert_eq!(launch_and_send(Some(Ending::Stop)), BTreeSet::from([Handled, Rest, Back]));
    assert_eq!(launch_and_send(Some(Ending::Drain)), BTreeSet::from([Handled, Back]));
}

#[test]
fn a_resident_cell_may_run_before_its_launch() {
    let outcomes = explore(|| {
        let mailbox = Arc::new(Mailbox::new(None));
        // A resident cell needs no host to wake it.
        let (bell, host) = (Bell::new(), Bell::new());
        let sender = thread::spawn({
            let (mailbox, host) = (mailbox.clone(), host.clone());
            move || {
                let back = tell(&mailbox, &host, &[1]);
                act(mailbox.signal(Ending::Drain), &host);
                back
            }
        });
        let cell = thread::spawn({
            let (mailbox, bell) = (mailbox.clone(), bell.clone());
            move || live(&mailbox, &bell, At::Pending, usize::MAX)
        });
        act(mailbox.launch(), &host);
        let back = sender.join().unwrap();
        let lived = cell.join().unwrap();
        (fate(1, &lived, &back), lived.woken)
    });
    assert_eq!(outcomes, BTreeSet::from([(Handled, 0), (Handled, 1), (Handled, 2)]));
}

// The native handle: `Shared::native` and `refill`.

/// As `Shared::native` does, with its orderings.
fn expose(exposed: &AtomicBool, mailbox: &Mail, host: &Bell) {
    if !exposed.swap(true, Ordering::Relaxed) {
        act(mailbox.rouse(), host);
    }
}

/// As `refill` does for a cell that is run by turns, with its orderings, until the cell has handled `enough` and
/// is in its host. Whether it has lingered.
fn live_by_turns(exposed: &AtomicBool, mailbox: &Mail, host: &Arc<Bell>, enough: usize) -> bool {
    let bell = Bell::new();
    let waker = Waker::from(bell.clone());
    let (mut handled, mut lingered) = (Vec::new(), false);
    let mut batch = VecDeque::new();
    loop {
        let mut may_linger = !handled.is_empty();
        let mut foreign = false;
        loop {
            let was_exposed = exposed.load(Ordering::Relaxed);
            let native = foreign || (was_exposed && !may_linger);
            let park = if native { Park::Native } else { Park::Pending(&waker) };
            match mailbox.take(&mut batch, park) {
                Taken::Some => break,
                Taken::Ending => unreachable!("nobody ends it"),
                Taken::Parked if native && handled.len() == enough => return lingered,
                Taken::Parked if native => assert_eq!(host.wait(), 1),
                Taken::Parked if !was_exposed && exposed.load(Ordering::Relaxed) => {}
                Taken::Parked if was_exposed => {
                    may_linger = false;
                    lingered = true;
                    // The runtime polls it again.
                }
                Taken::Parked => {
                    foreign = true;
                    assert_eq!(bell.wait(), 1);
                }
            }
        }
        handled.extend(batch.drain(..));
    }
}

#[test]
fn a_cell_whose_handle_is_given_out_goes_to_its_host() {
    for messages in [&[][..], &[1]] {
        let outcomes = explore(move || {
            let mailbox = Arc::new(Mailbox::new(None));
            let exposed = Arc::new(AtomicBool::new(false));
            let host = Bell::new();
            let askers = [(), ()].map(|()| {
                let (exposed, mailbox, host) = (exposed.clone(), mailbox.clone(), host.clone());
                thread::spawn(move || expose(&exposed, &mailbox, &host))
            });
            let sender = thread::spawn({
                let (mailbox, host) = (mailbox.clone(), host.clone());
                move || tell(&mailbox, &host, messages)
            });
            let lingered = live_by_turns(&exposed, &mailbox, &host, messages.len());
            askers.into_iter().for_each(|asker| asker.join().unwrap());
            assert!(sender.join().unwrap().is_empty());
            assert_eq!(host.rung(), 0, "a cell that runs is not woken");
            assert!(matches!(mailbox.push(2, Normal), Ok(Nudge::Host)), "the cell is in its host");
            lingered
        });
        let expected: &[bool] = if messages.is_empty() { &[false] } else { &[false, true] };
        assert!(outcomes.iter().eq(expected), "{outcomes:?}");
    }
}
