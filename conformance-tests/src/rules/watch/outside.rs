//! Watches through any kind of reference, by path, and from outside of the watcher.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorPath, ActorRef, AnyActorRef, Context, ErrorKind, Handler, Message, Outcome, Recipient,
    Terminated,
};

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-20",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Dead)],
        "An actor can be watched and unwatched through an `ActorRef`, a `Recipient` and an `AnyActorRef`, which name one watch: the watcher gets one `Terminated`, which is equal to every other `Terminated` of that actor and to no other.",
        "Code that only knows a recipient depends on an actor, too.",
        body!(any_reference),
    ),
    Rule::must(
        "WATCH-21",
        Topic::Watch,
        &[(Topic::Watch, State::Idle), (Topic::Watch, State::Dead), (Topic::Watch, State::Handling)],
        "`System::watch` sets a watch for another actor: it begins in the watcher's turn, misses no end in between, is the same watch as the watcher's own, and takes no room in a full mailbox. An actor cannot watch itself, and a watcher that has stopped is `Stopped`.",
        "The code that wires actors up knows their dependencies.",
        body!(from_outside),
    ),
    Rule::must(
        "WATCH-22",
        Topic::Watch,
        &[(Topic::Watch, State::Idle)],
        "`System::watch_path` and `Context::watch_path` watch the live actor at a path, and fail with the reason of the lookup if there is none.",
        "A path from a config or a log is enough to depend on an actor.",
        body!(by_path),
    ),
];

/// Notes every `Terminated`, and keeps it.
struct Observer {
    journal: Journal,
    seen: Vec<Terminated>,
}

impl Observer {
    fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), seen: Vec::new() }
    }
}

impl Actor for Observer {}

impl Handler<Terminated> for Observer {
    async fn handle(&mut self, terminated: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("{} {}", terminated.label(), terminated.reason()));
        self.seen.push(terminated);
        Ok(())
    }
}

/// Runs a closure in the actor.
struct Run(Body);

type Body = Box<dyn FnOnce(&mut Observer, &mut Context<Observer>) + Send>;

