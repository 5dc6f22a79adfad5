//! The paths of actors, and lookup by path.

use std::any::type_name;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use dactor_core::path::{ActorPathScheme, Guardian, PathAuthority};
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorPath, ActorRef, ActorSystemConfig, Context, ErrorKind, Event, Handler, Message, Outcome,
    StopReason, System,
};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::parent::{AddChild, ParentActor};
use crate::fixtures::worker::{Fail, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PATH-01",
        Topic::Paths,
        &[(Topic::Paths, State::Starting), (Topic::Paths, State::Idle), (Topic::Paths, State::Handling)],
        "Every actor has a path: the path of its parent or guardian, followed by its name, or by `$` and its id. The printed path parses back to an equal path, which finds the actor while it starts, is idle or handles a message.",
        "A path from a log line can be looked up.",
        body!(found),
    ),
    Rule::must(
        "PATH-02",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Paths, State::Handling), (Topic::Paths, State::Failed)],
        "Errors, events and dead letters name an actor by its path.",
        "Errors, events and dead letters of one actor can be correlated.",
        body!(printed),
    ),
    Rule::must(
        "PATH-03",
        Topic::Paths,
        &[
            (Topic::Paths, State::Dead),
            (Topic::Paths, State::Stopped),
            (Topic::Paths, State::Drained),
            (Topic::Paths, State::Killed),
            (Topic::Paths, State::Failed),
        ],
        "A path finds the actor that currently lives there, and a path with a UID only that incarnation. An ended actor is not found, its path is free at once, and neither its reference nor its UID leads to the next actor at that path.",
        "A path identifies a place in the tree, and a UID one incarnation.",
        body!(incarnations),
    ),
    Rule::must(
        "PATH-04",
        Topic::Paths,
        &[(Topic::Paths, State::NativeStop), (Topic::Paths, State::Dead)],
        "An actor that was stopped natively is no longer found, and its path is free.",
        "The path is freed however the actor ended.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "PATH-05",
        Topic::Paths,
        &[(Topic::Paths, State::NativeKill), (Topic::Paths, State::Dead)],
        "An actor that was killed natively is no longer found, and its path is free.",
        "The path is freed however the actor ended.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "PATH-06",
        Topic::Paths,
        &[(Topic::Paths, State::RuntimeDropped), (Topic::Paths, State::Dead)],
        "An actor whose runtime was dropped is no longer found, and its path is free.",
        "The path is freed however the actor ended.",
        body!(runtime_dropped),
    ),
    Rule::must(
        "PATH-07",
        Topic::Paths,
        &[(Topic::Paths, State::Stopping)],
        "An actor in `on_stop` keeps its path, and no other actor can take it.",
        "Two live actors never share a path.",
        body!(stopping),
    ),
    Rule::must(
        "PATH-08",
        Topic::Paths,
        &[(Topic::Paths, State::Handling)],
        "A restart changes neither the path nor the UID.",
        "A restarted actor is the same actor.",
        body!(restarted),
    ),
    Rule::must(
        "PATH-09",
        Topic::Paths,
        &[(Topic::Paths, State::Starting)],
        "A spawn whose path would be too long fails with `InvalidName` and a reason; no actor is started, and shorter names still work.",
        "Every path can be printed and parsed.",
        body!(too_long),
    ),
    Rule::must(
        "PATH-10",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "The scheme, the address and the default guardian of a system come from its config; a path of another system finds no actor.",
        "A path that leaves the process says which system it belongs to.",
        body!(configured),
    ),
];

/// Returns the path in the actor's context.
struct GetPath;

impl Message for GetPath {
    type Reply = ActorPath;
    type Access = dactor_core::Exclusive;
}

impl Handler<GetPath> for ParentActor {
    async fn handle(&mut self, GetPath: GetPath, ctx: &mut Context<Self>) -> Outcome<ActorPath> {
        Ok(ctx.path())
    }
}

