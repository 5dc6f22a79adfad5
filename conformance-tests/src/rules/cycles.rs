//! Actors that wait for each other's answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Error, ErrorKind, PendingReply, Result, System};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Desk, Do, give, job, keep, quick};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "CYCLE-01",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Where cycles of asks are detected, the ask that closes one, of 2, 3 or 50 actors, fails at once with `AskCycle`, naming the actor, the message and all actors of the cycle in order; it was not handled, the other asks are answered, and the next ask of the same kind is answered.",
        "A deadlock that names its members is found in minutes.",
        body!(closes),
    ),
    Rule::must(
        "CYCLE-02",
        Topic::Ask,
        &[(Topic::Ask, State::Starting)],
        "An actor that awaits the start of a child waits for it: a child whose `on_start` asks its parent, its grandparent or whoever asked them does not start, because of `AskCycle`; the parent goes on.",
        "A start that can never end is a failed start.",
        body!(starts),
    ),
    Rule::must(
        "CYCLE-03",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "No cycle is reported where an actor can still go on: the reply comes later, the ask is forwarded or stashed, is awaited in another task, is only held, has a limit, or is awaited beside something else.",
        "An error that is wrong once is switched off for ever.",
        body!(can_go_on),
    ),
    Rule::must(
        "CYCLE-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Of two actors that ask each other at the same time exactly one gets `AskCycle`, and the other is answered.",
        "One ask has to go, and no more than one.",
        body!(at_once),
    ),
    Rule::must(
        "CYCLE-05",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Any number of actors that ask each other at random without a cycle, one after the other and side by side, are all answered.",
        "What is not a deadlock is not reported.",
        body!(no_cycle),
    ),
    Rule::must(
        "CYCLE-06",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Where cycles are not detected, and where one actor's ask has a limit, a cycle waits for its limit.",
        "An option does what it says.",
        body!(off),
    ),
];

type Seen = Arc<std::sync::Mutex<Vec<Error>>>;

fn detecting(lab: &Lab) -> System {
    lab.builder().detect_ask_cycles(true).build().unwrap()
}

async fn desks(system: &System, count: usize) -> Vec<ActorRef<Desk>> {
    let mut desks = Vec::new();
    for number in 0..count {
        desks.push(system.spawn(Desk::default()).name(format!("d{number}")).await.unwrap());
    }
    desks
}

/// Asks the first with a message that asks the next, and so on. What the last one gets is noted; it answers 7.
fn along(mut way: std::vec::IntoIter<ActorRef<Desk>>, seen: Seen) -> Do {
    job(move |_, _| {
        Box::pin(async move {
            let Some(next) = way.next() else { return Ok(1) };
            let is_last = way.len() == 0;
            match next.ask(along(way, seen.clone())).await {
                Err(error) if is_last => {
                    seen.lock().unwrap().push(error);
                    Ok(7)
                }
                answer => Ok(answer?),
            }
        })
    })
}

async fn closes(lab: Lab) {
    let system = detecting(&lab);
    for count in [2, 3, 50] {
        let desks = desks(&system, count).await;
        let seen = Seen::default();
        for _ in 0..2 {
            let way: Vec<_> = desks[1..].iter().chain([&desks[0]]).cloned().collect();
            let asked = desks[0].ask(along(way.into_iter(), seen.clone()));
            assert_eq!(lab.soon("the cycle is found", asked).await.unwrap(), 7);
            let way: Vec<_> = desks[1..].to_vec();
            let asked = desks[0].ask(along(way.into_iter(), seen.clone()));
            assert_eq!(lab.soon("without the last ask it is none", asked).await.unwrap(), 1);
        }
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(seen.len(), 2);
        let labels = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<String> {
            numbers.map(|number| format!("pekko://lab/user/d{number}")).collect()
        };
        let expected = labels(&mut (count - 1..count).chain(0..count)).join(" → ");
        for error in seen.iter() {
            assert_eq!(error.kind(), ErrorKind::AskCycle);
            assert_eq!(error.get("cycle"), Some(expected.as_str()));
            assert_eq!(error.get("actor"), Some("pekko://lab/user/d0"));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
            assert!(!error.may_have_been_handled());
        }
        for desk in desks {
            desk.stop();
            lab.soon("the actor ends", desk.wait()).await.unwrap();
        }
    }
}

