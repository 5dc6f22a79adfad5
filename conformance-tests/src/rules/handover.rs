//! Messages that an actor hands over where the other one cannot take them, and what it pipes to itself in bad times.

use std::future::pending;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Directive, ErrorKind, Failure, Handler, Message, Outcome, Overflow,
    Supervision, Verdict,
};

use super::body;
use super::fixture::{Desk, Do, Guard, Spy, give, job, note, pass, quick};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-13",
        Topic::Later,
        &[(Topic::Later, State::Dead), (Topic::Later, State::Handling)],
        "A forward to an actor that has ended, has no room or sheds load, and one that an interceptor of the ref refuses, is one dead letter; an asker gets that error, naming the other actor; the forwarding actor has not failed, and its `on_error` does not run.",
        "A router must not fall over the actors behind it, and nothing is reported twice.",
        body!(refused),
    ),
    Rule::must(
        "LATER-14",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A forward to a full mailbox that makes senders wait waits in line, told or asked, in the order in which it came; it is a dead letter when the other actor ends first.",
        "A told message is worth as much as an asked one.",
        body!(in_line),
    ),
    Rule::must(
        "LATER-15",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "What an actor pipes to itself needs no room in its own bounded mailbox, whatever that does when it is full, and takes none.",
        "An actor cannot be refused what it has waited for.",
        body!(piped_without_room),
    ),
    Rule::must(
        "LATER-16",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "What an instance pipes to itself is given up on a restart; a result that waits in the mailbox by then is a dead letter with `Detached`.",
        "A fresh instance did not ask for it, like timers and streams.",
        body!(piped_over_restart),
    ),
    Rule::must(
        "LATER-17",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A piped future that panics, in its body or in its destructor, is one event that names the actor and the message, and the actor goes on.",
        "A result that never comes must not be missed in silence.",
        body!(piped_panics),
    ),
];

/// Forwards what it gets, and stops when it has failed.
struct Router(ActorRef<Desk>);

impl Actor for Router {
    async fn on_error(&mut self, _: &Failure, _: &mut Context<Self>) -> Directive {
        Directive::Stop
    }
}

/// Something to be handed over.
struct Task(Do);

impl Message for Task {
    type Reply = u32;
}

/// Is answered when all before it has been handled.
struct Ping;

impl Message for Ping {
    type Reply = ();
}

