//! Delivery of messages: all of them, in order, in any state of the actor.

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Large, Note, TellSelf, UseTokio, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "MSG-01",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "An idle actor handles every message that it is told.",
        "A lost wake-up leaves the actor idle with a message in its mailbox.",
        body!(wakes_idle),
    )
    .spi(&["loses-wakes", "ends-when-idle", "leaves-when-idle", "runs-nothing", "drops-cell"]),
    Rule::must(
        "MSG-02",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Order, State::Idle)],
        "A burst of more messages than fit into one turn is handled completely, in the order of sending.",
        "A backend that waits for a wake-up after a turn that spent its budget never handles the rest.",
        body!(bursts),
    )
    .spi(&["ignores-more"]),
    Rule::must(
        "MSG-03",
        Topic::Order,
        &[(Topic::Order, State::Handling), (Topic::Tell, State::Handling)],
        "Messages told while a handler awaits are handled after it, in the order of sending.",
        "An actor handles one message at a time and queues the others.",
        body!(queues_while_handling),
    ),
    Rule::must(
        "MSG-04",
        Topic::Tell,
        &[(Topic::Tell, State::Starting), (Topic::Ask, State::Starting), (Topic::Order, State::Starting)],
        "Messages sent during `on_start` are queued and handled after it, in the order of sending.",
        "No handler runs on an actor that has not started, and no early message is lost.",
        body!(queues_while_starting),
    ),
    Rule::must(
        "MSG-05",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "A message told at any moment after `spawn` has returned wakes the actor.",
        "A cell that runs before it is bound to its native handle parks without a way to wake it.",
        body!(wakes_at_any_moment),
    )
    .spi(&["binds-late", "runs-nothing"]),
    Rule::must(
        "MSG-06",
        Topic::Order,
        &[(Topic::Order, State::Idle), (Topic::Tell, State::Idle)],
        "Messages of each sender are handled in the order of sending; `tell`, `try_tell`, `send` and `ask` share one queue.",
        "Programs rely on FIFO order per sender and receiver.",
        body!(order_per_sender),
    ),
    Rule::must(
        "MSG-07",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "Messages that an actor tells itself are handled after the current message, in order.",
        "A handler splits its work by sending messages to its own actor.",
        body!(tells_itself),
    ),
    Rule::must(
        "MSG-08",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "A handler whose future is larger than the cell's inline storage works like any other.",
        "Where a future is stored is an implementation detail.",
        body!(large_handler),
    ),
    Rule::must(
        "MSG-09",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "Handlers run inside the tokio runtime that spawned the actor: timers and `tokio::spawn` work.",
        "Most libraries that a handler calls need the runtime.",
        body!(inside_tokio),
    )
    .spi(&["outside-tokio"]),
    Rule::must(
        "MSG-10",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "An actor without any reference keeps running and can be looked up by its name.",
        "An actor lives until it is stopped; dropping its last reference does not stop it.",
        body!(lives_unreferenced),
    )
    .spi(&["ends-when-idle"]),
];

async fn wakes_idle(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    for number in 1..=15 {
        if number == 5 {
            rule.take_native_handle(&actor);
            rule.let_idle().await;
        }
        actor.tell(Note(number)).unwrap();
        rule.soon("the idle actor handles a message", journal.wait_len(number as usize + 1)).await;
        rule.let_idle().await;
    }
    let expected: Vec<String> = (1..=15).map(|number| number.to_string()).collect();
    assert_eq!(journal.entries()[1..], expected);
    assert!(actor.is_alive() == Some(true));
}

async fn bursts(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let count = 3 * TURN + 1;
    for round in 0..2 {
        if round == 1 {
            rule.take_native_handle(&actor);
        }
        for number in 0..count {
            actor.tell(Note((round * count + number) as u32)).unwrap();
        }
        rule.soon("the whole burst is handled", journal.wait_len((round + 1) * count + 1)).await;
    }
    let expected: Vec<String> = (0..2 * count).map(|number| number.to_string()).collect();
    assert_eq!(journal.entries()[1..], expected);
}

