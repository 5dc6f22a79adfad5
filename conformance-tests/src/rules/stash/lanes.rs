//! The stash and the lanes of a mailbox: a stashed message keeps its priority, and counts while its asker waits.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, Overflow, Priority, Shed, Spawn,
};

use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "STASH-11",
        Topic::Inflow,
        &[
            (Topic::Inflow, State::Handling),
            (Topic::Cancel, State::Handling),
            (Topic::Inflow, State::Stopped),
        ],
        "An ask that is given up while it is stashed, or after it came back from the stash, frees its place at once and is no dead letter.",
        "Askers that give up must not fill a stash.",
        body!(given_up),
    ),
    Rule::must(
        "STASH-12",
        Topic::Inflow,
        &[(Topic::Inflow, State::Handling), (Topic::Priority, State::Handling)],
        "An unstashed message keeps its priority: it precedes the queued messages of its lane and follows those of higher lanes, in unbounded, bounded and load-shedding mailboxes, and takes no room in them.",
        "Stashing does not change the priority of a message.",
        body!(priorities),
    ),
];

/// Stashes everything until it is released.
struct DeferringActor {
    journal: Journal,
    open: bool,
}

impl Actor for DeferringActor {}

struct Work(u32);

impl Message for Work {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<Work> for DeferringActor {
    async fn handle(&mut self, work: Work, ctx: &mut Context<Self>) -> Outcome<u32> {
        if !self.open {
            return ctx.stash(work);
        }
        self.journal.note(work.0);
        Ok(work.0)
    }
}

/// Unstashes all messages, and returns how many were stashed.
struct Release;

impl Message for Release {
    type Reply = usize;
    type Access = dactor_core::Exclusive;
}

impl Handler<Release> for DeferringActor {
    async fn handle(&mut self, _: Release, ctx: &mut Context<Self>) -> Outcome<usize> {
        let stashed = ctx.stashed();
        self.open = true;
        ctx.unstash_all();
        Ok(stashed)
    }
}

struct CountStashed;

impl Message for CountStashed {
    type Reply = usize;
    type Access = dactor_core::Exclusive;
}

impl Handler<CountStashed> for DeferringActor {
    async fn handle(&mut self, _: CountStashed, ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(ctx.stashed())
    }
}

struct Pause(Gate);

impl Message for Pause {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Pause> for DeferringActor {
    async fn handle(&mut self, Pause(gate): Pause, _: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        Ok(())
    }
}

async fn deferring(
    rule: &RuleContext,
    configure: impl FnOnce(Spawn<DeferringActor>) -> Spawn<DeferringActor>,
) -> (ActorRef<DeferringActor>, Journal) {
    let journal = Journal::new();
    let spawn = rule.system().spawn(DeferringActor { journal: journal.clone(), open: false });
    (configure(spawn).await.unwrap(), journal)
}

async fn given_up(rule: RuleContext) {
    let (actor, journal) = deferring(&rule, |spawn| spawn.stash(2)).await;
    for round in 0..5 {
        let asked = [1, 2].map(|number| actor.ask(Work(number)).enqueue().unwrap());
        assert_eq!(rule.soon("both are stashed", actor.ask(CountStashed)).await.unwrap(), 2, "round {round}");
        let error = rule.soon("a third message does not fit", actor.ask(Work(3))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        drop(asked);
        assert_eq!(
            rule.soon("no stashed message remains", actor.ask(CountStashed)).await.unwrap(),
            0,
            "round {round}"
        );
    }
    let kept = actor.ask(Work(4)).enqueue().unwrap();
    let dropped = actor.ask(Work(5)).enqueue().unwrap();
    assert_eq!(rule.soon("both are stashed", actor.ask(CountStashed)).await.unwrap(), 2);
    // While the actor waits at the first gate, nothing is handled between the two high-priority messages.
    let (before, gate) = (Gate::new(), Gate::new());
    actor.at(Priority::High).tell(Pause(before.clone())).unwrap();
    rule.soon("the actor pauses", before.reached()).await;
    actor.at(Priority::High).tell(Release).unwrap();
    actor.at(Priority::High).tell(Pause(gate.clone())).unwrap();
    before.open();
    rule.soon("the unstashed messages are queued", gate.reached()).await;
    assert_eq!(actor.queued(), Some(2));
    drop(dropped);
    assert_eq!(actor.queued(), Some(1));
    gate.open();
    assert_eq!(rule.soon("the other ask is answered", kept).await.unwrap(), 4);
    rule.soon("the actor answers", actor.ask(CountStashed)).await.unwrap();
    assert_eq!(journal.entries(), ["4"]);
    let system = actor.system().clone();
    assert_eq!(system.dead_letter_count(), 0);

    let (actor, _) = deferring(&rule, |spawn| spawn).await;
    let asked = [1, 2].map(|number| actor.ask(Work(number)).enqueue().unwrap());
    actor.tell(Work(3)).unwrap();
    assert_eq!(rule.soon("all are stashed", actor.ask(CountStashed)).await.unwrap(), 3);
    drop(asked);
    actor.stop();
    let _ = rule.soon("the actor ends", actor.wait()).await;
    assert_eq!(actor.system().dead_letter_count(), 1, "only the told message");
}

async fn priorities(rule: RuleContext) {
    let configurations: [fn(Spawn<DeferringActor>) -> Spawn<DeferringActor>; 4] = [
        |spawn| spawn,
        |spawn| spawn.bounded(4, Overflow::Reject),
        |spawn| spawn.bounded(4, Overflow::DropOldest),
        |spawn| spawn.shed(Shed::default().length(5)),
    ];
    for (which, configure) in configurations.into_iter().enumerate() {
        let (actor, journal) = deferring(&rule, configure).await;
        let stash = [(1, Priority::Low), (2, Priority::High), (3, Priority::Normal), (4, Priority::High)];
        for (count, (number, priority)) in stash.into_iter().enumerate() {
            actor.at(priority).tell(Work(number)).unwrap();
            let stashed =
                rule.soon("the message is stashed", actor.at(Priority::Low).ask(CountStashed)).await.unwrap();
            assert_eq!(stashed, count + 1);
        }
        let gate = Gate::new();
        actor.tell(Pause(gate.clone())).unwrap();
        rule.soon("the actor pauses", gate.reached()).await;
        actor.at(Priority::High).tell(Release).unwrap();
        for (number, priority) in [(5, Priority::Low), (6, Priority::Normal), (7, Priority::High)] {
            actor.at(priority).tell(Work(number)).unwrap();
        }
        gate.open();
        actor.drain();
        let _ = rule.soon("the actor ends", actor.wait()).await;
        assert_eq!(journal.entries(), ["2", "4", "7", "3", "6", "1", "5"], "configuration {which}");
        assert_eq!(actor.system().dead_letter_count(), 0);
    }
}
