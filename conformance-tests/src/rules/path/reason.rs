//! Why a lookup finds no actor, and lists of actors.

use dactor_core::testkit::Journal;
use dactor_core::{ActorPath, AnyActorRef, Context, ErrorKind, Handler, Message, Outcome};

use crate::fixtures::parent::{AddChild, ParentActor};
use crate::fixtures::worker::Worker;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PATH-16",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Paths, State::Dead)],
        "A lookup that finds no actor says why: `NoSuchActor`, `WrongIncarnation` (another UID is at the path), `WrongActorType`, or `Unresolved` (a path of another system). The error names the path; for a wrong type it names both types.",
        "A caller spawns a missing actor, drops an old reference, and fixes a wrong type.",
        body!(reasons),
    ),
    Rule::must(
        "PATH-17",
        Topic::Paths,
        &[(Topic::Paths, State::Idle), (Topic::Tree, State::Idle)],
        "`Context::children` lists the live children and `System::actors` the live actors of the system, in the order in which they were spawned; the counts are the lengths of the lists.",
        "Lookups can be guessed from their names.",
        body!(lists),
    ),
];

/// Returns the children.
struct ListChildren;

impl Message for ListChildren {
    type Reply = Vec<AnyActorRef>;
    type Access = dactor_core::Exclusive;
}

impl Handler<ListChildren> for ParentActor {
    async fn handle(
        &mut self,
        ListChildren: ListChildren,
        ctx: &mut Context<Self>,
    ) -> Outcome<Vec<AnyActorRef>> {
        let children = ctx.children();
        assert_eq!(children.len(), ctx.child_count());
        Ok(children)
    }
}

async fn reasons(rule: RuleContext) {
    let system = rule.system();
    let parsed = |text: &str| text.parse::<ActorPath>().unwrap();
    let old = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    old.stop();
    rule.soon("the actor ends", old.wait()).await.unwrap();
    let gone = system.actor_at::<Worker>(&old.path()).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NoSuchActor);
    let new = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    for (path, kind) in [
        (parsed("pekko://test/user/none"), ErrorKind::NoSuchActor),
        (parsed("pekko://test/user/w/none"), ErrorKind::NoSuchActor),
        (parsed("pekko://test/user"), ErrorKind::NoSuchActor),
        (parsed("pekko://test/"), ErrorKind::NoSuchActor),
        (old.path(), ErrorKind::WrongIncarnation),
        (parsed("pekko://elsewhere/user/w"), ErrorKind::Unresolved),
        (parsed("pekko://test@localhost:2552/user/w"), ErrorKind::Unresolved),
    ] {
        for error in [system.find(&path).unwrap_err(), system.actor_at::<Worker>(&path).unwrap_err()] {
            assert_eq!(error.kind(), kind, "{path}");
            assert_eq!(error.get("actor"), Some(&*path.to_serialization_format()));
            assert!(!error.may_have_been_handled() && !error.is_temporary());
        }
    }
    let error = system.find(&old.path()).unwrap_err();
    assert_eq!(error.get("incarnation"), Some(&*new.uid().to_string()));

    let error = system.actor_at::<ParentActor>(&new.path()).unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::WrongActorType, Some("pekko://test/user/w")));
    let types = (error.get("type"), error.get("expected"));
    assert_eq!(types, (Some(std::any::type_name::<Worker>()), Some(std::any::type_name::<ParentActor>())));
    assert_eq!(system.find(&new.path()).unwrap().actor_ref::<Worker>(), Some(new));
}

async fn lists(rule: RuleContext) {
    let system = rule.system();
    let parent = system.spawn(ParentActor { journal: Journal::new() }).await.unwrap();
    assert_eq!(rule.soon("no children", parent.ask(ListChildren)).await.unwrap(), []);
    let mut spawned = Vec::new();
    for name in [Some("z"), None, Some("a"), Some("m")] {
        spawned.push(rule.soon("the child is spawned", parent.ask(AddChild(name))).await.unwrap());
    }
    let listed = rule.soon("the children are listed", parent.ask(ListChildren)).await.unwrap();
    let refs: Vec<_> = listed.iter().map(|child| child.actor_ref::<ParentActor>().unwrap()).collect();
    assert_eq!(refs, spawned);
    let ended = spawned.remove(1);
    ended.stop();
    rule.soon("the child ends", ended.wait()).await.unwrap();
    assert!(listed[1].is_alive() == Some(false) && listed[0].is_alive() == Some(true));
    let listed = rule.soon("the children are listed", parent.ask(ListChildren)).await.unwrap();
    assert_eq!(
        listed.iter().map(AnyActorRef::uid).collect::<Vec<_>>(),
        spawned.iter().map(|child| child.uid()).collect::<Vec<_>>()
    );
    let all = system.actors();
    assert_eq!((all.len(), system.actor_count()), (4, 4));
    assert_eq!((all[0].uid(), &all[1..]), (parent.uid(), &listed[..]));
}
