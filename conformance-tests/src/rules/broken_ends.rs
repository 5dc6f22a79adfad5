//! User code that panics while an actor starts and ends, beside it, and where it would hurt somebody else.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{
    Actor, ActorRef, Context, Directive, Error, ErrorKind, Handler, Header, Inbound, Message, Outcome,
    Overflow, PendingReply, StopReason, Supervision, System,
};
use futures_util::stream::{self, StreamExt};

use super::body;
use super::broken::{Armed, Bomb, Spot};
use super::fixture::{Desk, give, pass, quick};
use crate::{Capability, Lab, Rule, State, Topic};

const HOUR: Duration = Duration::from_secs(3600);

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PANIC-09",
        Topic::Panic,
        &[(Topic::Panic, State::Starting), (Topic::Panic, State::Stopping)],
        "A hook that panics in its call, in its body or in its future's destructor has panicked: `on_start` fails the spawn, `on_restart` is another failure for the supervision, and after `on_stop` the actor has failed; the error names the hook.",
        "A hook need not be written as an `async fn`.",
        body!(hooks),
    ),
    Rule::must(
        "PANIC-10",
        Topic::Panic,
        &[(Topic::Panic, State::Killed), (Topic::Panic, State::Stopped), (Topic::Panic, State::Failed)],
        "An actor all of whose parts panic when they are dropped (a local of the running handler, headers, the instance, the factory, the supervision, an interceptor, timers, the stash, streams, pipes, queued messages) ends for the reason it had, each asker is answered once, its child has ended, its name is free, and no other actor is affected.",
        "A second panic while the first one unwinds would abort the process.",
        body!(ends),
    ),
    Rule::must(
        "PANIC-11",
        Topic::Panic,
        &[(Topic::Panic, State::NativeKill)],
        "The same holds for a native kill.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "PANIC-12",
        Topic::Panic,
        &[(Topic::Panic, State::RuntimeDropped)],
        "The same holds when the runtime of the actor is dropped.",
        "The native end is an end like any other.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "PANIC-13",
        Topic::Panic,
        &[(Topic::Panic, State::Dead), (Topic::Panic, State::Handling)],
        "A message that panics when it is described or dropped does no harm to the sender that is refused, nor to one whose message takes its place in a full mailbox; it is one dead letter.",
        "A message is not its sender's any more, and never another sender's.",
        body!(innocent_senders),
    ),
    Rule::must(
        "PANIC-14",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Supervision, State::Handling)],
        "A decision of a supervision that panics, an `Actor::supervision` that does, and either that panics when it is dropped, stops the failed actor with the failure it had.",
        "The reason must not be lost over the one who was to decide about it.",
        body!(decisions),
    ),
];

/// Panics when it is dropped, also while another panic unwinds: then, without a guard of its own, the process ends.
#[derive(Clone)]
struct Loud(bool);

impl Drop for Loud {
    fn drop(&mut self) {
        if self.0 {
            panic!("loud");
        }
    }
}

impl Header for Loud {
    const NAME: &'static str = "loud";
}

impl Inbound for Loud {}

/// Which hook panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hook {
    Start,
    Restart,
    Stop,
}

/// Panics in one of its hooks, the first time.
struct Hooked {
    hook: Hook,
    spot: Spot,
    times: Arc<AtomicUsize>,
}

impl Hooked {
    fn run(&self, hook: Hook) -> Pin<Box<dyn Future<Output = Outcome<()>> + Send>> {
        let first = hook == self.hook && self.times.fetch_add(1, Ordering::Relaxed) == 0;
        let spot = if first { self.spot } else { Spot::Nowhere };
        spot.panics_at(Spot::Call);
        match spot {
            Spot::FutureDrop => Box::pin(Armed::new(Ok(()), Bomb(true))),
            _ => Box::pin(async move {
                tokio::task::yield_now().await;
                spot.panics_at(Spot::Body);
                Ok(())
            }),
        }
    }
}

impl Actor for Hooked {
    fn on_start(&mut self, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Start)
    }

    fn on_restart(&mut self, _: &Error, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Restart)
    }

    fn on_stop(&mut self, _: &StopReason, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Stop)
    }
}

/// Panics in the handler, or does not.
struct Go(bool);

impl Message for Go {
    type Reply = ();
}

impl Handler<Go> for Hooked {
    async fn handle(&mut self, Go(panics): Go, _: &mut Context<Self>) -> Outcome<()> {
        assert!(!panics, "over");
        Ok(())
    }
}