fn parsed(text: &str) -> ActorPath {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asserts the properties of every live actor.
fn assert_found<A: Actor>(system: &System, actor: &ActorRef<A>, text: &str) {
    let path = actor.path();
    assert_eq!(path.to_string(), text);
    assert_eq!(path.uid(), Some(actor.uid()));
    for text in [text, &path.to_serialization_format()] {
        assert_eq!(parsed(text), path);
        assert_eq!(system.actor_at::<A>(&parsed(text)).ok().as_ref(), Some(actor), "{text}");
    }
    let identity = system.find(&path).expect("the actor is found");
    assert_eq!((identity.id(), identity.actor_type()), (actor.id(), type_name::<A>()));
    assert!(system.path_of(actor.id()).is_some_and(|found| found.is_same_incarnation(&path)));
}

/// Asserts the properties of an ended actor and of the next actor at its path.
async fn assert_free(system: &System, old: &ActorRef<Worker>) {
    let path = old.path();
    assert!(system.find(&path).is_err() && system.find(&path.clone().without_uid()).is_err());
    assert_eq!(system.path_of(old.id()), None);
    let name = old.name().expect("a name").to_owned();
    let new = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap();
    assert_eq!(new.path(), path, "paths are equal");
    assert!(!new.path().is_same_incarnation(&path) && new != *old, "actors are different");
    assert_eq!(system.actor_at::<Worker>(&path).unwrap_err().kind(), ErrorKind::WrongIncarnation);
    assert_eq!(system.actor_at(&path.without_uid()).unwrap(), new);
    assert_eq!(old.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
}

async fn found(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let parent_actor = || ParentActor { journal: journal.clone() };
    let named = system.spawn(parent_actor()).name("docs").await.unwrap();
    let unnamed = system.spawn(parent_actor()).await.unwrap();
    let service = system.spawn_service(parent_actor()).name("docs").await.unwrap();
    assert_found(&system, &named, "pekko://test/user/docs");
    let generated = format!("pekko://test/user/${}", unnamed.id());
    assert_found(&system, &unnamed, &generated);
    assert_found(&system, &service, "pekko://test/system/docs");
    for (parent, text) in
        [(&named, "pekko://test/user/docs"), (&unnamed, &generated), (&service, "pekko://test/system/docs")]
    {
        let child = rule.soon("the child is spawned", parent.ask(AddChild(Some("a b")))).await.unwrap();
        assert_found(&system, &child, &format!("{text}/a%20b"));
        let seen = rule.soon("the child answers", child.ask(GetPath)).await.unwrap();
        assert!(seen.is_same_incarnation(&child.path()));
        let grandchild = rule.soon("the grandchild is spawned", child.ask(AddChild(None))).await.unwrap();
        assert_found(&system, &grandchild, &format!("{text}/a%20b/${}", grandchild.id()));
        assert!(
            system.find(&parsed(&format!("{text}/${}", grandchild.id()))).is_err(),
            "the grandchild is found under another parent"
        );
    }
    assert!(system.find(&parsed("pekko://test/user")).is_err(), "a guardian is no actor");
    assert!(system.find(&parsed("pekko://test/")).is_err());
    assert!(system.find(&parsed("pekko://test/user/docs/none/deeper")).is_err());
    assert!(system.actor_at::<Worker>(&named.path()).is_err(), "another type");

    let (start, handle) = (Gate::new(), Gate::new());
    let hooks = Hooks { start: HookAction::Hold(start.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("w").into_future());
    rule.soon("on_start runs", start.reached()).await;
    let starting = system.actor_at::<Worker>(&parsed("pekko://test/user/w")).expect("found while it starts");
    start.open();
    let worker = rule.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(starting, worker);
    worker.tell(Hold(1, handle.clone())).unwrap();
    rule.soon("the handler runs", handle.reached()).await;
    assert_found(&system, &worker, "pekko://test/user/w");
    handle.open();
}

async fn printed(rule: RuleContext) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = seen.clone();
    let note = move |event: &Event| {
        let actor = match event {
            Event::DeadLetter(letter) => {
                let actor = letter.target.path().expect("an actor");
                assert_eq!(letter.error.get("actor"), Some(&*actor.to_string()));
                actor
            }
            Event::Failed { actor, error, .. } | Event::Restarted { actor, error } => {
                assert_eq!(error.get("actor"), Some(&*actor.to_string()));
                actor
            }
            Event::Spawned { actor, .. } | Event::Stopped { actor, .. } => actor,
            _ => return,
        };
        record.lock().unwrap().push(actor.to_string());
    };
    let system = rule.builder().observe(note).build().unwrap();
    for name in [Some("w"), None] {
        let worker = system.spawn(Worker::factory(&Journal::new(), Hooks::default()));
        let worker = match name {
            Some(name) => worker.name(name).await.unwrap(),
            None => worker.await.unwrap(),
        };
        let error = rule.soon("the asker gets the error", worker.ask(Fail("no"))).await.unwrap_err();
        assert_eq!(error.get("actor"), Some(&*worker.path().to_string()));
        assert_eq!(error.get("type"), Some(type_name::<Worker>()), "the path does not contain the type");
        worker.tell(PanicWith("bang")).unwrap();
        rule.soon("the actor is restarted", worker.ask(Note(1))).await.unwrap();
        worker.kill();
        assert!(matches!(rule.soon("the actor ends", worker.wait()).await.unwrap(), StopReason::Killed));
        worker.tell(Note(2)).unwrap_err();
        let printed = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(printed.len(), 5, "started, failed, restarted, ended, a dead letter: {printed:?}");
        assert!(
            printed.iter().all(|text| *text == worker.path().to_string() && parsed(text) == worker.path())
        );
        assert!(format!("{worker:?}").contains(&worker.path().to_serialization_format()));
    }
}

async fn incarnations(rule: RuleContext) {
    let system = rule.system();
    for end in 0..4 {
        let actor = system.spawn(Worker::new(&Journal::new())).name(format!("a{end}")).await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(PanicWith("bang")).unwrap(),
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert_free(&system, &actor).await;
    }
    let unnamed = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    unnamed.stop();
    rule.soon("the actor ends", unnamed.wait()).await.unwrap();
    assert!(system.find(&unnamed.path()).is_err() && system.find(&unnamed.path().without_uid()).is_err());
}

async fn native_stop(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    rule.native_stop(&actor).await;
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn native_kill(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    rule.native_kill(&actor).await;
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let spawner = system.clone();
    let spawned = rule.on_dropped_runtime(move || async move {
        spawner.spawn(Worker::new(&Journal::new())).name("a").await.unwrap()
    });
    let actor = rule.soon("the runtime is dropped", spawned).await;
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn stopping(rule: RuleContext) {
    let (system, gate) = (rule.system(), Gate::new());
    let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&Journal::new(), hooks)).name("a").await.unwrap();
    actor.stop();
    rule.soon("on_stop runs", gate.reached()).await;
    assert_found(&system, &actor, "pekko://test/user/a");
    let error = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::NameTaken, Some("pekko://test/user/a")));
    gate.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn restarted(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).name("a").await.unwrap();
    let before = actor.path();
    rule.soon("the asker gets the error", actor.ask(PanicWith("bang"))).await.unwrap_err();
    rule.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert_eq!(journal.count("restart: Panicked"), 1);
    assert!(actor.path().is_same_incarnation(&before));
    assert_found(&system, &actor, "pekko://test/user/a");
}

