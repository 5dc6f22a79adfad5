//! Messages that an actor puts aside.

use std::pin::pin;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Error, ErrorKind, Handler, Message, Outcome, Overflow, PendingReply, Priority,
    StopReason,
};
use futures_util::poll;

use super::body;
use super::fixture::{Spy, Tag};
use crate::{Capability, Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "STASH-01",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Order, State::Handling)],
        "`unstash_all` puts everything that was stashed back in front of the mailbox, in its order: before all that waits, in bounded and unbounded mailboxes; only higher priorities come before it.",
        "What an actor put aside is older than what came meanwhile.",
        body!(order),
    ),
    Rule::must(
        "STASH-02",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Handling),
            (Topic::Later, State::Handling),
            (Topic::Headers, State::Handling),
        ],
        "An ask that is stashed, even twice, is answered by whoever handles it in the end; its headers stay with it, and interceptors see it each time.",
        "Whoever asks need not know that the actor was not ready.",
        body!(asked),
    ),
    Rule::must(
        "STASH-03",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Cancel, State::Handling)],
        "A stashed ask whose deadline passes, or whose asker gives up, is answered then and skipped later.",
        "Nobody works for an asker who is gone.",
        body!(given_up),
    )
    .pace(Pace::Driven),
    Rule::must(
        "STASH-04",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Failure, State::Handling)],
        "A stash holds as many messages as the spawn says. One more is a failure of its handler with `StashFull` as the source, naming actor, message and capacity: the asker gets it, or an event tells of it. To stash a message with another type of reply than the one asked for is `Unsupported`.",
        "An actor that never gets ready must not eat the memory in silence.",
        body!(overflow),
    ),
    Rule::must(
        "STASH-05",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Panic, State::Handling)],
        "A restart puts the stash back: the fresh instance handles it after its `on_restart`, in order and before all that waits.",
        "The messages are the actor's, not the instance's, and what the failed one waited for may never come.",
        body!(restarted),
    ),
    Rule::must(
        "STASH-06",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Dead),
            (Topic::Inflow, State::Stopped),
            (Topic::Inflow, State::Drained),
            (Topic::Inflow, State::Killed),
            (Topic::Inflow, State::Failed),
        ],
        "When the actor ends, what is stashed becomes dead letters, in order and before what waits; its askers get `Stopped`.",
        "Nobody waits in vain, and nothing is lost in silence.",
        body!(ended),
    ),
    Rule::must(
        "STASH-07",
        Topic::Inflow,
        &[(Topic::Inflow, State::Starting), (Topic::Inflow, State::Stopping)],
        "What `on_start` stashes and unstashes is handled before all that was sent meanwhile; what `on_stop` stashes is a dead letter.",
        "A hook is the actor's code like any other.",
        body!(hooks),
    ),
    Rule::must(
        "STASH-08",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeStop)],
        "After a native stop what is stashed is a dead letter, and its askers get `Stopped`.",
        "It is an end like others.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop),
    Rule::must(
        "STASH-09",
        Topic::Inflow,
        &[(Topic::Inflow, State::NativeKill)],
        "After a native kill the same holds.",
        "It is an end like others.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill),
    Rule::must(
        "STASH-10",
        Topic::Inflow,
        &[(Topic::Inflow, State::RuntimeDropped)],
        "When the runtime of an actor is dropped the same holds.",
        "An asker on another runtime must be told.",
        body!(runtime_dropped),
    ),
];

/// Lets nobody in until it is opened.
struct Door {
    journal: Journal,
    open: bool,
    early: bool,
}

impl Door {
    fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), open: false, early: false }
    }
}

impl Actor for Door {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.early {
            self.open = true;
            let _ = ctx.stash(Knock(0));
            ctx.unstash_all();
            let _ = ctx.actor_ref().tell(Knock(1));
        }
        Ok(())
    }

    async fn on_restart(&mut self, _: &Error, _: &mut Context<Self>) -> Outcome<()> {
        self.open = true;
        self.journal.note("restart");
        Ok(())
    }

    async fn on_stop(&mut self, _: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.early {
            let _ = ctx.stash(Knock(2));
        }
        Ok(())
    }
}

/// Is noted as its number, with its tag if it has one, and answered with it.
struct Knock(u32);
impl Message for Knock {
    type Reply = u32;

    fn describe(&self) -> Option<String> {
        Some(format!("knock {}", self.0))
    }
}

impl Handler<Knock> for Door {
    async fn handle(&mut self, knock: Knock, ctx: &mut Context<Self>) -> Outcome<u32> {
        if !self.open {
            return ctx.stash(knock);
        }
        let tag = ctx.headers().get::<Tag>().map_or(String::new(), |Tag(tag)| format!(" tag {tag}"));
        self.journal.note(format!("{}{tag}", knock.0));
        ctx.set_reply_header(Tag(knock.0));
        Ok(knock.0)
    }
}

/// Waits at the gate if there is one, and opens. What is unstashed while it stays shut is stashed anew.
struct Open(Option<Gate>, bool);
impl Message for Open {
    type Reply = usize;
}