/// Why a spawn failed, down to the bottom.
fn kinds(error: &Error) -> Vec<ErrorKind> {
    let first: &(dyn std::error::Error + 'static) = error;
    let chain = std::iter::successors(Some(first), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<Error>()).map(Error::kind).collect()
}

/// A handler that spawns children of children, the last of which asks an actor when it starts.
fn spawns(depth: usize, asks: ActorRef<Desk>, seen: Seen) -> Do {
    job(move |_, ctx| {
        Box::pin(async move {
            let start = match depth {
                1 => job(move |_, _| Box::pin(async move { Ok(asks.ask(give(1)).await?) })),
                _ => spawns(depth - 1, asks, seen.clone()),
            };
            match ctx.spawn(Desk::default().on_start(start)).await {
                Ok(_) => Ok(1),
                Err(error) => {
                    seen.lock().unwrap().push(error);
                    Ok(7)
                }
            }
        })
    })
}

async fn starts(lab: Lab) {
    let system = detecting(&lab);
    let desks = desks(&system, 2).await;
    for depth in [1, 2, 12] {
        for asker in [0, 1] {
            let seen = Seen::default();
            // Directly, or in a handler that another actor waits for.
            let spawns = spawns(depth, desks[asker].clone(), seen.clone());
            let (to, first) = (desks[1].clone(), desks[asker].clone());
            let asked = match asker {
                1 => lab.soon("the cycle is found", to.ask(spawns)).await,
                _ => {
                    let ask = job(move |_, _| Box::pin(async move { Ok(to.ask(spawns).await?) }));
                    lab.soon("the cycle is found", first.ask(ask)).await
                }
            };
            // The innermost child fails; the others, whose `on_start` went on, have started.
            assert_eq!(asked.unwrap(), if depth == 1 { 7 } else { 1 });
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            assert_eq!(seen.len(), 1);
            let kinds = kinds(&seen[0]);
            assert_eq!(kinds.first(), Some(&ErrorKind::StartFailed));
            assert_eq!(kinds.last(), Some(&ErrorKind::AskCycle), "{kinds:?}");
        }
    }
    assert_eq!(lab.soon("the parent goes on", desks[0].ask(give(3))).await.unwrap(), 3);
    // An `on_start` that asks an actor which is free is no cycle.
    let free = system.spawn(Desk::default()).await.unwrap();
    let spawned = lab.soon("it starts", desks[0].ask(spawns(3, free, Seen::default()))).await;
    assert_eq!(spawned.unwrap(), 1);
}

/// Asks another one in the handler, without a limit.
fn ask(to: &ActorRef<Desk>, message: Do) -> Do {
    let to = to.clone();
    job(move |_, _| Box::pin(async move { Ok(to.ask(message).await?) }))
}

async fn can_go_on(lab: Lab) {
    let system = detecting(&lab);
    let desks = desks(&system, 3).await;
    let [a, b, c] = [&desks[0], &desks[1], &desks[2]];

    // The reply to A comes later, and B asks A first.
    let (later, to) = (b.clone(), a.clone());
    let message = job(move |desk: &mut Desk, ctx: &mut Context<Desk>| {
        Box::pin(async move {
            let (later, promised) = ctx.reply_later::<Do>();
            let pending: PendingReply<Do> = to.ask(give(4)).enqueue()?;
            tokio::spawn(async move { later.reply(5) });
            assert_eq!(pending.await?, 4);
            desk.laters.clear();
            promised
        })
    });
    assert_eq!(lab.soon("later", a.ask(ask(&later, message))).await.unwrap(), 5);

    // B forwards the ask of A to C, and then asks A.
    let (to, next) = (c.clone(), a.clone());
    let message = job(move |_, ctx: &mut Context<Desk>| {
        Box::pin(async move {
            let forwarded = ctx.forward(&to, give(6));
            assert_eq!(next.ask(give(4)).await?, 4);
            forwarded
        })
    });
    assert_eq!(lab.soon("forwarded", a.ask(ask(b, message))).await.unwrap(), 6);
    // The ask of A is answered while B still waits for A: what A is asked next must not wait for B before that.
    lab.soon("B goes on", b.ask(give(0))).await.unwrap();

    // B keeps the reply to A; C, which A does not wait for, asks A through B.
    assert_eq!(lab.soon("kept", a.ask(beside(b, c))).await.unwrap(), 8);

    // B stashes the ask of A, and C waits for A.
    let journal = Journal::new();
    let noted = journal.clone();
    let stashes = quick(move |_, ctx| {
        let stashed = ctx.stash(give(9));
        noted.note("stashed");
        stashed
    });
    let asked = a.ask(ask(b, stashes)).enqueue().unwrap();
    let behind = c.ask(ask(a, give(4))).enqueue().unwrap();
    lab.soon("B has it", journal.wait_for("stashed")).await;
    let unstashes = quick(|_, ctx| {
        ctx.unstash_all();
        Ok(0)
    });
    lab.soon("B puts it back", b.ask(unstashes)).await.unwrap();
    assert_eq!(lab.soon("stashed", asked).await.unwrap(), 9);
    assert_eq!(lab.soon("behind it", behind).await.unwrap(), 4);

    limited(&lab, a, b).await;
    elsewhere(&lab, a, b).await;

    // A diamond, and the same way again and again.
    let bottom = system.spawn(Desk::default()).await.unwrap();
    let (left, right) = (ask(&bottom, give(1)), ask(&bottom, give(1)));
    let (to, other) = (b.clone(), c.clone());
    let both = job(move |_, _| {
        Box::pin(async move {
            let (one, two) = tokio::join!(to.ask(left), other.ask(right));
            Ok(one? + two?)
        })
    });
    assert_eq!(lab.soon("two ways", a.ask(both)).await.unwrap(), 2);
    for _ in 0..100 {
        assert_eq!(lab.soon("again", a.ask(ask(b, ask(c, give(1))))).await.unwrap(), 1);
        assert_eq!(lab.soon("back", c.ask(ask(b, ask(a, give(1))))).await.unwrap(), 1);
    }
}

/// Asks one to keep its reply, and lets the reply be given while another one waits for this actor.
fn beside(keeps: &ActorRef<Desk>, asks: &ActorRef<Desk>) -> Do {
    let (keeps, asks) = (keeps.clone(), asks.clone());
    job(move |_, ctx: &mut Context<Desk>| {
        Box::pin(async move {
            let back = ask(ctx.actor_ref(), give(8));
            let pending = asks.ask(back).enqueue()?;
            let kept = keeps.ask(keep()).enqueue()?;
            let answers = quick(|desk: &mut Desk, _: &mut Context<Desk>| {
                desk.laters.drain(..).for_each(|later| assert!(later.reply(0)));
                Ok(0)
            });
            keeps.ask(answers).await?;
            kept.await?;
            // Only held here, and awaited elsewhere: nobody waits for it in this turn.
            let (later, promised) = ctx.reply_later::<Do>();
            tokio::spawn(async move { later.reply(pending.await.unwrap_or(0)) });
            promised
        })
    })
}

/// A cycle in which one ask has a limit, or is awaited beside something else: it ends by itself.
async fn limited(lab: &Lab, a: &ActorRef<Desk>, b: &ActorRef<Desk>) {
    let soon = Duration::from_millis(20);
    type Way = fn(ActorRef<Desk>, Do, Duration) -> super::fixture::Run<'static>;
    let ways: [Way; 5] = [
        |to, message, soon| Box::pin(async move { Ok(to.ask(message).timeout(soon).await.unwrap_or(10)) }),
        |to, message, soon| {
            Box::pin(async move { Ok(to.ask(message).deadline(Instant::now() + soon).await.unwrap_or(10)) })
        },
        |to, message, soon| {
            Box::pin(async move {
                let token = CancellationToken::new();
                let cancels = token.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(soon).await;
                    cancels.cancel();
                });
                Ok(to.ask(message).cancel(token).await.unwrap_or(10))
            })
        },
        |to, message, soon| {
            Box::pin(async move {
                let asked = tokio::time::timeout(soon, to.ask(message)).await;
                Ok(asked.map_or(10, |asked| asked.unwrap()))
            })
        },
        |to, message, soon| {
            Box::pin(async move {
                tokio::select! {
                    asked = to.ask(message) => Ok(asked?),
                    () = tokio::time::sleep(soon) => Ok(10),
                }
            })
        },
    ];
    for (index, way) in ways.into_iter().enumerate() {
        let answer: Arc<std::sync::Mutex<Option<Result<u32>>>> = Arc::default();
        let (noted, done) = (answer.clone(), Gate::new());
        let (to, open) = (a.clone(), done.clone());
        let back = job(move |_, _| {
            Box::pin(async move {
                let got = to.ask(give(4)).await;
                *noted.lock().unwrap() = Some(got);
                open.open();
                Ok(11)
            })
        });
        let to = b.clone();
        let message = job(move |_, _| way(to, back, soon));
        let asked = lab.soon("it gives up", a.ask(message)).await.unwrap();
        lab.soon("the other goes on", done.pass()).await;
        let answer = answer.lock().unwrap().take().unwrap();
        // A deadline is that of the other's ask, too, and whichever is first ends both.
        if index < 2 {
            assert!(matches!(asked, 10 | 11), "{index}: {asked}");
            let kind = answer.map_err(|error| error.kind());
            assert!(matches!(kind, Ok(4) | Err(ErrorKind::Timeout)), "{index}: {kind:?}");
        } else {
            assert_eq!(asked, 10, "{index}: nothing but the limit ends it");
            assert_eq!(answer.unwrap(), 4, "{index}: no cycle was reported");
        }
    }
}

