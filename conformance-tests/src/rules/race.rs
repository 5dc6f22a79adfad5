//! Senders and askers that race the end of an actor, from a printed seed.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use dactor_core::{Actor, ActorRef, Context, ErrorKind, Handler, Later, Message, Outcome};
use tokio_util::sync::CancellationToken;

use crate::random::SplitMix64;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "RACE-01",
        Topic::Tell,
        &[(Topic::Tell, State::Stopping), (Topic::Order, State::Stopping), (Topic::Stop, State::Handling)],
        "When senders race a stop, a drain or a kill, the handled, dead-lettered and returned messages add up to the sent ones.",
        "A message is never lost silently, nor both returned and reported.",
        body!(adds_up),
    ),
    Rule::must(
        "RACE-02",
        Topic::Ask,
        &[(Topic::Ask, State::Stopping), (Topic::Ask, State::Handling)],
        "When askers race a stop, a drain or a kill, each is answered with the reply or with `Stopped`.",
        "An asker without a timeout must not wait forever.",
        body!(all_answered),
    ),
    Rule::must(
        "RACE-03",
        Topic::Wait,
        &[(Topic::Wait, State::Stopping), (Topic::Name, State::Stopping)],
        "When spawns race ends, at most one actor of a name is alive at a time, and finally none.",
        "A name is freed exactly once.",
        body!(one_name),
    ),
    Rule::must(
        "RACE-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling), (Topic::Later, State::Handling), (Topic::Cancel, State::Handling)],
        "When a reply races the asker's timeout, its token or its drop, either the asker has the reply and `Later::reply` returns `true`, or the asker does not have it and `Later::reply` returns `false`, or the reply is a dead letter.",
        "A reply is never lost silently.",
        body!(no_reply_lost),
    ),
];

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

async fn adds_up(rule: RuleContext) {
    let seed = rule.settings().seed;
    for round in 0..ROUNDS {
        let mut random = SplitMix64(seed.wrapping_add(round));
        let (handled, system) = (Arc::new(AtomicU64::new(0)), rule.system());
        let actor = system.spawn(Counter(handled.clone())).await.unwrap();
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                let (actor, mut random) = (actor.clone(), SplitMix64(random.below(u64::MAX) ^ sender));
                tokio::spawn(async move {
                    let (mut returned, mut refused) = (0_u64, 0_u64);
                    for number in 0..100 {
                        match random.below(4) {
                            0 => refused += u64::from(actor.tell(One).is_err()),
                            1 => returned += u64::from(actor.try_tell(One).is_err()),
                            2 => refused += u64::from(actor.send(One).await.is_err()),
                            _ => {
                                yields(1).await;
                                returned += u64::from(actor.try_tell(One).is_err());
                            }
                        }
                        if number % 10 == 0 {
                            yields(random.below(2)).await;
                        }
                    }
                    (returned, refused)
                })
            })
            .collect();
        yields(random.below(12)).await;
        end(&actor, random.below(3));
        let (mut returned, mut refused) = (0, 0);
        for sender in senders {
            let counts = rule.soon("the sender finishes", sender).await.unwrap();
            returned += counts.0;
            refused += counts.1;
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let (handled, dead) = (handled.load(Ordering::SeqCst), system.dead_letter_count());
        assert_eq!(
            handled + dead + returned,
            300,
            "seed {seed}, round {round}: {handled} handled, {dead} dead, {returned} returned"
        );
        assert!(dead >= refused, "seed {seed}, round {round}: {refused} refused tells, {dead} dead letters");
    }
}

async fn all_answered(rule: RuleContext) {
    let seed = rule.settings().seed;
    for round in 0..ROUNDS {
        let mut random = SplitMix64(seed.wrapping_add(round));
        let (handled, system) = (Arc::new(AtomicU64::new(0)), rule.system());
        let actor = system.spawn(Counter(handled.clone())).await.unwrap();
        let askers: Vec<_> = (0..30)
            .map(|_| {
                let (actor, wait) = (actor.clone(), random.below(8));
                tokio::spawn(async move {
                    yields(wait).await;
                    actor.ask(One).await
                })
            })
            .collect();
        yields(random.below(12)).await;
        end(&actor, random.below(3));
        let (mut replies, mut refusals) = (0, 0);
        for asker in askers {
            match rule.soon("the asker is answered", asker).await.unwrap() {
                Ok(()) => replies += 1,
                Err(error) if error.kind() == ErrorKind::Stopped => refusals += 1,
                Err(error) => panic!("seed {seed}, round {round}: {error}"),
            }
        }
        rule.soon("the actor ends", actor.wait()).await.unwrap();
        let (handled, dead) = (handled.load(Ordering::SeqCst), system.dead_letter_count());
        assert_eq!((replies, refusals), (handled, dead), "seed {seed}, round {round}");
        assert_eq!(replies + refusals, 30, "seed {seed}, round {round}");
    }
}

