//! What becomes of an actor that fails: each failure, each strategy, each directive.

use std::error::Error as _;
use std::sync::Arc;

use dactor_core::testkit::{Faults, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Directive, Error, ErrorKind, Handler, Outcome, StopReason, Supervision,
};

use super::body;
use super::family::child;
use super::member::{Bear, BearValue, Children, Member, Plan, ending, last_name, named};
use crate::actors::{Act, Boom, Count, Fail, Hooks, Note, Worker};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-01",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Failed)],
        "An `Err` is met as `on_error` says; `Escalate` from there, a panic of the handler and a panic of `on_error` are met as the supervision says: resumed with its state, restarted, stopped as failed, or stopped as failed with its parent failing over it. One-for-one: nobody else is concerned.",
        "Who decides about a failure must not depend on where it happened.",
        body!(one_for_one),
    ),
    Rule::must(
        "SUPER-02",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "All-for-one: the same, and a restart or stop of one is a restart or stop of all children of its parent.",
        "Some actors make no sense without each other.",
        body!(all_for_one),
    ),
    Rule::must(
        "SUPER-03",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Idle)],
        "Rest-for-one: the same, for those who were spawned after the failed one.",
        "Later actors may be built on earlier ones, not the reverse.",
        body!(rest_for_one),
    ),
    Rule::must(
        "SUPER-04",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "An `on_restart` that fails or panics, and a factory that panics, are failures like others: the supervision decides, and `Resume` is not possible without an instance.",
        "A second failure on the way back must not escape supervision.",
        body!(restart_fails),
    ),
    Rule::must(
        "SUPER-05",
        Topic::Supervision,
        &[(Topic::Supervision, State::Idle), (Topic::Supervision, State::Failed)],
        "A child's escalation is a failure of its parent, `ChildFailed` with the child's name and its failure as the source; the parent's own supervision decides about that.",
        "Whoever cannot decide passes it up, one level at a time.",
        body!(escalation),
    ),
    Rule::must(
        "SUPER-06",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "Nobody is above the top: there an escalation, and a spent budget, are a stop, which concerns those that the strategy says.",
        "An escalation must not end the process, nor be lost.",
        body!(top),
    ),
    Rule::must(
        "SUPER-07",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A spawn's own supervision comes before the parent's; without one, `Actor::supervision` of the parent decides, and for top-level actors the system's; the default restarts what has a factory and stops what has none.",
        "The one who spawns an actor knows it best.",
        body!(precedence),
    ),
    Rule::must(
        "SUPER-08",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A supervision that panics stops the failed actor as failed, and nobody else.",
        "The code that repairs may be broken, too.",
        body!(supervision_panics),
    ),
    Rule::must(
        "SUPER-09",
        Topic::Supervision,
        &[(Topic::Supervision, State::Starting)],
        "An `on_start` that fails is answered by the spawn, and is not met by supervision.",
        "Whoever awaits the spawn is told, and decides.",
        body!(start),
    ),
    Rule::must(
        "SUPER-10",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::NativeStop),
            (Topic::Supervision, State::NativeKill),
            (Topic::Supervision, State::Dead),
        ],
        "A native stop or kill from outside is no failure: the actor is not restarted, and its parent and siblings are not concerned.",
        "Whoever ends an actor natively means it.",
        body!(native),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "SUPER-11",
        Topic::Supervision,
        &[(Topic::Supervision, State::RuntimeDropped)],
        "When the runtime is dropped nothing is restarted.",
        "There is nowhere to restart it.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "SUPER-12",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "Every restart is an event that names the actor and the failure.",
        "What repairs itself in silence is never looked at.",
        body!(event),
    ),
    Rule::must(
        "SUPER-13",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A restart without a factory stops the actor as failed, and says so; its `on_stop` runs unless it panicked.",
        "The mistake is in the spawn, and the error must point there.",
        body!(no_factory),
    ),
];

const DIRECTIVES: [Directive; 4] =
    [Directive::Resume, Directive::Restart, Directive::Stop, Directive::Escalate];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cause {
    /// `Err`, and what `on_error` says.
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

    /// What follows, where the supervision says `directive`.
    fn meets(self, directive: Directive) -> Directive {
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
            Self::OnErrorPanics => Hooks { error: Act::Panic("worse"), ..Hooks::default() },
        }
    }
}

