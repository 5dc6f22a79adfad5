//! Every failure with every strategy and every directive.

use std::sync::Arc;

use dactor_core::testkit::{Faults, Journal};
use dactor_core::{ActorRef, Directive, Error, ErrorKind, StopReason, Supervision};

use super::{ALL, DIRECTIVES, ONE, REST, Strategy, source};
use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::tree::{SpawnChild, TreeActor, TreeSpec, child, ending, named};
use crate::fixtures::worker::{Count, Fail, Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-01",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Failed)],
        "`on_error` decides about an `Err`. The supervision strategy decides about `Escalate` from `on_error`, about a panic of the handler and about a panic of `on_error`: the actor resumes with its state, is restarted, stops as failed, or stops as failed and its parent fails with it. With one-for-one, siblings are not affected.",
        "The decision does not depend on where the failure happened.",
        body!(one_for_one),
    ),
    Rule::must(
        "SUPER-02",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "All-for-one: a restart or stop of one child is a restart or stop of all children of its parent; otherwise as one-for-one (SUPER-01).",
        "Some actors only work together.",
        body!(all_for_one),
    ),
    Rule::must(
        "SUPER-03",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "Rest-for-one: a restart or stop of one child is a restart or stop of that child and of the children spawned after it; otherwise as one-for-one (SUPER-01).",
        "Later actors may depend on earlier ones, not the reverse.",
        body!(rest_for_one),
    ),
    Rule::must(
        "SUPER-04",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A failing or panicking `on_restart`, and a factory that panics, are failures that the supervision strategy decides about; `Resume` is not possible without an instance.",
        "A second failure during a restart must not escape supervision.",
        body!(restart_fails),
    ),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cause {
    /// `Err`, and the directive of `on_error`.
    Err(Directive),
    Panic,
    OnErrorPanics,
}

impl Cause {
    const ALL: [Self; 6] = [
        Self::Err(Directive::Resume),
        Self::Err(Directive::Restart),
        Self::Err(Directive::Stop),
        Self::Err(Directive::Escalate),
        Self::Panic,
        Self::OnErrorPanics,
    ];

    /// The directive that applies when the supervision strategy says `directive`.
    fn resolve(self, directive: Directive) -> Directive {
        match self {
            Self::Err(Directive::Escalate) | Self::Panic | Self::OnErrorPanics => directive,
            Self::Err(own) => own,
        }
    }

    fn kind(self) -> ErrorKind {
        if matches!(self, Self::Err(_)) { ErrorKind::Failed } else { ErrorKind::Panicked }
    }

    fn hooks(self) -> Hooks {
        match self {
            Self::Err(directive) => Hooks { directive, ..Hooks::default() },
            Self::Panic => Hooks::default(),
            Self::OnErrorPanics => Hooks { error: HookAction::Panic("worse"), ..Hooks::default() },
        }
    }
}

async fn one_for_one(rule: RuleContext) {
    table(&rule, ONE).await;
}

async fn all_for_one(rule: RuleContext) {
    table(&rule, ALL).await;
}

async fn rest_for_one(rule: RuleContext) {
    table(&rule, REST).await;
}

/// Three children and their parent, which stops when it fails.
struct Family {
    journal: Journal,
    parent: ActorRef<TreeActor>,
    children: Vec<ActorRef<TreeActor>>,
}

async fn family(rule: &RuleContext, supervision: Supervision, hooks: Hooks, failing_factory: bool) -> Family {
    let (journal, system) = (Journal::new(), rule.system());
    let mut parent = TreeSpec::new("parent").supervision(Supervision::one_for_one().always(Directive::Stop));
    for name in ["a", "b", "c"] {
        let mut spec = TreeSpec::new(name).supervision(supervision.clone());
        spec.hooks = hooks.clone();
        spec.failing_factory = (failing_factory && name == "b").then(Arc::default);
        parent = parent.child(spec);
    }
    let parent = parent.spawn(&system, &journal).await;
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        let child = child(rule, &parent, name).await;
        rule.soon("the child answers", child.ask(Note(1))).await.unwrap();
        children.push(child);
    }
    Family { journal, parent, children }
}