async fn hooks(lab: Lab) {
    for spot in [Spot::Call, Spot::Body, Spot::FutureDrop] {
        for hook in [Hook::Start, Hook::Restart, Hook::Stop] {
            let (times, (system, events)) = (Arc::new(AtomicUsize::new(0)), lab.observed());
            let make = move || Hooked { hook, spot, times: times.clone() };
            let spawned = system.spawn(make).name("a").await;
            let case = format!("{spot:?} in {hook:?}");
            if hook == Hook::Start {
                let error = spawned.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::StartFailed, "{case}");
                assert_hook(std::error::Error::source(&error).unwrap(), "on_start", &case);
                assert_eq!(system.live(), 0, "{case}");
                continue;
            }
            let actor = spawned.unwrap();
            if hook == Hook::Restart {
                actor.tell(Go(true)).unwrap();
                lab.soon(&format!("{case}: it goes on"), actor.ask(Go(false))).await.unwrap();
                assert_eq!(events.journal().entries(), ["failed Go", "restarted"], "{case}");
                assert_hook(events.errors().last().unwrap(), "on_restart", &case);
            }
            actor.stop();
            let reason = lab.soon("the actor ends", actor.wait()).await.unwrap();
            match hook {
                Hook::Stop => assert_hook(reason.failure().expect(&case), "on_stop", &case),
                _ => assert!(matches!(reason, StopReason::Stopped), "{case}: {reason}"),
            }
        }
    }
}

fn assert_hook(error: &(dyn std::error::Error + 'static), hook: &str, case: &str) {
    let error = error.downcast_ref::<Error>().expect("an error of dactor's");
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some(hook)), "{case}: {error}");
}

/// An actor all of whose parts panic when they are dropped.
struct Doomed {
    #[expect(dead_code, reason = "it is dropped")]
    bomb: Loud,
}

enum Load {
    /// Waits at a gate, with something in hand.
    Hold(Gate),
    /// Is put aside.
    Keep(Loud),
}

impl Message for Load {
    type Reply = ();
}

impl Actor for Doomed {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(Desk::default()).name("child").await?;
        ctx.after(HOUR, Load::Keep(Loud(true)))?;
        let bomb = Loud(true);
        ctx.every(HOUR, move || Load::Keep(bomb.clone()))?;
        let bomb = Loud(true);
        ctx.attach(stream::pending::<Load>().inspect(move |_| {
            let _stream = &bomb;
        }));
        let bomb = Loud(true);
        ctx.pipe(async move {
            let _bomb = bomb;
            pending::<Load>().await
        });
        Ok(())
    }
}

impl Handler<Load> for Doomed {
    async fn handle(&mut self, load: Load, ctx: &mut Context<Self>) -> Outcome<()> {
        match load {
            Load::Keep(bomb) => ctx.stash(Load::Keep(bomb)),
            Load::Hold(gate) => {
                let local = Loud(true);
                gate.pass().await;
                std::mem::forget(local);
                Ok(())
            }
        }
    }
}

/// A doomed actor in its handler.
struct Scene {
    system: System,
    doomed: ActorRef<Doomed>,
    child: ActorRef<Desk>,
    gate: Gate,
    asked: PendingReply<Load>,
    behind: PendingReply<Load>,
}

impl Scene {
    /// `header` says whether the message in hand has a header that panics.
    async fn new(system: System, header: bool) -> Self {
        let (bomb, gate) = (Loud(true), Gate::new());
        let make = move || {
            let _factory = &bomb;
            Doomed { bomb: Loud(true) }
        };
        let bomb = Loud(true);
        let supervision = Supervision::one_for_one().decide(move |_| {
            let _decision = &bomb;
            Directive::Stop
        });
        let spawn = system.spawn(make).name("d").supervision(supervision).inbound(Loud(true));
        let doomed = spawn.await.unwrap();
        let child = child_of(&system, "d");
        doomed.tell(Load::Keep(Loud(true))).unwrap();
        let asked = doomed.ask(Load::Hold(gate.clone())).header(Loud(header)).enqueue().unwrap();
        gate.reached().await;
        doomed.tell(Load::Keep(Loud(true))).unwrap();
        // Its asker may take it back while a broken rule unwinds.
        let behind = doomed.ask(Load::Keep(Loud(false))).enqueue().unwrap();
        Self { system, doomed, child, gate, asked, behind }
    }

    async fn assert_settled(self, lab: &Lab, expected: &str, asked: Result<(), ErrorKind>) {
        let reason = lab.soon("the actor ends", self.doomed.wait()).await.unwrap();
        assert!(reason.to_string().starts_with(expected), "{reason} instead of {expected}");
        let answer = lab.soon("the asker is answered", self.asked).await;
        assert_eq!(answer.map_err(|error| error.kind()), asked, "{expected}");
        let error = lab.soon("the next asker is answered", self.behind).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped, "{expected}");
        lab.soon("the child ends", self.child.wait()).await.unwrap();
        let again = lab.soon("the name is free", self.system.spawn(Desk::default()).name("d")).await.unwrap();
        assert_eq!(lab.soon("another actor works", again.ask(give(1))).await.unwrap(), 1);
    }
}

