//! Actors whose parts panic when they are dropped.

use std::future::pending;
use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{
    Actor, ActorRef, Context, Directive, ErrorKind, Handler, Message, Outcome, PendingReply, Supervision,
    System,
};
use futures_util::stream::{self, StreamExt};

use super::child_of;
use crate::fixtures::panicking::AlwaysPanicOnDrop;
use crate::fixtures::scripted::{ScriptedActor, reply_with};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PANIC-10",
        Topic::Panic,
        &[(Topic::Panic, State::Killed), (Topic::Panic, State::Stopped), (Topic::Panic, State::Failed)],
        "An actor whose parts all panic when they are dropped (a local of the running handler, headers, the instance, the factory, the supervision strategy, an interceptor, timers, the stash, streams, pipes, queued messages) ends with its original reason: each asker is answered once, its child has ended, its name is free, and no other actor is affected.",
        "A second panic during unwinding would abort the process.",
        body!(ends),
    ),
    Rule::must(
        "PANIC-11",
        Topic::Panic,
        &[(Topic::Panic, State::NativeKill)],
        "A native kill of an actor whose parts all panic when they are dropped ends it like any other kill (PANIC-10).",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "PANIC-12",
        Topic::Panic,
        &[(Topic::Panic, State::RuntimeDropped)],
        "Dropping the runtime of an actor whose parts all panic when they are dropped ends it like a kill (PANIC-10).",
        "A dropped runtime is an ordinary end of an actor.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

const HOUR: Duration = Duration::from_secs(3600);

/// An actor whose parts all panic when they are dropped.
struct PanickingParts {
    #[expect(dead_code, reason = "it is dropped")]
    panicking: AlwaysPanicOnDrop,
}

enum Step {
    /// Waits at a gate while a local panics on drop.
    Hold(Gate),
    /// Stashes the message.
    Keep(AlwaysPanicOnDrop),
}

impl Message for Step {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Actor for PanickingParts {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(ScriptedActor::default()).name("child").await?;
        ctx.after(HOUR, Step::Keep(AlwaysPanicOnDrop(true)))?;
        let panicking = AlwaysPanicOnDrop(true);
        ctx.every(HOUR, move || Step::Keep(panicking.clone()))?;
        let panicking = AlwaysPanicOnDrop(true);
        ctx.attach(stream::pending::<Step>().inspect(move |_| {
            let _stream = &panicking;
        }));
        let panicking = AlwaysPanicOnDrop(true);
        ctx.pipe(async move {
            let _bomb = panicking;
            pending::<Step>().await
        });
        Ok(())
    }
}

impl Handler<Step> for PanickingParts {
    async fn handle(&mut self, step: Step, ctx: &mut Context<Self>) -> Outcome<()> {
        match step {
            Step::Keep(panicking) => ctx.stash(Step::Keep(panicking)),
            Step::Hold(gate) => {
                let local = AlwaysPanicOnDrop(true);
                gate.pass().await;
                std::mem::forget(local);
                Ok(())
            }
        }
    }
}

/// The actor in its handler.
struct Setup {
    system: System,
    actor: ActorRef<PanickingParts>,
    child: ActorRef<ScriptedActor>,
    gate: Gate,
    asked: PendingReply<Step>,
    behind: PendingReply<Step>,
}

impl Setup {
    /// `header` says whether the current message has a header that panics on drop.
    async fn new(system: System, header: bool) -> Self {
        let (panicking, gate) = (AlwaysPanicOnDrop(true), Gate::new());
        let make = move || {
            let _factory = &panicking;
            PanickingParts { panicking: AlwaysPanicOnDrop(true) }
        };
        let panicking = AlwaysPanicOnDrop(true);
        let supervision = Supervision::one_for_one().decide(move |_| {
            let _decision = &panicking;
            Directive::Stop
        });
        let spawn = system.spawn(make).name("d").supervision(supervision).inbound(AlwaysPanicOnDrop(true));
        let actor = spawn.await.unwrap();
        let child = child_of(&system, "d");
        actor.tell(Step::Keep(AlwaysPanicOnDrop(true))).unwrap();
        let asked = actor.ask(Step::Hold(gate.clone())).header(AlwaysPanicOnDrop(header)).enqueue().unwrap();
        gate.reached().await;
        actor.tell(Step::Keep(AlwaysPanicOnDrop(true))).unwrap();
        // The asker may withdraw it while a failed rule unwinds.
        let behind = actor.ask(Step::Keep(AlwaysPanicOnDrop(false))).enqueue().unwrap();
        Self { system, actor, child, gate, asked, behind }
    }

    async fn assert_settled(self, rule: &RuleContext, expected: &str, asked: Result<(), ErrorKind>) {
        let reason = rule.soon("the actor ends", self.actor.wait()).await.unwrap();
        assert!(reason.to_string().starts_with(expected), "{reason} instead of {expected}");
        let answer = rule.soon("the asker is answered", self.asked).await;
        assert_eq!(answer.map_err(|error| error.kind()), asked, "{expected}");
        let error = rule.soon("the next asker is answered", self.behind).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped, "{expected}");
        rule.soon("the child ends", self.child.wait()).await.unwrap();
        let again = rule
            .soon("the name is free", self.system.spawn(ScriptedActor::default()).name("d"))
            .await
            .unwrap();
        assert_eq!(rule.soon("another actor answers", again.ask(reply_with(1))).await.unwrap(), 1);
    }
}

async fn ends(rule: RuleContext) {
    let setup = || async { rule.soon("the handler runs", Setup::new(rule.system(), true)).await };
    let killed = setup().await;
    killed.actor.kill();
    killed.assert_settled(&rule, "killed", Err(ErrorKind::Interrupted)).await;

    let failed = setup().await;
    failed.gate.open();
    failed.assert_settled(&rule, "failed", Ok(())).await;

    let stopped = rule.soon("the handler runs", Setup::new(rule.system(), false)).await;
    stopped.actor.stop();
    stopped.gate.open();
    stopped.assert_settled(&rule, "stopped", Ok(())).await;
}

async fn native_kill(rule: RuleContext) {
    let setup = rule.soon("the handler runs", Setup::new(rule.system(), true)).await;
    rule.native_kill(&setup.actor).await;
    setup.assert_settled(&rule, "killed", Err(ErrorKind::Interrupted)).await;
}

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let setup =
        rule.soon("the runtime is dropped", rule.on_dropped_runtime(move || Setup::new(system, true))).await;
    setup.assert_settled(&rule, "killed", Err(ErrorKind::Interrupted)).await;
}