impl Handler<Open> for Door {
    async fn handle(&mut self, Open(gate, open): Open, ctx: &mut Context<Self>) -> Outcome<usize> {
        if let Some(gate) = gate {
            gate.pass().await;
        }
        self.open = open;
        let stashed = ctx.stashed();
        ctx.unstash_all();
        Ok(stashed)
    }
}

/// Stashes a message with a reply of another type in its place.
struct Mistake;
impl Message for Mistake {
    type Reply = u32;
}

impl Handler<Mistake> for Door {
    async fn handle(&mut self, _: Mistake, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.stash(Open(None, true)).map(|_| 0)
    }
}

/// Waits at the gate, and ends the instance.
struct Break(Gate);
impl Message for Break {
    type Reply = ();
}

impl Handler<Break> for Door {
    async fn handle(&mut self, Break(gate): Break, _: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        panic!("broken")
    }
}

fn told(door: &ActorRef<Door>, numbers: std::ops::Range<u32>) {
    numbers.for_each(|number| door.tell(Knock(number)).unwrap());
}

async fn order(lab: Lab) {
    for bounded in [false, true] {
        for exposed in [false, true] {
            let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
            let spawn = system.spawn(Door::new(&journal));
            let door = if bounded { spawn.bounded(9, Overflow::Reject) } else { spawn }.await.unwrap();
            if exposed {
                lab.expose(&door);
            }
            told(&door, 0..3);
            let opened = door.ask(Open(Some(gate.clone()), true)).enqueue().unwrap();
            lab.soon("the door opens", gate.reached()).await;
            told(&door, 3..6);
            door.at(Priority::High).tell(Knock(9)).unwrap();
            gate.open();
            assert_eq!(lab.soon("the door is open", opened).await.unwrap(), 3);
            lab.soon("all are in", journal.wait_for("5")).await;
            assert_eq!(journal.entries(), ["9", "0", "1", "2", "3", "4", "5"]);
            // Nothing is left to put back.
            assert_eq!(lab.soon("an answer", door.ask(Open(None, true))).await.unwrap(), 0);
            assert_eq!((journal.len(), system.dead_letters()), (7, 0));
        }
    }
}

async fn asked(lab: Lab) {
    let (journal, seen) = (Journal::new(), Journal::new());
    let door = lab.system().spawn(Door::new(&journal)).inbound(Spy::new("spy", &seen)).await.unwrap();
    let mut first = pin!(door.header(Tag(7)).ask(Knock(1)).with_headers());
    assert!(poll!(&mut first).is_pending());
    let second = door.ask(Knock(2)).enqueue().unwrap();
    for (open, stashed) in [(false, 2), (true, 2), (true, 0)] {
        assert_eq!(lab.soon("an answer", door.ask(Open(None, open))).await.unwrap(), stashed);
    }
    let (answer, headers) = lab.soon("the asker is answered", first).await.unwrap();
    assert_eq!((answer, headers.get::<Tag>()), (1, Some(&Tag(1))));
    assert_eq!(lab.soon("the asker is answered", second).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["1 tag 7", "2"]);
    assert_eq!((seen.count("spy>"), seen.count("spy< ok")), (9, 9));
}

async fn given_up(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let door = system.spawn(Door::new(&journal)).await.unwrap();
    let late = door.ask(Knock(1)).timeout(Duration::from_secs(1)).enqueue().unwrap();
    let gone = door.ask(Knock(2)).enqueue().unwrap();
    let kept = door.ask(Knock(3)).enqueue().unwrap();
    assert_eq!(door.ask(Open(None, false)).await.unwrap(), 3);
    drop(gone);
    lab.clock().advance(Duration::from_secs(1)).await;
    assert_eq!(late.await.unwrap_err().kind(), ErrorKind::Timeout);
    door.tell(Open(None, true)).unwrap();
    assert_eq!(kept.await.unwrap(), 3);
    assert_eq!((journal.entries(), system.dead_letters()), (vec!["3".to_owned()], 0));
}

/// The stash's own error, in that of the handler.
fn source(error: &Error) -> &Error {
    std::error::Error::source(error).and_then(|source| source.downcast_ref()).expect("a source")
}

