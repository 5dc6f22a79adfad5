//! Cycles of asks that are reported.

use std::sync::Arc;

use dactor_core::testkit::Gate;
use dactor_core::{ActorRef, ErrorKind};

use super::{Seen, actors, ask, detecting, kinds};
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, reply_with};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "CYCLE-01",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "With cycle detection, the ask that closes a cycle of 2, 3 or 50 actors fails at once with `AskCycle`, which names the actor, the message and all actors of the cycle in order. That message was not handled, the other asks are answered, and the next ask of the same kind is answered.",
        "A deadlock error that names its actors is quick to find.",
        body!(closes),
    ),
    Rule::must(
        "CYCLE-02",
        Topic::Ask,
        &[(Topic::Ask, State::Starting)],
        "An actor that awaits the spawn of a child waits for that child: a child whose `on_start` asks its parent, its grandparent or an actor that awaits one of them fails to start with `AskCycle`, and the parent continues.",
        "A start that could never complete fails.",
        body!(starts),
    ),
    Rule::must(
        "CYCLE-04",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "When two actors ask each other at the same time, exactly one gets `AskCycle`, and the other is answered.",
        "Failing one ask is enough to resolve the cycle.",
        body!(at_once),
    ),
    Rule::must(
        "CYCLE-06",
        Topic::Ask,
        &[(Topic::Ask, State::Handling)],
        "Without cycle detection, and where an ask of the cycle has a time limit, a cycle of asks waits for its limit.",
        "The option does what it says.",
        body!(off),
    ),
];

/// Asks the first actor with a message that asks the next one, and so on. The last actor records its error and
/// replies 7.
fn along(mut way: std::vec::IntoIter<ActorRef<ScriptedActor>>, seen: Seen) -> Script {
    async_script(move |_, _| {
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

async fn closes(rule: RuleContext) {
    let system = detecting(&rule);
    for count in [2, 3, 50] {
        let actors = actors(&system, count).await;
        let seen = Seen::default();
        for _ in 0..2 {
            let way: Vec<_> = actors[1..].iter().chain([&actors[0]]).cloned().collect();
            let asked = actors[0].ask(along(way.into_iter(), seen.clone()));
            assert_eq!(rule.soon("the cycle is found", asked).await.unwrap(), 7);
            let way: Vec<_> = actors[1..].to_vec();
            let asked = actors[0].ask(along(way.into_iter(), seen.clone()));
            assert_eq!(rule.soon("without the last ask there is no cycle", asked).await.unwrap(), 1);
        }
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(seen.len(), 2);
        let labels = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<String> {
            numbers.map(|number| format!("pekko://test/user/d{number}")).collect()
        };
        let expected = labels(&mut (count - 1..count).chain(0..count)).join(" → ");
        for error in seen.iter() {
            assert_eq!(error.kind(), ErrorKind::AskCycle);
            assert_eq!(error.get("cycle"), Some(expected.as_str()));
            assert_eq!(error.get("actor"), Some("pekko://test/user/d0"));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
            assert!(!error.may_have_been_handled());
        }
        for scripted in actors {
            scripted.stop();
            rule.soon("the actor ends", scripted.wait()).await.unwrap();
        }
    }
}

/// A handler that spawns nested children, the innermost of which asks an actor in `on_start`.
fn spawns(depth: usize, asks: ActorRef<ScriptedActor>, seen: Seen) -> Script {
    async_script(move |_, ctx| {
        Box::pin(async move {
            let start = match depth {
                1 => async_script(move |_, _| Box::pin(async move { Ok(asks.ask(reply_with(1)).await?) })),
                _ => spawns(depth - 1, asks, seen.clone()),
            };
            match ctx.spawn(ScriptedActor::default().on_start(start)).await {
                Ok(_) => Ok(1),
                Err(error) => {
                    seen.lock().unwrap().push(error);
                    Ok(7)
                }
            }
        })
    })
}

async fn starts(rule: RuleContext) {
    let system = detecting(&rule);
    let actors = actors(&system, 2).await;
    for depth in [1, 2, 12] {
        for asker in [0, 1] {
            let seen = Seen::default();
            // Directly, or in a handler that another actor awaits.
            let spawns = spawns(depth, actors[asker].clone(), seen.clone());
            let (to, first) = (actors[1].clone(), actors[asker].clone());
            let asked = match asker {
                1 => rule.soon("the cycle is found", to.ask(spawns)).await,
                _ => {
                    let ask = async_script(move |_, _| Box::pin(async move { Ok(to.ask(spawns).await?) }));
                    rule.soon("the cycle is found", first.ask(ask)).await
                }
            };
            // The innermost child fails; the outer ones have started.
            assert_eq!(asked.unwrap(), if depth == 1 { 7 } else { 1 });
            let seen = std::mem::take(&mut *seen.lock().unwrap());
            assert_eq!(seen.len(), 1);
            let kinds = kinds(&seen[0]);
            assert_eq!(kinds.first(), Some(&ErrorKind::StartFailed));
            assert_eq!(kinds.last(), Some(&ErrorKind::AskCycle), "{kinds:?}");
        }
    }
    assert_eq!(rule.soon("the parent continues", actors[0].ask(reply_with(3))).await.unwrap(), 3);
    // An `on_start` that asks an idle actor is no cycle.
    let free = system.spawn(ScriptedActor::default()).await.unwrap();
    let spawned = rule.soon("the actor starts", actors[0].ask(spawns(3, free, Seen::default()))).await;
    assert_eq!(spawned.unwrap(), 1);
}

async fn at_once(rule: RuleContext) {
    let system = detecting(&rule);
    let actors = actors(&system, 2).await;
    for round in 0..200 {
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        let meets = |to: &ActorRef<ScriptedActor>| {
            let (to, barrier) = (to.clone(), barrier.clone());
            async_script(move |_, _| {
                Box::pin(async move {
                    barrier.wait().await;
                    match to.ask(reply_with(1)).await {
                        Err(error) if error.kind() == ErrorKind::AskCycle => Ok(100),
                        answer => Ok(answer?),
                    }
                })
            })
        };
        let (one, other) = (actors[0].ask(meets(&actors[1])), actors[1].ask(meets(&actors[0])));
        let both = async { tokio::join!(one, other) };
        let (one, other) = rule.soon("both are answered", both).await;
        assert_eq!(one.unwrap() + other.unwrap(), 101, "round {round}");
    }
}

async fn off(rule: RuleContext) {
    let system = rule.builder().detect_ask_cycles(false).build().unwrap();
    let actors = actors(&system, 2).await;
    let gate = Gate::new();
    let (to, reached) = (actors[0].clone(), gate.clone());
    let back = async_script(move |_, _| {
        Box::pin(async move {
            reached.pass().await;
            Ok(to.ask(reply_with(1)).await?)
        })
    });
    let first = actors[0].clone();
    let message = ask(&actors[1], back);
    let asked = tokio::spawn(async move { first.ask(message).await });
    rule.soon("the second handler runs", gate.reached()).await;
    gate.open();
    rule.let_idle().await;
    assert!(!asked.is_finished(), "the actors wait for each other");
    actors[1].kill();
    let error = rule.soon("the first asker gets an error", asked).await.unwrap().unwrap_err();
    assert!(!kinds(&error).contains(&ErrorKind::AskCycle), "{error}");
}
