//! The report of a shutdown.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Phase, StopReason, System};

use crate::fixtures::chain::{ChainLink, StopBehavior};
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SHUT-09",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Shutdown, State::Killed), (Topic::Shutdown, State::Failed)],
        "Every caller of `shutdown` (concurrent, later, or again after dropping the first call) gets the same report: the phase that did not finish, the actors that did not drain, were killed or failed, and an `on_stop` that returned an error.",
        "The last caller must not be told that all is well.",
        body!(same_report),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SHUT-10",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::Handling)],
        "A grace period of zero kills all actors at once; an unlimited grace period kills none.",
        "Both ends of the range are valid.",
        body!(extremes),
    ),
];

const GRACE: Duration = Duration::from_secs(10);

async fn same_report(mut rule: RuleContext) {
    let journal = Journal::new();
    let builder = rule.builder().grace(GRACE);
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
    spawn("sour", Hooks { stop: HookAction::Fail("will not"), ..Hooks::default() }).await;
    let shutdown = |system: &System| {
        let system = system.clone();
        tokio::spawn(async move { system.shutdown().await })
    };
    let cancelled = shutdown(&system);
    gate.reached().await;
    cancelled.abort();
    let (first, second) = (shutdown(&system), shutdown(&system));
    rule.clock().advance(GRACE / 10).await;
    killed.kill();
    rule.clock().advance(GRACE / 2).await;
    held.open();
    rule.clock().advance(GRACE).await;
    let errors =
        [first.await.unwrap(), second.await.unwrap(), system.shutdown().await].map(Result::unwrap_err);
    for error in &errors {
        assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
        assert_eq!(error.to_string(), errors[0].to_string());
        assert_eq!(error.get("phase"), Some("leave: hangs was not done within 1s"));
        assert_eq!(error.get("killed"), Some("pekko://test/user/killed"));
        assert_eq!(error.get("did not drain"), Some("pekko://test/user/slow"));
        assert_eq!((error.get("did not stop"), error.get("could not be killed")), (None, None));
        let failed = error.get("failed").expect("the hook failed");
        assert!(failed.contains("pekko://test/user/sour") && failed.contains("will not"), "{failed}");
    }
}

async fn extremes(rule: RuleContext) {
    for _ in 0..10 {
        let system = rule.builder().grace(Duration::ZERO).build().unwrap();
        let journal = Journal::new();
        let idle = system.spawn(Worker::new(&journal)).name("idle").await.unwrap();
        let error = rule.soon("the shutdown returns", system.shutdown()).await.unwrap_err();
        assert_eq!(error.get("killed"), Some("pekko://test/user/idle"), "{error}");
        assert_eq!(error.get("could not be killed"), None, "{error}");
        assert!(matches!(idle.stop_reason(), Some(StopReason::Killed)));
        assert_eq!(journal.entries(), ["start", "drop"]);
    }
    let system = rule.builder().grace(Duration::MAX).build().unwrap();
    let (journal, gate) = (Journal::new(), Gate::new());
    let top = system
        .spawn(ChainLink { below: 2, journal: journal.clone(), stop: |_| StopBehavior::Return })
        .await
        .unwrap();
    rule.soon("the actor stops", async {
        top.stop();
        top.wait().await
    })
    .await
    .unwrap();
    let busy = system.spawn(Worker::new(&journal)).await.unwrap();
    busy.tell(Hold(1, gate.clone())).unwrap();
    busy.tell(Note(2)).unwrap();
    rule.soon("the actor is busy", gate.reached()).await;
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.let_idle().await;
    gate.open();
    rule.soon("the shutdown returns", shutdown).await.unwrap().unwrap();
    assert!(matches!(busy.stop_reason(), Some(StopReason::Drained)));
}
