//! Senders that race the end of an actor, many times, from a printed seed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Later, Message, Outcome};
use tokio_util::sync::CancellationToken;

use super::body;
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "RACE-01",
        Topic::Tell,
        &[(Topic::Tell, State::Stopping), (Topic::Order, State::Stopping), (Topic::Stop, State::Handling)],
        "However senders race a stop, drain or kill: messages handled, dead-lettered and handed back add up to those sent.",
        "A message is never lost in silence, and never both returned and reported.",
        body!(adds_up),
    ),
    Rule::must(
        "RACE-02",
        Topic::Ask,
        &[(Topic::Ask, State::Stopping), (Topic::Ask, State::Handling)],
        "However askers race a stop, drain or kill: each is answered, with the reply or with `Stopped`.",
        "An asker without a timeout must not wait for ever.",
        body!(all_answered),
    ),
    Rule::must(
        "RACE-03",
        Topic::Wait,
        &[(Topic::Wait, State::Stopping), (Topic::Name, State::Stopping)],
        "However spawns race ends: of actors under one name at most one lives at a time, and in the end none.",
        "A name is freed exactly once.",
        body!(one_name),
    ),
    Rule::must(
        "RACE-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling), (Topic::Later, State::Handling), (Topic::Cancel, State::Handling)],
        "However a reply races the asker's timeout, its token or its end: the asker has the reply and `Later::reply` says `true`, or the asker does not have it and `Later::reply` says `false`, or the reply is a dead letter.",
        "A reply is never lost in silence.",
        body!(no_reply_lost),
    ),
];

/// SplitMix64: small, and the same everywhere.
#[derive(Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

const ROUNDS: u64 = 200;

async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

fn end(actor: &ActorRef<Counter>, how: u64) {
    match how {
        0 => actor.stop(),
        1 => actor.drain(),
        _ => actor.kill(),
    }
}

async fn adds_up(lab: Lab) {
    let seed = lab.settings().seed;
    for round in 0..ROUNDS {
        let mut dice = Dice(seed.wrapping_add(round));
        let (handled, system) = (Arc::new(AtomicU64::new(0)), lab.system());
        let actor = system.spawn(Counter(handled.clone())).await.unwrap();
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                let (actor, mut dice) = (actor.clone(), Dice(dice.roll(u64::MAX) ^ sender));
                tokio::spawn(async move {
                    let (mut returned, mut refused) = (0_u64, 0_u64);
                    for number in 0..100 {
                        match dice.roll(4) {
                            0 => refused += u64::from(actor.tell(One).is_err()),
                            1 => returned += u64::from(actor.try_tell(One).is_err()),
                            2 => refused += u64::from(actor.send(One).await.is_err()),
                            _ => {
                                yields(1).await;
                                returned += u64::from(actor.try_tell(One).is_err());
                            }
                        }
                        if number % 10 == 0 {
                            yields(dice.roll(2)).await;
                        }
                    }
                    (returned, refused)
                })
            })
            .collect();
        yields(dice.roll(12)).await;
        end(&actor, dice.roll(3));
        let (mut returned, mut refused) = (0, 0);
        for sender in senders {
            let counts = lab.soon("the sender is done", sender).await.unwrap();
            returned += counts.0;
            refused += counts.1;
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        let (handled, dead) = (handled.load(Ordering::SeqCst), system.dead_letters());
        assert_eq!(
            handled + dead + returned,
            300,
            "seed {seed}, round {round}: {handled} handled, {dead} dead, {returned} returned"
        );
        assert!(dead >= refused, "seed {seed}, round {round}: {refused} refused tells, {dead} dead letters");
    }
}

async fn all_answered(lab: Lab) {
    let seed = lab.settings().seed;
    for round in 0..ROUNDS {
        let mut dice = Dice(seed.wrapping_add(round));
        let (handled, system) = (Arc::new(AtomicU64::new(0)), lab.system());
        let actor = system.spawn(Counter(handled.clone())).await.unwrap();
        let askers: Vec<_> = (0..30)
            .map(|_| {
                let (actor, wait) = (actor.clone(), dice.roll(8));
                tokio::spawn(async move {
                    yields(wait).await;
                    actor.ask(One).await
                })
            })
            .collect();
        yields(dice.roll(12)).await;
        end(&actor, dice.roll(3));
        let (mut replies, mut refusals) = (0, 0);
        for asker in askers {
            match lab.soon("the asker is answered", asker).await.unwrap() {
                Ok(()) => replies += 1,
                Err(error) if error.kind() == ErrorKind::Stopped => refusals += 1,
                Err(error) => panic!("seed {seed}, round {round}: {error}"),
            }
        }
        lab.soon("the actor ends", actor.wait()).await.unwrap();
        let (handled, dead) = (handled.load(Ordering::SeqCst), system.dead_letters());
        assert_eq!((replies, refusals), (handled, dead), "seed {seed}, round {round}");
        assert_eq!(replies + refusals, 30, "seed {seed}, round {round}");
    }
}

