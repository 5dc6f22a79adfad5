//! Selections: expressions that mean any number of actors.

use dactor_core::path::ActorPathError;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Error, ErrorKind, Handler, Message, Outcome, Selection, System};

use super::body;
use super::paths::{Folder, Grow};
use crate::actors::{Hold, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PATH-11",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Paths, State::Handling)],
        "A selection means the actors that match it when it is used, each once: `*` is any part of one name, `?` is one character, `..` is the parent.",
        "Who comes later is meant, too; who has gone is not.",
        body!(selects),
    ),
    Rule::must(
        "PATH-12",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "A message told to a selection reaches each selected actor of the type, once, and the number of them is returned.",
        "A broadcast needs no list of refs.",
        body!(tells),
    ),
    Rule::must(
        "PATH-13",
        Topic::Paths,
        &[(Topic::Paths, State::Dead), (Topic::Paths, State::Stopped)],
        "A message told to a selection without an actor of the type is one dead letter that names the selection; one that a selected actor refuses names the actor.",
        "No message is lost without a trace.",
        body!(misses),
    ),
    Rule::must(
        "PATH-14",
        Topic::Paths,
        &[(Topic::Paths, State::Handling)],
        "An actor selects from where it is; a `..` above its guardian is `RelativeEscape`, whatever comes after it.",
        "A relative path must not lead to the system's own actors.",
        body!(relative),
    ),
    Rule::must(
        "PATH-15",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "A text that is no selection is `InvalidPath` and says what is wrong where, on one line, after bounded work, also one with a UID behind a wildcard or `..`; one for another system is `Unsupported`.",
        "Such texts come from outside.",
        body!(refuses),
    ),
];

/// Is noted with the name of whoever handles it.
#[derive(Debug, Clone)]
struct Mark(u32);

impl Message for Mark {
    type Reply = u32;

