//! What a shutdown reports, and the one deadline of a tree.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Error, ErrorKind, Failure, Handler, Message, Outcome, Phase, StopReason,
    System, Terminated,
};

use super::body;
use crate::actors::{Act, Hold, Hooks, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-19",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping), (Topic::Tree, State::Drained)],
        "There is one deadline for a tree, however deep: an `on_stop` of 100 ms and 20 accepted messages of 20 ms at the bottom of twenty levels are done, with a grace of ten seconds, by a stop, a drain and a shutdown.",
        "The depth of a tree must not cost healthy actors their time.",
        body!(deep),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TREE-20",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "Of a line of actors that hang in `on_stop`, each is killed in turn, from the bottom, those between them that do not hang have their `on_stop`, and all have ended within the grace.",
        "At the kill point only those are killed that others wait for.",
        body!(hang_in_line),
    )
    .pace(Pace::Driven),
    Rule::must(
        "TREE-21",
        Topic::Tree,
        &[(Topic::Tree, State::Handling)],
        "A restart closes the family: a spawn that the lost instance made, and that is awaited after the restart has begun, is refused with `Stopped`; one that is still starting is killed, and its name is free for the new instance.",
        "A fresh instance begins without children of a life it does not know.",
        body!(late_child),
    ),
    Rule::must(
        "SHUT-09",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Shutdown, State::Killed), (Topic::Shutdown, State::Failed)],
        "Every caller of `shutdown`, at once, later, or again after it gave up, gets the same report: the phase that was not done, the actors that did not drain, were killed or failed, and an `on_stop` that returned an error.",
        "Whoever asks last must not be told that all is well.",
        body!(same_report),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SHUT-10",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::Handling)],
        "A grace of zero kills all actors at once; a grace without end never does.",
        "Both ends of the range are asked for.",
        body!(extremes),
    ),
    Rule::must(
        "START-10",
        Topic::Failure,
        &[(Topic::Failure, State::Starting)],
        "On a tokio runtime without a timer, `spawn` and `shutdown` are `NoRuntime`, and the error says what is missing.",
        "An actor that cannot wait for its children would be lost later, without a word.",
        body!(no_timer),
    ),
    Rule::must(
        "WATCH-18",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Killed)],
        "When `wait` returns, the notices of the watchers are in their mailboxes; in the handler of `Terminated` the other actor is not alive, and its reason is there.",
        "Whoever hears of an end in two ways must not see them in the wrong order.",
        body!(told_in_order),
    ),
];

const GRACE: Duration = Duration::from_secs(10);
const MILLI: Duration = Duration::from_millis(1);

/// One of a line of actors, each the child of the one before.
struct Link {
    below: usize,
    journal: Journal,
    /// What `on_stop` does, by how many are below.
    stop: fn(usize) -> Stop,
}

#[derive(Clone, Copy)]
enum Stop {
    Go,
    Take(Duration),
    Hang,
}

impl Actor for Link {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        if let Some(below) = self.below.checked_sub(1) {
            let (journal, stop) = (self.journal.clone(), self.stop);
            ctx.spawn(Link { below, journal, stop }).name("next").await?;
        }
        Ok(())
    }

    async fn on_stop(&mut self, _: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        match (self.stop)(self.below) {
            Stop::Go => {}
            Stop::Take(time) => tokio::time::sleep(time).await,
            Stop::Hang => std::future::pending().await,
        }
        self.journal.note(format!("stopped {}", self.below));
        Ok(())
    }
}

/// Finds the actor at the bottom.
struct Bottom;

impl Message for Bottom {
    type Reply = ActorRef<Link>;
}

impl Handler<Bottom> for Link {
    async fn handle(&mut self, _: Bottom, ctx: &mut Context<Self>) -> Outcome<ActorRef<Link>> {
        match ctx.child::<Link>("next") {
            Some(next) => ctx.forward(&next, Bottom),
            None => Ok(ctx.actor_ref().clone()),
        }
    }
}

struct Work;

impl Message for Work {
    type Reply = ();
}

impl Handler<Work> for Link {
    async fn handle(&mut self, _: Work, _: &mut Context<Self>) -> Outcome<()> {
        tokio::time::sleep(20 * MILLI).await;
        self.journal.note("worked");
        Ok(())
    }
}

async fn deep(mut lab: Lab) {
    for ending in ["stop", "drain", "shutdown"] {
        let (system, journal) = (lab.builder().grace(GRACE).build().unwrap(), Journal::new());
        let stop = |below| if below == 0 { Stop::Take(100 * MILLI) } else { Stop::Go };
        let top = system.spawn(Link { below: 19, journal: journal.clone(), stop }).await.unwrap();
        let bottom = top.ask(Bottom).await.unwrap();
        let works = if ending == "stop" { 0 } else { 20 };
        (0..works).for_each(|_| bottom.tell(Work).unwrap());
        let closing = system.clone();
        let shutdown = match ending {
            "stop" => None,
            "drain" => None,
            _ => Some(tokio::spawn(async move { closing.shutdown().await })),
        };
        match ending {
            "stop" => top.stop(),
            "drain" => top.drain(),
            _ => {}
        }
        for _ in 0..60 {
            lab.clock().advance(10 * MILLI).await;
        }
        let expected = if ending == "stop" { "stopped" } else { "drained" };
        assert_eq!(top.stop_reason().map(|reason| reason.to_string()).as_deref(), Some(expected), "{ending}");
        assert_eq!(bottom.stop_reason().unwrap().to_string(), expected, "{ending}");
        assert_eq!(journal.count("worked"), works);
        let stops: Vec<_> = (0..20).map(|below| format!("stopped {below}")).collect();
        assert_eq!(journal.entries()[works..], stops);
        if let Some(shutdown) = shutdown {
            shutdown.await.unwrap().unwrap();
        }
    }
}