async fn one_name(rule: RuleContext) {
    let seed = rule.settings().seed;
    let (system, alive) = (rule.system(), Arc::new(AtomicU64::new(0)));
    let spawners: Vec<_> = (0..4)
        .map(|spawner| {
            let (system, alive) = (system.clone(), alive.clone());
            let mut random = SplitMix64(seed ^ spawner);
            tokio::spawn(async move {
                let mut spawned = 0;
                for _ in 0..ROUNDS {
                    match system.spawn(Counter(Arc::default())).name("one").await {
                        Ok(actor) => {
                            spawned += 1;
                            assert_eq!(
                                alive.fetch_add(1, Ordering::SeqCst),
                                0,
                                "seed {seed}: two live actors share the name"
                            );
                            yields(random.below(4)).await;
                            alive.fetch_sub(1, Ordering::SeqCst);
                            end(&actor, random.below(3));
                            actor.wait().await.unwrap();
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::NameTaken, "seed {seed}"),
                    }
                    yields(random.below(3)).await;
                }
                spawned
            })
        })
        .collect();
    let mut spawned = 0;
    for spawner in spawners {
        spawned += rule.soon("the spawner finishes", spawner).await.unwrap();
    }
    assert!(spawned > 0, "seed {seed}: no spawn succeeded");
    assert_eq!(system.actor_count(), 0, "seed {seed}");
    assert!(system.get::<Counter>("one").is_none(), "seed {seed}");
}

/// Counts handled messages.
struct Counter(Arc<AtomicU64>);

impl Actor for Counter {}

struct One;

impl Message for One {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<One> for Counter {
    async fn handle(&mut self, One: One, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Hands its deferred replies out.
struct ReplyExporter(tokio::sync::mpsc::UnboundedSender<Later<u32>>);

impl Actor for ReplyExporter {}

struct Question;

impl Message for Question {
    type Reply = u32;
    type Access = dactor_core::Exclusive;
}

impl Handler<Question> for ReplyExporter {
    async fn handle(&mut self, _: Question, ctx: &mut Context<Self>) -> Outcome<u32> {
        let (later, promised) = ctx.reply_later::<Question>();
        drop(self.0.send(later));
        promised
    }
}

/// Spins for about as long as the other side of the race, without yielding the thread.
fn spin(count: u64) {
    (0..count).for_each(|_| std::hint::spin_loop());
}

async fn no_reply_lost(rule: RuleContext) {
    let seed = rule.settings().seed;
    let system = rule.system();
    let (laters, mut given) = tokio::sync::mpsc::unbounded_channel();
    let exporter = system.spawn(ReplyExporter(laters)).await.unwrap();
    let mut dead = 0;
    for round in 0..10 * ROUNDS {
        let mut random = SplitMix64(seed.wrapping_add(round));
        let way = random.below(3);
        let token = CancellationToken::new();
        let asked = exporter.ask(Question);
        let asked = match way {
            0 => asked.cancel(token.clone()).enqueue().unwrap(),
            _ => asked.enqueue().unwrap(),
        };
        let later = rule.soon("the handler hands out its deferred reply", given.recv()).await.unwrap();
        let (early, late) = (random.below(200), random.below(200));
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
        // The reply was accepted and the asker does not have it: it must be a dead letter.
        let lost = u64::from(told && got.is_none());
        dead += lost;
        assert!(!told || got == Some(7) || way != 0, "seed {seed}, round {round}: the reply was lost");
        assert!(told || got.is_none(), "seed {seed}, round {round}: the asker got a reply that was refused");
        assert_eq!(system.dead_letter_count(), dead, "seed {seed}, round {round}: told {told}, got {got:?}");
    }
}
