//! Senders that race the end of an actor, many times, from a printed seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome};

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
];

/// SplitMix64: small, and the same everywhere.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
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
        lab.soon("the actor ends", actor.wait()).await;
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
        lab.soon("the actor ends", actor.wait()).await;
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
                            actor.wait().await;
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