async fn table(rule: &RuleContext, (strategy, concerned): Strategy) {
    for cause in Cause::ALL {
        for directive in DIRECTIVES {
            let case = format!("{cause:?}, {directive:?}");
            let Family { journal, parent, children } =
                family(rule, strategy().always(directive), cause.hooks(), false).await;
            let b = &children[1];
            let answer = if cause == Cause::Panic {
                rule.soon("the asker gets the error", b.ask(PanicWith("no"))).await
            } else {
                rule.soon("the asker gets the error", b.ask(Fail("no"))).await
            };
            let told = if cause == Cause::Panic { ErrorKind::Panicked } else { ErrorKind::Failed };
            assert_eq!(answer.unwrap_err().kind(), told, "{case}");
            match cause.resolve(directive) {
                Directive::Resume => {
                    for child in &children {
                        assert_eq!(
                            rule.soon("the actor continues", child.ask(Count())).await.unwrap(),
                            1,
                            "{case}"
                        );
                    }
                }
                Directive::Restart => {
                    assert_eq!(
                        rule.soon("the actor is restarted", b.ask(Count())).await.unwrap(),
                        0,
                        "{case}"
                    );
                    for (child, concerned) in children.iter().zip(concerned) {
                        let name = child.name().unwrap();
                        let count = rule.soon("the actor continues", child.ask(Count())).await.unwrap();
                        assert_eq!(count, u32::from(!concerned), "{case}: {name}");
                        let note = format!("{name} restart: {:?}", cause.kind());
                        assert_eq!(journal.count(&note), usize::from(concerned), "{case}: {journal:?}");
                    }
                }
                Directive::Stop => {
                    for (child, concerned) in children.iter().zip(concerned) {
                        if !concerned {
                            assert_eq!(
                                rule.soon("the actor continues", child.ask(Count())).await.unwrap(),
                                1,
                                "{case}"
                            );
                            continue;
                        }
                        let expected =
                            if child == b { format!("{:?}", cause.kind()) } else { "stopped".to_owned() };
                        let reason = rule.soon("the actor ends", child.wait()).await.unwrap();
                        assert_eq!(ending(&reason), expected, "{case}");
                    }
                }
                _ => {
                    let reason = rule.soon("the parent ends", parent.wait()).await.unwrap();
                    let error = reason.failure().expect("a failure");
                    assert_eq!(
                        (error.kind(), named(error, "child")),
                        (ErrorKind::ChildFailed, Some("b")),
                        "{case}"
                    );
                    assert_eq!(source(error).kind(), cause.kind(), "{case}");
                    let ends: Vec<_> =
                        children.iter().map(|child| ending(&child.stop_reason().unwrap())).collect();
                    assert_eq!(ends, ["stopped", &format!("{:?}", cause.kind()), "stopped"], "{case}");
                    continue;
                }
            }
            assert!(parent.is_alive() == Some(true), "{case}");
            assert_eq!(journal.count("parent restart: ChildFailed"), 0, "{case}");
        }
    }
}

async fn restart_fails(rule: RuleContext) {
    for (strategy, concerned) in [ONE, ALL, REST] {
        for directive in DIRECTIVES {
            for (hook, restart, failing_factory, kind) in [
                (
                    "on_restart",
                    HookAction::Inject(Faults::new().fail_on(1, "still bad")),
                    false,
                    ErrorKind::Failed,
                ),
                (
                    "on_restart",
                    HookAction::Inject(Faults::new().panic_on(1, "still bad")),
                    false,
                    ErrorKind::Panicked,
                ),
                ("factory", HookAction::Succeed, true, ErrorKind::Panicked),
            ] {
                let case = format!("{hook} {kind:?}, {directive:?}, {concerned:?}");
                let decide = move |failure: &Error| match failure.get("hook") {
                    Some(_) => directive,
                    None => Directive::Restart,
                };
                // Only one child has a hook that fails.
                let Family { journal, parent, children } =
                    family(&rule, strategy().decide(decide), Hooks::default(), failing_factory).await;
                let b = if failing_factory {
                    children[1].clone()
                } else {
                    let spec = TreeSpec::new("d").restart(restart).supervision(strategy().decide(decide));
                    rule.soon("the child is spawned", parent.ask(SpawnChild(spec))).await.unwrap().unwrap()
                };
                b.tell(PanicWith("no")).unwrap();
                let name = b.name().unwrap().to_owned();
                match directive {
                    Directive::Restart => {
                        assert_eq!(
                            rule.soon("the actor is restarted", b.ask(Count())).await.unwrap(),
                            0,
                            "{case}"
                        );
                        // Where `on_restart` ran, the first attempt has a note of its own for the panic before.
                        let notes = if hook == "on_restart" && kind == ErrorKind::Panicked { 2 } else { 1 };
                        assert_eq!(
                            journal.count(&format!("{name} restart: {kind:?}")),
                            notes,
                            "{case}: {journal:?}"
                        );
                        assert!(parent.is_alive() == Some(true));
                        continue;
                    }
                    Directive::Escalate => {
                        let reason = rule.soon("the parent ends", parent.wait()).await.unwrap();
                        let error = reason.failure().expect("a failure");
                        assert_eq!(
                            (error.kind(), named(error, "child")),
                            (ErrorKind::ChildFailed, Some(&*name)),
                            "{case}"
                        );
                    }
                    _ => {}
                }
                let reason = rule.soon("the actor ends", b.wait()).await.unwrap();
                let error = reason.failure().unwrap_or_else(|| panic!("{case}: {reason}"));
                assert_eq!((error.kind(), error.get("hook")), (kind, Some(hook)), "{case}");
                assert_eq!(journal.count(&format!("{name} stop: {kind:?}, 0 children")), 0, "{case}");
                if directive == Directive::Stop && concerned[0] {
                    let reason = rule.soon("its sibling ends", children[0].wait()).await.unwrap();
                    assert!(matches!(reason, StopReason::Stopped), "{case}");
                }
                if directive != Directive::Escalate {
                    assert!(parent.is_alive() == Some(true), "{case}");
                }
            }
        }
    }
}