async fn queues_while_handling(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    for number in 2..=4 {
        actor.tell(Note(number)).unwrap();
    }
    assert_eq!(actor.queued(), Some(3), "messages behind a running handler");
    assert_eq!(journal.entries(), ["start", "hold 1"]);
    gate.open();
    rule.soon("the queue is handled", journal.wait_for("4")).await;
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2", "3", "4"]);
    assert_eq!(actor.queued(), Some(0));
}

async fn queues_while_starting(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks = Hooks { start: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("early").into_future());
    rule.soon("on_start runs", gate.reached()).await;
    let early = system.get::<Worker>("early").expect("a starting actor can be found");
    early.tell(Note(1)).unwrap();
    let asked = early.ask(Note(2)).enqueue().unwrap();
    early.send(Note(3)).await.unwrap();
    early.try_tell(Note(4)).unwrap();
    assert_eq!(journal.entries(), ["start"]);
    gate.open();
    let actor = rule.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap(), 2);
    assert_eq!(rule.soon("a last ask is answered", actor.ask(Note(5))).await.unwrap(), 5);
    assert_eq!(journal.entries(), ["start", "1", "2", "3", "4", "5"]);
    assert_eq!(actor, early);
}

async fn wakes_at_any_moment(rule: RuleContext) {
    let system = rule.system();
    for yields in 0..24 {
        let journal = Journal::new();
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        actor.tell(Note(1)).unwrap();
        rule.soon("the message is handled", journal.wait_for("1")).await;
        assert!(actor.native().is_some(), "an actor that has run is bound to its native handle");
    }
}

async fn order_per_sender(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let senders: Vec<_> = (0..4_u32)
        .map(|sender| {
            let actor = actor.clone();
            tokio::spawn(async move {
                for number in (0..100).map(|number| sender * 1000 + number) {
                    match number % 4 {
                        0 => actor.tell(Note(number)).unwrap(),
                        1 => actor.try_tell(Note(number)).unwrap(),
                        2 => actor.send(Note(number)).await.unwrap(),
                        _ => assert_eq!(actor.ask(Note(number)).await.unwrap(), number),
                    }
                }
            })
        })
        .collect();
    for sender in senders {
        rule.soon("the sender finishes", sender).await.unwrap();
    }
    rule.soon("all messages are handled", journal.wait_len(401)).await;
    let handled: Vec<u32> = journal.entries()[1..].iter().map(|entry| entry.parse().unwrap()).collect();
    for sender in 0..4 {
        let own: Vec<u32> = handled.iter().copied().filter(|number| number / 1000 == sender).collect();
        let sent: Vec<u32> = (0..100).map(|number| sender * 1000 + number).collect();
        assert_eq!(own, sent, "the messages of sender {sender}");
    }
}

async fn tells_itself(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    rule.soon("the handler finishes", actor.ask(TellSelf(vec![1, 2, 3]))).await.unwrap();
    rule.soon("a later ask is answered", actor.ask(Note(4))).await.unwrap();
    assert_eq!(journal.entries(), ["start", "1", "2", "3", "4"]);
}

async fn large_handler(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(rule.soon("the large handler answers", actor.ask(Large(3))).await.unwrap(), 4096);
    actor.tell(Large(4)).unwrap();
    assert_eq!(rule.soon("the next ask is answered", actor.ask(Large(5))).await.unwrap(), 4096);
}

async fn inside_tokio(rule: RuleContext) {
    let actor = rule.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(rule.soon("the handler answers", actor.ask(UseTokio())).await.unwrap(), 7);
}

async fn lives_unreferenced(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).name("alone").await.unwrap();
    let weak = actor.downgrade();
    rule.take_native_handle(&actor);
    rule.soon("the actor runs", actor.ask(Note(1))).await.unwrap();
    drop(actor);
    rule.let_idle().await;
    rule.never("the actor ended", journal.wait_for("drop")).await;
    let again = system.get::<Worker>("alone").expect("the actor lives");
    assert_eq!(weak.upgrade(), Some(again.clone()));
    assert_eq!(rule.soon("the actor answers", again.ask(Note(2))).await.unwrap(), 2);
}
