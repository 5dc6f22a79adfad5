//! The capacity of a mailbox, and its overflow policies.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Overflow};

use crate::fixtures::busy::BusyWorker;
use crate::fixtures::hooks::Hooks;
use crate::fixtures::worker::{Hold, Note, SendSelf, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "BOUND-01",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "With `Overflow::Reject`, a mailbox of capacity C holds C messages besides the current one. A further tell, send or ask fails with `MailboxFull`, which names the actor and the message, and becomes a dead letter; `try_tell` returns the message.",
        "The capacity is exact.",
        body!(reject),
    ),
    Rule::must(
        "BOUND-02",
        Topic::Bound,
        &[(Topic::Bound, State::Handling), (Topic::Order, State::Handling)],
        "With `Overflow::Block`, `tell` and `try_tell` to a full mailbox fail at once; sends and asks wait in one queue and are admitted in FIFO order.",
        "Senders that can wait are admitted in order, and the others do not wait.",
        body!(block),
    ),
    Rule::must(
        "BOUND-03",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "With `Overflow::DropNewest`, a full mailbox keeps exactly the first C messages; the others become dead letters, and their askers get `MailboxFull`.",
        "Every dropped message is reported.",
        body!(drop_newest),
    ),
    Rule::must(
        "BOUND-04",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "With `Overflow::DropOldest`, a full mailbox keeps exactly the last C messages; the others become dead letters, and their askers get `MailboxFull`.",
        "Every dropped message is reported.",
        body!(drop_oldest),
    ),
    Rule::must(
        "BOUND-05",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "An actor that sends to its own full mailbox in its own turn gets `MailboxFull` and continues.",
        "Room becomes free only after the turn, so waiting would be a deadlock.",
        body!(own_turn),
    ),
    Rule::must(
        "BOUND-06",
        Topic::Bound,
        &[(Topic::Bound, State::Handling)],
        "A send dropped while it waits for room withdraws its message, which is no dead letter, and the next waiting sender moves up.",
        "No message is sent for a sender that gave up.",
        body!(gives_up),
    ),
    Rule::must(
        "BOUND-07",
        Topic::Bound,
        &[(Topic::Bound, State::Starting)],
        "The capacity also applies during `on_start`, when no message is being handled.",
        "A mailbox fills up during a slow start.",
        body!(starting),
    ),
    Rule::must(
        "BOUND-08",
        Topic::Bound,
        &[(Topic::Bound, State::Idle), (Topic::Tell, State::Idle)],
        "Many senders push many times the capacity through a mailbox with `Overflow::Block`: all messages are handled, those of each sender in order.",
        "One lost wake-up or place in the queue would stop all senders.",
        body!(through),
    ),
    Rule::must(
        "BOUND-09",
        Topic::Bound,
        &[(Topic::Bound, State::Idle)],
        "A capacity of zero fails with `InvalidCapacity`; the capacity of a system is the default, which a spawn can override.",
        "A configuration error is reported where it is made.",
        body!(configured),
    ),
];

/// An actor in a handler whose mailbox of two is full with the notes 1 and 2.
async fn full(rule: &RuleContext, overflow: Overflow) -> BusyWorker {
    let busy = BusyWorker::new(rule, Hooks::default(), |spawn| spawn.bounded(2, overflow)).await;
    busy.actor.tell(Note(1)).unwrap();
    busy.actor.tell(Note(2)).unwrap();
    busy
}

async fn reject(rule: RuleContext) {
    let full = full(&rule, Overflow::Reject).await;
    let actor = &full.actor;
    let error = actor.tell(Note(3)).unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::MailboxFull, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
    let back = actor.try_tell(Note(4)).unwrap_err();
    assert_eq!((back.message.0, back.reason.kind()), (4, ErrorKind::MailboxFull));
    let sent = rule.soon("a send fails", actor.send(Note(5))).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::MailboxFull);
    let asked = rule.soon("an ask fails", actor.ask(Note(6))).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(full.system.dead_letter_count(), 3, "all but the returned message");
    assert_eq!(full.handled(&rule).await, ["1", "2"]);
}

async fn block(rule: RuleContext) {
    let full = full(&rule, Overflow::Block).await;
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
    rule.soon("the first waiting sender is admitted", third).await.unwrap();
    assert_eq!(rule.soon("the waiting asker is answered", fourth).await.unwrap(), 4);
    rule.soon("the last waiting sender is admitted", fifth).await.unwrap();
    assert_eq!(full.system.dead_letter_count(), 1, "the told message");
    assert_eq!(full.handled(&rule).await, ["1", "2", "3", "4", "5"]);
}

