//! Refs: identity, lookup, and refs inside of messages.

use dactor_core::testkit::{FarLink, Gate, Journal};
use dactor_core::{ActorPath, ErrorKind, System};

use crate::fixtures::far::{Carry, Echo, FarActor, Note, Pair};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAR-11",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Name, State::Idle)],
        "A reference to an actor of another system is equal to every other one to the same incarnation, in whatever system and however it was obtained; it has the actor's path, UID and name.",
        "Programs keep references in sets and maps, also references to actors elsewhere.",
        body!(identity),
    ),
    Rule::must(
        "FAR-12",
        Topic::Paths,
        &[(Topic::Paths, State::Dead)],
        "A lookup in another system fails with `NoSuchActor`, `WrongIncarnation`, `WrongActorType`, `Unresolved`, `Quarantined` or `UidReserved`, which tell the reasons apart.",
        "A program reacts differently to an actor that is gone and to a system that is not reachable.",
        body!(lookup),
    ),
    Rule::must(
        "FAR-13",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "References, recipients and paths inside of messages arrive as references to the same actors: local ones where the actor lives, far ones elsewhere; they can be used and sent back.",
        "Actors tell each other about actors.",
        body!(refs_in_messages),
    ),
    Rule::must(
        "FAR-18",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "A selection with the address of another system is resolved there: it gives references to the matching actors of the wanted type, in order, and none when nothing matches.",
        "A group of actors can be addressed without knowing its members, wherever they live.",
        body!(selection),
    ),
];

async fn identity(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("the account").await;
    let again = pair.far(&a.local);
    let found = rule.soon("the actor", pair.look_up(&a.local.path().without_uid())).await.unwrap();
    for other in [&again, &found, &a.local] {
        assert_eq!(&a.far, other);
    }
    assert_eq!((a.far.id(), a.far.uid()), (again.id(), a.local.uid()));
    assert!(a.far.path().is_same_incarnation(&a.local.path()));
    assert_eq!((a.far.name(), a.far.is_local()), (Some("the account"), false));
    assert_eq!(a.far.recipient::<Note>(), a.local.recipient::<Note>());
    assert_eq!((a.far.queued(), a.far.is_alive(), a.far.native().is_none()), (None, None, true));
    a.local.stop();
    rule.soon("the end", a.local.wait()).await.unwrap();
    let next = pair.spawn("the account").await;
    assert!(next.far != a.far && next.far.path() == a.far.path());
}

async fn lookup(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let kind = async |path: &ActorPath| rule.soon("the error", pair.look_up(path)).await.unwrap_err().kind();
    assert_eq!(kind(&pair.path_there("/user/b")).await, ErrorKind::NoSuchActor);
    assert_eq!(kind(&pair.path_there("/user/a#1")).await, ErrorKind::WrongIncarnation);
    assert_eq!(kind(&"pekko://elsewhere/user/a".parse().unwrap()).await, ErrorKind::Unresolved);
    let (probe, _inbox) = dactor_core::testkit::Probe::<Note>::new();
    let probe = pair.there.spawn(probe).name("probe").await.unwrap();
    assert_eq!(kind(&probe.path()).await, ErrorKind::WrongActorType);
    for refusal in [ErrorKind::Quarantined, ErrorKind::UidReserved, ErrorKind::Unresolved] {
        if !pair.link.refuse(Some(refusal)) {
            return;
        }
        assert_eq!(kind(&a.local.path()).await, refusal);
        let error = rule.soon("at once", a.far.ask(Echo(1))).await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_been_handled()), (refusal, false));
    }
    pair.link.refuse(None);
    assert_eq!(rule.soon("the reply", a.far.ask(Echo(1))).await.unwrap(), 2);
    let third = System::builder("here").backend(rule.subject().backend()).build().unwrap();
    assert_eq!(FarLink::between(&pair.here, &third).unwrap_err().kind(), ErrorKind::InvalidPath);
}

async fn selection(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (first, second) = (pair.spawn("worker-1").await, pair.spawn("worker-2").await);
    pair.spawn("other").await;
    let (probe, _inbox) = dactor_core::testkit::Probe::<Note>::new();
    pair.there.spawn(probe).name("worker-3").await.unwrap();
    let select = async |rest: &str| rule.soon("the actors", pair.select(rest)).await;
    assert_eq!(select("/user/worker-*").await.unwrap(), [first.far.clone(), second.far.clone()]);
    let uid = second.local.uid();
    assert_eq!(select(&format!("/user/worker-2#{uid}")).await.unwrap(), std::slice::from_ref(&second.far));
    for nothing in ["/user/nobody-*", "/user/worker-3", "/user/worker-1#1"] {
        assert!(select(nothing).await.unwrap().is_empty(), "{nothing}");
    }
    for actor in select("/user/*").await.unwrap() {
        assert_eq!(rule.soon("the reply", actor.ask(Echo(1))).await.unwrap(), 2);
    }
    let relative = "worker-*".parse().unwrap();
    let error = pair.link.association(0).select::<FarActor>(&relative).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidPath);
    pair.link.quarantine();
    let error = rule.soon("at once", pair.select("/user/*")).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Quarantined, false));
}

async fn refs_in_messages(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let (a, b) = (pair.spawn("a").await, pair.spawn("b").await);
    let journal = Journal::new();
    let home = FarActor { journal: journal.clone(), gate: Gate::new(), watches: None };
    let home = pair.here.spawn(home).name("home").await.unwrap();
    let sent = Carry {
        refs: vec![home.clone(), b.far.clone(), a.far.clone()],
        recipient: Some(home.recipient()),
        path: home.path(),
    };
    let back = rule.soon("the reply", a.far.ask(sent.clone())).await.unwrap();
    assert_eq!(a.journal.entries()[..3], ["home false", "b true", "a true"]);
    assert_eq!(back.refs, sent.refs);
    assert!(back.refs[0].is_local() && !back.refs[1].is_local());
    assert_eq!(back.recipient, sent.recipient);
    assert!(back.path.is_same_incarnation(&home.path()));
    rule.soon("the notes arrive", until(|| journal.len() == 2 && b.journal.len() == 1)).await;
    assert_eq!(journal.entries(), ["by ref", "by recipient"]);
    // A recipient of an actor elsewhere, whose type is not known here.
    let recipient = pair.recipient(&b.local.path());
    recipient.tell(Note("untyped".into())).unwrap();
    rule.soon("it arrives", until(|| b.journal.count("untyped") == 1)).await;
    assert_eq!(recipient, b.far.recipient::<Note>());
    // A ref to an actor that is gone cannot be decoded.
    b.local.stop();
    rule.soon("the end", b.local.wait()).await.unwrap();
    let stale = Carry { refs: vec![b.far.clone()], recipient: None, path: home.path() };
    let error = rule.soon("the error", a.far.ask(stale)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::DecodeFailed, false));
}
