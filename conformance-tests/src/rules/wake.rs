//! Waking an actor, from any thread and at any moment.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Waker};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::random::SplitMix64;
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "WAKE-01",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "Three threads that ask an actor repeatedly, with its native handle taken, are all answered.",
        "A native handle that records a scheduled turn and clears that flag after the turn loses a wake-up in between.",
        body!(soak),
    )
    .runtime(RuntimeMode::MultiThread)
    .spi(&["clears-flag-late", "loses-wakes"]),
    Rule::must(
        "WAKE-02",
        Topic::Tell,
        &[
            (Topic::Tell, State::Idle),
            (Topic::Tell, State::Handling),
            (Topic::Ask, State::Idle),
            (Topic::Stop, State::Idle),
            (Topic::Drain, State::Idle),
            (Topic::Kill, State::Idle),
            (Topic::Kill, State::Handling),
        ],
        "`tell`, `try_tell`, an enqueued ask, `stop`, `drain` and `kill` work on a thread without a tokio runtime.",
        "`NativeHandle::wake` runs on the thread of the sender, which can be any thread.",
        body!(outside_tokio),
    )
    .spi(&["wakes-by-spawning"]),
];

/// How often each of three threads asks: the mutant loses a wake-up about every 8 000 asks.
const ASKS: u64 = 30_000;

async fn soak(rule: RuleContext) {
    let (seed, patience) = (rule.settings().seed, rule.settings().patience);
    let actor = rule.system().spawn(Echo).await.unwrap();
    rule.take_native_handle(&actor);
    let answered = Arc::new(AtomicU64::new(0));
    let askers = (0..3).map(|asker| {
        let (actor, answered, random) = (actor.clone(), answered.clone(), SplitMix64(seed ^ asker));
        let (done, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("dactor-rule asker".into());
        thread.spawn(move || ask_over_and_over(&actor, &answered, random, done)).expect("a thread");
        ended
    });
    let mut askers = join_all(askers);
    // The duration depends on the machine: only a standstill is a failure.
    loop {
        let before = answered.load(Ordering::Relaxed);
        match tokio::time::timeout(patience, &mut askers).await {
            Ok(ended) => return ended.into_iter().for_each(|ended| ended.expect("an asker is answered")),
            Err(_) => assert_ne!(
                answered.load(Ordering::Relaxed),
                before,
                "seed {seed}: {before} asks were answered, and then none for {patience:?}: a wake-up was lost. A native \
                 handle that records a queued turn must clear that flag before the turn, not after it"
            ),
        }
    }
}

/// Runs on a thread of its own, which is never suspended in favour of the actor as a task on the same worker would
/// be, so that asks arrive at every moment of the end of a turn.
fn ask_over_and_over(
    actor: &ActorRef<Echo>,
    answered: &AtomicU64,
    mut random: SplitMix64,
    done: oneshot::Sender<()>,
) {
    for number in 0..ASKS {
        // Short: the turn of the last ask is about to end. Long: the cell no longer waits for the next message.
        let longest = if random.below(2) == 0 { 60 } else { 3000 };
        for _ in 0..random.below(longest) {
            std::hint::spin_loop();
        }
        let mut reply = pin!(actor.ask(Say(number)).enqueue().unwrap());
        let mut polls = 0_u32;
        while reply.as_mut().poll(&mut task::Context::from_waker(Waker::noop())).is_pending() {
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(64) {
                std::thread::yield_now();
            }
            if done.is_closed() {
                return;
            }
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    let _ = done.send(());
}

async fn outside_tokio(rule: RuleContext) {
    let system = rule.system();
    for native_handle_taken in [false, true] {
        let journal = Journal::new();
        let spawn = async || {
            let actor = system.spawn(Worker::new(&journal)).await.unwrap();
            if native_handle_taken {
                rule.take_native_handle(&actor);
            }
            rule.let_idle().await;
            actor
        };
        let actor = spawn().await;
        for round in 0..20 {
            let asked = outside(&rule, &actor, move |actor| {
                actor.tell(Note(1)).unwrap();
                actor.try_tell(Note(2)).unwrap();
                actor.ask(Note(round)).enqueue().unwrap()
            });
            let asked = asked.await;
            assert_eq!(rule.soon("an ask from outside is answered", asked).await.unwrap(), round);
            rule.let_idle().await;
        }
        assert_eq!(journal.entries().len(), 1 + 3 * 20, "each message is handled once");
        outside(&rule, &actor, |actor| actor.stop()).await;
        assert_eq!(rule.soon("the actor stops", actor.wait()).await.unwrap().to_string(), "stopped");
        let actor = spawn().await;
        outside(&rule, &actor, |actor| actor.drain()).await;
        assert_eq!(rule.soon("the actor drains", actor.wait()).await.unwrap().to_string(), "drained");
        let actor = spawn().await;
        outside(&rule, &actor, |actor| actor.kill()).await;
        assert_eq!(rule.soon("the actor is killed", actor.wait()).await.unwrap().to_string(), "killed");
        let (actor, gate) = (spawn().await, Gate::new());
        actor.tell(Hold(0, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        outside(&rule, &actor, |actor| {
            actor.tell(Note(1)).unwrap();
            actor.kill();
        })
        .await;
        assert_eq!(rule.soon("the actor is killed", actor.wait()).await.unwrap().to_string(), "killed");
    }
}

/// Runs code on a thread without a tokio runtime.
async fn outside<T: Send + 'static>(
    rule: &RuleContext,
    actor: &ActorRef<Worker>,
    code: impl FnOnce(ActorRef<Worker>) -> T + Send + 'static,
) -> T {
    let (done, outcome) = oneshot::channel();
    let actor = actor.clone();
    let thread = std::thread::Builder::new().name("dactor-rule outside".into());
    thread.spawn(move || drop(done.send(code(actor)))).expect("a thread");
    let outcome = rule.soon("the sender on a thread without a runtime returns", outcome).await;
    outcome.unwrap_or_else(|_| {
        panic!("the sender panicked on a thread without a tokio runtime: `NativeHandle::wake` and `NativeHandle::stop` must not need one")
    })
}

/// Replies with the number it is asked.
struct Echo;

impl Actor for Echo {}

struct Say(u64);

impl Message for Say {
    type Reply = u64;
    type Access = dactor_core::Exclusive;
}

impl Handler<Say> for Echo {
    async fn handle(&mut self, Say(number): Say, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(number)
    }
}