async fn drop_newest(rule: RuleContext) {
    let full = full(&rule, Overflow::DropNewest).await;
    full.actor.tell(Note(3)).unwrap();
    full.actor.try_tell(Note(4)).unwrap();
    rule.soon("the send returns", full.actor.send(Note(5))).await.unwrap();
    let asked = rule.soon("an ask fails", full.actor.ask(Note(6))).await;
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::MailboxFull);
    assert_eq!(full.system.dead_letter_count(), 4);
    assert_eq!(full.handled(&rule).await, ["1", "2"]);
}

async fn drop_oldest(rule: RuleContext) {
    let full = full(&rule, Overflow::DropOldest).await;
    let asked = full.actor.ask(Note(3)).enqueue().unwrap();
    full.actor.tell(Note(4)).unwrap();
    full.actor.try_tell(Note(5)).unwrap();
    let error = rule.soon("the dropped ask is answered", asked).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::MailboxFull, Some("pekko://test/user/a")));
    rule.soon("the send returns", full.actor.send(Note(6))).await.unwrap();
    assert_eq!(full.system.dead_letter_count(), 4);
    assert_eq!(full.handled(&rule).await, ["5", "6"]);
}

async fn own_turn(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).bounded(2, Overflow::Block).await.unwrap();
    let sent = rule.soon("the handler answers", actor.ask(SendSelf(vec![1, 2, 3]))).await.unwrap();
    assert_eq!(sent, [None, None, Some(ErrorKind::MailboxFull)]);
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(4))).await.unwrap(), 4);
    assert_eq!(journal.entries(), ["start", "1", "2", "4"]);
}

async fn gives_up(rule: RuleContext) {
    let full = full(&rule, Overflow::Block).await;
    let mut third = Box::pin(full.actor.send(Note(3)));
    let mut fourth = Box::pin(full.actor.send(Note(4)));
    assert!(futures_util::poll!(&mut third).is_pending());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    drop(third);
    full.gate.open();
    rule.soon("the next waiting sender is admitted", fourth).await.unwrap();
    assert_eq!(full.system.dead_letter_count(), 0);
    assert_eq!(full.handled(&rule).await, ["1", "2", "4"]);
}

async fn starting(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let worker = Worker::on_start_telling(&journal, vec![1, 2, 3]);
    let actor = system.spawn(worker).bounded(2, Overflow::Reject).await.unwrap();
    actor.drain();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["start", "MailboxFull", "1", "2", "stop: drained", "drop"]);
    assert_eq!(system.dead_letter_count(), 1);
}

async fn through(rule: RuleContext) {
    const SENDERS: u32 = 8;
    const EACH: u32 = 200;
    for native_handle_taken in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let actor = system.spawn(Worker::new(&journal)).bounded(3, Overflow::Block).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&actor);
        }
        let senders = (0..SENDERS).map(|sender| {
            let actor = actor.clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    actor.send(Note(sender * EACH + number)).await.unwrap();
                    assert!(actor.queued() <= Some(3));
                }
            })
        });
        for sender in senders.collect::<Vec<_>>() {
            rule.soon("the sender finishes", sender).await.unwrap();
        }
        actor.drain();
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let numbers: Vec<u32> = journal.entries().iter().filter_map(|entry| entry.parse().ok()).collect();
        for sender in 0..SENDERS {
            let own = numbers.iter().copied().filter(|number| number / EACH == sender);
            assert!(own.eq(sender * EACH..(sender + 1) * EACH), "the messages of sender {sender}");
        }
        assert_eq!(system.dead_letter_count(), 0);
    }
}

async fn configured(rule: RuleContext) {
    let zero = rule.builder().bounded(0, Overflow::Reject).build().unwrap_err();
    assert_eq!((zero.kind(), zero.get("capacity")), (ErrorKind::InvalidCapacity, Some("0")));
    let system = rule.builder().bounded(1, Overflow::Reject).build().unwrap();
    let zero = system.spawn(Worker::new(&Journal::new())).bounded(0, Overflow::Block).await.unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidCapacity);
    assert_eq!(system.actor_count(), 0);
    for (bounded, expected) in [(true, 1), (false, 3)] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let spawn = system.spawn(Worker::new(&journal));
        let actor = if bounded { spawn } else { spawn.unbounded() }.await.unwrap();
        actor.tell(Hold(0, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        let accepted = (0..3).filter(|number| actor.tell(Note(*number)).is_ok()).count();
        assert_eq!(accepted, expected);
        actor.kill();
    }
}
