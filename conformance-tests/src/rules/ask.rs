//! Asking: when it is sent, who is answered, and what an asker who gives up leaves behind.

use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome};
use futures_util::future::join_all;

use super::body;
use crate::actors::{AskMyself, Hold, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "ASK-01",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "An ask to an idle actor, or one behind a running handler, gives the handler's reply to its own asker.",
        "Replies must not be mixed up, however many wait.",
        body!(replies),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "ASK-02",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Order, State::Idle)],
        "An ask is sent when it is first polled, not before; one that is never polled is never sent.",
        "It behaves like every future in Rust.",
        body!(sent_when_polled),
    ),
    Rule::must(
        "ASK-03",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Order, State::Idle)],
        "`enqueue` sends at once; the pending reply can be awaited later and from another task.",
        "A sender can keep order between asks and tells without waiting for replies.",
        body!(enqueue),
    ),
    Rule::must(
        "ASK-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask that is dropped before its turn is not handled, is not a dead letter, and drops its message at once.",
        "A handler never works for an asker who gave up.",
        body!(withdrawn),
    ),
    Rule::must(
        "ASK-05",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask that is dropped while its handler runs lets the handler finish.",
        "Cancellation is cooperative: half a handler would leave half a change.",
        body!(dropped_while_running),
    ),
    Rule::must(
        "ASK-06",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Awaiting an ask to oneself inside one's own turn is `AskedItself`, at once; nothing is sent, and the actor goes on.",
        "It could never be answered: an error is better than an actor that hangs.",
        body!(asks_itself),
    ),
    Rule::must(
        "ASK-07",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Awaiting an enqueued ask to oneself inside one's own turn is `AskedItself`, through a recipient, too.",
        "The deadlock is the same however the ask was made.",
        body!(awaits_itself),
    ),
    Rule::must(
        "ASK-08",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask to oneself from a task that the handler spawned is answered after the handler.",
        "Only awaiting inside the turn is impossible.",
        body!(asks_itself_from_a_task),
    ),
    Rule::must(
        "ASK-09",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A handler may await an ask to another actor, which may await one to a third.",
        "What an actor awaits is only limited by its own turn.",
        body!(asks_onward),
    ),
];

async fn replies(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(lab.soon("an idle actor answers", actor.ask(Note(7))).await.unwrap(), 7);
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let askers: Vec<_> = (0..64).map(|number| actor.ask(Note(number)).enqueue().unwrap()).collect();
    gate.open();
    let answers = lab.soon("all are answered", join_all(askers)).await;
    for (number, answer) in (0..).zip(answers) {
        assert_eq!(answer.unwrap(), number);
    }
    assert_eq!(lab.soon("the first is answered", held).await.unwrap(), 1);
}

async fn sent_when_polled(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let late = actor.ask(Note(2));
    let never = actor.ask(Note(9));
    actor.tell(Note(1)).unwrap();
    drop(never);
    assert_eq!(lab.soon("the ask is answered", late).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "1", "2"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn enqueue(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    let early = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    lab.soon("both are handled", journal.wait_for("2")).await;
    assert_eq!(journal.entries(), ["start", "1", "2"]);
    let other = tokio::spawn(early);
    assert_eq!(lab.soon("the other task has the reply", other).await.unwrap().unwrap(), 1);
}

async fn withdrawn(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let mine = Arc::new(());
    let enqueued = actor.ask(Keeps(mine.clone())).enqueue().unwrap();
    let mut polled = Box::pin(actor.ask(Keeps(mine.clone())));
    assert!(futures_util::poll!(&mut polled).is_pending());
    assert_eq!(Arc::strong_count(&mine), 3);
    drop(enqueued);
    drop(polled);
    assert_eq!(Arc::strong_count(&mine), 1, "a withdrawn message is dropped at once");
    gate.open();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn dropped_while_running(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    drop(asked);
    gate.open();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn asks_itself(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let answer = lab.soon("the handler answers", actor.ask(AskMyself())).await.unwrap();
    assert_eq!(answer, Err(ErrorKind::AskedItself));
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(1))).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["start", "1"], "the ask to itself was not handled");
    assert_eq!(system.dead_letters(), 0);
}

async fn awaits_itself(lab: Lab) {
    let actor = lab.system().spawn(Inward).await.unwrap();
    for how in [How::Enqueue, How::Recipient] {
        let answer = lab.soon("the handler answers", actor.ask(how)).await.unwrap();
        assert_eq!(answer, Err(ErrorKind::AskedItself));
    }
    assert_eq!(lab.soon("the actor goes on", actor.ask(Inner)).await.unwrap(), 1);
}

async fn asks_itself_from_a_task(lab: Lab) {
    let actor = lab.system().spawn(Inward).await.unwrap();
    let task = lab.soon("the handler answers", actor.ask(Spawned)).await.unwrap();
    assert_eq!(lab.soon("the task is answered", task).await.unwrap().unwrap(), 1);
}

async fn asks_onward(lab: Lab) {
    let system = lab.system();
    let last = system.spawn(Onward(None)).await.unwrap();
    let middle = system.spawn(Onward(Some(last))).await.unwrap();
    let first = system.spawn(Onward(Some(middle))).await.unwrap();
    assert_eq!(lab.soon("the chain answers", first.ask(Depth)).await.unwrap(), 3);
}

/// Answers nothing, and shows by its content when it is dropped.
#[derive(Debug)]
struct Keeps(Arc<()>);
impl Message for Keeps {
    type Reply = ();
}
impl Handler<Keeps> for Worker {
    async fn handle(&mut self, Keeps(kept): Keeps, _ctx: &mut Context<Self>) -> Outcome<()> {
        drop(kept);
        Ok(())
    }
}

/// Asks itself in several ways.
struct Inward;
impl Actor for Inward {}

enum How {
    Enqueue,
    Recipient,
}
impl Message for How {
    type Reply = Result<u32, ErrorKind>;
}

struct Inner;
impl Message for Inner {
    type Reply = u32;
}

struct Spawned;
impl Message for Spawned {
    type Reply = tokio::task::JoinHandle<dactor_core::Result<u32>>;
}

impl Handler<How> for Inward {
    async fn handle(&mut self, how: How, ctx: &mut Context<Self>) -> Outcome<Result<u32, ErrorKind>> {
        let myself = ctx.actor_ref();
        let answer = match how {
            How::Enqueue => myself.ask(Inner).enqueue()?.await,
            How::Recipient => myself.recipient::<Inner>().ask(Inner).await,
        };
        Ok(answer.map_err(|error| error.kind()))
    }
}

impl Handler<Inner> for Inward {
    async fn handle(&mut self, Inner: Inner, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(1)
    }
}

impl Handler<Spawned> for Inward {
    async fn handle(
        &mut self,
        Spawned: Spawned,
        ctx: &mut Context<Self>,
    ) -> Outcome<tokio::task::JoinHandle<dactor_core::Result<u32>>> {
        let myself = ctx.actor_ref().clone();
        Ok(tokio::spawn(async move { myself.ask(Inner).await }))
    }
}

/// Asks the next one.
struct Onward(Option<ActorRef<Onward>>);
impl Actor for Onward {}

struct Depth;
impl Message for Depth {
    type Reply = u32;
}

impl Handler<Depth> for Onward {
    async fn handle(&mut self, Depth: Depth, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(match &self.0 {
            Some(next) => next.ask(Depth).await? + 1,
            None => 1,
        })
    }
}
