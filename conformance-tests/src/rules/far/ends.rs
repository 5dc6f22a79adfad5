//! Ends: requests to end, watches and waits.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Codec, Context, End, ErrorKind, Handler, Message, Outcome};

use crate::fixtures::far::{Echo, FarActor, Hold, Note, Pair, Watch};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAR-07",
        Topic::Stop,
        &[
            (Topic::Stop, State::Handling),
            (Topic::Drain, State::Handling),
            (Topic::Kill, State::Handling),
            (Topic::Wait, State::Handling),
        ],
        "Stop, drain and kill reach an actor of another system, and `wait` gives the reason; a request that is not allowed there is an error and a dead letter.",
        "An actor is ended in the same way wherever it is.",
        body!(ends),
    ),
    Rule::must(
        "FAR-08",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "A watcher gets one `Terminated` of an actor of another system, with the reason, behind all that this actor sent to it; an actor that had ended before is reported at once as `Unknown`; a watch that was given up tells nothing.",
        "Watching does not depend on where the other actor lives.",
        body!(watch),
    ),
    Rule::must(
        "FAR-09",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Ask, State::Handling)],
        "When the link is cut, asks under way fail with `Disconnected` and may have been handled, new messages are refused with it and were not, or wait for the link, and no actor has ended; when it is whole again, watches are still set and messages pass.",
        "A lost connection is not the death of an actor.",
        body!(cut),
    ),
    Rule::must(
        "FAR-10",
        Topic::Watch,
        &[(Topic::Watch, State::Idle)],
        "When a system quarantines another one, the actors it watches there end as `Unreachable`, messages to them are refused with `Quarantined`, and messages from there are no longer delivered.",
        "After `Terminated`, nothing more comes from an actor.",
        body!(quarantine),
    ),
];

/// An actor of this system.
async fn at_home(pair: &Pair) -> (ActorRef<FarActor>, Journal) {
    let journal = Journal::new();
    let actor = FarActor { journal: journal.clone(), gate: Gate::new(), watches: None };
    (pair.here.spawn(actor).name("home").await.unwrap(), journal)
}

async fn ends(rule: RuleContext) {
    for (how, reason) in [(End::Stop, "stopped"), (End::Drain, "drained"), (End::Kill, "killed")] {
        let pair = Pair::new(&rule).await;
        let a = pair.spawn("a").await;
        let held = a.far.ask(Hold).enqueue().unwrap();
        rule.soon("the handler waits", a.gate.reached()).await;
        a.far.tell(Note("queued".into())).unwrap();
        rule.soon("it is there", until(|| a.local.queued() == Some(1))).await;
        let (far, frames) = (a.far.clone(), pair.link.frames());
        let waits = tokio::spawn(async move { far.wait().await.unwrap().to_string() });
        // Asked for before the request to end, which travels behind it.
        rule.soon("the end is asked for", until(|| pair.link.frames() > frames)).await;
        a.far.end(how).unwrap();
        // The request has come when the mailbox there is closed.
        rule.soon(
            "the request arrives",
            until(|| how == End::Kill || a.local.tell(Note("late".into())).is_err()),
        )
        .await;
        if how != End::Kill {
            a.gate.open();
        }
        assert_eq!(rule.soon("the wait ends", waits).await.unwrap(), reason);
        assert_eq!(a.far.is_alive(), Some(false));
        assert_eq!(a.journal.count("queued"), usize::from(how == End::Drain), "{how:?}");
        let answer = rule.soon("the answer", held).await;
        assert_eq!(
            answer.map_err(|error| error.kind()),
            if how == End::Kill { Err(ErrorKind::Interrupted) } else { Ok("passed".into()) }
        );
        assert_eq!(a.far.tell(Note("late".into())).unwrap_err().kind(), ErrorKind::Stopped);
    }
    let pair = Pair::with(&rule, Codec::MessagePack, false).await;
    let a = pair.spawn("a").await;
    assert_eq!(a.far.end(End::Stop).unwrap_err().kind(), ErrorKind::Unsupported);
    a.far.kill();
    assert_eq!(pair.here.dead_letter_count(), 2);
    assert_eq!(rule.soon("it lives", a.far.ask(Echo(1))).await.unwrap(), 2);
}

