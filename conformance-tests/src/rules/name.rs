//! Names and lookup.

use std::future::IntoFuture;

use dactor_core::path::PathSegment;
use dactor_core::testkit::{Gate, Journal, Probe};
use dactor_core::{Actor, ActorPath, Context, ErrorKind, Handler, Message, Outcome, System};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "NAME-01",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Starting), (Topic::Name, State::Handling)],
        "Spawning an actor under the name of a live actor, whether that is starting, idle or handling, fails with `NameTaken` and does not disturb the live actor.",
        "A name identifies one actor.",
        body!(taken),
    ),
    Rule::must(
        "NAME-02",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Handling)],
        "A lookup by name returns the live actor of that name and type; it does not return an actor of another name or type, nor an unnamed one.",
        "A reference found by name equals the reference that `spawn` returned.",
        body!(lookup),
    ),
    Rule::must(
        "NAME-03",
        Topic::Name,
        &[(Topic::Name, State::Starting)],
        "An invalid actor name (empty, `.`, `..`, a leading `$`, too long) or system name fails with `InvalidName` and a reason; no actor is started.",
        "Names become segments of paths.",
        body!(invalid),
    ),
    Rule::must(
        "NAME-07",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "Every other text is a valid name: `name`, `get`, `child` and `NameTaken` use it unchanged, and different texts name different actors. In a path the name is escaped in exactly one way, so that the printed path parses back, finds this actor and selects no other.",
        "Names with spaces, wildcards or escapes are valid.",
        body!(any_text),
    ),
    Rule::must(
        "NAME-04",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "Two systems in one process may use the same names; each finds its own actors.",
        "Native registries are global to the process; names in dactor belong to a system.",
        body!(two_systems),
    ),
    Rule::must(
        "NAME-05",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "The id, the name and the system in the actor's context equal those of its references; ids are never shared.",
        "Log lines and errors of both sides can be correlated.",
        body!(identity),
    ),
    Rule::must(
        "NAME-06",
        Topic::Name,
        &[
            (Topic::Name, State::Stopped),
            (Topic::Name, State::Killed),
            (Topic::Name, State::Drained),
            (Topic::Name, State::Failed),
        ],
        "A name is free as soon as its actor has ended, and then identifies only the new actor.",
        "A reference to the old actor must not reach the new one.",
        body!(reused),
    ),
];

