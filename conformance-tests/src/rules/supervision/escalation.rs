//! Escalated failures.

use dactor_core::testkit::Journal;
use dactor_core::{Directive, ErrorKind, StopReason, Supervision};

use super::{ALL, DIRECTIVES, ONE, REST, source};
use crate::fixtures::tree::{CountChildren, TreeActor, TreeSpec, child, ending, named};
use crate::fixtures::worker::{Count, Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-05",
        Topic::Supervision,
        &[(Topic::Supervision, State::Idle), (Topic::Supervision, State::Failed)],
        "An escalated failure of a child fails its parent with `ChildFailed`, which names the child and has its failure as the source; the parent's own supervision strategy decides about it.",
        "A failure is escalated one level at a time.",
        body!(escalation),
    ),
    Rule::must(
        "SUPER-06",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "At the top level an escalation and a spent restart budget are a stop, which affects the actors that the strategy covers.",
        "An escalation must neither end the process nor be lost.",
        body!(top),
    ),
];

async fn escalation(rule: RuleContext) {
    for (strategy, together) in [(ONE.0, false), (ALL.0, true), (REST.0, true)] {
        for directive in DIRECTIVES {
            let case = format!("{directive:?}, together: {together}");
            let (journal, system) = (Journal::new(), rule.system());
            let child_spec =
                TreeSpec::new("c").supervision(Supervision::one_for_one().always(Directive::Escalate));
            let spec = TreeSpec::new("p").child(child_spec).child(TreeSpec::new("d"));
            let top = TreeSpec::new("top")
                .supervision(Supervision::one_for_one().always(Directive::Stop))
                .child(spec.supervision(strategy().always(directive)))
                .child(TreeSpec::new("q"));
            let top = top.spawn(&system, &journal).await;
            let (p, q) = (child(&rule, &top, "p").await, child(&rule, &top, "q").await);
            let (c, d) = (child(&rule, &p, "c").await, child(&rule, &p, "d").await);
            rule.soon("p answers", p.ask(Note(1))).await.unwrap();
            rule.soon("q answers", q.ask(Note(1))).await.unwrap();
            c.tell(PanicWith("no")).unwrap();
            assert_eq!(ending(&rule.soon("the child ends", c.wait()).await.unwrap()), "Panicked", "{case}");
            match directive {
                Directive::Resume => {
                    assert_eq!(rule.soon("the parent continues", p.ask(Count())).await.unwrap(), 1, "{case}");
                    assert_eq!(
                        rule.soon("the parent has the other child", p.ask(CountChildren())).await.unwrap(),
                        1,
                        "{case}"
                    );
                    assert!(d.is_alive() == Some(true) && top.is_alive() == Some(true), "{case}");
                }
                Directive::Restart => {
                    rule.soon("the parent is restarted", journal.wait_for("p restart: ChildFailed")).await;
                    assert_eq!(rule.soon("the parent continues", p.ask(Count())).await.unwrap(), 0, "{case}");
                    assert_eq!(
                        rule.soon("the parent has new children", p.ask(CountChildren())).await.unwrap(),
                        2,
                        "{case}"
                    );
                    assert!(matches!(d.stop_reason(), Some(StopReason::Stopped)), "{case}");
                    let count = rule.soon("the sibling continues", q.ask(Count())).await.unwrap();
                    assert_eq!(count, u32::from(!together), "{case}");
                }
                Directive::Stop => {
                    let reason = rule.soon("the parent ends", p.wait()).await.unwrap();
                    let error = reason.failure().expect("a failure");
                    assert_eq!(
                        (error.kind(), named(error, "child")),
                        (ErrorKind::ChildFailed, Some("c")),
                        "{case}"
                    );
                    assert_eq!(journal.count("p stop: ChildFailed, 0 children"), 1, "{case}: `on_stop` runs");
                    if together {
                        assert_eq!(
                            ending(&rule.soon("its sibling ends", q.wait()).await.unwrap()),
                            "stopped",
                            "{case}"
                        );
                    }
                    assert!(top.is_alive() == Some(true), "{case}");
                }
                _ => {
                    let reason = rule.soon("the top ends", top.wait()).await.unwrap();
                    let error = reason.failure().expect("a failure");
                    assert_eq!(
                        (error.kind(), named(error, "child")),
                        (ErrorKind::ChildFailed, Some("p")),
                        "{case}"
                    );
                    assert_eq!(named(source(error), "child"), Some("c"), "{case}");
                    assert_eq!(source(source(error)).kind(), ErrorKind::Panicked, "{case}");
                    assert!(format!("{error:#}").contains("no"), "{error}");
                    assert_eq!(system.actor_count(), 0, "{case}");
                }
            }
        }
    }
}

async fn top(rule: RuleContext) {
    let spent = || std::time::Duration::from_secs(600);
    for (supervision, together) in [
        (Supervision::one_for_one().always(Directive::Escalate), false),
        (Supervision::all_for_one().always(Directive::Escalate), true),
        (Supervision::one_for_one().budget(0, spent()), false),
        (Supervision::all_for_one().budget(0, spent()), true),
    ] {
        let case = format!("{supervision:?}");
        let (journal, system) = (Journal::new(), rule.builder().supervision(supervision).build().unwrap());
        let service =
            system.spawn_service(TreeActor::factory(&journal, TreeSpec::new("service"))).await.unwrap();
        let one = TreeSpec::new("one").spawn(&system, &journal).await;
        let two = TreeSpec::new("two").spawn(&system, &journal).await;
        one.tell(PanicWith("no")).unwrap();
        assert_eq!(ending(&rule.soon("the actor ends", one.wait()).await.unwrap()), "Panicked", "{case}");
        if together {
            assert_eq!(
                ending(&rule.soon("the other actor ends", two.wait()).await.unwrap()),
                "stopped",
                "{case}"
            );
        } else {
            assert_eq!(rule.soon("the other actor continues", two.ask(Note(1))).await.unwrap(), 1, "{case}");
        }
        let answer = rule.soon("the service answers", service.ask(Note(2))).await;
        assert_eq!(answer.unwrap(), 2, "{case}");
    }
}