async fn ends(lab: Lab) {
    let scene = || async { lab.soon("the actor works", Scene::new(lab.system(), true)).await };
    let killed = scene().await;
    killed.doomed.kill();
    killed.assert_settled(&lab, "killed", Err(ErrorKind::Interrupted)).await;

    let failed = scene().await;
    failed.gate.open();
    failed.assert_settled(&lab, "failed", Ok(())).await;

    let stopped = lab.soon("the actor works", Scene::new(lab.system(), false)).await;
    stopped.doomed.stop();
    stopped.gate.open();
    stopped.assert_settled(&lab, "stopped", Ok(())).await;
}

async fn native_kill(lab: Lab) {
    let scene = lab.soon("the actor works", Scene::new(lab.system(), true)).await;
    lab.native_kill(&scene.doomed).await;
    scene.assert_settled(&lab, "killed", Err(ErrorKind::Interrupted)).await;
}

async fn runtime_dropped(lab: Lab) {
    let system = lab.system();
    let scene = lab.soon("the runtime is dropped", lab.elsewhere(move || Scene::new(system, true))).await;
    scene.assert_settled(&lab, "killed", Err(ErrorKind::Interrupted)).await;
}

fn child_of(system: &System, parent: &str) -> ActorRef<Desk> {
    let path = format!("pekko://lab/user/{parent}/child").parse().unwrap();
    system.actor_at(&path).expect("a child")
}

/// A message that panics when it is described or dropped.
struct Vile(#[expect(dead_code, reason = "it is dropped")] Loud);

impl Message for Vile {
    type Reply = u32;

    fn describe(&self) -> Option<String> {
        panic!("a description");
    }
}

impl Handler<Vile> for Desk {
    async fn handle(&mut self, vile: Vile, _: &mut Context<Self>) -> Outcome<u32> {
        std::mem::forget(vile);
        Ok(1)
    }
}

async fn innocent_senders(lab: Lab) {
    let vile = || Vile(Loud(true));
    let (gate, (system, events)) = (Gate::new(), lab.observed());
    let dead = system.spawn(Desk::default()).await.unwrap();
    dead.stop();
    lab.soon("the actor ends", dead.wait()).await.unwrap();
    assert_eq!(dead.tell(vile()).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(lab.soon("a send is over", dead.send(vile())).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(lab.soon("an ask is over", dead.ask(vile())).await.unwrap_err().kind(), ErrorKind::Stopped);

    let full = system.spawn(Desk::default()).bounded(1, Overflow::DropOldest).await.unwrap();
    full.tell(pass(&gate)).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let evicted = full.ask(vile()).enqueue().unwrap();
    full.tell(vile()).unwrap();
    full.tell(give(1)).unwrap();
    assert_eq!(lab.soon("the asker is told", evicted).await.unwrap_err().kind(), ErrorKind::MailboxFull);
    gate.open();
    let idle = async {
        while full.queued() > 0 {
            tokio::task::yield_now().await;
        }
    };
    lab.soon("there is room", idle).await;
    assert_eq!(lab.soon("the actor goes on", full.ask(vile())).await.unwrap(), 1);
    assert_eq!(events.journal().entries(), ["dead Vile"; 5]);
    assert_eq!(system.dead_letters(), 5);
}

/// A parent whose supervision panics.
struct Undecided;

impl Actor for Undecided {
    fn supervision() -> Supervision {
        panic!("undecided");
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(Desk::default).name("child").await?;
        Ok(())
    }
}

/// A parent whose supervision panics when it is dropped.
struct Hesitant;

impl Actor for Hesitant {
    fn supervision() -> Supervision {
        let bomb = Loud(true);
        Supervision::one_for_one().decide(move |_| {
            let _decision = &bomb;
            Directive::Stop
        })
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(Desk::default).name("child").await?;
        Ok(())
    }
}

async fn decisions(lab: Lab) {
    let system = lab.system();
    let hesitant = system.spawn(Hesitant).name("d").await.unwrap();
    let hesitates = child_of(&system, "d");
    let parent = system.spawn(Undecided).name("p").await.unwrap();
    let child = child_of(&system, "p");
    let panics = Supervision::one_for_one().decide(|_| panic!("undecided"));
    let bomb = Loud(true);
    let bombs = Supervision::one_for_one().decide(move |_| {
        let _decision = &bomb;
        Directive::Stop
    });
    let (make, also) = (Desk::default, Desk::default);
    let panics = system.spawn(make).supervision(panics).await.unwrap();
    let bombs = system.spawn(also).supervision(bombs).await.unwrap();
    for actor in [child, hesitates, panics, bombs] {
        actor.tell(quick(|_, _| panic!("the first"))).unwrap();
        let reason = lab.soon("the actor ends", actor.wait()).await.unwrap();
        let failure = reason.failure().expect("a failure");
        assert_eq!(failure.kind(), ErrorKind::Panicked);
        assert_eq!(std::error::Error::source(failure).unwrap().to_string(), "the first");
    }
    assert!(parent.is_alive() && hesitant.is_alive());
}
