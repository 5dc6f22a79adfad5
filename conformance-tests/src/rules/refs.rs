//! References: recipients, weak ones, and refs that travel between systems.

use std::collections::HashSet;
use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal, Probe};
use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Recipient, System};

use super::body;
use crate::actors::{Hold, Note, Worker};
use crate::{Lab, Reference, Rule, State, Style, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "REF-01",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Tell, State::Dead), (Topic::Ask, State::Idle), (Topic::Ask, State::Dead)],
        "A recipient sends, asks, refuses and hands back exactly like the ref it came from, in the same queue.",
        "Erasing the actor's type must erase nothing else.",
        body!(recipient),
    ),
    Rule::must(
        "REF-02",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Dead)],
        "A weak ref can be upgraded while the actor lives, and after its end only while a ref exists; then nothing of the actor is left.",
        "Caches of refs must not keep memory, and a dead actor must not leak.",
        body!(weak),
    )
    .spi(&["ends-when-idle"]),
    Rule::must(
        "REF-03",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "Refs to one actor are equal and hash alike, however they were obtained; refs to different actors differ.",
        "Programs keep refs in sets and maps.",
        body!(equality),
    ),
    Rule::must(
        "REF-04",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "Actors of two systems on this backend can tell and ask each other.",
        "Systems are independent, but one process is one place.",
        body!(two_systems),
    ),
    Rule::must(
        "REF-05",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "Actors of a system on this backend and of one on another backend can tell and ask each other.",
        "A program may move from one runtime to another in pieces.",
        body!(two_backends),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "REF-06",
        Topic::Order,
        &[(Topic::Order, State::Idle)],
        "A probe with a generic handler shows every message of its type, in order.",
        "Handlers may be generic over the message: probes and routers are.",
        body!(probe),
    ),
];

async fn recipient(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let recipient: Recipient<Note> = actor.recipient();
    actor.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    recipient.tell(Note(1)).unwrap();
    actor.tell(Note(2)).unwrap();
    recipient.try_tell(Note(3)).unwrap();
    recipient.clone().send(Note(4)).await.unwrap();
    let asked = recipient.ask(Note(5)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap(), 5);
    assert_eq!(lab.soon("the ask is answered", recipient.ask(Note(6))).await.unwrap(), 6);
    assert_eq!(journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(recipient.id(), actor.id());
    actor.stop();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(recipient.tell(Note(7)).unwrap_err().get("actor"), Some("pekko://lab/user/a"));
    let back = recipient.try_tell(Note(8)).unwrap_err();
    assert_eq!((back.message.0, back.reason.kind()), (8, ErrorKind::Stopped));
    assert_eq!(
        lab.soon("the ask is refused", recipient.ask(Note(9))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert_eq!(system.dead_letters(), 2);
}

async fn weak(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let kept = Arc::new(());
    let inner = kept.clone();
    let actor = system.spawn(Holder { _kept: inner, journal: journal.clone() }).await.unwrap();
    let weak = actor.downgrade();
    lab.expose(&actor);
    actor.tell(Tick).unwrap();
    drop(actor);
    lab.soon("the actor works", journal.wait_len(1)).await;
    lab.rest().await;
    let actor = weak.upgrade().expect("the actor lives");
    actor.tell(Tick).unwrap();
    lab.soon("the actor works", journal.wait_len(2)).await;
    actor.stop();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(Arc::strong_count(&kept), 1, "the instance is gone when wait returns");
    assert_eq!(weak.upgrade(), Some(actor.clone()), "a ref exists");
    drop(actor);
    // The native actor may hold its last ref until its task has ended.
    let gone = async {
        while weak.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    };
    lab.soon("nothing refers to the actor any more", gone).await;
}

async fn equality(lab: Lab) {
    let system = lab.system();
    let one = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    let two = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    let found = system.get::<Worker>("a").unwrap();
    let upgraded = one.downgrade().upgrade().unwrap();
    assert!(one == found && found == upgraded && one != two);
    #[expect(clippy::mutable_key_type, reason = "a ref is hashed by its id, which never changes")]
    let set: HashSet<ActorRef<Worker>> = [one.clone(), found, upgraded, two, one].into_iter().collect();
    assert_eq!(set.len(), 2);
}

async fn exchange(lab: &Lab, here: System, there: System) {
    let journal = Journal::new();
    let far = there.spawn(Holder { _kept: Arc::new(()), journal: journal.clone() }).name("x").await.unwrap();
    let near = here.spawn(Holder { _kept: Arc::new(()), journal: journal.clone() }).name("x").await.unwrap();
    for (from, to) in [(&near, &far), (&far, &near)] {
        let name = lab.soon("the other one answers", from.ask(Greet(to.clone()))).await.unwrap();
        assert_eq!(name, to.system().backend());
    }
    lab.soon("both were told", journal.wait_len(2)).await;
    assert_eq!(journal.entries(), ["tick", "tick"]);
    far.kill();
    lab.soon("the far one ends", far.wait()).await.unwrap();
    let error = lab.soon("the near one learns it", near.ask(Greet(far.clone()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(near.is_alive());
}

async fn two_systems(lab: Lab) {
    exchange(&lab, lab.system(), lab.system()).await;
}

async fn two_backends(lab: Lab) {
    for style in [Style::Resident, Style::Turns] {
        let other = System::builder("other").backend(Reference::new(style)).build().unwrap();
        exchange(&lab, lab.system(), other).await;
    }
}

async fn probe(lab: Lab) {
    let (probe, mut inbox) = Probe::new();
    let probe = lab.system().spawn(probe).await.unwrap();
    for number in 0..10 {
        probe.tell(Ping(number)).unwrap();
    }
    for number in 0..10 {
        assert_eq!(lab.soon("the probe shows the message", inbox.next()).await, Ping(number));
    }
    assert_eq!(inbox.try_next(), None);
}

#[derive(Debug, PartialEq)]
struct Ping(u32);
impl Message for Ping {
    type Reply = ();
}

/// Keeps something, and greets others.
struct Holder {
    _kept: Arc<()>,
    journal: Journal,
}
impl Actor for Holder {}

struct Tick;
impl Message for Tick {
    type Reply = ();
}

/// Tells and asks another one; gives the name of its backend.
struct Greet(ActorRef<Holder>);
impl Message for Greet {
    type Reply = &'static str;
}

struct Where;
impl Message for Where {
    type Reply = &'static str;
}

impl Handler<Tick> for Holder {
    async fn handle(&mut self, Tick: Tick, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.journal.note("tick");
        Ok(())
    }
}

impl Handler<Greet> for Holder {
    async fn handle(&mut self, Greet(other): Greet, _ctx: &mut Context<Self>) -> Outcome<&'static str> {
        other.tell(Tick)?;
        Ok(other.ask(Where).await?)
    }
}

impl Handler<Where> for Holder {
    async fn handle(&mut self, Where: Where, ctx: &mut Context<Self>) -> Outcome<&'static str> {
        Ok(ctx.system().backend())
    }
}