    fn describe(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl Handler<Mark> for Folder {
    async fn handle(&mut self, Mark(number): Mark, ctx: &mut Context<Self>) -> Outcome<u32> {
        self.journal.note(format!("{number} {}", ctx.path().without_address()));
        Ok(number)
    }
}

/// Selects from where the actor is: the paths of those found.
struct Pick(&'static str);

impl Message for Pick {
    type Reply = Result<Vec<String>, Error>;
}

impl Handler<Pick> for Folder {
    async fn handle(
        &mut self,
        Pick(text): Pick,
        ctx: &mut Context<Self>,
    ) -> Outcome<<Pick as Message>::Reply> {
        Ok(ctx.select(text).map(|selection| places(&selection)))
    }
}

fn places(selection: &Selection) -> Vec<String> {
    selection.identify().iter().map(|identity| identity.path().without_address().to_owned()).collect()
}

fn select(system: &System, text: &str) -> Selection {
    system.select(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `/user/pool` with `worker-1`, `worker-2`, `worker-10` and `spare`, of which the first has a child `box`.
async fn pool(lab: &Lab, system: &System, journal: &Journal) -> ActorRef<Folder> {
    let pool = system.spawn(Folder { journal: journal.clone() }).name("pool").await.unwrap();
    for name in ["worker-1", "worker-2", "worker-10", "spare"] {
        let child = lab.soon("a child", pool.ask(Grow(Some(name)))).await.unwrap();
        if name == "worker-1" {
            lab.soon("a grandchild", child.ask(Grow(Some("box")))).await.unwrap();
        }
    }
    pool
}

async fn selects(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let later = select(&system, "/user/pool/worker-*");
    assert_eq!(places(&later), [""; 0]);
    let pool = pool(&lab, &system, &journal).await;
    assert_eq!(places(&later), ["/user/pool/worker-1", "/user/pool/worker-2", "/user/pool/worker-10"]);
    for (text, expected) in [
        ("/user/pool", &["/user/pool"][..]),
        ("user/pool/spare", &["/user/pool/spare"]),
        ("/user/pool/worker-?", &["/user/pool/worker-1", "/user/pool/worker-2"]),
        ("/user/*/*/box", &["/user/pool/worker-1/box"]),
        ("/*/pool/*1*", &["/user/pool/worker-1", "/user/pool/worker-10"]),
        ("/user/pool/*/../spare", &["/user/pool/spare"]),
        ("/user/pool/worker-1/./box/..", &["/user/pool/worker-1"]),
        ("pekko://lab/user/pool/sp*", &["/user/pool/spare"]),
        ("pekko://lab/user/pool/spare?query", &["/user/pool/spare"]),
        ("/user", &[]),
        ("", &[]),
        ("/user/pool/worker-3", &[]),
        ("/user/worker-1", &[]),
        ("/temp/*", &[]),
    ] {
        assert_eq!(places(&select(&system, text)), expected, "{text}");
    }
    let spare = select(&system, "/user/pool/spare").actors::<Folder>().remove(0);
    assert_eq!(
        select(&system, &format!("/user/pool/spare#{}", spare.id())).actors(),
        std::slice::from_ref(&spare)
    );
    assert_eq!(places(&select(&system, "/user/pool/spare#1")), [""; 0], "another incarnation");
    let unnamed = lab.soon("a child", pool.ask(Grow(None))).await.unwrap();
    assert_eq!(
        select(&system, &format!("/user/pool/${}", unnamed.id())).actors(),
        std::slice::from_ref(&unnamed)
    );
    assert_eq!(select(&system, "/user/pool/$*").actors(), std::slice::from_ref(&unnamed));

    let (gate, busy) = (Gate::new(), system.spawn(Worker::new(&Journal::new())).name("busy").await.unwrap());
    busy.tell(Hold(1, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    assert_eq!(select(&system, "/user/bus?").actors(), [busy], "while it handles");
    gate.open();

    spare.stop();
    lab.soon("one ends", spare.wait()).await.unwrap();
    assert_eq!(places(&select(&system, "/user/pool/spare")), [""; 0]);
    let all = select(&system, "/user/pool/*");
    assert_eq!(all.identify().len(), 4);
    assert_eq!(all.to_string(), "pekko://lab/user/pool/*");
}

async fn tells(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let pool = pool(&lab, &system, &journal).await;
    let _other = system.spawn(Worker::new(&Journal::new())).name("other").await.unwrap();
    assert_eq!(select(&system, "/user/*").tell::<Folder, _>(Mark(1)), 1, "not the worker");
    assert_eq!(select(&system, "/user/pool/worker-*").tell::<Folder, _>(Mark(2)), 3);
    assert_eq!(select(&system, "/user/pool/*/..").tell::<Folder, _>(Mark(3)), 1, "the parent once");
    let all: Vec<_> = select(&system, "/user/pool/*").actors::<Folder>();
    for actor in all.iter().chain([&pool]) {
        lab.soon("all is handled", actor.ask(Mark(0))).await.unwrap();
    }
    let noted = journal.entries();
    let marked = |mark: &str| noted.iter().filter(|entry| entry.starts_with(mark)).count();
    assert_eq!((marked("1 "), marked("2 "), marked("3 ")), (1, 3, 1));
    assert!(noted.contains(&"2 /user/pool/worker-10".to_owned()), "{noted:?}");
    assert_eq!(system.dead_letters(), 0);
}

async fn misses(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let pool = pool(&lab, &system, &journal).await;
    let mut feed = system.dead_letter_feed();
    for (text, printed, why) in [
        ("/user/nobody/*", "pekko://lab/user/nobody/*", "nobody is there"),
        ("/user/pool/worker-?", "pekko://lab/user/pool/worker-?", "Worker"),
        ("/user", "pekko://lab/user", "nobody is there"),
    ] {
        let reached = if why == "Worker" {
            select(&system, text).tell::<Other, _>(Mark(1))
        } else {
            select(&system, text).tell::<Folder, _>(Mark(1))
        };
        assert_eq!(reached, 0);
        let letter = lab.soon("a dead letter comes", feed.next()).await.unwrap();
        assert_eq!((letter.actor.as_str(), letter.message), (printed, std::any::type_name::<Mark>()));
        assert_eq!(letter.text.as_deref(), Some("Mark(1)"));
        assert_eq!((letter.error.kind(), letter.error.get("actor")), (ErrorKind::NoSuchActor, Some(printed)));
        let because = letter.error.get("because").expect("a reason");
        assert!(because.contains(if why == "Worker" { "Other" } else { why }), "{because}");
    }
    let gate = Gate::new();
    let (stopping, all) = (select(&system, "/user/pool").actors::<Folder>(), select(&system, "/user/pool"));
    assert_eq!(stopping, std::slice::from_ref(&pool));
    pool.tell(Wait(gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    pool.drain();
    assert_eq!(all.tell::<Folder, _>(Mark(2)), 0, "it is there, and takes nothing any more");
    let letter = lab.soon("a dead letter comes", feed.next()).await.unwrap();
    assert_eq!((letter.actor.as_str(), letter.error.kind()), ("pekko://lab/user/pool", ErrorKind::Stopped));
    gate.open();
    lab.soon("the pool ends", pool.wait()).await.unwrap();
    assert_eq!(all.tell::<Folder, _>(Mark(3)), 0);
    let letter = lab.soon("a dead letter comes", feed.next()).await.unwrap();
    assert_eq!(
        (letter.actor.as_str(), letter.error.kind()),
        ("pekko://lab/user/pool", ErrorKind::NoSuchActor)
    );
    assert_eq!(system.dead_letters(), 5);
}

/// Handles marks, and is nowhere.
struct Other;
impl dactor_core::Actor for Other {}

impl Handler<Mark> for Other {
    async fn handle(&mut self, Mark(number): Mark, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(number)
    }
}

/// Waits at the gate.
struct Wait(Gate);

impl Message for Wait {
    type Reply = ();
}

impl Handler<Wait> for Folder {
    async fn handle(&mut self, Wait(gate): Wait, _ctx: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        Ok(())
    }
}

fn path_error(error: &Error) -> ActorPathError {
    let source = std::error::Error::source(error).expect("a source");
    *source.downcast_ref::<ActorPathError>().expect("an actor path error")
}

async fn relative(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let pool = pool(&lab, &system, &journal).await;
    let hidden = system.spawn_service(Folder { journal: journal.clone() }).name("hidden").await.unwrap();
    let first = select(&system, "/user/pool/worker-1").actors::<Folder>().remove(0);
    for (actor, text, expected) in [
        (&first, "../worker-?", &["/user/pool/worker-1", "/user/pool/worker-2"][..]),
        (&first, "box", &["/user/pool/worker-1/box"]),
        (&first, ".", &["/user/pool/worker-1"]),
        (&first, "../..", &[]),
        (&first, "../../pool/spare", &["/user/pool/spare"]),
        (&first, "/user/pool", &["/user/pool"]),
        (&first, "/system/*", &["/system/hidden"]),
        (&pool, "*/box", &["/user/pool/worker-1/box"]),
        (&hidden, "../*", &["/system/hidden"]),
    ] {
        let picked = lab.soon("it selects", actor.ask(Pick(text))).await.unwrap();
        assert_eq!(picked.expect(text), expected, "{text}");
    }
    for (text, index) in
        [("../../..", 2), ("../../../system/hidden", 2), ("box/../../../..", 4), ("/user/..", 1), ("/..", 0)]
    {
        let error = lab.soon("it is refused", first.ask(Pick(text))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath);
        assert_eq!(path_error(&error), ActorPathError::RelativeEscape { index }, "{text}");
    }
}

async fn refuses(lab: Lab) {
    let system = lab.system();
    let huge = "x/".repeat(5 << 20);
    for text in [
        "/user/a b",
        "/user/a%0Ab",
        "/user/a%0Db",
        "/user/a\nERROR forged",
        "/user/..%2F..%2Fsystem",
        "/user/%2E%2E",
        "/user/*%00",
        "/user/a#x",
        "pekko://lab/user/*#999",
        "pekko://lab/user/a*#1",
        "/user/*#999",
        "/user/a/..#1",
        "/user/a/.#1",
        "pekko://lab/user/a/..#1",
        "pekko://lab/#1",
        "//lab/user",
        "http://lab/user",
        "pekko:///user",
        "../user",
        "..",
        &huge,
        &"../".repeat(20_000),
        &"*".repeat(70_000),
    ] {
        let error = system.select(text).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::InvalidPath, "{error}");
        let printed = error.to_string();
        assert!(printed.len() < 600 && !printed.contains(['\n', '\r']), "{printed}");
        path_error(&error);
    }
    for other in ["pekko://other/user/*", "pekko://lab@elsewhere:1/user/a", "pekko.tcp://lab/user/a"] {
        assert_eq!(system.select(other).unwrap_err().kind(), ErrorKind::Unsupported, "{other}");
    }
    let deep = select(&system, &"a/".repeat(20_000));
    assert_eq!(places(&deep), [""; 0]);
    let up_and_down = select(&system, &format!("/user/{}*", "*/../".repeat(10_000)));
    assert_eq!(places(&up_and_down), [""; 0]);
}
