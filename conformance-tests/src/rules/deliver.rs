//! Messages arrive: in order, all of them, whatever the actor is doing.

use dactor_core::spi::TURN;
use dactor_core::testkit::{Gate, Journal};

use super::body;
use crate::actors::{Act, Hold, Hooks, Large, Note, TellMyself, UseTokio, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "MSG-01",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "A message told to an idle actor is handled, each time anew.",
        "A wake that is lost once leaves the actor asleep with a full mailbox.",
        body!(wakes_idle),
    )
    .spi(&["loses-wakes", "ends-when-idle", "leaves-when-idle", "runs-nothing", "drops-cell"]),
    Rule::must(
        "MSG-02",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Order, State::Idle)],
        "A burst of more messages than a turn holds is handled completely, in the order in which it was sent.",
        "A backend that waits for a wake after a spent turn loses all the rest.",
        body!(bursts),
    )
    .spi(&["ignores-more"]),
    Rule::must(
        "MSG-03",
        Topic::Order,
        &[(Topic::Order, State::Handling), (Topic::Tell, State::Handling)],
        "Messages told while a handler waits are handled after it, in the order in which they were sent.",
        "The actor handles one message at a time; what comes meanwhile queues.",
        body!(queues_while_handling),
    ),
    Rule::must(
        "MSG-04",
        Topic::Tell,
        &[(Topic::Tell, State::Starting), (Topic::Ask, State::Starting), (Topic::Order, State::Starting)],
        "Messages sent during `on_start` wait, and are handled after it in the order in which they were sent.",
        "No message may see an actor that has not started, and none may be lost for coming early.",
        body!(queues_while_starting),
    ),
    Rule::must(
        "MSG-05",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "A message told at any moment after `spawn` has returned wakes the actor.",
        "A cell that runs before it is bound to its host parks where nobody finds it.",
        body!(wakes_at_any_moment),
    )
    .spi(&["binds-late", "runs-nothing"]),
    Rule::must(
        "MSG-06",
        Topic::Order,
        &[(Topic::Order, State::Idle), (Topic::Tell, State::Idle)],
        "Of several senders each one's messages are handled in its own order; tell, try_tell, send and ask share one queue.",
        "FIFO per sender and receiver is the order that programs rely on.",
        body!(order_per_sender),
    ),
    Rule::must(
        "MSG-07",
        Topic::Tell,
        &[(Topic::Tell, State::Handling)],
        "An actor may tell itself: the messages are handled after the current one, in order.",
        "A handler splits its work by sending to itself.",
        body!(tells_itself),
    ),
    Rule::must(
        "MSG-08",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "A handler whose future is larger than the cell's inline space works like any other.",
        "Where a future is stored is not the user's business.",
        body!(large_handler),
    ),
    Rule::must(
        "MSG-09",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "Handlers run inside the tokio runtime that spawned the actor: timers and `tokio::spawn` work.",
        "Almost every library that a handler calls needs the runtime.",
        body!(inside_tokio),
    )
    .spi(&["outside-tokio"]),
    Rule::must(
        "MSG-10",
        Topic::Tell,
        &[(Topic::Tell, State::Idle)],
        "An actor that nobody refers to lives on, and is found again by its name.",
        "An actor lives until it is stopped; the life of references decides nothing.",
        body!(lives_unreferenced),
    )
    .spi(&["ends-when-idle"]),
];

async fn wakes_idle(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    for number in 1..=15 {
        if number == 5 {
            lab.expose(&actor);
            lab.rest().await;
        }
        actor.tell(Note(number)).unwrap();
        lab.soon("the idle actor handles a message", journal.wait_len(number as usize + 1)).await;
        lab.rest().await;
    }
    let expected: Vec<String> = (1..=15).map(|number| number.to_string()).collect();
    assert_eq!(journal.entries()[1..], expected);
    assert!(actor.is_alive());
}