async fn taken(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let (start, handle) = (Gate::new(), Gate::new());
    let hooks = Hooks { start: HookAction::Hold(start.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("a").into_future());
    rule.soon("on_start runs", start.reached()).await;
    let refused = async || {
        let error = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NameTaken);
        assert_eq!((error.get("actor"), error.get("system")), (Some("pekko://test/user/a"), Some("test")));
        assert_eq!(system.actor_count(), 1);
    };
    refused().await;
    start.open();
    let actor = rule.soon("the spawn returns", spawning).await.unwrap().unwrap();
    refused().await;
    actor.tell(Hold(1, handle.clone())).unwrap();
    rule.soon("the handler runs", handle.reached()).await;
    refused().await;
    handle.open();
    assert_eq!(rule.soon("the owner answers", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn lookup(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    let unnamed = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(unnamed.name(), None);
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!(system.get::<Worker>("b"), None);
    assert!(system.get::<Probe<Ping>>("a").is_none(), "another type");
    actor.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let found = system.get::<Worker>("a").expect("found while handling");
    let asked = found.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(rule.soon("the found ref works", asked).await.unwrap(), 2);
}

async fn invalid(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    for name in ["", ".", "..", "$", "$a", &"n".repeat(70_000), &"\u{e9}".repeat(12_000)] {
        let error = system.spawn(Worker::factory(&journal, Hooks::default())).name(name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?}");
        assert!(error.get("because").is_some() && error.get("name").is_some(), "{error}");
    }
    for name in ["", "a/b", "a b", "a:1", "\u{e9}", "a\n", "%0A", &"n".repeat(70_000)] {
        let error = rule.builder_named(name).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?}");
        assert!(error.get("because").is_some() && error.get("system").is_some(), "{error}");
    }
    assert_eq!(journal.entries(), [""; 0], "nothing was started");
    assert_eq!(system.actor_count(), 0);
    assert_eq!(System::builder("test").build().unwrap_err().kind(), ErrorKind::NoBackend);
    for name in ["a", "bank-7", "x.y_z", "A:1", &"n".repeat(1_000)] {
        system.spawn(Worker::new(&journal)).name(name).await.unwrap();
    }
    assert_eq!(system.actor_count(), 5);
}

/// Names of different actors, each with its segment in a path.
const TEXTS: [(&str, &str); 15] = [
    ("Benjamin Franklin", "Benjamin%20Franklin"),
    ("Zo\u{eb}", "Zo~C3~AB"),
    ("*", "%2A"),
    ("a?", "a%3F"),
    ("ab", "ab"),
    ("A", "A"),
    ("%41", "%2541"),
    ("%2E%2E", "%252E%252E"),
    ("%2e", "%252e"),
    ("~41", "%7E41"),
    ("...", "..."),
    ("../a", "..~2Fa"),
    ("a#7", "a%237"),
    ("a\n", "a~0A"),
    ("a/b", "a~2Fb"),
];

async fn any_text(rule: RuleContext) {
    let system = rule.system();
    let mut actors = Vec::new();
    for (name, segment) in TEXTS {
        let actor = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap();
        assert_eq!(actor.name(), Some(name));
        assert_eq!(actor.path().to_string(), format!("pekko://test/user/{segment}"), "{name:?}");
        let taken = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::NameTaken, "{name:?}");
        assert!(taken.to_string().contains(segment), "{taken}");
        actors.push(actor);
    }
    for (actor, (name, segment)) in actors.iter().zip(TEXTS) {
        assert_eq!(system.get::<Worker>(name).as_ref(), Some(actor), "{name:?}");
        let path: ActorPath = actor.path().to_string().parse().unwrap();
        assert_eq!(system.actor_at::<Worker>(&path).ok().as_ref(), Some(actor), "{name:?}");
        assert_eq!(PathSegment::escape(name), segment);
        assert_eq!(path.name().and_then(|last| last.unescaped()).as_deref(), Some(name));
        for text in [path.to_string(), actor.path().to_serialization_format(), format!("/user/{segment}")] {
            let selected = system.select(&text).unwrap().actors::<Worker>();
            assert_eq!(selected, std::slice::from_ref(actor), "{text}");
        }
    }
    for other in ["%41%42", "~41", "%2a", "~c3~ab", "*"] {
        let path: ActorPath = format!("pekko://test/user/{other}").parse().unwrap();
        assert!(system.find(&path).is_err(), "{other}: another escape of a name is not a name");
    }
    assert_eq!(system.select("/user/*").unwrap().identify().len(), TEXTS.len());
}

async fn two_systems(rule: RuleContext) {
    let (one, two) = (rule.system(), rule.system());
    let (first, second) = (Journal::new(), Journal::new());
    let a = one.spawn(Worker::new(&first)).name("a").await.unwrap();
    let b = two.spawn(Worker::new(&second)).name("a").await.unwrap();
    assert_ne!(a, b);
    assert_eq!((one.get::<Worker>("a"), two.get::<Worker>("a")), (Some(a.clone()), Some(b.clone())));
    a.stop();
    rule.soon("the first actor ends", a.wait()).await.unwrap();
    assert!(one.get::<Worker>("a").is_none());
    assert_eq!(
        rule.soon("the second actor answers", two.get::<Worker>("a").unwrap().ask(Note(1))).await.unwrap(),
        1
    );
    assert_eq!(second.entries(), ["start", "1"]);
}

async fn identity(rule: RuleContext) {
    let system = rule.system();
    let named = system.spawn(IdentityActor).name("m").await.unwrap();
    let unnamed = system.spawn(|| IdentityActor).await.unwrap();
    for (actor, name) in [(&named, Some("m")), (&unnamed, None)] {
        let (id, own_name, own_system) =
            rule.soon("the actor answers", actor.ask(GetIdentity)).await.unwrap();
        assert_eq!((id, own_name.as_deref(), own_system.as_str()), (actor.id(), name, "test"));
        assert_eq!((actor.name(), actor.system().name()), (name, "test"));
        assert_eq!(actor.recipient::<GetIdentity>().id(), actor.id());
    }
    assert_ne!(named.id(), unnamed.id());
    unnamed.kill();
    rule.soon("the actor ends", unnamed.wait()).await.unwrap();
    let error = unnamed.tell(GetIdentity).unwrap_err();
    let label = format!("pekko://test/user/${}", unnamed.id());
    assert_eq!(
        (error.get("actor"), error.get("type")),
        (Some(&*label), Some(std::any::type_name::<IdentityActor>()))
    );
}

async fn reused(rule: RuleContext) {
    let system = rule.system();
    let mut old = Vec::new();
    for end in 0..4 {
        let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(crate::fixtures::worker::PanicWith("no")).unwrap(),
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        old.push(actor);
    }
    let journal = Journal::new();
    let new = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    for actor in old {
        assert_ne!(actor, new);
        assert_eq!(actor.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
    }
    assert_eq!(system.get::<Worker>("a"), Some(new.clone()));
    assert_eq!(rule.soon("the new actor answers", new.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "2"]);
}

#[derive(Debug)]
struct Ping;

impl Message for Ping {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

/// Returns its identity.
struct IdentityActor;

impl Actor for IdentityActor {}

struct GetIdentity;

impl Message for GetIdentity {
    type Reply = (dactor_core::Pid, Option<String>, String);
    type Access = dactor_core::Exclusive;
}

impl Handler<GetIdentity> for IdentityActor {
    async fn handle(
        &mut self,
        GetIdentity: GetIdentity,
        ctx: &mut Context<Self>,
    ) -> Outcome<<GetIdentity as Message>::Reply> {
        Ok((ctx.id(), ctx.name().map(str::to_owned), ctx.system().name().to_owned()))
    }
}
