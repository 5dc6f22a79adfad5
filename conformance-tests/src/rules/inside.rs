//! An actor that awaits, in its own turn, what could only come after it.

use dactor_core::testkit::Journal;
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Phase, StopReason, System,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::body;
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "WAIT-06",
        Topic::Wait,
        &[(Topic::Wait, State::Handling), (Topic::Wait, State::Starting), (Topic::Wait, State::Stopping)],
        "An actor that awaits its own `wait`, or `wait_all`, in a handler or hook gets `AskedItself` with its path, at once and at whatever poll; a task that it spawns may wait.",
        "It ends only after its turn: an error is better than an actor that hangs until it is killed.",
        body!(own_end),
    ),
    Rule::must(
        "SHUT-07",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Handling), (Topic::Shutdown, State::Stopping)],
        "`shutdown` awaited in a handler, a hook or a phase is `AskedItself`, at once; the shutdown goes on by itself, its phases run, and others may await it.",
        "A message that asks the program to end must not be what keeps it from ending.",
        body!(own_shutdown),
    ),
    Rule::must(
        "SHUT-08",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle), (Topic::Shutdown, State::RuntimeDropped)],
        "A shutdown goes on when its caller is dropped; when its runtime is dropped, the next caller goes on with it.",
        "A shutdown under a time limit is dropped when that is over.",
        body!(dropped),
    ),
];

type Job = Box<dyn FnOnce(ActorRef<Insider>) -> BoxFuture<'static, ()> + Send>;

/// Does what it is told, in its own turn.
struct Insider {
    journal: Journal,
    at_start: Option<Job>,
    at_stop: Option<Job>,
}

impl Insider {
    fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), at_start: None, at_stop: None }
    }
}

impl Actor for Insider {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        if let Some(job) = self.at_start.take() {
            job(ctx.actor_ref().clone()).await;
        }
        Ok(())
    }

    async fn on_stop(&mut self, reason: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        if let Some(job) = self.at_stop.take() {
            job(ctx.actor_ref().clone()).await;
        }
        self.journal.note(format!("stop: {reason}"));
        Ok(())
    }
}

struct Run(Job);

impl Message for Run {
    type Reply = ();
}

impl Handler<Run> for Insider {
    async fn handle(&mut self, Run(job): Run, ctx: &mut Context<Self>) -> Outcome<()> {
        job(ctx.actor_ref().clone()).await;
        Ok(())
    }
}

fn job<F: Future<Output = ()> + Send + 'static>(
    code: impl FnOnce(ActorRef<Insider>) -> F + Send + 'static,
) -> Job {
    Box::new(move |myself| code(myself).boxed())
}

fn assert_inside<T: std::fmt::Debug>(result: dactor_core::Result<T>, call: &str, actor: &ActorRef<Insider>) {
    let error = result.expect_err("it cannot be awaited here");
    let path = format!("pekko://lab/user/{}", actor.name().expect("it has a name"));
    assert_eq!(error.kind(), ErrorKind::AskedItself);
    assert_eq!((error.get("actor"), error.get("call")), (Some(&*path), Some(call)), "{error}");
}

async fn own_end(lab: Lab) {
    let (system, journal) = (lab.system(), Journal::new());
    let check = |journal: &Journal, word: &'static str| {
        let journal = journal.clone();
        job(move |myself| async move {
            assert_inside(myself.wait().await, "wait", &myself);
            assert_inside(myself.system().wait_all().await, "wait_all", &myself);
            journal.note(word);
        })
    };
    let mut insider = Insider::new(&journal);
    (insider.at_start, insider.at_stop) =
        (Some(check(&journal, "in on_start")), Some(check(&journal, "in on_stop")));
    let actor = system.spawn(insider).name("insider").await.unwrap();
    lab.soon("the handler returns", actor.ask(Run(check(&journal, "in a handler")))).await.unwrap();
    // Waits that began elsewhere.
    let (own, all) = (actor.clone(), system.clone());
    let mut one = async move { own.wait().await }.boxed();
    let mut two = async move { all.wait_all().await }.boxed();
    assert!(futures_util::poll!(&mut one).is_pending() && futures_util::poll!(&mut two).is_pending());
    let brought = job(move |myself| async move {
        assert_inside(one.await, "wait", &myself);
        assert_inside(two.await, "wait_all", &myself);
        let waiting = myself.clone();
        let waiter = tokio::spawn(async move { waiting.wait().await });
        myself.stop();
        drop(waiter);
    });
    lab.soon("the handler returns", actor.ask(Run(brought))).await.unwrap();
    assert_eq!(lab.soon("it ends", actor.wait()).await.unwrap().to_string(), "stopped");
    assert_eq!(journal.entries(), ["in on_start", "in a handler", "in on_stop", "stop: stopped"]);
    assert_eq!(actor.wait().await.unwrap().to_string(), "stopped");
}

fn phases(lab: &Lab, journal: &Journal) -> System {
    let (before, after) = (Phase::before_actors("before"), Phase::after_actors("after"));
    let system = lab.builder().phase(before).phase(after).build().unwrap();
    for phase in ["before", "after"] {
        let (journal, closing) = (journal.clone(), system.clone());
        let task = move || async move {
            let error = closing.shutdown().await.expect_err("it cannot be awaited here");
            assert_eq!(error.kind(), ErrorKind::AskedItself, "{error}");
            journal.note(phase);
            Ok(())
        };
        system.on_shutdown(phase, "note", task).unwrap();
    }
    system
}

async fn own_shutdown(lab: Lab) {
    for in_hook in [false, true] {
        let journal = Journal::new();
        let system = phases(&lab, &journal);
        let shut_down = job(|myself| async move {
            assert_inside(myself.system().shutdown().await, "shutdown", &myself);
        });
        let mut insider = Insider::new(&journal);
        if in_hook {
            insider.at_stop = Some(shut_down);
            system.spawn(insider).name("insider").await.unwrap().stop();
        } else {
            let actor = system.spawn(insider).name("insider").await.unwrap();
            lab.soon("the handler returns", actor.ask(Run(shut_down))).await.unwrap();
        }
        lab.soon("the last phase", journal.wait_for("after")).await;
        lab.soon("the shutdown returns", system.shutdown()).await.unwrap();
        let mut entries = journal.entries();
        if in_hook {
            // The phase and the rest of the hook run at once.
            entries[..2].sort();
        }
        let stopped = if in_hook { "stop: stopped" } else { "stop: drained" };
        assert_eq!(entries, ["before", stopped, "after"]);
    }
}

async fn dropped(lab: Lab) {
    let journal = Journal::new();
    let system = phases(&lab, &journal);
    system.spawn(Insider::new(&journal)).await.unwrap();
    let mut shutdown = Box::pin(system.shutdown());
    assert!(futures_util::poll!(&mut shutdown).is_pending());
    drop(shutdown);
    lab.soon("the last phase", journal.wait_for("after")).await;
    lab.soon("the shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["before", "stop: drained", "after"]);

    let journal = Journal::new();
    let system = phases(&lab, &journal);
    system.spawn(Insider::new(&journal)).await.unwrap();
    let closing = system.clone();
    lab.elsewhere(move || async move {
        let mut shutdown = Box::pin(closing.shutdown());
        assert!(futures_util::poll!(&mut shutdown).is_pending());
    })
    .await;
    lab.soon("the shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["before", "stop: drained", "after"]);
}
