//! Selections.

use dactor_core::path::ActorPathError;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Error, ErrorKind, Handler, Message, Outcome, Selection, System};

use crate::fixtures::parent::{AddChild, ParentActor};
use crate::fixtures::worker::{Hold, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PATH-11",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Paths, State::Handling)],
        "A selection matches the actors that live when it is used, each once: `*` matches any part of one name, `?` one character, and `..` the parent.",
        "A selection includes actors spawned later and excludes actors that have ended.",
        body!(selects),
    ),
    Rule::must(
        "PATH-12",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "A message told to a selection reaches each selected actor of the given type once; the call returns their number.",
        "A broadcast needs no list of references.",
        body!(tells),
    ),
    Rule::must(
        "PATH-13",
        Topic::Paths,
        &[(Topic::Paths, State::Dead), (Topic::Paths, State::Stopped)],
        "A message told to a selection without an actor of the given type becomes one dead letter that names the selection; a message that a selected actor refuses becomes a dead letter that names the actor.",
        "No message is lost without a trace.",
        body!(misses),
    ),
    Rule::must(
        "PATH-14",
        Topic::Paths,
        &[(Topic::Paths, State::Handling)],
        "A relative selection starts at the actor that makes it; a `..` above its guardian fails with `RelativeEscape`, whatever follows it.",
        "A relative path must not reach the actors of the system guardian.",
        body!(relative),
    ),
    Rule::must(
        "PATH-15",
        Topic::Paths,
        &[(Topic::Paths, State::Idle)],
        "An invalid selection, such as a UID after a wildcard or `..`, fails with `InvalidPath`: the error names the mistake and its position, fits on one line, and is found in bounded time. A selection for another system fails with `Unresolved`.",
        "Selections may come from untrusted input.",
        body!(refuses),
    ),
];

/// Noted with the path of the handling actor.
#[derive(Debug, Clone)]
struct Mark(u32);

impl Message for Mark {
    type Reply = u32;
    type Access = dactor_core::Exclusive;

    fn describe(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }
}

impl Handler<Mark> for ParentActor {
    async fn handle(&mut self, Mark(number): Mark, ctx: &mut Context<Self>) -> Outcome<u32> {
        self.journal.note(format!("{number} {}", ctx.path().without_address()));
        Ok(number)
    }
}