async fn overflow(lab: Lab) {
    let journal = Journal::new();
    let (system, events) = lab.observed();
    let door = system.spawn(Door::new(&journal)).name("door").stash(2).await.unwrap();
    told(&door, 1..4);
    let error = lab.soon("the asker is told", door.ask(Knock(4))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    for error in [error, events.errors().remove(0)] {
        let source = source(&error);
        assert_eq!(
            (source.kind(), source.get("actor")),
            (ErrorKind::StashFull, Some("pekko://lab/user/door"))
        );
        assert_eq!(source.get("message"), Some(std::any::type_name::<Knock>()));
        assert_eq!(source.get("capacity"), Some("2"));
    }
    assert_eq!(events.journal().entries(), ["failed Knock"]);
    assert_eq!(lab.soon("an answer", door.ask(Open(None, true))).await.unwrap(), 2);
    let error = lab.soon("the asker is told", door.ask(Mistake)).await.unwrap_err();
    assert_eq!(source(&error).kind(), ErrorKind::Unsupported);
    lab.soon("there is room again", door.ask(Knock(5))).await.unwrap();
    assert_eq!(journal.entries(), ["1", "2", "5"]);
    let none = system.spawn(Door::new(&journal)).stash(0).await.unwrap();
    let error = lab.soon("the asker is told", none.ask(Knock(6))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
}

async fn restarted(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let noting = journal.clone();
    let door = system.spawn(move || Door::new(&noting)).await.unwrap();
    told(&door, 0..2);
    let asked = door.ask(Knock(2)).enqueue().unwrap();
    door.tell(Break(gate.clone())).unwrap();
    lab.soon("it breaks", gate.reached()).await;
    let last = door.ask(Knock(3)).enqueue().unwrap();
    gate.open();
    assert_eq!(lab.soon("the stashed ask is answered", asked).await.unwrap(), 2);
    assert_eq!(lab.soon("the queued ask is answered", last).await.unwrap(), 3);
    assert_eq!(journal.entries(), ["restart", "0", "1", "2", "3"]);
    assert_eq!(system.dead_letters(), 0);
}

async fn ended(lab: Lab) {
    for end in ["stop", "drain", "kill", "fail"] {
        let (journal, gate) = (Journal::new(), Gate::new());
        let (system, events) = lab.observed();
        let mut letters = system.dead_letter_feed();
        let door = system.spawn(Door::new(&journal)).await.unwrap();
        door.tell(Knock(0)).unwrap();
        let asked = door.ask(Knock(1)).enqueue().unwrap();
        door.tell(Break(gate.clone())).unwrap();
        lab.soon("it is busy", gate.reached()).await;
        door.tell(Knock(2)).unwrap();
        match end {
            "stop" => door.stop(),
            "drain" => door.drain(),
            "kill" => door.kill(),
            _ => {}
        }
        gate.open();
        assert_eq!(
            lab.soon("the asker is told", asked).await.unwrap_err().kind(),
            ErrorKind::Stopped,
            "{end}"
        );
        lab.soon("the actor ends", door.wait()).await.unwrap();
        for expected in ["knock 0", "knock 1", "knock 2"] {
            let letter = lab.soon("a dead letter", letters.next()).await.unwrap();
            assert_eq!(letter.text.as_deref(), Some(expected), "{end}");
            assert_eq!(letter.error.kind(), ErrorKind::Stopped);
        }
        assert_eq!((system.dead_letters(), events.journal().count("dead Knock")), (3, 3), "{end}");
        assert_eq!(journal.len(), 0);
    }
    // A door that drains and never opens handles nothing of its stash; one that opens, all.
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let door = system.spawn(Door::new(&journal)).await.unwrap();
    told(&door, 0..2);
    door.tell(Open(Some(gate.clone()), true)).unwrap();
    lab.soon("it is busy", gate.reached()).await;
    door.drain();
    gate.open();
    assert!(matches!(lab.soon("the actor ends", door.wait()).await.unwrap(), StopReason::Drained));
    assert_eq!((journal.entries(), system.dead_letters()), (vec!["0".to_owned(), "1".to_owned()], 0));
}

async fn hooks(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let door = Door { early: true, ..Door::new(&journal) };
    let door = system.spawn(door).await.unwrap();
    lab.soon("an answer", door.ask(Knock(5))).await.unwrap();
    assert_eq!((journal.entries().join(" "), system.dead_letters()), ("0 1 5".to_owned(), 0));
    door.stop();
    lab.soon("the actor ends", door.wait()).await.unwrap();
    assert_eq!(system.dead_letters(), 1);
}

/// A door with an ask in its stash.
async fn shut(lab: &Lab) -> (ActorRef<Door>, PendingReply<Knock>) {
    let door = lab.system().spawn(Door::new(&Journal::new())).await.unwrap();
    let asked = door.ask(Knock(1)).enqueue().unwrap();
    lab.soon("it is stashed", door.ask(Open(None, false))).await.unwrap();
    (door, asked)
}

async fn assert_refused(lab: &Lab, door: &ActorRef<Door>, asked: PendingReply<Knock>) {
    let error = lab.soon("the asker is told", asked).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stopped);
    lab.soon("the actor ends", door.wait()).await.unwrap();
    assert_eq!(door.system().dead_letters(), 1);
}

async fn native_stop(lab: Lab) {
    let (door, asked) = shut(&lab).await;
    lab.native_stop(&door).await;
    assert_refused(&lab, &door, asked).await;
}

async fn native_kill(lab: Lab) {
    let (door, asked) = shut(&lab).await;
    lab.native_kill(&door).await;
    assert_refused(&lab, &door, asked).await;
}

async fn runtime_dropped(lab: Lab) {
    let system = lab.system();
    let born = lab.elsewhere(move || async move {
        let door = system.spawn(Door::new(&Journal::new())).await.unwrap();
        let asked = door.ask(Knock(1)).enqueue().unwrap();
        door.ask(Open(None, false)).await.unwrap();
        (door, asked)
    });
    let (door, asked) = lab.soon("the runtime is dropped", born).await;
    assert_refused(&lab, &door, asked).await;
}
