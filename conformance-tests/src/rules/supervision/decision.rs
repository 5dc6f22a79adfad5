//! Which strategy decides, and decisions that panic or cannot be carried out.

use dactor_core::testkit::Journal;
use dactor_core::{Actor, ActorRef, Context, Directive, ErrorKind, Handler, Outcome, Supervision};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::tree::{
    CountChildren, SpawnChild, SpawnChildFromValue, TreeActor, TreeSpec, child, ending, last_name, named,
};
use crate::fixtures::worker::{Count, Fail, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-07",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "The supervision strategy of a spawn takes precedence over the parent's. Without one, `Actor::supervision` of the parent applies and, for top-level actors, the strategy of the system. The default restarts actors spawned from a factory and stops the others.",
        "The code that spawns an actor knows it best.",
        body!(precedence),
    ),
    Rule::must(
        "SUPER-08",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A supervision strategy that panics counts as `Stop`: the failed actor stops as failed with the siblings that its strategy covers, and the parent continues.",
        "The code that handles failures may itself be faulty.",
        body!(supervision_panics),
    ),
    Rule::must(
        "SUPER-09",
        Topic::Supervision,
        &[(Topic::Supervision, State::Starting)],
        "A failed `on_start` is returned by the spawn and is not passed to the supervision strategy.",
        "The caller that awaits the spawn gets the error and decides.",
        body!(start),
    ),
    Rule::must(
        "SUPER-12",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "Every restart emits an event that names the actor and the failure.",
        "Restarts must be visible to operators.",
        body!(event),
    ),
    Rule::must(
        "SUPER-13",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A restart without a factory stops the actor as failed, and the error says so; `on_stop` runs unless the actor panicked.",
        "The mistake is in the spawn, and the error must say so.",
        body!(no_factory),
    ),
];

/// Resumes its children after every failure.
struct ResumesChildren(Journal);

impl Actor for ResumesChildren {
    fn supervision() -> Supervision {
        Supervision::one_for_one().always(Directive::Resume)
    }
}

impl Handler<SpawnChild> for ResumesChildren {
    async fn handle(
        &mut self,
        SpawnChild(spec): SpawnChild,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Result<ActorRef<TreeActor>>> {
        let (name, supervision) = (spec.name, spec.supervision.clone());
        let mut spawn = ctx.spawn(TreeActor::factory(&self.0, spec)).name(name);
        if let Some(supervision) = supervision {
            spawn = spawn.supervision(supervision);
        }
        Ok(spawn.await)
    }
}

async fn precedence(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let parent = system.spawn(ResumesChildren(journal.clone())).await.unwrap();
    for (own, count) in [(None, 1), (Some(Directive::Restart), 0)] {
        let mut spec = TreeSpec::new(if own.is_some() { "a" } else { "b" });
        spec.supervision = own.map(|directive| Supervision::one_for_one().always(directive));
        let child = rule.soon("the child is spawned", parent.ask(SpawnChild(spec))).await.unwrap().unwrap();
        rule.soon("the actor answers", child.ask(Note(1))).await.unwrap();
        child.tell(PanicWith("no")).unwrap();
        assert_eq!(rule.soon("the actor continues", child.ask(Count())).await.unwrap(), count, "{own:?}");
    }

    let resume = Supervision::one_for_one().always(Directive::Resume);
    let system = rule.builder().supervision(resume).build().unwrap();
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).await.unwrap();
    rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
    actor.tell(PanicWith("no")).unwrap();
    assert_eq!(
        rule.soon("the actor continues", actor.ask(Count())).await.unwrap(),
        1,
        "the strategy of the system applies"
    );

    let (journal, system) = (Journal::new(), rule.system());
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    let made = rule
        .soon("the child is spawned", parent.ask(SpawnChild(TreeSpec::new("made"))))
        .await
        .unwrap()
        .unwrap();
    let value = rule
        .soon("the child is spawned", parent.ask(SpawnChildFromValue(TreeSpec::new("value"))))
        .await
        .unwrap();
    made.tell(PanicWith("no")).unwrap();
    assert_eq!(rule.soon("the actor is restarted", made.ask(Count())).await.unwrap(), 0);
    value.tell(PanicWith("no")).unwrap();
    let reason = rule.soon("the actor stops", value.wait()).await.unwrap();
    assert_eq!(
        reason.failure().map(|error| (error.kind(), error.get("restart").is_some())),
        Some((ErrorKind::Panicked, false))
    );
    assert!(parent.is_alive() == Some(true));
}

/// Panics when its children's strategy is requested.
struct PanickingSupervision(Journal);

impl Actor for PanickingSupervision {
    fn supervision() -> Supervision {
        panic!("no idea")
    }
}