async fn hang_in_line(mut lab: Lab) {
    for shut_down in [false, true] {
        let (system, journal) = (lab.builder().grace(GRACE).build().unwrap(), Journal::new());
        let stop = |below| if below % 2 == 0 { Stop::Hang } else { Stop::Take(MILLI) };
        let top = system.spawn(Link { below: 9, journal: journal.clone(), stop }).name("top").await.unwrap();
        let closing = system.clone();
        let shutdown = tokio::spawn(async move { if shut_down { closing.shutdown().await } else { Ok(()) } });
        if !shut_down {
            top.stop();
        }
        lab.clock().advance(GRACE / 4 * 3 - MILLI).await;
        assert!(journal.is_empty(), "killed too early");
        for _ in 0..130 {
            lab.clock().advance(10 * MILLI).await;
        }
        assert_eq!(journal.entries(), ["stopped 1", "stopped 3", "stopped 5", "stopped 7", "stopped 9"]);
        assert!(!top.is_alive() && system.live() == 0);
        if shut_down {
            let error = shutdown.await.unwrap().unwrap_err();
            let killed = error.get("did not stop").unwrap();
            assert_eq!(killed.split(' ').count(), 5, "{error}");
            assert!(!killed.split(' ').any(|path| path == "pekko://lab/user/top"), "it only waited: {error}");
        }
    }
}

/// Spawns a child in a task, at its own time.
struct Slow {
    first: bool,
    journal: Journal,
    gate: Gate,
    held: Gate,
}

impl Actor for Slow {
    async fn on_restart(&mut self, _: &Error, ctx: &mut Context<Self>) -> Outcome<()> {
        self.first = false;
        // The name is free, whatever the instance before has begun.
        ctx.spawn(Worker::new(&Journal::new())).name("starting").await?;
        ctx.spawn(Worker::new(&Journal::new())).name("late").await?;
        self.journal.note(format!("{} children", ctx.children()));
        Ok(())
    }
}

struct SpawnAndFail;

impl Message for SpawnAndFail {
    type Reply = ();
}

impl Handler<SpawnAndFail> for Slow {
    async fn handle(&mut self, _: SpawnAndFail, ctx: &mut Context<Self>) -> Outcome<()> {
        let hooks = Hooks { start: Act::Hold(self.held.clone()), ..Hooks::default() };
        let starting = ctx.spawn(Worker::with(&Journal::new(), hooks)).name("starting");
        let journal = self.journal.clone();
        tokio::spawn(async move {
            journal.note(format!("starting {:?}", starting.await.map_err(|e| e.kind()).err()))
        });
        self.held.reached().await;
        let (late, gate, journal) =
            (ctx.spawn(Worker::new(&Journal::new())).name("other"), self.gate.clone(), self.journal.clone());
        tokio::spawn(async move {
            gate.pass().await;
            let error = late.await.expect_err("its parent was restarted");
            journal.note(format!("late {:?} {}", error.kind(), error.get("parent").is_some()));
        });
        panic!("restart me");
    }
}

async fn late_child(lab: Lab) {
    let (system, journal, gate, held) = (lab.system(), Journal::new(), Gate::new(), Gate::new());
    let made = (journal.clone(), gate.clone(), held.clone());
    let factory =
        move || Slow { first: true, journal: made.0.clone(), gate: made.1.clone(), held: made.2.clone() };
    let parent = system.spawn(factory).await.unwrap();
    parent.tell(SpawnAndFail).unwrap();
    lab.soon("the restart", journal.wait_for("2 children")).await;
    gate.open();
    lab.soon("the late one is refused", journal.wait_for("late Stopped true")).await;
    held.open();
    lab.soon("the starting one is killed", journal.wait_for("starting Some(StartFailed)")).await;
    assert_eq!(system.live(), 3);
}