async fn one_name(lab: Lab) {
    let seed = lab.settings().seed;
    let (system, alive) = (lab.system(), Arc::new(AtomicU64::new(0)));
    let spawners: Vec<_> = (0..4)
        .map(|spawner| {
            let (system, alive) = (system.clone(), alive.clone());
            let mut dice = Dice(seed ^ spawner);
            tokio::spawn(async move {
                let mut born = 0;
                for _ in 0..ROUNDS {
                    match system.spawn(Counter(Arc::default())).name("one").await {
                        Ok(actor) => {
                            born += 1;
                            assert_eq!(alive.fetch_add(1, Ordering::SeqCst), 0, "seed {seed}: two at a time");
                            yields(dice.roll(4)).await;
                            alive.fetch_sub(1, Ordering::SeqCst);
                            end(&actor, dice.roll(3));
                            actor.wait().await.unwrap();
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::NameTaken, "seed {seed}"),
                    }
                    yields(dice.roll(3)).await;
                }
                born
            })
        })
        .collect();
    let mut born = 0;
    for spawner in spawners {
        born += lab.soon("the spawner is done", spawner).await.unwrap();
    }
    assert!(born > 0, "seed {seed}: nobody was born");
    assert_eq!(system.live(), 0, "seed {seed}");
    assert!(system.get::<Counter>("one").is_none(), "seed {seed}");
}

/// Counts what it handles.
struct Counter(Arc<AtomicU64>);
impl Actor for Counter {}

struct One;
impl Message for One {
    type Reply = ();
}

impl Handler<One> for Counter {
    async fn handle(&mut self, One: One, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Hands its replies out, to be given by others.
struct Giver(tokio::sync::mpsc::UnboundedSender<Later<u32>>);

impl Actor for Giver {}

struct Question;

impl Message for Question {
    type Reply = u32;
}

impl Handler<Question> for Giver {
    async fn handle(&mut self, _: Question, ctx: &mut Context<Self>) -> Outcome<u32> {
        let (later, promised) = ctx.reply_later::<Question>();
        drop(self.0.send(later));
        promised
    }
}

/// Waits for about as long as the other side of the race, without giving the thread away.
fn spin(count: u64) {
    (0..count).for_each(|_| std::hint::spin_loop());
}

async fn no_reply_lost(lab: Lab) {
    let seed = lab.settings().seed;
    let system = lab.system();
    let (laters, mut given) = tokio::sync::mpsc::unbounded_channel();
    let giver = system.spawn(Giver(laters)).await.unwrap();
    let mut dead = 0;
    for round in 0..10 * ROUNDS {
        let mut dice = Dice(seed.wrapping_add(round));
        let way = dice.roll(3);
        let token = CancellationToken::new();
        let asked = giver.ask(Question);
        let asked = match way {
            0 => asked.cancel(token.clone()).enqueue().unwrap(),
            _ => asked.enqueue().unwrap(),
        };
        let later = lab.soon("the reply is to be given", given.recv()).await.unwrap();
        let (early, late) = (dice.roll(200), dice.roll(200));
        let start = Arc::new(std::sync::Barrier::new(2));
        let answering = std::thread::spawn({
            let start = start.clone();
            move || {
                start.wait();
                spin(early);
                later.reply(7)
            }
        });
        let asker = std::thread::spawn(move || {
            let mut asked = asked;
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            start.wait();
            spin(late);
            token.cancel();
            match Pin::new(&mut asked).poll(&mut cx) {
                Poll::Ready(reply) => reply.ok(),
                Poll::Pending => None,
            }
        });
        let (told, got) = (answering.join().unwrap(), asker.join().unwrap());
        // Of an asker who got nothing and was told that it was first, nothing else may be said.
        let lost = u64::from(told && got.is_none());
        dead += lost;
        assert!(!told || got == Some(7) || way != 0, "seed {seed}, round {round}: the reply vanished");
        assert!(told || got.is_none(), "seed {seed}, round {round}: a reply that was refused was given");
        assert_eq!(system.dead_letters(), dead, "seed {seed}, round {round}: told {told}, got {got:?}");
    }
}