impl Message for Run {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

fn run(body: impl FnOnce(&mut Observer, &mut Context<Observer>) + Send + 'static) -> Run {
    Run(Box::new(body))
}

impl Handler<Run> for Observer {
    async fn handle(&mut self, Run(body): Run, ctx: &mut Context<Self>) -> Outcome<()> {
        body(self, ctx);
        Ok(())
    }
}

impl Handler<Hold> for Observer {
    async fn handle(&mut self, Hold(number, gate): Hold, _: &mut Context<Self>) -> Outcome<u32> {
        gate.pass().await;
        Ok(number)
    }
}

async fn stop(rule: &RuleContext, actor: &ActorRef<Worker>) {
    actor.stop();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
}

async fn any_reference(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let observer = system.spawn(Observer::new(&journal)).await.unwrap();
    for way in 0..3 {
        let name = format!("t{way}");
        let target = system.spawn(Worker::new(&Journal::new())).name(name.clone()).await.unwrap();
        let (recipient, any): (Recipient<Note>, AnyActorRef) =
            (target.recipient(), system.find(&target.path()).unwrap());
        let (actor, watched) = (target.clone(), recipient.clone());
        let watches = run(move |_, ctx| {
            // Watching again, in whichever way, is the same watch.
            ctx.watch(&actor).unwrap();
            ctx.watch(&watched).unwrap();
            ctx.watch(&any).unwrap();
            let unwatched = match way {
                0 => ctx.unwatch(&actor),
                1 => ctx.unwatch(&watched),
                _ => ctx.unwatch(&any),
            };
            assert!(unwatched && !ctx.unwatch(&actor));
            match way {
                0 => ctx.watch(&any).unwrap(),
                1 => ctx.watch(&actor).unwrap(),
                _ => ctx.watch(&watched).unwrap(),
            }
        });
        rule.soon("the actor is watched", observer.ask(watches)).await.unwrap();
        assert!(recipient.is_alive() == Some(true) && recipient.stop_reason().is_none());
        stop(&rule, &target).await;
        let reason = rule.soon("the recipient is told", recipient.wait()).await.unwrap().to_string();
        assert_eq!((reason.as_str(), recipient.is_alive() == Some(true)), ("stopped", false));
        assert_eq!(recipient.stop_reason().map(|reason| reason.to_string()).as_deref(), Some("stopped"));
        let note = format!("pekko://test/user/{name} stopped");
        rule.soon(&note, journal.wait_for(&note)).await;
        // The ended actor can be watched anew.
        let (again, last) = (target.clone(), recipient.clone());
        rule.soon("it is watched again", observer.ask(run(move |_, ctx| ctx.watch(&again).unwrap())))
            .await
            .unwrap();
        let compares = run(move |observer, _| {
            let [first, second] = observer.seen.split_off(0).try_into().expect("each watch is told once");
            assert!(first == second && first.uid() == target.uid());
            assert!(first.is(&target) && first.is(&last));
        });
        rule.soon("both are handled", observer.ask(compares)).await.unwrap();
    }
    let seen = journal.entries().iter().filter(|entry| entry.ends_with("stopped")).count();
    assert_eq!(seen, 6, "{journal:?}");
}

async fn from_outside(rule: RuleContext) {
    let (journal, system, gate) = (Journal::new(), rule.system(), Gate::new());
    let other = rule.builder_named("other").build().unwrap();
    let observer =
        system.spawn(Observer::new(&journal)).bounded(1, dactor_core::Overflow::Reject).await.unwrap();
    let spawn = |name: &str| system.spawn(Worker::new(&Journal::new())).name(name.to_owned());
    let (early, late, both) =
        (spawn("early").await.unwrap(), spawn("late").await.unwrap(), spawn("both").await.unwrap());
    let far = other.spawn(Worker::new(&Journal::new())).name("far").await.unwrap();

    observer.tell(Hold(1, gate.clone())).unwrap();
    rule.soon("the watcher is busy", gate.reached()).await;
    // The mailbox is full now.
    observer.tell(run(|_, _| ())).unwrap();
    assert_eq!(observer.tell(run(|_, _| ())).unwrap_err().kind(), ErrorKind::MailboxFull);
    system.watch(&observer, &early).unwrap();
    system.watch(&observer, &late.recipient::<Note>()).unwrap();
    system.watch(&observer, &far).unwrap();
    system.watch(&observer, &both).unwrap();
    system.watch(&observer, &both).unwrap();
    // The watcher has not begun to watch.
    stop(&rule, &early).await;
    gate.open();
    let note = "pekko://test/user/early stopped";
    rule.soon(note, journal.wait_for(note)).await;
    let watched = both.clone();
    rule.soon("it is the same watch", observer.ask(run(move |_, ctx| assert!(ctx.unwatch(&watched)))))
        .await
        .unwrap();
    for (actor, note) in [(&late, "pekko://test/user/late stopped"), (&far, "pekko://other/user/far stopped")]
    {
        stop(&rule, actor).await;
        rule.soon(note, journal.wait_for(note)).await;
    }
    stop(&rule, &both).await;
    rule.soon("the watcher continues", observer.ask(run(|_, _| ()))).await.unwrap();
    assert_eq!(journal.entries().len(), 3, "{journal:?}");

    let error = system.watch(&observer, &observer).unwrap_err();
    assert_eq!(
        (error.kind(), error.get("actor")),
        (ErrorKind::InvalidWatch, Some(&*observer.path().to_string()))
    );
    observer.stop();
    rule.soon("the watcher ends", observer.wait()).await.unwrap();
    assert_eq!(system.watch(&observer, &early).unwrap_err().kind(), ErrorKind::Stopped);
}

async fn by_path(rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let observer = system.spawn(Observer::new(&journal)).name("o").await.unwrap();
    let path = |text: &str| text.parse::<ActorPath>().unwrap();
    for (name, inside) in [("in", true), ("out", false)] {
        let target = system.spawn(Worker::new(&Journal::new())).name(name).await.unwrap();
        let at = path(&format!("pekko://test/user/{name}"));
        if inside {
            let watches = run(move |_, ctx| ctx.watch_path(&at).unwrap());
            rule.soon("it is watched", observer.ask(watches)).await.unwrap();
        } else {
            system.watch_path(&observer, &at).unwrap();
        }
        stop(&rule, &target).await;
        let note = format!("pekko://test/user/{name} stopped");
        rule.soon(&note, journal.wait_for(&note)).await;
        // The actor has ended, and its path is free.
        let gone = system.watch_path(&observer, &target.path()).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NoSuchActor);
    }
    for (text, kind) in [
        ("pekko://test/user/none", ErrorKind::NoSuchActor),
        ("pekko://test/user/o#1", ErrorKind::WrongIncarnation),
        ("pekko://elsewhere/user/o", ErrorKind::Unresolved),
        ("pekko://test/user/o", ErrorKind::InvalidWatch),
    ] {
        assert_eq!(system.watch_path(&observer, &path(text)).unwrap_err().kind(), kind, "{text}");
        let at = path(text);
        let watches = run(move |_, ctx| assert_eq!(ctx.watch_path(&at).unwrap_err().kind(), kind, "{at}"));
        rule.soon("the watch fails", observer.ask(watches)).await.unwrap();
    }
}
