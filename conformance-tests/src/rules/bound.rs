//! Bounded mailboxes: how much they hold, and what becomes of more.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Overflow};

use super::body;
use super::busy::Busy;
use crate::actors::{Hold, Hooks, Note, SendMyself, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "BOUND-01",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A mailbox of capacity C that rejects holds C messages beside the one in hand; a further tell, send or ask fails with `MailboxFull`, naming actor and message, and is a dead letter; `try_tell` hands it back.",
        "A bound that is not exact is not a bound.",
        body!(reject),
    ),
    Rule::must(
        "BOUND-02",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Order, State::Handling)],
        "On a full mailbox that blocks, `tell` and `try_tell` fail at once; sends and asks wait in one line and get in in the order in which they came.",
        "Whoever waits is served in order, and nobody who cannot wait is made to.",
        body!(block),
    ),
    Rule::must(
        "BOUND-03",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A full mailbox that drops the newest keeps exactly the first C; the others are dead letters, and their askers get `MailboxFull`.",
        "What is dropped is accounted for.",
        body!(drop_newest),
    ),
    Rule::must(
        "BOUND-04",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A full mailbox that drops the oldest keeps exactly the last C; the others are dead letters, and their askers get `MailboxFull`.",
        "What is dropped is accounted for.",
        body!(drop_oldest),
    ),
    Rule::must(
        "BOUND-05",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A send to one's own full mailbox inside one's own turn fails with `MailboxFull`, and the actor goes on.",
        "Room could only come after the turn: an error is better than an actor that hangs.",
        body!(own_turn),
    ),
    Rule::must(
        "BOUND-06",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A send that is dropped while it waits takes its message back, is no dead letter, and the line moves up.",
        "Nothing is sent for a sender who gave up.",
        body!(gives_up),
    ),
    Rule::must(
        "BOUND-07",
        Topic::Bound,
        &[(Topic::Bound, State::Starting)],
        "The bound holds during `on_start`, when nothing is in hand.",
        "A slow start is when a mailbox fills.",
        body!(starting),
    ),
    Rule::must(
        "BOUND-08",
        Topic::Bound,
        &[(Topic::Bound, State::Idle), (Topic::Tell, State::Idle)],
        "Many senders push many times the capacity through a mailbox that blocks: all is handled, each sender's messages in order.",
        "A wake or a place in line that is lost once stops everything.",
        body!(through),
    ),
    Rule::must(
        "BOUND-09",
        Topic::Bound,
        &[(Topic::Bound, State::Idle)],
        "A capacity of zero is `InvalidCapacity`; a system's bound is the default that a spawn may override.",
        "A mistake is told where it is made.",
        body!(configured),
    ),
];

/// An actor in a handler whose mailbox of two is full: with the notes 1 and 2.
async fn full(lab: &Lab, overflow: Overflow) -> Busy {
    let busy = Busy::new(lab, Hooks::default(), |spawn| spawn.bounded(2, overflow)).await;
    busy.actor.tell(Note(1)).unwrap();
    busy.actor.tell(Note(2)).unwrap();
    busy
}

async fn reject(lab: Lab) {
    let full = full(&lab, Overflow::Reject).await;
    let actor = &full.actor;
    let error = actor.tell(Note(3)).unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::MailboxFull, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    let back = actor.try_tell(Note(4)).unwrap_err();
    assert_eq!((back.message.0, back.reason.kind()), (4, ErrorKind::MailboxFull));
    let sent = lab.soon("a send fails", actor.send(Note(5))).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::MailboxFull);
    let asked = lab.soon("an ask fails", actor.ask(Note(6))).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(full.system.dead_letters(), 3, "all but the one handed back");
    assert_eq!(full.handled(&lab).await, ["1", "2"]);
}