/// Asks that are awaited in tasks of their own, while the actors go on.
async fn elsewhere(lab: &Lab, a: &ActorRef<Desk>, b: &ActorRef<Desk>) {
    let (first, second) = (a.clone(), b.clone());
    let message = job(move |_, _| {
        Box::pin(async move {
            let back = job(move |_, _| {
                Box::pin(async move {
                    tokio::spawn(async move { first.ask(give(12)).await });
                    Ok(13)
                })
            });
            Ok(tokio::spawn(async move { second.ask(back).await }).await.unwrap()?)
        })
    });
    assert_eq!(lab.soon("in other tasks", a.ask(message)).await.unwrap(), 13);
}

async fn at_once(lab: Lab) {
    let system = detecting(&lab);
    let desks = desks(&system, 2).await;
    for round in 0..200 {
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        let meets = |to: &ActorRef<Desk>| {
            let (to, barrier) = (to.clone(), barrier.clone());
            job(move |_, _| {
                Box::pin(async move {
                    barrier.wait().await;
                    match to.ask(give(1)).await {
                        Err(error) if error.kind() == ErrorKind::AskCycle => Ok(100),
                        answer => Ok(answer?),
                    }
                })
            })
        };
        let (one, other) = (desks[0].ask(meets(&desks[1])), desks[1].ask(meets(&desks[0])));
        let both = async { tokio::join!(one, other) };
        let (one, other) = lab.soon("both are answered", both).await;
        assert_eq!(one.unwrap() + other.unwrap(), 101, "round {round}");
    }
}