/// Tells another actor some notes, and then stops.
struct Farewell(ActorRef<FarActor>);
impl Message for Farewell {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Farewell> for FarActor {
    async fn handle(&mut self, Farewell(to): Farewell, ctx: &mut Context<Self>) -> Outcome<()> {
        for note in 0..20 {
            to.tell(Note(format!("note {note}")))?;
        }
        ctx.stop();
        Ok(())
    }
}

async fn watch(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (home, journal) = at_home(&pair).await;
    let (a, b) = (pair.spawn("a").await, pair.spawn("b").await);
    for target in [&a, &b] {
        assert!(
            rule.soon("watched", home.ask(Watch { target: target.far.clone(), on: true })).await.unwrap()
        );
    }
    assert!(rule.soon("given up", home.ask(Watch { target: b.far.clone(), on: false })).await.unwrap());
    b.local.stop();
    rule.soon("the end", b.local.wait()).await.unwrap();
    rule.soon("watched", home.ask(Watch { target: a.far.clone(), on: true })).await.unwrap();
    // Behind the watch, which is set there when this is answered.
    assert_eq!(rule.soon("the reply", a.far.ask(Echo(1))).await.unwrap(), 2);
    // Its last words travel to the watcher, and then its end.
    let to_home = pair.seen_there(&home);
    a.local.tell(Farewell(to_home)).unwrap();
    rule.soon("the end is told", until(|| journal.len() == 21)).await;
    let expected: Vec<_> =
        (0..20).map(|note| format!("note {note}")).chain(["terminated stopped true".into()]).collect();
    assert_eq!(journal.entries(), expected);
    // Watched after its end, by a ref that does not know of it.
    let c = pair.spawn("c").await;
    c.local.kill();
    rule.soon("the end", c.local.wait()).await.unwrap();
    rule.soon("watched", home.ask(Watch { target: c.far.clone(), on: true })).await.unwrap();
    rule.soon("the end is told", until(|| journal.len() == 22)).await;
    assert_eq!(journal.entries()[21], "terminated ended for an unknown reason true");
    assert_eq!(rule.soon("the wait", c.far.wait()).await.unwrap().to_string(), "ended for an unknown reason");
}

async fn cut(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (home, journal) = at_home(&pair).await;
    let a = pair.spawn("a").await;
    rule.soon("watched", home.ask(Watch { target: a.far.clone(), on: true })).await.unwrap();
    let held = a.far.ask(Hold).enqueue().unwrap();
    rule.soon("the handler waits", a.gate.reached()).await;
    pair.link.cut();
    let error = rule.soon("the error", held).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Disconnected, true));
    let tried = a.far.try_tell(Note("x".into()));
    if pair.link.defers() {
        tried.unwrap();
    } else {
        let refused = tried.unwrap_err();
        assert_eq!(refused.message, Note("x".into()));
        assert_eq!(
            (refused.reason.kind(), refused.reason.may_have_been_handled()),
            (ErrorKind::Disconnected, false)
        );
    }
    assert_eq!(a.far.is_alive(), None);
    assert_eq!(pair.pending(), 0);
    a.gate.open();
    pair.link.heal();
    assert_eq!(rule.soon("the reply", a.far.ask(Echo(3))).await.unwrap(), 6);
    assert_eq!(a.journal.count("x"), usize::from(pair.link.defers()), "it has waited, or was refused");
    assert!(journal.is_empty(), "no actor has ended: {journal:?}");
    a.local.stop();
    rule.soon("the end is told", until(|| journal.len() == 1)).await;
    assert_eq!(journal.entries(), ["terminated stopped true"]);
    // An actor that ends while the link is cut is reported afterwards.
    let b = pair.spawn("b").await;
    rule.soon("watched", home.ask(Watch { target: b.far.clone(), on: true })).await.unwrap();
    pair.link.cut();
    b.local.stop();
    rule.soon("the end", b.local.wait()).await.unwrap();
    rule.let_idle().await;
    assert_eq!(journal.len(), 1);
    pair.link.heal();
    rule.soon("the end is told", until(|| journal.len() == 2)).await;
    let told = &journal.entries()[1];
    // How it ended is known if the watch was still set there.
    assert!(
        ["terminated ended for an unknown reason true", "terminated stopped true"].contains(&told.as_str()),
        "{told}"
    );
}

async fn quarantine(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (home, journal) = at_home(&pair).await;
    let a = pair.spawn("a").await;
    let to_home = pair.seen_there(&home);
    rule.soon("watched", home.ask(Watch { target: a.far.clone(), on: true })).await.unwrap();
    pair.link.quarantine();
    rule.soon("the end is told", until(|| journal.len() == 1)).await;
    assert_eq!(journal.entries(), ["terminated unreachable true"]);
    let error = a.far.tell(Note("x".into())).unwrap_err();
    assert_eq!((error.kind(), error.get("reason")), (ErrorKind::Stopped, Some("unreachable")));
    let b = pair.spawn("b").await;
    assert_eq!(b.far.tell(Note("x".into())).unwrap_err().kind(), ErrorKind::Quarantined);
    let error = rule.soon("the error", pair.look_up(&b.local.path())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quarantined);
    // The other system does not know yet. Nothing that it sends is delivered.
    let frames = pair.link.frames();
    to_home.tell(Note("from the dead".into())).unwrap();
    assert!(pair.link.defers() || pair.link.frames() == frames + 1);
    rule.let_idle().await;
    assert_eq!(rule.soon("it lives", home.ask(Echo(1))).await.unwrap(), 2);
    assert_eq!(journal.count("from the dead"), 0);
}
