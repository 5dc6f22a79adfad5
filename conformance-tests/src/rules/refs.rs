//! References: recipients, weak references, and references between systems.

use std::collections::HashSet;
use std::future::IntoFuture;
use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal, Probe};
use dactor_core::{
    Actor, ActorRef, AnyActorRef, Context, ErrorKind, Handler, Message, Outbound, Outcome, Recipient, System,
};

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Reference, Rule, RuleContext, State, Style, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "REF-01",
        Topic::Tell,
        &[(Topic::Tell, State::Idle), (Topic::Tell, State::Dead), (Topic::Ask, State::Idle), (Topic::Ask, State::Dead)],
        "A recipient sends, asks, refuses and returns messages exactly like the reference it came from, through the same queue.",
        "Erasing the actor's type changes nothing else.",
        body!(recipient),
    ),
    Rule::must(
        "REF-02",
        Topic::Wait,
        &[(Topic::Wait, State::Idle), (Topic::Wait, State::Dead)],
        "A weak reference can be upgraded while the actor is alive, and after its end only while a reference exists; afterwards nothing of the actor remains.",
        "A cache of references must not keep memory, and an ended actor must not leak.",
        body!(weak),
    )
    .spi(&["ends-when-idle"]),
    Rule::must(
        "REF-03",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "References to one actor are equal and have the same hash, however they were obtained; references to different actors differ.",
        "Programs keep references in sets and maps.",
        body!(equality),
    ),
    Rule::must(
        "REF-04",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "Actors of two systems on this backend can tell and ask each other.",
        "Systems are independent but share one process.",
        body!(two_systems),
    ),
    Rule::must(
        "REF-05",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Ask, State::Handling)],
        "Actors of a system on this backend and of a system on another backend can tell and ask each other.",
        "A program may move from one runtime to another step by step.",
        body!(two_backends),
    )
    .spi(&["runs-nothing"]),
    Rule::must(
        "REF-06",
        Topic::Order,
        &[(Topic::Order, State::Idle)],
        "A probe with a generic handler receives every message of its type, in order.",
        "Handlers may be generic over the message, as in probes and routers.",
        body!(probe),
    ),
    Rule::must(
        "REF-07",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Dead)],
        "Recipients and untyped references to one actor are equal and have the same hash, also with interceptors and after the actor's end. The actor of the same name in another system, and the next actor at the same path, differ.",
        "A reference is equal to another by the address of the system and the UID, which mean the same on every node.",
        body!(identity),
    ),
];

