//! The stash and the lanes of a mailbox: a message keeps its priority, and counts while it is wanted.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Overflow, Priority, Shed, Spawn,
    Terminated,
};

use super::body;
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "STASH-11",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Handling),
            (Topic::Cancel, State::Handling),
            (Topic::Inflow, State::Stopped),
        ],
        "An ask that is given up while it is stashed, or when it has come back from the stash, gives its place there back at once and is no dead letter.",
        "Clients that give up must not fill a stash.",
        body!(given_up),
    ),
    Rule::must(
        "STASH-12",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Priority, State::Handling)],
        "A message that comes back from the stash has the priority it came with: it comes before all that waits in its lane and behind all of a higher one, in unbounded, bounded and load-shedding mailboxes, and takes no room in them.",
        "To put a message aside does not make it more or less urgent.",
        body!(priorities),
    ),
    Rule::must(
        "WATCH-19",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Priority, State::Handling)],
        "`Terminated` comes behind all that the ended actor sent before, whatever its priority.",
        "The end of an actor is the last that is heard of it.",
        body!(last),
    ),
];

/// Keeps everything in its stash until it is opened.
struct Shelf {
    journal: Journal,
    open: bool,
}

impl Actor for Shelf {}

struct Put(u32);
impl Message for Put {
    type Reply = u32;
}

impl Handler<Put> for Shelf {
    async fn handle(&mut self, put: Put, ctx: &mut Context<Self>) -> Outcome<u32> {
        if !self.open {
            return ctx.stash(put);
        }
        self.journal.note(put.0);
        Ok(put.0)
    }
}

/// Opens the shelf, and gives how many messages were stashed.
struct Open;
impl Message for Open {
    type Reply = usize;
}

impl Handler<Open> for Shelf {
    async fn handle(&mut self, _: Open, ctx: &mut Context<Self>) -> Outcome<usize> {
        let stashed = ctx.stashed();
        self.open = true;
        ctx.unstash_all();
        Ok(stashed)
    }
}

struct Stashed;
impl Message for Stashed {
    type Reply = usize;
}

impl Handler<Stashed> for Shelf {
    async fn handle(&mut self, _: Stashed, ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(ctx.stashed())
    }
}

struct Pause(Gate);
impl Message for Pause {
    type Reply = ();
}

impl Handler<Pause> for Shelf {
    async fn handle(&mut self, Pause(gate): Pause, _: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        Ok(())
    }
}

async fn shelf(
    lab: &Lab,
    configure: impl FnOnce(Spawn<Shelf>) -> Spawn<Shelf>,
) -> (ActorRef<Shelf>, Journal) {
    let journal = Journal::new();
    let spawn = lab.system().spawn(Shelf { journal: journal.clone(), open: false });
    (configure(spawn).await.unwrap(), journal)
}

