//! Names and lookup.

use std::future::IntoFuture;

use dactor_core::path::PathSegment;
use dactor_core::testkit::{Gate, Journal, Probe};
use dactor_core::{Actor, ActorPath, Context, ErrorKind, Handler, Message, Outcome, System};

use super::body;
use crate::actors::{Act, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "NAME-01",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Starting), (Topic::Name, State::Handling)],
        "A name that a live actor has, be it starting, idle or handling, is refused as `NameTaken`; its owner is not disturbed.",
        "A name means one actor.",
        body!(taken),
    ),
    Rule::must(
        "NAME-02",
        Topic::Name,
        &[(Topic::Name, State::Idle), (Topic::Name, State::Handling)],
        "Lookup finds the live actor of that name and type; another name, another type and an unnamed actor are not found.",
        "A ref found by name is the same ref.",
        body!(lookup),
    ),
    Rule::must(
        "NAME-03",
        Topic::Name,
        &[(Topic::Name, State::Starting)],
        "An invalid name of an actor (empty, `.`, `..`, a leading `$`, too long) or a system is `InvalidName` and says why; nothing is started.",
        "Names become parts of paths.",
        body!(invalid),
    ),
    Rule::must(
        "NAME-07",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "Any other text is a name: the actor is known by it to `name`, `get`, `child` and `NameTaken`, and two texts are two actors. In the path it is escaped in one way, so that the printed path parses back, finds this actor and selects no other.",
        "A customer's name is a name, also with a space, a wildcard or an escape in it.",
        body!(any_text),
    ),
    Rule::must(
        "NAME-04",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "Two systems in one process may use the same names, and each finds its own.",
        "Native registries are global to the process; ours are not.",
        body!(two_systems),
    ),
    Rule::must(
        "NAME-05",
        Topic::Name,
        &[(Topic::Name, State::Idle)],
        "The id, name and system that an actor sees of itself are those of its refs; ids are never shared.",
        "Logs and errors of both sides can be joined.",
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
        "A freed name can be used again at once, and means the new actor only.",
        "A ref to the old actor must not reach the new one.",
        body!(reused),
    ),
];

async fn taken(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let (start, handle) = (Gate::new(), Gate::new());
    let hooks = Hooks { start: Act::Hold(start.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("a").into_future());
    lab.soon("on_start runs", start.reached()).await;
    let refused = async || {
        let error = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NameTaken);
        assert_eq!((error.get("actor"), error.get("system")), (Some("pekko://lab/user/a"), Some("lab")));
        assert_eq!(system.live(), 1);
    };
    refused().await;
    start.open();
    let actor = lab.soon("the spawn returns", spawning).await.unwrap().unwrap();
    refused().await;
    actor.tell(Hold(1, handle.clone())).unwrap();
    lab.soon("the handler runs", handle.reached()).await;
    refused().await;
    handle.open();
    assert_eq!(lab.soon("the owner answers", actor.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "hold 1", "held 1", "2"]);
}

async fn lookup(lab: Lab) {
    let (system, gate) = (lab.system(), Gate::new());
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    let unnamed = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    assert_eq!(unnamed.name(), None);
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!(system.get::<Worker>("b"), None);
    assert!(system.get::<Probe<Ping>>("a").is_none(), "another type");
    actor.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let found = system.get::<Worker>("a").expect("found while handling");
    let asked = found.ask(Note(2)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the found ref works", asked).await.unwrap(), 2);
}

async fn invalid(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    for name in ["", ".", "..", "$", "$a", &"n".repeat(70_000), &"\u{e9}".repeat(12_000)] {
        let error = system.spawn(Worker::factory(&journal, Hooks::default())).name(name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?}");
        assert!(error.get("because").is_some() && error.get("name").is_some(), "{error}");
    }
    for name in ["", "a/b", "a b", "a:1", "\u{e9}", "a\n", "%0A", &"n".repeat(70_000)] {
        let error = lab.builder_named(name).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{name:?}");
        assert!(error.get("because").is_some() && error.get("system").is_some(), "{error}");
    }
    assert_eq!(journal.entries(), [""; 0], "nothing was started");
    assert_eq!(system.live(), 0);
    assert_eq!(System::builder("lab").build().unwrap_err().kind(), ErrorKind::NoBackend);
    for name in ["a", "bank-7", "x.y_z", "A:1", &"n".repeat(1_000)] {
        system.spawn(Worker::new(&journal)).name(name).await.unwrap();
    }
    assert_eq!(system.live(), 5);
}

/// Each is another actor, and its segment in a path.
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

async fn any_text(lab: Lab) {
    let system = lab.system();
    let mut actors = Vec::new();
    for (name, segment) in TEXTS {
        let actor = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap();
        assert_eq!(actor.name(), Some(name));
        assert_eq!(actor.path().to_string(), format!("pekko://lab/user/{segment}"), "{name:?}");
        let taken = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::NameTaken, "{name:?}");
        assert!(taken.to_string().contains(segment), "{taken}");
        actors.push(actor);
    }
    for (actor, (name, segment)) in actors.iter().zip(TEXTS) {
        assert_eq!(system.get::<Worker>(name).as_ref(), Some(actor), "{name:?}");
        let path: ActorPath = actor.path().to_string().parse().unwrap();
        assert_eq!(system.actor_at::<Worker>(&path).as_ref(), Some(actor), "{name:?}");
        assert_eq!(PathSegment::escape(name), segment);
        assert_eq!(path.name().and_then(|last| last.unescaped()).as_deref(), Some(name));
        for text in [path.to_string(), actor.path().to_serialization_format(), format!("/user/{segment}")] {
            let selected = system.select(&text).unwrap().actors::<Worker>();
            assert_eq!(selected, std::slice::from_ref(actor), "{text}");
        }
    }
    for other in ["%41%42", "~41", "%2a", "~c3~ab", "*"] {
        let path: ActorPath = format!("pekko://lab/user/{other}").parse().unwrap();
        assert!(system.find(&path).is_none(), "{other}: another spelling is no name");
    }
    assert_eq!(system.select("/user/*").unwrap().identify().len(), TEXTS.len());
}