/// A strategy, and which of `a`, `b` and `c` it concerns when `b` fails.
type Strategy = (fn() -> Supervision, [bool; 3]);

const ONE: Strategy = (Supervision::one_for_one, [false, true, false]);
const ALL: Strategy = (Supervision::all_for_one, [true, true, true]);
const REST: Strategy = (Supervision::rest_for_one, [false, true, true]);

async fn one_for_one(lab: Lab) {
    table(&lab, ONE).await;
}

async fn all_for_one(lab: Lab) {
    table(&lab, ALL).await;
}

async fn rest_for_one(lab: Lab) {
    table(&lab, REST).await;
}

/// A parent that stops when it fails, and its children.
struct Family {
    journal: Journal,
    parent: ActorRef<Member>,
    children: Vec<ActorRef<Member>>,
}

async fn family(lab: &Lab, supervision: Supervision, hooks: Hooks, flawed: bool) -> Family {
    let (journal, system) = (Journal::new(), lab.system());
    let mut parent = Plan::new("parent").supervision(Supervision::one_for_one().always(Directive::Stop));
    for name in ["a", "b", "c"] {
        let mut plan = Plan::new(name).supervision(supervision.clone());
        plan.hooks = hooks.clone();
        plan.flawed = (flawed && name == "b").then(Arc::default);
        parent = parent.child(plan);
    }
    let parent = parent.spawn(&system, &journal).await;
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        let child = child(lab, &parent, name).await;
        lab.soon("the child answers", child.ask(Note(1))).await.unwrap();
        children.push(child);
    }
    Family { journal, parent, children }
}