async fn block(lab: Lab) {
    let full = full(&lab, Overflow::Block).await;
    let actor = full.actor.clone();
    let recipient = actor.recipient::<Note>();
    let mut third = Box::pin(actor.send(Note(3)));
    let mut fifth = Box::pin(recipient.send(Note(5)));
    assert!(futures_util::poll!(&mut third).is_pending());
    let fourth = actor.ask(Note(4)).enqueue().unwrap();
    assert!(futures_util::poll!(&mut fifth).is_pending());
    assert_eq!(actor.tell(Note(8)).unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(actor.try_tell(Note(9)).unwrap_err().message.0, 9);
    full.gate.open();
    lab.soon("the first in line gets in", third).await.unwrap();
    assert_eq!(lab.soon("the ask in line is answered", fourth).await.unwrap(), 4);
    lab.soon("the last in line gets in", fifth).await.unwrap();
    assert_eq!(full.system.dead_letters(), 1, "the told one");
    assert_eq!(full.handled(&lab).await, ["1", "2", "3", "4", "5"]);
}

async fn drop_newest(lab: Lab) {
    let full = full(&lab, Overflow::DropNewest).await;
    full.actor.tell(Note(3)).unwrap();
    full.actor.try_tell(Note(4)).unwrap();
    lab.soon("a send is over", full.actor.send(Note(5))).await.unwrap();
    let asked = lab.soon("an ask fails", full.actor.ask(Note(6))).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(full.system.dead_letters(), 4);
    assert_eq!(full.handled(&lab).await, ["1", "2"]);
}

async fn drop_oldest(lab: Lab) {
    let full = full(&lab, Overflow::DropOldest).await;
    let asked = full.actor.ask(Note(3)).enqueue().unwrap();
    full.actor.tell(Note(4)).unwrap();
    full.actor.try_tell(Note(5)).unwrap();
    let error = lab.soon("the dropped ask is answered", asked).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::MailboxFull, Some("pekko://lab/user/a")));
    lab.soon("a send is over", full.actor.send(Note(6))).await.unwrap();
    assert_eq!(full.system.dead_letters(), 4);
    assert_eq!(full.handled(&lab).await, ["5", "6"]);
}

async fn own_turn(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).bounded(2, Overflow::Block).await.unwrap();
    let sent = lab.soon("the handler answers", actor.ask(SendMyself(vec![1, 2, 3]))).await.unwrap();
    assert_eq!(sent, [None, None, Some(ErrorKind::MailboxFull)]);
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(4))).await.unwrap(), 4);
    assert_eq!(journal.entries(), ["start", "1", "2", "4"]);
}

async fn gives_up(lab: Lab) {
    let full = full(&lab, Overflow::Block).await;
    let mut third = Box::pin(full.actor.send(Note(3)));
    let mut fourth = Box::pin(full.actor.send(Note(4)));
    assert!(futures_util::poll!(&mut third).is_pending());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    drop(third);
    full.gate.open();
    lab.soon("the next in line gets in", fourth).await.unwrap();
    assert_eq!(full.system.dead_letters(), 0);
    assert_eq!(full.handled(&lab).await, ["1", "2", "4"]);
}

async fn starting(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let worker = Worker::on_start_telling(&journal, vec![1, 2, 3]);
    let actor = system.spawn(worker).bounded(2, Overflow::Reject).await.unwrap();
    actor.drain();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "MailboxFull", "1", "2", "stop: drained", "drop"]);
    assert_eq!(system.dead_letters(), 1);
}

async fn through(lab: Lab) {
    const SENDERS: u32 = 8;
    const EACH: u32 = 200;
    for exposed in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let actor = system.spawn(Worker::new(&journal)).bounded(3, Overflow::Block).await.unwrap();
        if exposed {
            lab.expose(&actor);
        }
        let senders = (0..SENDERS).map(|sender| {
            let actor = actor.clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    actor.send(Note(sender * EACH + number)).await.unwrap();
                    assert!(actor.queued() <= 3);
                }
            })
        });
        for sender in senders.collect::<Vec<_>>() {
            lab.soon("a sender is done", sender).await.unwrap();
        }
        actor.drain();
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        let numbers: Vec<u32> = journal.entries().iter().filter_map(|entry| entry.parse().ok()).collect();
        for sender in 0..SENDERS {
            let own = numbers.iter().copied().filter(|number| number / EACH == sender);
            assert!(own.eq(sender * EACH..(sender + 1) * EACH), "the messages of sender {sender}");
        }
        assert_eq!(system.dead_letters(), 0);
    }
}

async fn configured(lab: Lab) {
    let zero = lab.builder().bounded(0, Overflow::Reject).build().unwrap_err();
    assert_eq!((zero.kind(), zero.get("capacity")), (ErrorKind::InvalidCapacity, Some("0")));
    let system = lab.builder().bounded(1, Overflow::Reject).build().unwrap();
    let zero = system.spawn(Worker::new(&Journal::new())).bounded(0, Overflow::Block).await.unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidCapacity);
    assert_eq!(system.live(), 0);
    for (bounded, expected) in [(true, 1), (false, 3)] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let spawn = system.spawn(Worker::new(&journal));
        let actor = if bounded { spawn } else { spawn.unbounded() }.await.unwrap();
        actor.tell(Hold(0, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        let accepted = (0..3).filter(|number| actor.tell(Note(*number)).is_ok()).count();
        assert_eq!(accepted, expected);
        actor.kill();
    }
}
