//! Waking an actor: from any thread, and at any moment.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{self, Waker};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::body;
use super::race::Dice;
use crate::actors::{Hold, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "WAKE-01",
        Topic::Ask,
        &[(Topic::Ask, State::Idle)],
        "Three threads that ask an actor over and over, with its native handle taken, are all answered.",
        "A host that notes that a turn is queued, and clears the note after the turn, loses a wake that comes in between.",
        body!(soak),
    )
    .pace(Pace::TwoThreads)
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
        "`tell`, `try_tell`, an enqueued ask, `stop`, `drain` and `kill` work from a thread without a tokio runtime.",
        "`Host::wake` runs on the thread of the sender, and that is any thread.",
        body!(outside_tokio),
    )
    .spi(&["wakes-by-spawning"]),
];

/// How often each of three threads asks: a wake that the mutant loses costs it about 8 000 asks.
const ASKS: u64 = 30_000;

async fn soak(lab: Lab) {
    let (seed, patience) = (lab.settings().seed, lab.settings().patience);
    let actor = lab.system().spawn(Echo).await.unwrap();
    lab.expose(&actor);
    let answered = Arc::new(AtomicU64::new(0));
    let askers = (0..3).map(|asker| {
        let (actor, answered, dice) = (actor.clone(), answered.clone(), Dice(seed ^ asker));
        let (done, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("dactor-rule asker".into());
        thread.spawn(move || ask_over_and_over(&actor, &answered, dice, done)).expect("a thread");
        ended
    });
    let mut askers = join_all(askers);
    // How long all of it takes depends on the machine: only a standstill is a failure.
    loop {
        let before = answered.load(Ordering::Relaxed);
        match tokio::time::timeout(patience, &mut askers).await {
            Ok(ended) => return ended.into_iter().for_each(|ended| ended.expect("an asker is answered")),
            Err(_) => assert_ne!(
                answered.load(Ordering::Relaxed),
                before,
                "seed {seed}: {before} asks were answered, and then none for {patience:?}: a wake was lost. A host that \
                 notes that a turn is queued clears the note before the turn, not after it"
            ),
        }
    }
}

/// On a thread of its own, which is never suspended in favour of the actor as a task on the same worker would be: so asks
/// come at every moment of a turn's end.
fn ask_over_and_over(
    actor: &ActorRef<Echo>,
    answered: &AtomicU64,
    mut dice: Dice,
    done: oneshot::Sender<()>,
) {
    for number in 0..ASKS {
        // Short: the turn of the last ask is about to end. Long: the cell has given up waiting for the next one.
        let longest = if dice.roll(2) == 0 { 60 } else { 3000 };
        for _ in 0..dice.roll(longest) {
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

async fn outside_tokio(lab: Lab) {
    let system = lab.system();
    for exposed in [false, true] {
        let journal = Journal::new();
        let spawn = async || {
            let actor = system.spawn(Worker::new(&journal)).await.unwrap();
            if exposed {
                lab.expose(&actor);
            }
            lab.rest().await;
            actor
        };
        let actor = spawn().await;
        for round in 0..20 {
            let asked = outside(&lab, &actor, move |actor| {
                actor.tell(Note(1)).unwrap();
                actor.try_tell(Note(2)).unwrap();
                actor.ask(Note(round)).enqueue().unwrap()
            });
            let asked = asked.await;
            assert_eq!(lab.soon("an ask from outside is answered", asked).await.unwrap(), round);
            lab.rest().await;
        }
        assert_eq!(journal.entries().len(), 1 + 3 * 20, "each message from outside is handled once");
        outside(&lab, &actor, |actor| actor.stop()).await;
        assert_eq!(lab.soon("the actor stops", actor.wait()).await.unwrap().to_string(), "stopped");
        let actor = spawn().await;
        outside(&lab, &actor, |actor| actor.drain()).await;
        assert_eq!(lab.soon("the actor drains", actor.wait()).await.unwrap().to_string(), "drained");
        let actor = spawn().await;
        outside(&lab, &actor, |actor| actor.kill()).await;
        assert_eq!(lab.soon("the actor is killed", actor.wait()).await.unwrap().to_string(), "killed");
        let (actor, gate) = (spawn().await, Gate::new());
        actor.tell(Hold(0, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        outside(&lab, &actor, |actor| {
            actor.tell(Note(1)).unwrap();
            actor.kill();
        })
        .await;
        assert_eq!(lab.soon("the actor is killed", actor.wait()).await.unwrap().to_string(), "killed");
    }
}

/// Runs code on a thread that no tokio runtime knows.
async fn outside<T: Send + 'static>(
    lab: &Lab,
    actor: &ActorRef<Worker>,
    code: impl FnOnce(ActorRef<Worker>) -> T + Send + 'static,
) -> T {
    let (done, outcome) = oneshot::channel();
    let actor = actor.clone();
    let thread = std::thread::Builder::new().name("dactor-rule outside".into());
    thread.spawn(move || drop(done.send(code(actor)))).expect("a thread");
    let outcome = lab.soon("the sender on a thread without a runtime returns", outcome).await;
    outcome.unwrap_or_else(|_| {
        panic!("the sender panicked on a thread without a tokio runtime: `Host::wake` and `Host::stop` must not need one")
    })
}

/// Answers with what it is asked.
struct Echo;
impl Actor for Echo {}

struct Say(u64);
impl Message for Say {
    type Reply = u64;
}

impl Handler<Say> for Echo {
    async fn handle(&mut self, Say(number): Say, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(number)
    }
}
