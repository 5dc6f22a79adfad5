//! Asks: when they are sent, which asker is answered, and asks that are given up.

use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome};
use futures_util::future::join_all;

use crate::fixtures::worker::{AskSelf, Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "ASK-01",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "An ask is answered with the reply of its own handler, whether the actor is idle or a handler runs.",
        "Replies are not mixed up, however many asks are pending.",
        body!(replies),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "ASK-02",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Order, State::Idle)],
        "An ask sends its message when it is first polled; an ask that is never polled sends nothing.",
        "Rust futures are lazy.",
        body!(sent_when_polled),
    ),
    Rule::must(
        "ASK-03",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Order, State::Idle)],
        "`enqueue` sends the message at once; the pending reply can be awaited later and in another task.",
        "A sender keeps asks and tells in order without awaiting each reply.",
        body!(enqueue),
    ),
    Rule::must(
        "ASK-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask dropped before its message is handled withdraws the message: it is not handled, is no dead letter and is dropped at once.",
        "No handler runs for an asker that gave up.",
        body!(withdrawn),
    ),
    Rule::must(
        "ASK-05",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask dropped while its handler runs lets the handler finish.",
        "Cancellation is cooperative: an interrupted handler would leave its state half changed.",
        body!(dropped_while_running),
    ),
    Rule::must(
        "ASK-06",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An actor that awaits an ask to itself in its own turn gets `AskedItself` at once; no message is sent, and the actor continues.",
        "The ask could never be answered, and an error is better than a deadlock.",
        body!(asks_itself),
    ),
    Rule::must(
        "ASK-07",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An actor that awaits an enqueued ask to itself in its own turn gets `AskedItself`, also through a recipient.",
        "The deadlock does not depend on how the ask was made.",
        body!(awaits_itself),
    ),
    Rule::must(
        "ASK-08",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "An ask to the own actor from a task that the handler spawned is answered after the handler.",
        "Only awaiting the ask inside the turn is a deadlock.",
        body!(asks_itself_from_a_task),
    ),
    Rule::must(
        "ASK-09",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "A handler may await an ask to another actor whose handler awaits an ask to a third one.",
        "Asks between different actors can be nested.",
        body!(asks_onward),
    ),
];

async fn replies(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    assert_eq!(rule.soon("an idle actor answers", actor.ask(Note(7))).await.unwrap(), 7);
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let askers: Vec<_> = (0..64).map(|number| actor.ask(Note(number)).enqueue().unwrap()).collect();
    gate.open();
    let answers = rule.soon("all are answered", join_all(askers)).await;
    for (number, answer) in (0..).zip(answers) {
        assert_eq!(answer.unwrap(), number);
    }
    assert_eq!(rule.soon("the first ask is answered", held).await.unwrap(), 1);
}

async fn sent_when_polled(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let late = actor.ask(Note(2));
    let never = actor.ask(Note(9));
    actor.tell(Note(1)).unwrap();
    drop(never);
    assert_eq!(rule.soon("the ask is answered", late).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "1", "2"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn enqueue(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let early = actor.ask(Note(1)).enqueue().unwrap();
    actor.tell(Note(2)).unwrap();
    rule.soon("both are handled", journal.wait_for("2")).await;
    assert_eq!(journal.entries(), ["start", "1", "2"]);
    let other = tokio::spawn(early);
    assert_eq!(rule.soon("the other task has the reply", other).await.unwrap().unwrap(), 1);
}

async fn withdrawn(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let mine = Arc::new(());
    let enqueued = actor.ask(Keeps(mine.clone())).enqueue().unwrap();
    let mut polled = Box::pin(actor.ask(Keeps(mine.clone())));
    assert!(futures_util::poll!(&mut polled).is_pending());
    assert_eq!(Arc::strong_count(&mine), 3);
    drop(enqueued);
    drop(polled);
    assert_eq!(Arc::strong_count(&mine), 1, "a withdrawn message is dropped at once");
    gate.open();
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn dropped_while_running(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
    let asked = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    drop(asked);
    gate.open();
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn asks_itself(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    let answer = rule.soon("the handler answers", actor.ask(AskSelf())).await.unwrap();
    assert_eq!(answer, Err(ErrorKind::AskedItself));
    assert_eq!(rule.soon("the actor continues", actor.ask(Note(1))).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["start", "1"], "the ask to itself was not handled");
    assert_eq!(system.dead_letter_count(), 0);
}

async fn awaits_itself(rule: RuleContext) {
    let actor = rule.system().spawn(Inward).await.unwrap();
    for how in [How::Enqueue, How::Recipient] {
        let answer = rule.soon("the handler answers", actor.ask(how)).await.unwrap();
        assert_eq!(answer, Err(ErrorKind::AskedItself));
    }
    assert_eq!(rule.soon("the actor continues", actor.ask(Inner)).await.unwrap(), 1);
}

async fn asks_itself_from_a_task(rule: RuleContext) {
    let actor = rule.system().spawn(Inward).await.unwrap();
    let task = rule.soon("the handler answers", actor.ask(Spawned)).await.unwrap();
    assert_eq!(rule.soon("the task is answered", task).await.unwrap().unwrap(), 1);
}

async fn asks_onward(rule: RuleContext) {
    let system = rule.system();
    let last = system.spawn(Onward(None)).await.unwrap();
    let middle = system.spawn(Onward(Some(last))).await.unwrap();
    let first = system.spawn(Onward(Some(middle))).await.unwrap();
    assert_eq!(rule.soon("the chain answers", first.ask(Depth)).await.unwrap(), 3);
}

/// Holds a value whose reference count shows when the message is dropped.
#[derive(Debug)]
struct Keeps(Arc<()>);

impl Message for Keeps {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Keeps> for Worker {
    async fn handle(&mut self, Keeps(kept): Keeps, _ctx: &mut Context<Self>) -> Outcome<()> {
        drop(kept);
        Ok(())
    }
}

/// Asks itself.
struct Inward;

impl Actor for Inward {}

enum How {
    Enqueue,
    Recipient,
}

impl Message for How {
    type Reply = Result<u32, ErrorKind>;
    type Access = dactor_core::Exclusive;
}

struct Inner;

impl Message for Inner {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

struct Spawned;

impl Message for Spawned {
    type Reply = tokio::task::JoinHandle<dactor_core::Result<u32>>;
    type Access = dactor_core::Exclusive;
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

/// Asks the next actor of the chain.
struct Onward(Option<ActorRef<Onward>>);

impl Actor for Onward {}

struct Depth;

impl Message for Depth {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<Depth> for Onward {
    async fn handle(&mut self, Depth: Depth, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(match &self.0 {
            Some(next) => next.ask(Depth).await? + 1,
            None => 1,
        })
    }
}