impl Handler<SpawnChild> for PanickingSupervision {
    async fn handle(
        &mut self,
        SpawnChild(spec): SpawnChild,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Result<ActorRef<TreeActor>>> {
        Ok(ctx.spawn(TreeActor::factory(&self.0, spec)).await)
    }
}

async fn supervision_panics(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let spec =
        TreeSpec::new("parent").child(TreeSpec::new("a")).child(TreeSpec::new("b").supervision(
            Supervision::all_for_one().decide(|failure| panic!("cannot decide about {failure}")),
        ));
    let parent = spec.spawn(&system, &journal).await;
    let (a, b) = (child(&rule, &parent, "a").await, child(&rule, &parent, "b").await);
    b.tell(PanicWith("no")).unwrap();
    let reason = rule.soon("the actor stops", b.wait()).await.unwrap();
    assert!(reason.failure().is_some_and(|error| format!("{error:#}").contains("no")), "{reason}");
    assert!(parent.is_alive() == Some(true));
    assert_eq!(ending(&rule.soon("the sibling stops", a.wait()).await.unwrap()), "stopped");

    let parent = system.spawn(PanickingSupervision(journal.clone())).await.unwrap();
    let one = rule
        .soon("the child is spawned", parent.ask(SpawnChild(TreeSpec::new("one"))))
        .await
        .unwrap()
        .unwrap();
    let two = rule
        .soon("the child is spawned", parent.ask(SpawnChild(TreeSpec::new("two"))))
        .await
        .unwrap()
        .unwrap();
    one.tell(PanicWith("no")).unwrap();
    assert_eq!(ending(&rule.soon("the actor stops", one.wait()).await.unwrap()), "Panicked");
    assert_eq!(rule.soon("the other actor continues", two.ask(Note(1))).await.unwrap(), 1);
    assert!(parent.is_alive() == Some(true));
}

async fn start(rule: RuleContext) {
    for supervision in [Supervision::all_for_one(), Supervision::all_for_one().always(Directive::Escalate)] {
        let (journal, system) = (Journal::new(), rule.system());
        let parent = TreeSpec::new("parent").child(TreeSpec::new("a")).spawn(&system, &journal).await;
        let spec = TreeSpec::new("b").start(HookAction::Panic("no")).supervision(supervision);
        let error = rule.soon("the spawn fails", parent.ask(SpawnChild(spec))).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StartFailed);
        assert_eq!(rule.soon("the parent continues", parent.ask(CountChildren())).await.unwrap(), 1);
        assert_eq!(journal.entries(), ["parent start", "a start", "b start", "b drop"]);
    }
}

async fn event(rule: RuleContext) {
    let journal = Journal::new();
    let (system, events) = rule.system_with_events();
    let spec = TreeSpec::new("parent").child(TreeSpec::new("a")).child(TreeSpec::new("b"));
    let parent = spec.spawn(&system, &journal).await;
    let together = TreeSpec::new("c").supervision(Supervision::all_for_one());
    let c = rule.soon("the child is spawned", parent.ask(SpawnChild(together))).await.unwrap().unwrap();
    c.tell(PanicWith("bang")).unwrap();
    // When the failed actor continues, its siblings have been told to restart.
    for name in ["c", "a", "b"] {
        let child = child(&rule, &parent, name).await;
        rule.soon("the actor continues", child.ask(Note(1))).await.unwrap();
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

async fn no_factory(rule: RuleContext) {
    let restart = Supervision::one_for_one().always(Directive::Restart);
    let (journal, system) = (Journal::new(), rule.system());
    let parent = TreeSpec::new("parent").spawn(&system, &journal).await;
    for panics in [true, false] {
        let spec = TreeSpec::new("a").on_error(Directive::Restart).supervision(restart.clone());
        let value = rule.soon("the child is spawned", parent.ask(SpawnChildFromValue(spec))).await.unwrap();
        if panics {
            value.tell(PanicWith("no")).unwrap()
        } else {
            value.tell(Fail("no")).unwrap()
        }
        let reason = rule.soon("the actor ends", value.wait()).await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "actor")), (ErrorKind::Failed, Some("a")));
        assert!(error.get("restart").is_some_and(|why| why.contains("factory")), "{error}");
        assert_eq!(journal.count("a stop: Failed, 0 children"), usize::from(!panics));
    }
    assert!(parent.is_alive() == Some(true));

    // A sibling that is to be restarted and has no factory has not failed itself.
    let value = rule
        .soon("the child is spawned", parent.ask(SpawnChildFromValue(TreeSpec::new("value"))))
        .await
        .unwrap();
    let made = TreeSpec::new("made").supervision(Supervision::all_for_one());
    let made = rule.soon("the child is spawned", parent.ask(SpawnChild(made))).await.unwrap().unwrap();
    made.tell(PanicWith("no")).unwrap();
    let reason = rule.soon("the actor ends", value.wait()).await.unwrap();
    let why = reason.failure().and_then(|error| error.get("restart")).map(str::to_owned);
    assert!(why.is_some_and(|why| why.contains("factory")), "{reason}");
    assert_eq!(
        journal.count("value stop: Failed, 0 children"),
        1,
        "`on_stop` runs after an `Err`: {journal:?}"
    );
    assert_eq!(rule.soon("the other actor is restarted", made.ask(Count())).await.unwrap(), 0);
}