async fn bursts(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    let count = 3 * TURN + 1;
    for round in 0..2 {
        if round == 1 {
            lab.expose(&actor);
        }
        for number in 0..count {
            actor.tell(Note((round * count + number) as u32)).unwrap();
        }
        lab.soon("the whole burst is handled", journal.wait_len((round + 1) * count + 1)).await;
    }
    let expected: Vec<String> = (0..2 * count).map(|number| number.to_string()).collect();
    assert_eq!(journal.entries()[1..], expected);
}

async fn queues_while_handling(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    for number in 2..=4 {
        actor.tell(Note(number)).unwrap();
    }
    assert_eq!(actor.queued(), 3, "messages behind a running handler");
    assert_eq!(journal.entries(), ["start", "hold 1"]);
    gate.open();
    lab.soon("the queue is handled", journal.wait_for("4")).await;
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2", "3", "4"]);
    assert_eq!(actor.queued(), 0);
}

async fn queues_while_starting(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { start: Act::Hold(gate.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("early").into_future());
    lab.soon("on_start runs", gate.reached()).await;
    let early = system.get::<Worker>("early").expect("a starting actor can be found");
    early.tell(Note(1)).unwrap();
    let asked = early.ask(Note(2)).enqueue().unwrap();
    early.send(Note(3)).await.unwrap();
    early.try_tell(Note(4)).unwrap();
    assert_eq!(journal.entries(), ["start"]);
    gate.open();
    let actor = lab.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap(), 2);
    assert_eq!(lab.soon("a last ask is answered", actor.ask(Note(5))).await.unwrap(), 5);
    assert_eq!(journal.entries(), ["start", "1", "2", "3", "4", "5"]);
    assert_eq!(actor, early);
}

async fn wakes_at_any_moment(lab: Lab) {
    let system = lab.system();
    for yields in 0..24 {
        let journal = Journal::new();
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        actor.tell(Note(1)).unwrap();
        lab.soon("the message is handled", journal.wait_for("1")).await;
        assert!(actor.native().is_some(), "an actor that has run is bound to its host");
    }
}

async fn order_per_sender(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
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
        lab.soon("a sender is done", sender).await.unwrap();
    }
    lab.soon("all is handled", journal.wait_len(401)).await;
    let handled: Vec<u32> = journal.entries()[1..].iter().map(|entry| entry.parse().unwrap()).collect();
    for sender in 0..4 {
        let own: Vec<u32> = handled.iter().copied().filter(|number| number / 1000 == sender).collect();
        let sent: Vec<u32> = (0..100).map(|number| sender * 1000 + number).collect();
        assert_eq!(own, sent, "the messages of sender {sender}");
    }
}

async fn tells_itself(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    lab.soon("the handler is done", actor.ask(TellMyself(vec![1, 2, 3]))).await.unwrap();
    lab.soon("a later ask is answered", actor.ask(Note(4))).await.unwrap();
    assert_eq!(journal.entries(), ["start", "1", "2", "3", "4"]);
}

async fn large_handler(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(lab.soon("the large handler answers", actor.ask(Large(3))).await.unwrap(), 4096);
    actor.tell(Large(4)).unwrap();
    assert_eq!(lab.soon("the next one answers", actor.ask(Large(5))).await.unwrap(), 4096);
}

async fn inside_tokio(lab: Lab) {
    let actor = lab.system().spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(lab.soon("the handler answers", actor.ask(UseTokio())).await.unwrap(), 7);
}

async fn lives_unreferenced(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).name("alone").await.unwrap();
    let weak = actor.downgrade();
    lab.expose(&actor);
    lab.soon("the actor runs", actor.ask(Note(1))).await.unwrap();
    drop(actor);
    lab.rest().await;
    lab.never("the actor ended", journal.wait_for("drop")).await;
    let again = system.get::<Worker>("alone").expect("the actor lives");
    assert_eq!(weak.upgrade(), Some(again.clone()));
    assert_eq!(lab.soon("the actor answers", again.ask(Note(2))).await.unwrap(), 2);
}
