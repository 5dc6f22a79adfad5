//! Random asks without a cycle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dactor_core::ActorRef;

use super::{actors, detecting};
use crate::fixtures::scripted::{Script, ScriptedActor, async_script};
use crate::random::SplitMix64;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "CYCLE-05",
    Topic::Ask,
    &[(Topic::Ask, State::Handling)],
    "Actors that ask each other at random without a cycle, in sequence and concurrently, are all answered.",
    "The detector has no false positives.",
    body!(no_cycle),
)];

/// Asks two actors with higher numbers, chosen by the seed, in sequence or concurrently.
struct Descend {
    actors: Arc<Vec<ActorRef<ScriptedActor>>>,
    from: usize,
    seed: u64,
    asks: Arc<AtomicU64>,
}

impl Descend {
    fn into_message(self) -> Script {
        async_script(move |_, _| Box::pin(self.run()))
    }

    async fn run(self) -> dactor_core::Outcome<u32> {
        let left = self.actors.len() - self.from;
        let mut random = SplitMix64(self.seed);
        let mut ask = || {
            let (step, seed) = (1 + random.below(4) as usize, random.below(u64::MAX) | 1);
            let from = (step <= left.saturating_sub(1)).then_some(self.from + step)?;
            self.asks.fetch_add(1, Ordering::Relaxed);
            let (actors, asks) = (self.actors.clone(), self.asks.clone());
            Some((self.actors[from].clone(), Self { actors, from, seed, asks }.into_message()))
        };
        let (first, second) = (ask(), ask());
        match (first, second, self.seed.is_multiple_of(3)) {
            (Some((to, message)), Some((other, again)), true) => {
                let (one, two) = tokio::join!(to.ask(message), other.ask(again));
                one?;
                two?;
            }
            (first, second, _) => {
                for (to, message) in first.into_iter().chain(second) {
                    to.ask(message).await?;
                }
            }
        }
        Ok(0)
    }
}

async fn no_cycle(rule: RuleContext) {
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1;
    println!("seed {seed}");
    let system = detecting(&rule);
    let actors = Arc::new(actors(&system, 12).await);
    let (asks, mut round) = (Arc::new(AtomicU64::new(0)), 0_u64);
    let many = std::env::var("DACTOR_CYCLE_ASKS").ok().and_then(|many| many.parse().ok()).unwrap_or(20_000);
    while asks.load(Ordering::Relaxed) < many {
        let tasks: Vec<_> = (0..4)
            .map(|from| {
                let seed = seed.wrapping_mul(2 * (round * 4 + from) + 1) | 1;
                let descend =
                    Descend { actors: actors.clone(), from: from as usize, seed, asks: asks.clone() };
                let scripted = actors[from as usize].clone();
                tokio::spawn(async move { scripted.ask(descend.into_message()).await })
            })
            .collect();
        for task in tasks {
            let answer = rule.soon("an asker is answered", task).await.unwrap();
            assert!(answer.is_ok(), "seed {seed}, round {round}: {}", answer.unwrap_err());
        }
        round += 1;
    }
}