async fn same_report(mut lab: Lab) {
    let journal = Journal::new();
    let builder = lab.builder().grace(GRACE);
    let system = builder.phase(Phase::before_actors("leave").within(GRACE / 10)).build().unwrap();
    let gate = Gate::new();
    let reached = gate.clone();
    let hang = move || async move {
        reached.pass().await;
        Ok(())
    };
    system.on_shutdown("leave", "hangs", hang).unwrap();
    let spawn = async |name: &'static str, hooks| {
        system.spawn(Worker::with(&journal, hooks)).name(name).await.unwrap()
    };
    let held = Gate::new();
    let [killed, slow] = [spawn("killed", Hooks::default()).await, spawn("slow", Hooks::default()).await];
    for actor in [&killed, &slow] {
        actor.tell(Hold(1, held.clone())).unwrap();
    }
    held.reached_by(2).await;
    spawn("sour", Hooks { stop: Act::Fail("will not"), ..Hooks::default() }).await;
    let shutdown = |system: &System| {
        let system = system.clone();
        tokio::spawn(async move { system.shutdown().await })
    };
    let cancelled = shutdown(&system);
    gate.reached().await;
    cancelled.abort();
    let (first, second) = (shutdown(&system), shutdown(&system));
    lab.clock().advance(GRACE / 10).await;
    killed.kill();
    lab.clock().advance(GRACE / 2).await;
    held.open();
    lab.clock().advance(GRACE).await;
    let errors =
        [first.await.unwrap(), second.await.unwrap(), system.shutdown().await].map(Result::unwrap_err);
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
        assert_eq!(error.to_string(), errors[0].to_string());
        assert_eq!(error.get("phase"), Some("leave: hangs was not done within 1s"));
        assert_eq!(error.get("killed"), Some("pekko://lab/user/killed"));
        assert_eq!(error.get("did not drain"), Some("pekko://lab/user/slow"));
        assert_eq!((error.get("did not stop"), error.get("could not be killed")), (None, None));
        let failed = error.get("failed").expect("the hook failed");
        assert!(failed.contains("pekko://lab/user/sour") && failed.contains("will not"), "{failed}");
    }
}

async fn extremes(lab: Lab) {
    for _ in 0..10 {
        let system = lab.builder().grace(Duration::ZERO).build().unwrap();
        let journal = Journal::new();
        let idle = system.spawn(Worker::new(&journal)).name("idle").await.unwrap();
        let error = lab.soon("the shutdown returns", system.shutdown()).await.unwrap_err();
        assert_eq!(error.get("killed"), Some("pekko://lab/user/idle"), "{error}");
        assert_eq!(error.get("could not be killed"), None, "{error}");
        assert!(matches!(idle.stop_reason(), Some(StopReason::Killed)));
        assert_eq!(journal.entries(), ["start", "drop"]);
    }
    let system = lab.builder().grace(Duration::MAX).build().unwrap();
    let (journal, gate) = (Journal::new(), Gate::new());
    let top = system.spawn(Link { below: 2, journal: journal.clone(), stop: |_| Stop::Go }).await.unwrap();
    lab.soon("it stops", async {
        top.stop();
        top.wait().await
    })
    .await
    .unwrap();
    let busy = system.spawn(Worker::new(&journal)).await.unwrap();
    busy.tell(Hold(1, gate.clone())).unwrap();
    busy.tell(Note(2)).unwrap();
    lab.soon("it is busy", gate.reached()).await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    lab.rest().await;
    gate.open();
    lab.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
    assert!(matches!(busy.stop_reason(), Some(StopReason::Drained)));
}

async fn no_timer(lab: Lab) {
    let system = lab.system();
    let errors = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            [
                system.spawn(Worker::new(&Journal::new())).await.unwrap_err(),
                system.shutdown().await.unwrap_err(),
            ]
        })
    });
    for error in errors.join().unwrap() {
        assert_eq!(error.kind(), ErrorKind::NoRuntime);
        assert!(error.to_string().contains("enable_time"), "{error}");
    }
}

/// Notes what it finds when it is told of an end.
struct Mourner {
    target: ActorRef<Worker>,
    journal: Journal,
}

impl Actor for Mourner {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&self.target).map_err(Failure::from)
    }
}

impl Handler<Terminated> for Mourner {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("{} {}", self.target.is_alive(), self.target.stop_reason().is_some()));
        Ok(())
    }
}

struct Heard;

impl Message for Heard {
    type Reply = usize;
}

impl Handler<Heard> for Mourner {
    async fn handle(&mut self, _: Heard, _: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.journal.len())
    }
}

async fn told_in_order(lab: Lab) {
    let system = lab.system();
    for round in 0..100 {
        let journal = Journal::new();
        let target = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        let mut mourners = Vec::new();
        for _ in 0..20 {
            let mourner = Mourner { target: target.clone(), journal: Journal::new() };
            mourners.push((mourner.journal.clone(), system.spawn(mourner).await.unwrap()));
        }
        let waiting = target.clone();
        let asked = mourners.last().unwrap().1.clone();
        let waiter = tokio::spawn(async move {
            waiting.wait().await.unwrap();
            asked.ask(Heard).await.unwrap()
        });
        lab.rest().await;
        if round % 2 == 0 {
            target.stop()
        } else {
            target.kill()
        }
        assert_eq!(lab.soon("the waiter asks", waiter).await.unwrap(), 1, "round {round}");
        for (journal, _) in &mourners {
            lab.soon("all are told", journal.wait_len(1)).await;
            assert_eq!(journal.entries(), ["false true"], "round {round}");
        }
        drop(journal);
    }
}
