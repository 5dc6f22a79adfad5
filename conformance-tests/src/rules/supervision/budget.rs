//! Restart budgets.

use std::time::Duration;

use dactor_core::testkit::{Faults, Journal};
use dactor_core::{ActorRef, ErrorKind, Supervision};

use crate::fixtures::hooks::HookAction;
use crate::fixtures::tree::{TreeActor, TreeSpec, child, ending, named};
use crate::fixtures::worker::{Count, Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-21",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Failed)],
        "A budget of N allows exactly N restarts in any window; one more stops the actor as failed with that reason, and its parent fails with `ChildFailed`.",
        "A restart that does not help must not be repeated forever.",
        body!(window),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SUPER-22",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "Children that are restarted together share one budget; it is reset when their parent is restarted.",
        "The budget belongs to the group that fails together.",
        body!(shared),
    ),
    Rule::must(
        "SUPER-23",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A failing restart is charged to the budget like any other failure, and the last error says that the budget is spent.",
        "A restart that fails must not be repeated forever.",
        body!(failing_restarts),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// Lets the actor panic, and asserts that it was restarted.
async fn restarted(actor: &ActorRef<TreeActor>) {
    actor.tell(PanicWith("no")).unwrap();
    assert_eq!(actor.ask(Count()).await.unwrap(), 0);
}

async fn window(mut rule: RuleContext) {
    for late in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let twice = Supervision::one_for_one().budget(2, 10 * SECOND);
        let spec = TreeSpec::new("a").supervision(twice);
        let parent = TreeSpec::new("parent").supervision(Supervision::one_for_one().budget(0, SECOND));
        let parent = parent.child(spec).spawn(&system, &journal).await;
        let a = child(&rule, &parent, "a").await;
        restarted(&a).await;
        rule.clock().advance(3 * SECOND).await;
        restarted(&a).await;
        // The first restart leaves the window in this tick.
        rule.clock().advance(7 * SECOND).await;
        restarted(&a).await;
        rule.clock().advance(3 * SECOND - TICK).await;
        if late {
            rule.clock().advance(TICK).await;
            restarted(&a).await;
            assert!(parent.is_alive() == Some(true));
            continue;
        }
        a.tell(PanicWith("once more")).unwrap();
        let reason = a.wait().await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "actor")), (ErrorKind::Panicked, Some("a")));
        assert_eq!(error.get("restart"), Some("refused: more than 2 restarts in 10s"));
        assert!(format!("{error:#}").contains("once more"), "{error}");
        let reason = parent.wait().await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "child")), (ErrorKind::ChildFailed, Some("a")));
        assert!(format!("{error:#}").contains("2 restarts in 10s"), "{error}");
        assert_eq!(journal.count("a restart: Panicked"), 3);
    }
}

async fn shared(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let twice = Supervision::all_for_one().budget(2, 600 * SECOND);
    let spec = ["a", "b", "c"].into_iter().fold(TreeSpec::new("parent"), |spec, name| {
        spec.child(TreeSpec::new(name).supervision(twice.clone()))
    });
    let parent = spec.spawn(&system, &journal).await;
    for round in 0..2 {
        for name in ["a", "b"] {
            let failing = child(&rule, &parent, name).await;
            failing.tell(PanicWith("no")).unwrap();
            rule.soon("the actor is restarted", failing.ask(Note(1))).await.unwrap();
            for name in ["a", "b", "c"] {
                let other = child(&rule, &parent, name).await;
                rule.soon("the sibling is restarted", other.ask(Note(1))).await.unwrap();
            }
        }
        let c = child(&rule, &parent, "c").await;
        assert_eq!(journal.count("c restart: Panicked"), 2 * (round + 1));
        c.tell(PanicWith("once more")).unwrap();
        let reason = rule.soon("the actor ends", c.wait()).await.unwrap();
        let error = reason.failure().expect("a failure");
        assert!(error.get("restart").is_some_and(|why| why.contains("2 restarts")), "{error}");
        let fresh = child(&rule, &parent, "c").await;
        assert_ne!(fresh, c);
        assert_eq!(journal.count("parent restart: ChildFailed"), round + 1, "{journal:?}");
    }
}

async fn failing_restarts(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let faults = (1..10).fold(Faults::new(), |faults, call| faults.fail_on(call, "still bad"));
    let thrice = Supervision::one_for_one().budget(3, 600 * SECOND);
    let spec = TreeSpec::new("a").restart(HookAction::Inject(faults.clone())).supervision(thrice);
    let parent = TreeSpec::new("parent").child(spec).spawn(&system, &journal).await;
    let a = child(&rule, &parent, "a").await;
    a.tell(PanicWith("no")).unwrap();
    let reason = rule.soon("the actor ends", a.wait()).await.unwrap();
    assert_eq!(ending(&reason), "Failed");
    let error = reason.failure().expect("a failure");
    assert_eq!(error.get("hook"), Some("on_restart"));
    assert_eq!(error.get("restart"), Some("refused: more than 3 restarts in 600s"));
    assert_eq!(faults.calls(), 3);
    rule.soon("the parent fails with `ChildFailed`", journal.wait_for("parent restart: ChildFailed")).await;
}
