//! Where an actor is, and who is there.

use std::any::type_name;
use std::future::IntoFuture;
use std::sync::{Arc, Mutex};

use dactor_core::path::{ActorPathScheme, ActorUid, Guardian, PathAuthority};
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorPath, ActorRef, ActorSystemConfig, Context, ErrorKind, Event, Handler, Message, Outcome,
    StopReason, System,
};

use super::body;
use crate::actors::{Act, Boom, Fail, Hold, Hooks, Note, Worker};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PATH-01",
        Topic::Paths,
        &[(Topic::Paths, State::Starting), (Topic::Paths, State::Idle), (Topic::Paths, State::Handling)],
        "Every actor has a path, that of its parent or guardian and its name, or `$` and its id: as a text it parses back to an equal path, by which the actor is found while it starts, idles or handles.",
        "What is read in a log can be looked up.",
        body!(found),
    ),
    Rule::must(
        "PATH-02",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Paths, State::Handling), (Topic::Paths, State::Failed)],
        "Errors, events and dead letters name an actor by its path, one and the same.",
        "What one place says of an actor can be joined with what another says.",
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
        "A path means whoever lives there, with a UID that incarnation alone: an ended actor is not found, its path is free at once, and neither its ref nor its UID leads to the next one.",
        "A name is a place, not a person.",
        body!(incarnations),
    ),
    Rule::must(
        "PATH-04",
        Topic::Paths,
        &[(Topic::Paths, State::NativeStop), (Topic::Paths, State::Dead)],
        "An actor that was stopped natively is not found any more, and its path is free.",
        "How an actor ended makes no difference to where it was.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "PATH-05",
        Topic::Paths,
        &[(Topic::Paths, State::NativeKill), (Topic::Paths, State::Dead)],
        "An actor that was killed natively is not found any more, and its path is free.",
        "How an actor ended makes no difference to where it was.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "PATH-06",
        Topic::Paths,
        &[(Topic::Paths, State::RuntimeDropped), (Topic::Paths, State::Dead)],
        "An actor whose runtime was dropped is not found any more, and its path is free.",
        "How an actor ended makes no difference to where it was.",
        body!(runtime_dropped),
    ),
    Rule::must(
        "PATH-07",
        Topic::Paths,
        &[(Topic::Paths, State::Stopping)],
        "An actor in `on_stop` still has its path, and nobody else gets it.",
        "Two actors are never in one place.",
        body!(stopping),
    ),
    Rule::must(
        "PATH-08",
        Topic::Paths,
        &[(Topic::Paths, State::Handling)],
        "A restart changes neither the path nor the UID.",
        "It is the same actor.",
        body!(restarted),
    ),
    Rule::must(
        "PATH-09",
        Topic::Paths,
        &[(Topic::Paths, State::Starting)],
        "A spawn whose path would be too long is `InvalidName` and says why; nothing is started, and shorter names go on working.",
        "What cannot be printed and parsed must not exist.",
        body!(too_long),
    ),
    Rule::must(
        "PATH-10",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "The scheme, the address and the default guardian of a system are those of its config; a path of another system finds nobody.",
        "A path that leaves the process says where it came from.",
        body!(configured),
    ),
];

/// Has children, which are like it.
pub(super) struct Folder {
    pub(super) journal: Journal,
}

impl Actor for Folder {}