/// Asks two actors with higher numbers, chosen by the seed, one after the other or side by side.
struct Descend {
    desks: Arc<Vec<ActorRef<Desk>>>,
    from: usize,
    seed: u64,
    asks: Arc<AtomicU64>,
}

impl Descend {
    fn into_message(self) -> Do {
        job(move |_, _| Box::pin(self.run()))
    }

    async fn run(self) -> dactor_core::Outcome<u32> {
        let left = self.desks.len() - self.from;
        let mut seed = self.seed;
        let mut next = || {
            // xorshift64
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut ask = || {
            let (step, seed) = (1 + (next() >> 20) as usize % 4, next() | 1);
            let from = (step <= left.saturating_sub(1)).then_some(self.from + step)?;
            self.asks.fetch_add(1, Ordering::Relaxed);
            let (desks, asks) = (self.desks.clone(), self.asks.clone());
            Some((self.desks[from].clone(), Self { desks, from, seed, asks }.into_message()))
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

async fn no_cycle(lab: Lab) {
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1;
    println!("seed {seed}");
    let system = detecting(&lab);
    let desks = Arc::new(desks(&system, 12).await);
    let (asks, mut round) = (Arc::new(AtomicU64::new(0)), 0_u64);
    let many = std::env::var("DACTOR_CYCLE_ASKS").ok().and_then(|many| many.parse().ok()).unwrap_or(20_000);
    while asks.load(Ordering::Relaxed) < many {
        let tasks: Vec<_> = (0..4)
            .map(|from| {
                let seed = seed.wrapping_mul(2 * (round * 4 + from) + 1) | 1;
                let descend = Descend { desks: desks.clone(), from: from as usize, seed, asks: asks.clone() };
                let desk = desks[from as usize].clone();
                tokio::spawn(async move { desk.ask(descend.into_message()).await })
            })
            .collect();
        for task in tasks {
            let answer = lab.soon("an asker is answered", task).await.unwrap();
            assert!(answer.is_ok(), "seed {seed}, round {round}: {}", answer.unwrap_err());
        }
        round += 1;
    }
}

async fn off(lab: Lab) {
    let system = lab.builder().detect_ask_cycles(false).build().unwrap();
    let desks = desks(&system, 2).await;
    let gate = Gate::new();
    let (to, reached) = (desks[0].clone(), gate.clone());
    let back = job(move |_, _| {
        Box::pin(async move {
            reached.pass().await;
            Ok(to.ask(give(1)).await?)
        })
    });
    let first = desks[0].clone();
    let message = ask(&desks[1], back);
    let asked = tokio::spawn(async move { first.ask(message).await });
    lab.soon("the second handler runs", gate.reached()).await;
    gate.open();
    lab.rest().await;
    assert!(!asked.is_finished(), "they wait for each other");
    desks[1].kill();
    let error = lab.soon("the first is told", asked).await.unwrap().unwrap_err();
    assert!(!kinds(&error).contains(&ErrorKind::AskCycle), "{error}");
}