async fn given_up(lab: Lab) {
    let (actor, journal) = shelf(&lab, |spawn| spawn.stash(2)).await;
    for round in 0..5 {
        let asked = [1, 2].map(|number| actor.ask(Put(number)).enqueue().unwrap());
        assert_eq!(lab.soon("both are stashed", actor.ask(Stashed)).await.unwrap(), 2, "round {round}");
        let error = lab.soon("a third has no room", actor.ask(Put(3))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        drop(asked);
        assert_eq!(lab.soon("none is wanted", actor.ask(Stashed)).await.unwrap(), 0, "round {round}");
    }
    let kept = actor.ask(Put(4)).enqueue().unwrap();
    let dropped = actor.ask(Put(5)).enqueue().unwrap();
    assert_eq!(lab.soon("both are stashed", actor.ask(Stashed)).await.unwrap(), 2);
    let gate = Gate::new();
    actor.at(Priority::High).tell(Open).unwrap();
    actor.at(Priority::High).tell(Pause(gate.clone())).unwrap();
    lab.soon("they are back, and wait", gate.reached()).await;
    assert_eq!(actor.queued(), 2);
    drop(dropped);
    assert_eq!(actor.queued(), 1);
    gate.open();
    assert_eq!(lab.soon("the other is answered", kept).await.unwrap(), 4);
    lab.soon("the actor answers", actor.ask(Stashed)).await.unwrap();
    assert_eq!(journal.entries(), ["4"]);
    let system = actor.system().clone();
    assert_eq!(system.dead_letters(), 0);

    let (actor, _) = shelf(&lab, |spawn| spawn).await;
    let asked = [1, 2].map(|number| actor.ask(Put(number)).enqueue().unwrap());
    actor.tell(Put(3)).unwrap();
    assert_eq!(lab.soon("all are stashed", actor.ask(Stashed)).await.unwrap(), 3);
    drop(asked);
    actor.stop();
    let _ = lab.soon("the actor ends", actor.wait()).await;
    assert_eq!(actor.system().dead_letters(), 1, "only the one that was told");
}

async fn priorities(lab: Lab) {
    let configurations: [fn(Spawn<Shelf>) -> Spawn<Shelf>; 4] = [
        |spawn| spawn,
        |spawn| spawn.bounded(4, Overflow::Reject),
        |spawn| spawn.bounded(4, Overflow::DropOldest),
        |spawn| spawn.shed(Shed::default().length(5)),
    ];
    for (which, configure) in configurations.into_iter().enumerate() {
        let (actor, journal) = shelf(&lab, configure).await;
        let stash = [(1, Priority::Low), (2, Priority::High), (3, Priority::Normal), (4, Priority::High)];
        for (count, (number, priority)) in stash.into_iter().enumerate() {
            actor.at(priority).tell(Put(number)).unwrap();
            let stashed = lab.soon("it is stashed", actor.at(Priority::Low).ask(Stashed)).await.unwrap();
            assert_eq!(stashed, count + 1);
        }
        let gate = Gate::new();
        actor.tell(Pause(gate.clone())).unwrap();
        lab.soon("it pauses", gate.reached()).await;
        actor.at(Priority::High).tell(Open).unwrap();
        for (number, priority) in [(5, Priority::Low), (6, Priority::Normal), (7, Priority::High)] {
            actor.at(priority).tell(Put(number)).unwrap();
        }
        gate.open();
        actor.drain();
        let _ = lab.soon("the actor ends", actor.wait()).await;
        assert_eq!(journal.entries(), ["2", "4", "7", "3", "6", "1", "5"], "configuration {which}");
        assert_eq!(actor.system().dead_letters(), 0);
    }
}

/// Notes what it is told, and the end of the actor that it watches.
struct Watcher(Journal, Gate);

impl Actor for Watcher {}

struct Watch(ActorRef<Chatterer>);
impl Message for Watch {
    type Reply = ();
}

impl Handler<Watch> for Watcher {
    async fn handle(&mut self, Watch(other): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&other)?;
        self.1.pass().await;
        Ok(())
    }
}

struct Word(u32);
impl Message for Word {
    type Reply = ();
}

impl Handler<Word> for Watcher {
    async fn handle(&mut self, Word(number): Word, _: &mut Context<Self>) -> Outcome<()> {
        self.0.note(number);
        Ok(())
    }
}

impl Handler<Terminated> for Watcher {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.0.note("terminated");
        Ok(())
    }
}

/// Says thirty words, ten of each priority, and stops.
struct Chatterer;
impl Actor for Chatterer {}

struct Chatter(ActorRef<Watcher>);
impl Message for Chatter {
    type Reply = ();
}

impl Handler<Chatter> for Chatterer {
    async fn handle(&mut self, Chatter(to): Chatter, ctx: &mut Context<Self>) -> Outcome<()> {
        for number in 0..30 {
            let priority = [Priority::Low, Priority::High, Priority::Normal][number as usize % 3];
            to.at(priority).tell(Word(number))?;
        }
        ctx.stop();
        Ok(())
    }
}

async fn last(lab: Lab) {
    let configurations: [fn(Spawn<Watcher>) -> Spawn<Watcher>; 3] = [
        |spawn| spawn,
        |spawn| spawn.bounded(40, Overflow::Block),
        |spawn| spawn.shed(Shed::default().length(40)),
    ];
    for (which, configure) in configurations.into_iter().enumerate() {
        let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
        let other = system.spawn(Chatterer).await.unwrap();
        let watcher = configure(system.spawn(Watcher(journal.clone(), gate.clone()))).await.unwrap();
        watcher.tell(Watch(other.clone())).unwrap();
        lab.soon("it watches", gate.reached()).await;
        other.tell(Chatter(watcher.clone())).unwrap();
        let _ = lab.soon("the other ends", other.wait()).await;
        let notified = async {
            while watcher.queued() < 31 {
                tokio::task::yield_now().await;
            }
        };
        lab.soon("all is there, the notice too", notified).await;
        // What comes after the notice does not hold it up.
        watcher.at(Priority::Low).tell(Word(99)).unwrap();
        gate.open();
        lab.soon("the notice comes", journal.wait_for("terminated")).await;
        let entries = journal.entries();
        let before = entries.iter().take_while(|entry| *entry != "terminated");
        let before: Vec<u32> =
            before.map(|entry| entry.parse().unwrap()).filter(|number| *number < 30).collect();
        assert_eq!(before.len(), 30, "configuration {which}: {entries:?}");
    }
}