/// Have a child, of this name if there is one, and give its ref.
pub(super) struct Grow(pub(super) Option<&'static str>);

impl Message for Grow {
    type Reply = ActorRef<Folder>;
}

impl Handler<Grow> for Folder {
    async fn handle(&mut self, Grow(name): Grow, ctx: &mut Context<Self>) -> Outcome<ActorRef<Self>> {
        let child = ctx.spawn(Self { journal: self.journal.clone() });
        Ok(match name {
            Some(name) => child.name(name).await?,
            None => child.await?,
        })
    }
}

/// The path as the actor itself sees it.
struct WhereAmI;

impl Message for WhereAmI {
    type Reply = ActorPath;
}

impl Handler<WhereAmI> for Folder {
    async fn handle(&mut self, WhereAmI: WhereAmI, ctx: &mut Context<Self>) -> Outcome<ActorPath> {
        Ok(ctx.path())
    }
}

fn parsed(text: &str) -> ActorPath {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What is true of every live actor.
fn assert_found<A: Actor>(system: &System, actor: &ActorRef<A>, text: &str) {
    let path = actor.path();
    assert_eq!(path.to_string(), text);
    assert_eq!(path.uid(), Some(ActorUid::new(actor.id().get())));
    for text in [text, &path.to_serialization_format()] {
        assert_eq!(parsed(text), path);
        assert_eq!(system.actor_at::<A>(&parsed(text)).as_ref(), Some(actor), "{text}");
    }
    let identity = system.find(&path).expect("it is there");
    assert_eq!((identity.id(), identity.actor_type()), (actor.id(), type_name::<A>()));
    assert!(system.path_of(actor.id()).is_some_and(|found| found.is_same_incarnation(&path)));
}

/// What is true of every actor that has ended, and of the next one at its path.
async fn assert_free(system: &System, old: &ActorRef<Worker>) {
    let path = old.path();
    assert!(system.find(&path).is_none() && system.find(&path.clone().without_uid()).is_none());
    assert_eq!(system.path_of(old.id()), None);
    let name = old.name().expect("a name").to_owned();
    let new = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap();
    assert_eq!(new.path(), path, "paths are equal");
    assert!(!new.path().is_same_incarnation(&path) && new != *old, "actors are not");
    assert_eq!(system.actor_at::<Worker>(&path), None);
    assert_eq!(system.actor_at(&path.without_uid()), Some(new));
    assert_eq!(old.tell(Note(1)).unwrap_err().kind(), ErrorKind::Stopped);
}

async fn found(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let folder = || Folder { journal: journal.clone() };
    let named = system.spawn(folder()).name("docs").await.unwrap();
    let unnamed = system.spawn(folder()).await.unwrap();
    let service = system.spawn_service(folder()).name("docs").await.unwrap();
    assert_found(&system, &named, "pekko://lab/user/docs");
    let generated = format!("pekko://lab/user/${}", unnamed.id());
    assert_found(&system, &unnamed, &generated);
    assert_found(&system, &service, "pekko://lab/system/docs");
    for (parent, text) in
        [(&named, "pekko://lab/user/docs"), (&unnamed, &generated), (&service, "pekko://lab/system/docs")]
    {
        let child = lab.soon("a child", parent.ask(Grow(Some("a b")))).await.unwrap();
        assert_found(&system, &child, &format!("{text}/a%20b"));
        let seen = lab.soon("its own view", child.ask(WhereAmI)).await.unwrap();
        assert!(seen.is_same_incarnation(&child.path()));
        let grandchild = lab.soon("a grandchild", child.ask(Grow(None))).await.unwrap();
        assert_found(&system, &grandchild, &format!("{text}/a%20b/${}", grandchild.id()));
        assert!(system.find(&parsed(&format!("{text}/${}", grandchild.id()))).is_none(), "not its parent");
    }
    assert!(system.find(&parsed("pekko://lab/user")).is_none(), "a guardian is no actor");
    assert!(system.find(&parsed("pekko://lab/")).is_none());
    assert!(system.find(&parsed("pekko://lab/user/docs/none/deeper")).is_none());
    assert!(system.actor_at::<Worker>(&named.path()).is_none(), "another type");

    let (start, handle) = (Gate::new(), Gate::new());
    let hooks = Hooks { start: Act::Hold(start.clone()), ..Hooks::default() };
    let spawning = tokio::spawn(system.spawn(Worker::with(&journal, hooks)).name("w").into_future());
    lab.soon("on_start runs", start.reached()).await;
    let starting = system.actor_at::<Worker>(&parsed("pekko://lab/user/w")).expect("found while it starts");
    start.open();
    let worker = lab.soon("the spawn returns", spawning).await.unwrap().unwrap();
    assert_eq!(starting, worker);
    worker.tell(Hold(1, handle.clone())).unwrap();
    lab.soon("the handler runs", handle.reached()).await;
    assert_found(&system, &worker, "pekko://lab/user/w");
    handle.open();
}

async fn printed(lab: Lab) {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = seen.clone();
    let note = move |event: &Event| {
        let actor = match event {
            Event::DeadLetter(letter) => {
                assert_eq!(letter.error.get("actor"), Some(&*letter.actor));
                &letter.actor
            }
            Event::Failed { actor, error, .. } | Event::Restarted { actor, error } => {
                assert_eq!(error.get("actor"), Some(&**actor));
                actor
            }
            Event::Spawned { actor, .. } | Event::Stopped { actor, .. } => actor,
            _ => return,
        };
        record.lock().unwrap().push(actor.clone());
    };
    let system = lab.builder().observe(note).build().unwrap();
    for name in [Some("w"), None] {
        let worker = system.spawn(Worker::factory(&Journal::new(), Hooks::default()));
        let worker = match name {
            Some(name) => worker.name(name).await.unwrap(),
            None => worker.await.unwrap(),
        };
        let error = lab.soon("the asker is told", worker.ask(Fail("no"))).await.unwrap_err();
        assert_eq!(error.get("actor"), Some(&*worker.path().to_string()));
        assert_eq!(error.get("type"), Some(type_name::<Worker>()), "a path does not tell it");
        worker.tell(Boom("bang")).unwrap();
        lab.soon("it is restarted", worker.ask(Note(1))).await.unwrap();
        worker.kill();
        assert!(matches!(lab.soon("it ends", worker.wait()).await.unwrap(), StopReason::Killed));
        worker.tell(Note(2)).unwrap_err();
        let printed = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(printed.len(), 5, "started, failed, restarted, ended, a dead letter: {printed:?}");
        assert!(
            printed.iter().all(|text| *text == worker.path().to_string() && parsed(text) == worker.path())
        );
        assert!(format!("{worker:?}").contains(&worker.path().to_serialization_format()));
    }
}

async fn incarnations(lab: Lab) {
    let system = lab.system();
    for end in 0..4 {
        let actor = system.spawn(Worker::new(&Journal::new())).name(format!("a{end}")).await.unwrap();
        match end {
            0 => actor.stop(),
            1 => actor.drain(),
            2 => actor.kill(),
            _ => actor.tell(Boom("bang")).unwrap(),
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        assert_free(&system, &actor).await;
    }
    let unnamed = system.spawn(Worker::new(&Journal::new())).await.unwrap();
    unnamed.stop();
    lab.soon("the actor ends", unnamed.wait()).await.unwrap();
    assert!(system.find(&unnamed.path()).is_none() && system.find(&unnamed.path().without_uid()).is_none());
}

async fn native_stop(lab: Lab) {
    let system = lab.system();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    lab.native_stop(&actor).await;
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn native_kill(lab: Lab) {
    let system = lab.system();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    lab.native_kill(&actor).await;
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn runtime_dropped(lab: Lab) {
    let system = lab.system();
    let spawner = system.clone();
    let born =
        lab.elsewhere(
            move || async move { spawner.spawn(Worker::new(&Journal::new())).name("a").await.unwrap() },
        );
    let actor = lab.soon("the runtime is dropped", born).await;
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn stopping(lab: Lab) {
    let (system, gate) = (lab.system(), Gate::new());
    let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&Journal::new(), hooks)).name("a").await.unwrap();
    actor.stop();
    lab.soon("on_stop runs", gate.reached()).await;
    assert_found(&system, &actor, "pekko://lab/user/a");
    let error = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::NameTaken, Some("pekko://lab/user/a")));
    gate.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_free(&system, &actor).await;
}

async fn restarted(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).name("a").await.unwrap();
    let before = actor.path();
    lab.soon("the asker is told", actor.ask(Boom("bang"))).await.unwrap_err();
    lab.soon("the actor is restarted", actor.ask(Note(1))).await.unwrap();
    assert_eq!(journal.count("restart: Panicked"), 1);
    assert!(actor.path().is_same_incarnation(&before));
    assert_found(&system, &actor, "pekko://lab/user/a");
}

async fn too_long(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    // With the longest UID it is as long as a path may be.
    let around = "pekko://lab/user/#18446744073709551615".len();
    let fits = "n".repeat(ActorPath::LONGEST - around);
    let error = system.spawn(Worker::new(&journal)).name(format!("{fits}n")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
    assert!(error.get("because").is_some_and(|why| why.contains("65515 bytes")), "{error}");
    assert_eq!((system.live(), journal.count("start")), (0, 0));

    let long = system.spawn(Folder { journal }).name(fits.clone()).await.unwrap();
    assert_found(&system, &long, &format!("pekko://lab/user/{fits}"));
    for name in [Some("a"), None] {
        let error = lab.soon("no child fits", long.ask(Grow(name))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(format!("{error:#}").contains("more than 65514"), "{error}");
    }
    assert_eq!(system.live(), 1);
    let short = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    assert_found(&system, &short, "pekko://lab/user/a");
}

async fn configured(lab: Lab) {
    let authority = PathAuthority::new("db.example.com", Some(2552)).unwrap();
    let config = ActorSystemConfig::new("bank")
        .scheme(ActorPathScheme::PekkoTcp)
        .authority(authority)
        .guardian(Guardian::System);
    let system = lab.builder_with(config.clone()).build().unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).name("a").await.unwrap();
    assert_found(&system, &actor, "pekko.tcp://bank@db.example.com:2552/system/a");
    assert_eq!(system.get::<Worker>("a"), Some(actor.clone()));
    assert_eq!(system.actor_at(&parsed("pekko.tcp://bank/system/a")), Some(actor));
    for other in [
        "pekko.tcp://bank@db.example.com:2553/system/a",
        "pekko.tcp://bank@example.com/system/a",
        "pekko://bank/system/a",
        "pekko.tcp://banks/system/a",
        "pekko.tcp://bank/user/a",
    ] {
        assert!(system.find(&parsed(other)).is_none(), "{other}");
    }
    let refused = lab.builder_with(config.guardian(Guardian::Temp)).build().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}