async fn too_long(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    // With the longest UID the path has the maximum length.
    let around = "pekko://test/user/#18446744073709551615".len();
    let fits = "n".repeat(ActorPath::LONGEST - around);
    let error = system.spawn(Worker::new(&journal)).name(format!("{fits}n")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
    assert!(error.get("because").is_some_and(|why| why.contains("65515 bytes")), "{error}");
    assert_eq!((system.actor_count(), journal.count("start")), (0, 0));

    let long = system.spawn(ParentActor { journal }).name(fits.clone()).await.unwrap();
    assert_found(&system, &long, &format!("pekko://test/user/{fits}"));
    for name in [Some("a"), None] {
        let error = rule.soon("no child path fits", long.ask(AddChild(name))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(format!("{error:#}").contains("more than 65514"), "{error}");
    }
    assert_eq!(system.actor_count(), 1);
    let short = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    assert_found(&system, &short, "pekko://test/user/a");
}

async fn configured(rule: RuleContext) {
    let authority = PathAuthority::new("db.example.com", Some(2552)).unwrap();
    let config = ActorSystemConfig::new("bank")
        .scheme(ActorPathScheme::PekkoTcp)
        .authority(authority)
        .guardian(Guardian::System);
    let system = rule.builder_with(config.clone()).build().unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    assert_found(&system, &actor, "pekko.tcp://bank@db.example.com:2552/system/a");
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!(system.actor_at(&parsed("pekko.tcp://bank/system/a")).unwrap(), actor);
    for other in [
        "pekko.tcp://bank@db.example.com:2553/system/a",
        "pekko.tcp://bank@example.com/system/a",
        "pekko://bank/system/a",
        "pekko.tcp://banks/system/a",
        "pekko.tcp://bank/user/a",
    ] {
        assert!(system.find(&parsed(other)).is_err(), "{other}");
    }
    let refused = rule.builder_with(config.guardian(Guardian::Temp)).build().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}