async fn recipient(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let recipient: Recipient<Note> = actor.recipient();
    actor.tell(Hold(0, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    recipient.tell(Note(1)).unwrap();
    actor.tell(Note(2)).unwrap();
    recipient.try_tell(Note(3)).unwrap();
    recipient.clone().send(Note(4)).await.unwrap();
    let asked = recipient.ask(Note(5)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the ask is answered", asked).await.unwrap(), 5);
    assert_eq!(rule.soon("the ask is answered", recipient.ask(Note(6))).await.unwrap(), 6);
    assert_eq!(journal.entries(), ["start", "hold 0", "held 0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(recipient.id(), actor.id());
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(recipient.tell(Note(7)).unwrap_err().get("actor"), Some("pekko://test/user/a"));
    let back = recipient.try_tell(Note(8)).unwrap_err();
    assert_eq!((back.message.0, back.reason.kind()), (8, ErrorKind::Stopped));
    assert_eq!(
        rule.soon("the ask is refused", recipient.ask(Note(9))).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert_eq!(system.dead_letter_count(), 2);
}

async fn weak(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let kept = Arc::new(());
    let inner = kept.clone();
    let actor = system.spawn(Holder { _kept: inner, journal: journal.clone() }).await.unwrap();
    let weak = actor.downgrade();
    rule.take_native_handle(&actor);
    actor.tell(Tick).unwrap();
    drop(actor);
    rule.soon("the handler runs", journal.wait_len(1)).await;
    rule.let_idle().await;
    let actor = weak.upgrade().expect("the actor lives");
    actor.tell(Tick).unwrap();
    rule.soon("the handler runs", journal.wait_len(2)).await;
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(Arc::strong_count(&kept), 1, "the instance is dropped when `wait` returns");
    assert_eq!(weak.upgrade(), Some(actor.clone()), "a reference exists");
    drop(actor);
    // The native actor may hold the last reference until its task has ended.
    let gone = async {
        while weak.upgrade().is_some() {
            tokio::task::yield_now().await;
        }
    };
    rule.soon("no reference to the ended actor is left", gone).await;
}

async fn equality(rule: RuleContext) {
    let system = rule.system();
    let one = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    let two = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    let found = system.get::<Worker>("a").unwrap();
    let upgraded = one.downgrade().upgrade().unwrap();
    assert!(one == found && found == upgraded && one != two);
    #[expect(clippy::mutable_key_type, reason = "a ref is hashed by its UID, which never changes")]
    let set: HashSet<ActorRef<Worker>> = [one.clone(), found, upgraded, two, one].into_iter().collect();
    assert_eq!(set.len(), 2);
}

/// Lets every message pass.
struct Passes;
impl Outbound for Passes {}

async fn identity(rule: RuleContext) {
    let (system, other) = (rule.system(), rule.builder_named("other").build().unwrap());
    let spawn = |system: &System| system.spawn(Worker::new(&Journal::new())).name("a").into_future();
    let (one, far) = (spawn(&system).await.unwrap(), spawn(&other).await.unwrap());
    assert!(one != far && one.uid() != far.uid());
    let any = system.find(&one.path()).unwrap();
    let (plain, passed): (Recipient<Note>, Recipient<Note>) =
        (one.recipient(), one.outbound(Passes).recipient());
    assert!(plain == passed && plain != far.recipient() && one == one.outbound(Passes));
    assert_eq!((plain.uid(), any.uid()), (one.uid(), one.uid()));
    one.stop();
    rule.soon("the actor ends", one.wait()).await.unwrap();
    let next = spawn(&system).await.unwrap();
    assert_eq!(next.path(), one.path());
    assert!(one != next && plain == passed && plain != next.recipient());
    assert!(system.find(&next.path()).unwrap() != any);
    let set: HashSet<Recipient<Note>> =
        [plain, passed, one.recipient(), next.recipient(), far.recipient()].into_iter().collect();
    assert_eq!(set.len(), 3);
    let set: HashSet<AnyActorRef> =
        [any.clone(), any, system.find(&next.path()).unwrap()].into_iter().collect();
    assert_eq!(set.len(), 2);
}

async fn exchange(rule: &RuleContext, here: System, there: System) {
    let journal = Journal::new();
    let far = there.spawn(Holder { _kept: Arc::new(()), journal: journal.clone() }).name("x").await.unwrap();
    let near = here.spawn(Holder { _kept: Arc::new(()), journal: journal.clone() }).name("x").await.unwrap();
    for (from, to) in [(&near, &far), (&far, &near)] {
        let name = rule.soon("the other actor answers", from.ask(Greet(to.clone()))).await.unwrap();
        assert_eq!(name, to.system().backend_name());
    }
    rule.soon("both actors handle the message", journal.wait_len(2)).await;
    assert_eq!(journal.entries(), ["tick", "tick"]);
    far.kill();
    rule.soon("the remote actor ends", far.wait()).await.unwrap();
    let error = rule.soon("the local actor gets an error", near.ask(Greet(far.clone()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(near.is_alive() == Some(true));
}

async fn two_systems(rule: RuleContext) {
    exchange(&rule, rule.system(), rule.system()).await;
}

async fn two_backends(rule: RuleContext) {
    for style in [Style::Resident, Style::Turns] {
        let other = System::builder("other").backend(Reference::new(style)).build().unwrap();
        exchange(&rule, rule.system(), other).await;
    }
}

async fn probe(rule: RuleContext) {
    let (probe, mut inbox) = Probe::new();
    let probe = rule.system().spawn(probe).await.unwrap();
    for number in 0..10 {
        probe.tell(Ping(number)).unwrap();
    }
    for number in 0..10 {
        assert_eq!(rule.soon("the probe receives the message", inbox.next()).await, Ping(number));
    }
    assert_eq!(inbox.try_next(), None);
}

#[derive(Debug, PartialEq)]
struct Ping(u32);

impl Message for Ping {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

/// Holds a value, and calls other actors.
struct Holder {
    _kept: Arc<()>,
    journal: Journal,
}

impl Actor for Holder {}

struct Tick;

impl Message for Tick {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

/// Tells and asks another actor; replies with the name of its backend.
struct Greet(ActorRef<Holder>);

impl Message for Greet {
    type Reply = &'static str;
    type Access = dactor_core::Exclusive;
}

struct Where;

impl Message for Where {
    type Reply = &'static str;
    type Access = dactor_core::Exclusive;
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
        Ok(ctx.system().backend_name())
    }
}