impl Handler<Ping> for Router {
    async fn handle(&mut self, Ping: Ping, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Handler<Task> for Router {
    async fn handle(&mut self, Task(inner): Task, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.forward(&self.0, inner)
    }
}

async fn refused(lab: Lab) {
    for (name, expected) in [
        ("ended", ErrorKind::Stopped),
        ("full", ErrorKind::MailboxFull),
        ("refused", ErrorKind::Rejected),
        ("delayed", ErrorKind::Unsupported),
    ] {
        let (gate, (system, events)) = (Gate::new(), lab.observed());
        let target = system.spawn(Desk::default()).name("o").bounded(1, Overflow::Reject).await.unwrap();
        let mut to = target.clone();
        let verdict = |verdict| Spy::new("a", &Journal::new()).always(verdict);
        match name {
            "ended" => {
                target.stop();
                lab.soon("the target ends", target.wait()).await.unwrap();
            }
            "full" => {
                target.tell(pass(&gate)).unwrap();
                lab.soon("the target is busy", gate.reached()).await;
                target.tell(give(0)).unwrap();
            }
            "refused" => to = target.outbound(verdict(Verdict::Reject("no".into()))),
            _ => to = target.outbound(verdict(Verdict::Delay(std::time::Duration::from_secs(1)))),
        }
        let router = system.spawn(Router(to)).name("r").await.unwrap();
        router.tell(Task(give(1))).unwrap();
        let error = lab.soon("the asker is told", router.ask(Task(give(2)))).await.unwrap_err();
        assert_eq!((error.kind(), error.get("actor")), (expected, Some("pekko://lab/user/o")), "{name}");
        lab.soon("the router goes on", router.ask(Task(give(3)))).await.unwrap_err();
        assert!(router.is_alive(), "{name}: the router has not failed");
        assert_eq!(events.journal().entries(), ["dead Do"; 3], "{name}: told, asked and asked");
        assert!(events.errors().iter().all(|error| error.kind() == expected), "{name}");
        assert_eq!(events.actors(), ["pekko://lab/user/o"; 3], "{name}");
        assert_eq!(system.dead_letters(), 3, "{name}");
        gate.open();
    }
}

async fn in_line(lab: Lab) {
    let (journal, gate, (system, events)) = (Journal::new(), Gate::new(), lab.observed());
    let target = system.spawn(Desk::default()).bounded(1, Overflow::Block).await.unwrap();
    let router = system.spawn(Router(target.clone())).await.unwrap();
    target.tell(pass(&gate)).unwrap();
    lab.soon("the target is busy", gate.reached()).await;
    target.tell(note(&journal, 1)).unwrap();
    router.tell(Task(note(&journal, 2))).unwrap();
    let asked = router.ask(Task(note(&journal, 3))).enqueue().unwrap();
    router.tell(Task(note(&journal, 4))).unwrap();
    let last = router.ask(Task(give(5))).enqueue().unwrap();
    gate.open();
    lab.soon("the asked one is handled", asked).await.unwrap();
    assert_eq!(lab.soon("the last one is handled", last).await.unwrap(), 5);
    assert_eq!(journal.entries(), ["1", "2", "3", "4"]);
    assert_eq!(events.journal().entries(), [""; 0]);

    let gate = Gate::new();
    target.tell(pass(&gate)).unwrap();
    lab.soon("the target is busy", gate.reached()).await;
    target.tell(give(0)).unwrap();
    router.tell(Task(give(1))).unwrap();
    let asked = router.ask(Task(give(2))).enqueue().unwrap();
    lab.soon("both are forwarded", router.ask(Ping)).await.unwrap();
    target.kill();
    let error = lab.soon("the asker is told", asked).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    lab.soon("the target ends", target.wait()).await.unwrap();
    assert_eq!(events.journal().entries(), ["dead Do"; 3], "one waited, two were in line");
    assert!(router.is_alive());
}

/// A desk in a handler that waits at the gate.
async fn busy(lab: &Lab, desk: &ActorRef<Desk>) -> Gate {
    let gate = Gate::new();
    desk.tell(pass(&gate)).unwrap();
    lab.soon("the desk is busy", gate.reached()).await;
    gate
}

/// Pipes the message, when the gate opens, and notes `given up` when it is dropped before.
fn pipes(gate: &Gate, journal: &Journal, make: impl FnOnce() -> Do + Send + 'static) -> Do {
    let (gate, journal) = (gate.clone(), journal.clone());
    quick(move |_, ctx| {
        ctx.pipe(async move {
            let guard = Guard(journal, "given up");
            gate.pass().await;
            std::mem::forget(guard);
            make()
        });
        Ok(0)
    })
}

async fn piped_without_room(lab: Lab) {
    for overflow in [Overflow::Reject, Overflow::Block, Overflow::DropNewest, Overflow::DropOldest] {
        let (journal, result, (system, events)) = (Journal::new(), Gate::new(), lab.observed());
        let desk = system.spawn(Desk::default()).bounded(1, overflow).await.unwrap();
        let notes = journal.clone();
        let piped = pipes(&result, &journal, move || note(&notes, "piped"));
        lab.soon("it pipes", desk.ask(piped)).await.unwrap();
        lab.soon("it is awaited", result.reached()).await;
        let gate = busy(&lab, &desk).await;
        desk.tell(note(&journal, "waits")).unwrap();
        result.open();
        lab.soon("the result is in the mailbox", until(|| desk.queued() == 2)).await;
        gate.open();
        lab.soon("it comes back", journal.wait_for("piped")).await;
        assert_eq!(journal.entries(), ["waits", "piped"], "{overflow:?}");
        assert_eq!(events.journal().entries(), [""; 0], "{overflow:?}");
    }
}

/// Waits for something that another task brings about.
async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

async fn piped_over_restart(lab: Lab) {
    let (journal, result, (system, events)) = (Journal::new(), Gate::new(), lab.observed());
    let desk = system.spawn(Desk::default).name("d").await.unwrap();
    lab.soon("it pipes", desk.ask(pipes(&result, &journal, || panic!("it was made")))).await.unwrap();
    lab.soon("it is awaited", result.reached()).await;
    desk.tell(quick(|_, _| panic!("over"))).unwrap();
    lab.soon("the pipe is given up", journal.wait_for("given up")).await;
    lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Do", "restarted"]);

    let result = Gate::new();
    let ran = journal.clone();
    lab.soon("it pipes", desk.ask(pipes(&result, &journal, move || note(&ran, "ran")))).await.unwrap();
    lab.soon("it is awaited", result.reached()).await;
    let gate = Gate::new();
    let inner = gate.clone();
    let fails = job(move |_, _| {
        Box::pin(async move {
            inner.pass().await;
            panic!("over")
        })
    });
    desk.tell(fails).unwrap();
    lab.soon("the desk is busy", gate.reached()).await;
    result.open();
    lab.soon("the result is in the mailbox", until(|| desk.queued() == 1)).await;
    gate.open();
    lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Do", "restarted", "failed Do", "restarted", "dead Do"]);
    assert_eq!(events.errors().last().unwrap().kind(), ErrorKind::Detached);
    assert_eq!(journal.entries(), ["given up"]);
}

async fn piped_panics(lab: Lab) {
    let (journal, open, (system, events)) = (Journal::new(), Gate::new(), lab.observed());
    let desk = system
        .spawn(Desk::default())
        .name("d")
        .supervision(Supervision::one_for_one().always(Directive::Stop))
        .await
        .unwrap();
    open.open();
    desk.tell(pipes(&open, &journal, || panic!("in a pipe"))).unwrap();
    lab.soon("there is an event", events.journal().wait_for("failed Do")).await;
    let (error, journal) = (events.errors().remove(0), Journal::new());
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Panicked, Some("pekko://lab/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("in a pipe"), "{error}");
    let dropped = journal.clone();
    lab.soon(
        "it pipes",
        desk.ask(quick(move |_, ctx| {
            ctx.pipe(Armed(dropped));
            Ok(0)
        })),
    )
    .await
    .unwrap();
    lab.soon("it is dropped", journal.wait_for("dropped")).await;
    assert_eq!(lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap(), 1);
    lab.soon("there is an event", until(|| events.journal().count("failed Do") == 2)).await;
    desk.tell(quick(|_, ctx| {
        ctx.pipe(pending::<Do>());
        Ok(0)
    }))
    .unwrap();
    assert_eq!(lab.soon("the actor goes on", desk.ask(give(2))).await.unwrap(), 2);
    assert_eq!(system.dead_letters(), 0);
}

/// A future that is ready at once, and panics when it is dropped.
struct Armed(Journal);

impl std::future::Future for Armed {
    type Output = Do;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Do> {
        std::task::Poll::Ready(give(0))
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.note("dropped");
        panic!("in a destructor");
    }
}