async fn table(lab: &Lab, (strategy, concerned): Strategy) {
    for cause in Cause::ALL {
        for directive in DIRECTIVES {
            let case = format!("{cause:?}, {directive:?}");
            let Family { journal, parent, children } =
                family(lab, strategy().always(directive), cause.hooks(), false).await;
            let b = &children[1];
            let answer = if cause == Cause::Panic {
                lab.soon("the asker is told", b.ask(Boom("no"))).await
            } else {
                lab.soon("the asker is told", b.ask(Fail("no"))).await
            };
            let told = if cause == Cause::Panic { ErrorKind::Panicked } else { ErrorKind::Failed };
            assert_eq!(answer.unwrap_err().kind(), told, "{case}");
            match cause.meets(directive) {
                Directive::Resume => {
                    for child in &children {
                        assert_eq!(lab.soon("it goes on", child.ask(Count())).await.unwrap(), 1, "{case}");
                    }
                }
                Directive::Restart => {
                    assert_eq!(lab.soon("it is restarted", b.ask(Count())).await.unwrap(), 0, "{case}");
                    for (child, concerned) in children.iter().zip(concerned) {
                        let name = child.name().unwrap();
                        let count = lab.soon("it goes on", child.ask(Count())).await.unwrap();
                        assert_eq!(count, u32::from(!concerned), "{case}: {name}");
                        let note = format!("{name} restart: {:?}", cause.kind());
                        assert_eq!(journal.count(&note), usize::from(concerned), "{case}: {journal:?}");
                    }
                }
                Directive::Stop => {
                    for (child, concerned) in children.iter().zip(concerned) {
                        if !concerned {
                            assert_eq!(
                                lab.soon("it goes on", child.ask(Count())).await.unwrap(),
                                1,
                                "{case}"
                            );
                            continue;
                        }
                        let expected =
                            if child == b { format!("{:?}", cause.kind()) } else { "stopped".to_owned() };
                        let reason = lab.soon("it ends", child.wait()).await.unwrap();
                        assert_eq!(ending(&reason), expected, "{case}");
                    }
                }
                _ => {
                    let reason = lab.soon("the parent ends", parent.wait()).await.unwrap();
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
            assert!(parent.is_alive(), "{case}");
            assert_eq!(journal.count("parent restart: ChildFailed"), 0, "{case}");
        }
    }
}

fn source(error: &Error) -> &Error {
    error.source().and_then(|source| source.downcast_ref()).unwrap_or_else(|| panic!("no source: {error}"))
}

async fn restart_fails(lab: Lab) {
    for (strategy, concerned) in [ONE, ALL, REST] {
        for directive in DIRECTIVES {
            for (hook, restart, flawed, kind) in [
                ("on_restart", Act::Strike(Faults::new().fail_on(1, "still bad")), false, ErrorKind::Failed),
                (
                    "on_restart",
                    Act::Strike(Faults::new().panic_on(1, "still bad")),
                    false,
                    ErrorKind::Panicked,
                ),
                ("factory", Act::Go, true, ErrorKind::Panicked),
            ] {
                let case = format!("{hook} {kind:?}, {directive:?}, {concerned:?}");
                let decide = move |failure: &Error| match failure.get("hook") {
                    Some(_) => directive,
                    None => Directive::Restart,
                };
                // Only `b` has a hook that fails.
                let Family { journal, parent, children } =
                    family(&lab, strategy().decide(decide), Hooks::default(), flawed).await;
                let b = if flawed {
                    children[1].clone()
                } else {
                    let plan = Plan::new("d").restart(restart).supervision(strategy().decide(decide));
                    lab.soon("a child", parent.ask(Bear(plan))).await.unwrap().unwrap()
                };
                b.tell(Boom("no")).unwrap();
                let name = b.name().unwrap().to_owned();
                match directive {
                    Directive::Restart => {
                        assert_eq!(lab.soon("it is restarted", b.ask(Count())).await.unwrap(), 0, "{case}");
                        // The first try has a note of its own where it got as far as that, for the panic before.
                        let notes = if hook == "on_restart" && kind == ErrorKind::Panicked { 2 } else { 1 };
                        assert_eq!(
                            journal.count(&format!("{name} restart: {kind:?}")),
                            notes,
                            "{case}: {journal:?}"
                        );
                        assert!(parent.is_alive());
                        continue;
                    }
                    Directive::Escalate => {
                        let reason = lab.soon("the parent ends", parent.wait()).await.unwrap();
                        let error = reason.failure().expect("a failure");
                        assert_eq!(
                            (error.kind(), named(error, "child")),
                            (ErrorKind::ChildFailed, Some(&*name)),
                            "{case}"
                        );
                    }
                    _ => {}
                }
                let reason = lab.soon("it ends", b.wait()).await.unwrap();
                let error = reason.failure().unwrap_or_else(|| panic!("{case}: {reason}"));
                assert_eq!((error.kind(), error.get("hook")), (kind, Some(hook)), "{case}");
                assert_eq!(journal.count(&format!("{name} stop: {kind:?}, 0 children")), 0, "{case}");
                if directive == Directive::Stop && concerned[0] {
                    let reason = lab.soon("its sibling ends", children[0].wait()).await.unwrap();
                    assert!(matches!(reason, StopReason::Stopped), "{case}");
                }
                if directive != Directive::Escalate {
                    assert!(parent.is_alive(), "{case}");
                }
            }
        }
    }
}

async fn escalation(lab: Lab) {
    for (strategy, together) in [(ONE.0, false), (ALL.0, true), (REST.0, true)] {
        for directive in DIRECTIVES {
            let case = format!("{directive:?}, together: {together}");
            let (journal, system) = (Journal::new(), lab.system());
            let child_plan =
                Plan::new("c").supervision(Supervision::one_for_one().always(Directive::Escalate));
            let plan = Plan::new("p").child(child_plan).child(Plan::new("d"));
            let top = Plan::new("top")
                .supervision(Supervision::one_for_one().always(Directive::Stop))
                .child(plan.supervision(strategy().always(directive)))
                .child(Plan::new("q"));
            let top = top.spawn(&system, &journal).await;
            let (p, q) = (child(&lab, &top, "p").await, child(&lab, &top, "q").await);
            let (c, d) = (child(&lab, &p, "c").await, child(&lab, &p, "d").await);
            lab.soon("p answers", p.ask(Note(1))).await.unwrap();
            lab.soon("q answers", q.ask(Note(1))).await.unwrap();
            c.tell(Boom("no")).unwrap();
            assert_eq!(ending(&lab.soon("the child ends", c.wait()).await.unwrap()), "Panicked", "{case}");
            match directive {
                Directive::Resume => {
                    assert_eq!(lab.soon("the parent goes on", p.ask(Count())).await.unwrap(), 1, "{case}");
                    assert_eq!(
                        lab.soon("with the other child", p.ask(Children())).await.unwrap(),
                        1,
                        "{case}"
                    );
                    assert!(d.is_alive() && top.is_alive(), "{case}");
                }
                Directive::Restart => {
                    lab.soon("the parent is restarted", journal.wait_for("p restart: ChildFailed")).await;
                    assert_eq!(lab.soon("the parent goes on", p.ask(Count())).await.unwrap(), 0, "{case}");
                    assert_eq!(lab.soon("with new children", p.ask(Children())).await.unwrap(), 2, "{case}");
                    assert!(matches!(d.stop_reason(), Some(StopReason::Stopped)), "{case}");
                    let count = lab.soon("its sibling goes on", q.ask(Count())).await.unwrap();
                    assert_eq!(count, u32::from(!together), "{case}");
                }
                Directive::Stop => {
                    let reason = lab.soon("the parent ends", p.wait()).await.unwrap();
                    let error = reason.failure().expect("a failure");
                    assert_eq!(
                        (error.kind(), named(error, "child")),
                        (ErrorKind::ChildFailed, Some("c")),
                        "{case}"
                    );
                    assert_eq!(
                        journal.count("p stop: ChildFailed, 0 children"),
                        1,
                        "{case}: its state is sound"
                    );
                    if together {
                        assert_eq!(
                            ending(&lab.soon("its sibling ends", q.wait()).await.unwrap()),
                            "stopped",
                            "{case}"
                        );
                    }
                    assert!(top.is_alive(), "{case}");
                }
                _ => {
                    let reason = lab.soon("the top ends", top.wait()).await.unwrap();
                    let error = reason.failure().expect("a failure");
                    assert_eq!(
                        (error.kind(), named(error, "child")),
                        (ErrorKind::ChildFailed, Some("p")),
                        "{case}"
                    );
                    assert_eq!(named(source(error), "child"), Some("c"), "{case}");
                    assert_eq!(source(source(error)).kind(), ErrorKind::Panicked, "{case}");
                    assert!(format!("{error:#}").contains("no"), "{error}");
                    assert_eq!(system.live(), 0, "{case}");
                }
            }
        }
    }
}

async fn top(lab: Lab) {
    let spent = || std::time::Duration::from_secs(600);
    for (supervision, together) in [
        (Supervision::one_for_one().always(Directive::Escalate), false),
        (Supervision::all_for_one().always(Directive::Escalate), true),
        (Supervision::one_for_one().budget(0, spent()), false),
        (Supervision::all_for_one().budget(0, spent()), true),
    ] {
        let case = format!("{supervision:?}");
        let (journal, system) = (Journal::new(), lab.builder().supervision(supervision).build().unwrap());
        let service = system.spawn_service(Member::factory(&journal, Plan::new("service"))).await.unwrap();
        let one = Plan::new("one").spawn(&system, &journal).await;
        let two = Plan::new("two").spawn(&system, &journal).await;
        one.tell(Boom("no")).unwrap();
        assert_eq!(ending(&lab.soon("it ends", one.wait()).await.unwrap()), "Panicked", "{case}");
        if together {
            assert_eq!(ending(&lab.soon("the other ends", two.wait()).await.unwrap()), "stopped", "{case}");
        } else {
            assert_eq!(lab.soon("the other goes on", two.ask(Note(1))).await.unwrap(), 1, "{case}");
        }
        let answer = lab.soon("a service is in another group", service.ask(Note(2))).await;
        assert_eq!(answer.unwrap(), 2, "{case}");
    }
}

/// Resumes its children, whatever they do.
struct Lenient(Journal);

impl Actor for Lenient {
    fn supervision() -> Supervision {
        Supervision::one_for_one().always(Directive::Resume)
    }
}

impl Handler<Bear> for Lenient {
    async fn handle(
        &mut self,
        Bear(plan): Bear,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Result<ActorRef<Member>>> {
        let (name, supervision) = (plan.name, plan.supervision.clone());
        let mut spawn = ctx.spawn(Member::factory(&self.0, plan)).name(name);
        if let Some(supervision) = supervision {
            spawn = spawn.supervision(supervision);
        }
        Ok(spawn.await)
    }
}

async fn precedence(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let parent = system.spawn(Lenient(journal.clone())).await.unwrap();
    for (own, count) in [(None, 1), (Some(Directive::Restart), 0)] {
        let mut plan = Plan::new(if own.is_some() { "a" } else { "b" });
        plan.supervision = own.map(|directive| Supervision::one_for_one().always(directive));
        let child = lab.soon("a child", parent.ask(Bear(plan))).await.unwrap().unwrap();
        lab.soon("it answers", child.ask(Note(1))).await.unwrap();
        child.tell(Boom("no")).unwrap();
        assert_eq!(lab.soon("it goes on", child.ask(Count())).await.unwrap(), count, "{own:?}");
    }

    let resume = Supervision::one_for_one().always(Directive::Resume);
    let system = lab.builder().supervision(resume).build().unwrap();
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    lab.soon("it answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(Boom("no")).unwrap();
    assert_eq!(lab.soon("it goes on", actor.ask(Count())).await.unwrap(), 1, "as the system says");

    let (journal, system) = (Journal::new(), lab.system());
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    let made = lab.soon("a child", parent.ask(Bear(Plan::new("made")))).await.unwrap().unwrap();
    let value = lab.soon("a child", parent.ask(BearValue(Plan::new("value")))).await.unwrap();
    made.tell(Boom("no")).unwrap();
    assert_eq!(lab.soon("it is restarted", made.ask(Count())).await.unwrap(), 0);
    value.tell(Boom("no")).unwrap();
    let reason = lab.soon("it is stopped", value.wait()).await.unwrap();
    assert_eq!(
        reason.failure().map(|error| (error.kind(), error.get("restart").is_some())),
        Some((ErrorKind::Panicked, false))
    );
    assert!(parent.is_alive());
}

/// Cannot say how its children are supervised.
struct Clueless(Journal);

impl Actor for Clueless {
    fn supervision() -> Supervision {
        panic!("no idea")
    }
}

impl Handler<Bear> for Clueless {
    async fn handle(
        &mut self,
        Bear(plan): Bear,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Result<ActorRef<Member>>> {
        Ok(ctx.spawn(Member::factory(&self.0, plan)).await)
    }
}

async fn supervision_panics(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let plan =
        Plan::new("parent").child(Plan::new("a")).child(Plan::new("b").supervision(
            Supervision::all_for_one().decide(|failure| panic!("cannot decide about {failure}")),
        ));
    let parent = plan.spawn(&system, &journal).await;
    let (a, b) = (child(&lab, &parent, "a").await, child(&lab, &parent, "b").await);
    b.tell(Boom("no")).unwrap();
    let reason = lab.soon("it is stopped", b.wait()).await.unwrap();
    assert!(reason.failure().is_some_and(|error| format!("{error:#}").contains("no")), "{reason}");
    assert!(parent.is_alive());
    assert_eq!(ending(&lab.soon("a stop concerns all", a.wait()).await.unwrap()), "stopped");

    let parent = system.spawn(Clueless(journal.clone())).await.unwrap();
    let one = lab.soon("a child", parent.ask(Bear(Plan::new("one")))).await.unwrap().unwrap();
    let two = lab.soon("a child", parent.ask(Bear(Plan::new("two")))).await.unwrap().unwrap();
    one.tell(Boom("no")).unwrap();
    assert_eq!(ending(&lab.soon("it is stopped", one.wait()).await.unwrap()), "Panicked");
    assert_eq!(lab.soon("the other goes on", two.ask(Note(1))).await.unwrap(), 1);
    assert!(parent.is_alive());
}

async fn start(lab: Lab) {
    for supervision in [Supervision::all_for_one(), Supervision::all_for_one().always(Directive::Escalate)] {
        let (journal, system) = (Journal::new(), lab.system());
        let parent = Plan::new("parent").child(Plan::new("a")).spawn(&system, &journal).await;
        let plan = Plan::new("b").start(Act::Panic("no")).supervision(supervision);
        let error = lab.soon("the spawn fails", parent.ask(Bear(plan))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StartFailed);
        assert_eq!(lab.soon("the parent goes on", parent.ask(Children())).await.unwrap(), 1);
        assert_eq!(journal.entries(), ["parent start", "a start", "b start", "b drop"]);
    }
}

async fn native(lab: Lab) {
    for kill in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let strict = Supervision::all_for_one().always(Directive::Escalate);
        let plan = Plan::new("parent").child(Plan::new("a").supervision(strict)).child(Plan::new("b"));
        let parent = plan.spawn(&system, &journal).await;
        let (a, b) = (child(&lab, &parent, "a").await, child(&lab, &parent, "b").await);
        if kill {
            lab.native_kill(&a).await
        } else {
            lab.native_stop(&a).await
        }
        let reason = lab.soon("it ends", a.wait()).await.unwrap();
        assert_eq!(matches!(reason, StopReason::Killed), kill, "{reason}");
        assert!(reason.failure().is_none(), "{reason}");
        assert_eq!(lab.soon("its sibling goes on", b.ask(Note(1))).await.unwrap(), 1);
        assert_eq!(lab.soon("its parent goes on", parent.ask(Children())).await.unwrap(), 1);
        assert!(!journal.entries().iter().any(|entry| entry.contains("restart")), "{journal:?}");
    }
}

async fn runtime_dropped(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let (notes, inside) = (journal.clone(), system.clone());
    let actor = lab
        .elsewhere(move || async move {
            let parent = Plan::new("parent").child(Plan::new("a")).spawn(&inside, &notes).await;
            let child = parent.ask(super::member::Child("a")).await.unwrap().unwrap();
            child.tell(Boom("no")).unwrap();
            child
        })
        .await;
    assert!(matches!(lab.soon("it has ended", actor.wait()).await.unwrap(), StopReason::Killed));
    lab.soon("all have ended", system.wait_all()).await.unwrap();
    assert_eq!(system.live(), 0);
    let before = journal.len();
    lab.never("something went on", journal.wait_len(before + 1)).await;
}

async fn event(lab: Lab) {
    let journal = Journal::new();
    let (system, events) = lab.observed();
    let plan = Plan::new("parent").child(Plan::new("a")).child(Plan::new("b"));
    let parent = plan.spawn(&system, &journal).await;
    let together = Plan::new("c").supervision(Supervision::all_for_one());
    let c = lab.soon("a child", parent.ask(Bear(together))).await.unwrap().unwrap();
    c.tell(Boom("bang")).unwrap();
    // When the one that failed goes on, the others have been told.
    for name in ["c", "a", "b"] {
        let child = child(&lab, &parent, name).await;
        lab.soon("it goes on", child.ask(Note(1))).await.unwrap();
    }
    assert_eq!(events.journal().count("restarted"), 3, "{:?}", events.journal());
    let actors = events.actors();
    let mut actors: Vec<_> = actors.iter().map(|path| last_name(path)).collect();
    actors.sort_unstable();
    assert_eq!(actors, ["a", "b", "c", "c"], "the failure, and three restarts");
    for error in &events.errors() {
        assert_eq!((error.kind(), named(error, "actor")), (ErrorKind::Panicked, Some("c")));
        assert!(format!("{error:#}").contains("bang"), "{error}");
    }
}

async fn no_factory(lab: Lab) {
    let restart = Supervision::one_for_one().always(Directive::Restart);
    let (journal, system) = (Journal::new(), lab.system());
    let parent = Plan::new("parent").spawn(&system, &journal).await;
    for panics in [true, false] {
        let plan = Plan::new("a").on_error(Directive::Restart).supervision(restart.clone());
        let value = lab.soon("a child", parent.ask(BearValue(plan))).await.unwrap();
        if panics {
            value.tell(Boom("no")).unwrap()
        } else {
            value.tell(Fail("no")).unwrap()
        }
        let reason = lab.soon("it ends", value.wait()).await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "actor")), (ErrorKind::Failed, Some("a")));
        assert!(error.get("restart").is_some_and(|why| why.contains("factory")), "{error}");
        assert_eq!(journal.count("a stop: Failed, 0 children"), usize::from(!panics));
    }
    assert!(parent.is_alive());

    // One that is to be restarted with another has done nothing wrong.
    let value = lab.soon("a child", parent.ask(BearValue(Plan::new("value")))).await.unwrap();
    let made = Plan::new("made").supervision(Supervision::all_for_one());
    let made = lab.soon("a child", parent.ask(Bear(made))).await.unwrap().unwrap();
    made.tell(Boom("no")).unwrap();
    let reason = lab.soon("it ends", value.wait()).await.unwrap();
    let why = reason.failure().and_then(|error| error.get("restart")).map(str::to_owned);
    assert!(why.is_some_and(|why| why.contains("factory")), "{reason}");
    assert_eq!(journal.count("value stop: Failed, 0 children"), 1, "its state is sound: {journal:?}");
    assert_eq!(lab.soon("the other is restarted", made.ask(Count())).await.unwrap(), 0);
}
