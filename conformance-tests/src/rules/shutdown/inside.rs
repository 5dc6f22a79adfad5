//! A shutdown awaited inside an actor's own turn, and one whose caller is dropped.

use dactor_core::testkit::Journal;
use dactor_core::{ErrorKind, Phase, System};

use crate::fixtures::self_caller::{RunAction, SelfCaller, action, assert_asked_itself};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SHUT-07",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Shutdown, State::Stopping)],
        "`shutdown` awaited in a handler, a hook or a phase returns `AskedItself` at once; the shutdown continues, its phases run, and other tasks may await it.",
        "A message that requests a shutdown must not block it.",
        body!(own_shutdown),
    ),
    Rule::must(
        "SHUT-08",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::RuntimeDropped)],
        "A shutdown continues when its caller is dropped; when its runtime is dropped, the next caller continues it.",
        "A shutdown with a timeout is dropped when the timeout expires.",
        body!(dropped),
    ),
];

fn phases(rule: &RuleContext, journal: &Journal) -> System {
    let (before, after) = (Phase::before_actors("before"), Phase::after_actors("after"));
    let system = rule.builder().phase(before).phase(after).build().unwrap();
    for phase in ["before", "after"] {
        let (journal, closing) = (journal.clone(), system.clone());
        let task = move || async move {
            let error =
                closing.shutdown().await.expect_err("the call cannot be awaited in the actor's own turn");
            assert_eq!(error.kind(), ErrorKind::AskedItself, "{error}");
            journal.note(phase);
            Ok(())
        };
        system.on_shutdown(phase, "note", task).unwrap();
    }
    system
}

async fn own_shutdown(rule: RuleContext) {
    for in_hook in [false, true] {
        let journal = Journal::new();
        let system = phases(&rule, &journal);
        let shut_down = action(|myself| async move {
            assert_asked_itself(myself.system().shutdown().await, "shutdown", &myself);
        });
        let mut caller = SelfCaller::new(&journal);
        if in_hook {
            caller.stop_action = Some(shut_down);
            system.spawn(caller).name("caller").await.unwrap().stop();
        } else {
            let actor = system.spawn(caller).name("caller").await.unwrap();
            rule.soon("the handler returns", actor.ask(RunAction(shut_down))).await.unwrap();
        }
        rule.soon("the last phase runs", journal.wait_for("after")).await;
        rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
        let mut entries = journal.entries();
        if in_hook {
            // The phase and the rest of the hook run concurrently.
            entries[..2].sort();
        }
        let stopped = if in_hook { "stop: stopped" } else { "stop: drained" };
        assert_eq!(entries, ["before", stopped, "after"]);
    }
}

async fn dropped(rule: RuleContext) {
    let journal = Journal::new();
    let system = phases(&rule, &journal);
    system.spawn(SelfCaller::new(&journal)).await.unwrap();
    let mut shutdown = Box::pin(system.shutdown());
    // On two threads the task of the shutdown may be done by now.
    let _ = futures_util::poll!(&mut shutdown);
    drop(shutdown);
    rule.soon("the last phase runs", journal.wait_for("after")).await;
    rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["before", "stop: drained", "after"]);

    let journal = Journal::new();
    let system = phases(&rule, &journal);
    system.spawn(SelfCaller::new(&journal)).await.unwrap();
    let closing = system.clone();
    rule.on_dropped_runtime(move || async move {
        let mut shutdown = Box::pin(closing.shutdown());
        assert!(futures_util::poll!(&mut shutdown).is_pending());
    })
    .await;
    rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["before", "stop: drained", "after"]);
}
