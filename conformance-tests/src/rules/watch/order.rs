//! The order of `Terminated`, `wait` and messages.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Failure, Handler, Message, Outcome, Overflow, Priority, Shed, Spawn, Terminated,
};

use crate::fixtures::worker::Worker;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WATCH-18",
        Topic::Watch,
        &[(Topic::Watch, State::Stopped), (Topic::Watch, State::Killed)],
        "When `wait` returns, the watchers' notices are in their mailboxes; in the handler of `Terminated` the watched actor is not alive, and its stop reason is available.",
        "`wait`, `is_alive` and `Terminated` agree on the order of events.",
        body!(told_in_order),
    ),
    Rule::must(
        "WATCH-19",
        Topic::Watch,
        &[(Topic::Watch, State::Handling), (Topic::Priority, State::Handling)],
        "`Terminated` arrives after all messages that the ended actor sent, whatever their priority.",
        "`Terminated` is the last message from an actor.",
        body!(last),
    ),
];

/// Notes the state of the watched actor when it handles `Terminated`.
struct ReasonReader {
    target: ActorRef<Worker>,
    journal: Journal,
}

impl Actor for ReasonReader {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&self.target).map_err(Failure::from)
    }
}

impl Handler<Terminated> for ReasonReader {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!(
            "{} {}",
            self.target.is_alive() == Some(true),
            self.target.stop_reason().is_some()
        ));
        Ok(())
    }
}

struct CountNotices;

impl Message for CountNotices {
    type Reply = usize;
    type Access = dactor_core::Exclusive;
}

impl Handler<CountNotices> for ReasonReader {
    async fn handle(&mut self, _: CountNotices, _: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.journal.len())
    }
}

async fn told_in_order(rule: RuleContext) {
    let system = rule.system();
    for round in 0..100 {
        let journal = Journal::new();
        let target = system.spawn(Worker::new(&Journal::new())).await.unwrap();
        let mut readers = Vec::new();
        for _ in 0..20 {
            let reader = ReasonReader { target: target.clone(), journal: Journal::new() };
            readers.push((reader.journal.clone(), system.spawn(reader).await.unwrap()));
        }
        let waiting = target.clone();
        let asked = readers.last().unwrap().1.clone();
        let waiter = tokio::spawn(async move {
            waiting.wait().await.unwrap();
            asked.ask(CountNotices).await.unwrap()
        });
        rule.let_idle().await;
        if round % 2 == 0 {
            target.stop()
        } else {
            target.kill()
        }
        assert_eq!(rule.soon("the ask after `wait` is answered", waiter).await.unwrap(), 1, "round {round}");
        for (journal, _) in &readers {
            rule.soon("all watchers are notified", journal.wait_len(1)).await;
            assert_eq!(journal.entries(), ["false true"], "round {round}");
        }
        drop(journal);
    }
}

/// Notes its messages, and the end of the actor that it watches.
struct Watcher(Journal, Gate);

impl Actor for Watcher {}

struct Watch(ActorRef<BurstSender>);

impl Message for Watch {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Watch> for Watcher {
    async fn handle(&mut self, Watch(other): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&other)?;
        self.1.pass().await;
        Ok(())
    }
}

struct Numbered(u32);

impl Message for Numbered {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Numbered> for Watcher {
    async fn handle(&mut self, Numbered(number): Numbered, _: &mut Context<Self>) -> Outcome<()> {
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

/// Sends thirty messages, ten of each priority, and stops.
struct BurstSender;

impl Actor for BurstSender {}

struct SendBurst(ActorRef<Watcher>);

impl Message for SendBurst {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<SendBurst> for BurstSender {
    async fn handle(&mut self, SendBurst(to): SendBurst, ctx: &mut Context<Self>) -> Outcome<()> {
        for number in 0..30 {
            let priority = [Priority::Low, Priority::High, Priority::Normal][number as usize % 3];
            to.at(priority).tell(Numbered(number))?;
        }
        ctx.stop();
        Ok(())
    }
}

async fn last(rule: RuleContext) {
    let configurations: [fn(Spawn<Watcher>) -> Spawn<Watcher>; 3] = [
        |spawn| spawn,
        |spawn| spawn.bounded(40, Overflow::Block),
        |spawn| spawn.shed(Shed::default().length(40)),
    ];
    for (which, configure) in configurations.into_iter().enumerate() {
        let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
        let other = system.spawn(BurstSender).await.unwrap();
        let watcher = configure(system.spawn(Watcher(journal.clone(), gate.clone()))).await.unwrap();
        watcher.tell(Watch(other.clone())).unwrap();
        rule.soon("the watch begins", gate.reached()).await;
        other.tell(SendBurst(watcher.clone())).unwrap();
        let _ = rule.soon("the other actor ends", other.wait()).await;
        let notified = async {
            while watcher.queued() < Some(31) {
                tokio::task::yield_now().await;
            }
        };
        rule.soon("all messages and the notice are queued", notified).await;
        // A message after the notice does not delay it.
        watcher.at(Priority::Low).tell(Numbered(99)).unwrap();
        gate.open();
        rule.soon("the notice is handled", journal.wait_for("terminated")).await;
        let entries = journal.entries();
        let before = entries.iter().take_while(|entry| *entry != "terminated");
        let before: Vec<u32> =
            before.map(|entry| entry.parse().unwrap()).filter(|number| *number < 30).collect();
        assert_eq!(before.len(), 30, "configuration {which}: {entries:?}");
    }
}