async fn two_systems(lab: Lab) {
    let (one, two) = (lab.system(), lab.system());
    let (first, second) = (Journal::new(), Journal::new());
    let a = one.spawn(Worker::new(&first)).name("a").await.unwrap();
    let b = two.spawn(Worker::new(&second)).name("a").await.unwrap();
    assert_ne!(a, b);
    assert_eq!((one.get::<Worker>("a"), two.get::<Worker>("a")), (Some(a.clone()), Some(b.clone())));
    a.stop();
    lab.soon("the first ends", a.wait()).await.unwrap();
    assert!(one.get::<Worker>("a").is_none());
    assert_eq!(lab.soon("the second lives", two.get::<Worker>("a").unwrap().ask(Note(1))).await.unwrap(), 1);
    assert_eq!(second.entries(), ["start", "1"]);
}

async fn identity(lab: Lab) {
    let system = lab.system();
    let named = system.spawn(Mirror).name("m").await.unwrap();
    let unnamed = system.spawn(|| Mirror).await.unwrap();
    for (actor, name) in [(&named, Some("m")), (&unnamed, None)] {
        let (id, own_name, own_system) = lab.soon("the mirror answers", actor.ask(Look)).await.unwrap();
        assert_eq!((id, own_name.as_deref(), own_system.as_str()), (actor.id(), name, "lab"));
        assert_eq!((actor.name(), actor.system().name()), (name, "lab"));
        assert_eq!(actor.recipient::<Look>().id(), actor.id());
    }
    assert_ne!(named.id(), unnamed.id());
    unnamed.kill();
    lab.soon("the actor ends", unnamed.wait()).await.unwrap();
    let error = unnamed.tell(Look).unwrap_err();
    let label = format!("pekko://lab/user/${}", unnamed.id());
    assert_eq!(
        (error.get("actor"), error.get("type")),
        (Some(&*label), Some(std::any::type_name::<Mirror>()))
    );
}

async fn reused(lab: Lab) {
    let system = lab.system();
    let mut old = Vec::new();
    for end in 0..4 {
        let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(crate::actors::Boom("no")).unwrap(),
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        old.push(actor);
    }
    let journal = Journal::new();
    let new = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    for actor in old {
        assert_ne!(actor, new);
        assert_eq!(actor.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
    }
    assert_eq!(system.get::<Worker>("a"), Some(new.clone()));
    assert_eq!(lab.soon("the new one answers", new.ask(Note(2))).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "2"]);
}

#[derive(Debug)]
struct Ping;
impl Message for Ping {
    type Reply = ();
}

/// Tells what it knows about itself.
struct Mirror;
impl Actor for Mirror {}

struct Look;
impl Message for Look {
    type Reply = (dactor_core::Pid, Option<String>, String);
}

impl Handler<Look> for Mirror {
    async fn handle(&mut self, Look: Look, ctx: &mut Context<Self>) -> Outcome<<Look as Message>::Reply> {
        Ok((ctx.id(), ctx.name().map(str::to_owned), ctx.system().name().to_owned()))
    }
}