/// Selects relative to the actor, and returns the paths of the selected actors.
struct Pick(&'static str);

impl Message for Pick {
    type Reply = Result<Vec<String>, Error>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Pick> for ParentActor {
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

/// `/user/pool` with the children `worker-1`, `worker-2`, `worker-10` and `spare`; the first has a child `box`.
async fn pool(rule: &RuleContext, system: &System, journal: &Journal) -> ActorRef<ParentActor> {
    let pool = system.spawn(ParentActor { journal: journal.clone() }).name("pool").await.unwrap();
    for name in ["worker-1", "worker-2", "worker-10", "spare"] {
        let child = rule.soon("the child is spawned", pool.ask(AddChild(Some(name)))).await.unwrap();
        if name == "worker-1" {
            rule.soon("the grandchild is spawned", child.ask(AddChild(Some("box")))).await.unwrap();
        }
    }
    pool
}

async fn selects(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let later = select(&system, "/user/pool/worker-*");
    assert_eq!(places(&later), [""; 0]);
    let pool = pool(&rule, &system, &journal).await;
    assert_eq!(places(&later), ["/user/pool/worker-1", "/user/pool/worker-2", "/user/pool/worker-10"]);
    for (text, expected) in [
        ("/user/pool", &["/user/pool"][..]),
        ("user/pool/spare", &["/user/pool/spare"]),
        ("/user/pool/worker-?", &["/user/pool/worker-1", "/user/pool/worker-2"]),
        ("/user/*/*/box", &["/user/pool/worker-1/box"]),
        ("/*/pool/*1*", &["/user/pool/worker-1", "/user/pool/worker-10"]),
        ("/user/pool/*/../spare", &["/user/pool/spare"]),
        ("/user/pool/worker-1/./box/..", &["/user/pool/worker-1"]),
        ("pekko://test/user/pool/sp*", &["/user/pool/spare"]),
        ("pekko://test/user/pool/spare?query", &["/user/pool/spare"]),
        ("/user", &[]),
        ("", &[]),
        ("/user/pool/worker-3", &[]),
        ("/user/worker-1", &[]),
        ("/temp/*", &[]),
    ] {
        assert_eq!(places(&select(&system, text)), expected, "{text}");
    }
    let spare = select(&system, "/user/pool/spare").actors::<ParentActor>().remove(0);
    assert_eq!(
        select(&system, &format!("/user/pool/spare#{}", spare.uid())).actors(),
        std::slice::from_ref(&spare)
    );
    assert_eq!(places(&select(&system, "/user/pool/spare#1")), [""; 0], "another incarnation");
    let unnamed = rule.soon("the child is spawned", pool.ask(AddChild(None))).await.unwrap();
    assert_eq!(
        select(&system, &format!("/user/pool/${}", unnamed.id())).actors(),
        std::slice::from_ref(&unnamed)
    );
    assert_eq!(select(&system, "/user/pool/$*").actors(), std::slice::from_ref(&unnamed));

    let (gate, busy) = (Gate::new(), system.spawn(Worker::new(&Journal::new())).name("busy").await.unwrap());
    busy.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    assert_eq!(select(&system, "/user/bus?").actors(), [busy], "while it handles a message");
    gate.open();

    spare.stop();
    rule.soon("the selected actor ends", spare.wait()).await.unwrap();
    assert_eq!(places(&select(&system, "/user/pool/spare")), [""; 0]);
    let all = select(&system, "/user/pool/*");
    assert_eq!(all.identify().len(), 4);
    assert_eq!(all.to_string(), "pekko://test/user/pool/*");
}

async fn tells(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let pool = pool(&rule, &system, &journal).await;
    let _other = system.spawn(Worker::new(&Journal::new())).name("other").await.unwrap();
    assert_eq!(
        select(&system, "/user/*").tell::<ParentActor, _>(Mark(1)),
        1,
        "only actors of the given type"
    );
    assert_eq!(select(&system, "/user/pool/worker-*").tell::<ParentActor, _>(Mark(2)), 3);
    assert_eq!(
        select(&system, "/user/pool/*/..").tell::<ParentActor, _>(Mark(3)),
        1,
        "the parent is selected once"
    );
    let all: Vec<_> = select(&system, "/user/pool/*").actors::<ParentActor>();
    for actor in all.iter().chain([&pool]) {
        rule.soon("all messages are handled", actor.ask(Mark(0))).await.unwrap();
    }
    let noted = journal.entries();
    let marked = |mark: &str| noted.iter().filter(|entry| entry.starts_with(mark)).count();
    assert_eq!((marked("1 "), marked("2 "), marked("3 ")), (1, 3, 1));
    assert!(noted.contains(&"2 /user/pool/worker-10".to_owned()), "{noted:?}");
    assert_eq!(system.dead_letter_count(), 0);
}

async fn misses(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let pool = pool(&rule, &system, &journal).await;
    let mut feed = system.dead_letter_feed();
    for (text, printed, why) in [
        ("/user/nobody/*", "pekko://test/user/nobody/*", "no actor matches"),
        ("/user/pool/worker-?", "pekko://test/user/pool/worker-?", "Worker"),
        ("/user", "pekko://test/user", "no actor matches"),
    ] {
        let reached = if why == "Worker" {
            select(&system, text).tell::<Other, _>(Mark(1))
        } else {
            select(&system, text).tell::<ParentActor, _>(Mark(1))
        };
        assert_eq!(reached, 0);
        let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
        assert_eq!((&*letter.target.to_string(), letter.message), (printed, std::any::type_name::<Mark>()));
        assert_eq!(letter.text.as_deref(), Some("Mark(1)"));
        assert_eq!(
            (letter.error.kind(), letter.error.get("selection")),
            (ErrorKind::NoSuchActor, Some(printed))
        );
        let because = letter.error.get("because").expect("a reason");
        assert!(because.contains(if why == "Worker" { "Other" } else { why }), "{because}");
    }
    let gate = Gate::new();
    let (stopping, all) =
        (select(&system, "/user/pool").actors::<ParentActor>(), select(&system, "/user/pool"));
    assert_eq!(stopping, std::slice::from_ref(&pool));
    pool.tell(Wait(gate.clone())).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    pool.drain();
    assert_eq!(all.tell::<ParentActor, _>(Mark(2)), 0, "the actor is alive and refuses messages");
    let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
    assert_eq!(
        (&*letter.target.to_string(), letter.error.kind()),
        ("pekko://test/user/pool", ErrorKind::Stopped)
    );
    gate.open();
    rule.soon("the pool ends", pool.wait()).await.unwrap();
    assert_eq!(all.tell::<ParentActor, _>(Mark(3)), 0);
    let letter = rule.soon("a dead letter arrives", feed.next()).await.unwrap();
    assert_eq!(
        (&*letter.target.to_string(), letter.error.kind()),
        ("pekko://test/user/pool", ErrorKind::NoSuchActor)
    );
    assert_eq!(system.dead_letter_count(), 5);
}

/// Handles marks, and is never spawned.
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
    type Access = dactor_core::Exclusive;
}

impl Handler<Wait> for ParentActor {
    async fn handle(&mut self, Wait(gate): Wait, _ctx: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        Ok(())
    }
}

fn path_error(error: &Error) -> ActorPathError {
    let source = std::error::Error::source(error).expect("a source");
    *source.downcast_ref::<ActorPathError>().expect("an actor path error")
}

async fn relative(rule: RuleContext) {
    let (system, journal) = (rule.system(), Journal::new());
    let pool = pool(&rule, &system, &journal).await;
    let hidden = system.spawn_service(ParentActor { journal: journal.clone() }).name("hidden").await.unwrap();
    let first = select(&system, "/user/pool/worker-1").actors::<ParentActor>().remove(0);
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
        let picked = rule.soon("the actor selects", actor.ask(Pick(text))).await.unwrap();
        assert_eq!(picked.expect(text), expected, "{text}");
    }
    for (text, index) in
        [("../../..", 2), ("../../../system/hidden", 2), ("box/../../../..", 4), ("/user/..", 1), ("/..", 0)]
    {
        let error = rule.soon("the message is refused", first.ask(Pick(text))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath);
        assert_eq!(path_error(&error), ActorPathError::RelativeEscape { index }, "{text}");
    }
}

async fn refuses(rule: RuleContext) {
    let system = rule.system();
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
        "pekko://test/user/*#999",
        "pekko://test/user/a*#1",
        "/user/*#999",
        "/user/a/..#1",
        "/user/a/.#1",
        "pekko://test/user/a/..#1",
        "pekko://test/#1",
        "//test/user",
        "http://test/user",
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
    for other in ["pekko://other/user/*", "pekko://test@elsewhere:1/user/a", "pekko.tcp://test/user/a"] {
        assert_eq!(system.select(other).unwrap_err().kind(), ErrorKind::Unresolved, "{other}");
    }
    let deep = select(&system, &"a/".repeat(20_000));
    assert_eq!(places(&deep), [""; 0]);
    let up_and_down = select(&system, &format!("/user/{}*", "*/../".repeat(10_000)));
    assert_eq!(places(&up_and_down), [""; 0]);
}
