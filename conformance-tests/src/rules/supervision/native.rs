//! Native ends are not failures.

use dactor_core::testkit::Journal;
use dactor_core::{Directive, StopReason, Supervision};

use crate::fixtures::tree::{CountChildren, TreeSpec, child};
use crate::fixtures::worker::{Note, PanicWith};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-10",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::NativeStop),
            (Topic::Supervision, State::NativeKill),
            (Topic::Supervision, State::Dead),
        ],
        "A native stop or kill is not a failure: the actor is not restarted, and its parent and siblings are not affected.",
        "A native end is intended.",
        body!(native),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "SUPER-11",
        Topic::Supervision,
        &[(Topic::Supervision, State::RuntimeDropped)],
        "When the runtime is dropped, no actor is restarted.",
        "There is no runtime to restart it on.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

async fn native(rule: RuleContext) {
    for kill in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let strict = Supervision::all_for_one().always(Directive::Escalate);
        let spec =
            TreeSpec::new("parent").child(TreeSpec::new("a").supervision(strict)).child(TreeSpec::new("b"));
        let parent = spec.spawn(&system, &journal).await;
        let (a, b) = (child(&rule, &parent, "a").await, child(&rule, &parent, "b").await);
        if kill {
            rule.native_kill(&a).await
        } else {
            rule.native_stop(&a).await
        }
        let reason = rule.soon("the actor ends", a.wait()).await.unwrap();
        assert_eq!(matches!(reason, StopReason::Killed), kill, "{reason}");
        assert!(reason.failure().is_none(), "{reason}");
        assert_eq!(rule.soon("the sibling continues", b.ask(Note(1))).await.unwrap(), 1);
        assert_eq!(rule.soon("the parent continues", parent.ask(CountChildren())).await.unwrap(), 1);
        assert!(!journal.entries().iter().any(|entry| entry.contains("restart")), "{journal:?}");
    }
}

async fn runtime_dropped(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let (notes, inside) = (journal.clone(), system.clone());
    let actor = rule
        .on_dropped_runtime(move || async move {
            let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&inside, &notes).await;
            let child = parent.ask(crate::fixtures::tree::GetChild("a")).await.unwrap().unwrap();
            child.tell(PanicWith("no")).unwrap();
            child
        })
        .await;
    assert!(matches!(rule.soon("the actor has ended", actor.wait()).await.unwrap(), StopReason::Killed));
    rule.soon("all actors have ended", system.wait_all()).await.unwrap();
    assert_eq!(system.actor_count(), 0);
    let before = journal.len();
    rule.never("an actor continues", journal.wait_len(before + 1)).await;
}
