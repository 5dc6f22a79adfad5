//! Asks between actors that can still make progress are no cycle.

use std::sync::Arc;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, ErrorKind, PendingReply, Result};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{actors, ask, detecting};
use crate::fixtures::scripted::{Script, ScriptedActor, async_script, defer_reply, reply_with, script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "CYCLE-03",
    Topic::Ask,
    &[(Topic::Ask, State::Handling)],
    "No cycle is reported while an actor can make progress: the reply is deferred, the ask is forwarded, stashed, awaited in another task, not awaited, limited in time, or awaited together with another future.",
    "Users turn off a detector that reports false positives.",
    body!(can_go_on),
)];

async fn can_go_on(rule: RuleContext) {
    let system = detecting(&rule);
    let actors = actors(&system, 3).await;
    let [a, b, c] = [&actors[0], &actors[1], &actors[2]];

    // B defers the reply to A and asks A before.
    let (later, to) = (b.clone(), a.clone());
    let message = async_script(move |scripted: &mut ScriptedActor, ctx: &mut Context<ScriptedActor>| {
        Box::pin(async move {
            let (later, promised) = ctx.reply_later::<Script>();
            let pending: PendingReply<Script> = to.ask(reply_with(4)).enqueue()?;
            tokio::spawn(async move { later.reply(5) });
            assert_eq!(pending.await?, 4);
            scripted.deferred.clear();
            promised
        })
    });
    assert_eq!(rule.soon("the deferred reply arrives", a.ask(ask(&later, message))).await.unwrap(), 5);

    // B forwards the ask of A to C and then asks A.
    let (to, next) = (c.clone(), a.clone());
    let message = async_script(move |_, ctx: &mut Context<ScriptedActor>| {
        Box::pin(async move {
            let forwarded = ctx.forward(&to, reply_with(6));
            assert_eq!(next.ask(reply_with(4)).await?, 4);
            forwarded
        })
    });
    assert_eq!(rule.soon("the forwarded ask is answered", a.ask(ask(b, message))).await.unwrap(), 6);
    // A is answered while B still waits for A: the next ask of A must not involve B before that.
    rule.soon("B continues", b.ask(reply_with(0))).await.unwrap();

    // B defers the reply to A; C, which A does not await, asks A through B.
    assert_eq!(
        rule.soon("the ask through the third actor is answered", a.ask(beside(b, c))).await.unwrap(),
        8
    );

    // B stashes the ask of A, and C waits for A.
    let journal = Journal::new();
    let noted = journal.clone();
    let stashes = script(move |_, ctx| {
        let stashed = ctx.stash(reply_with(9));
        noted.note("stashed");
        stashed
    });
    let asked = a.ask(ask(b, stashes)).enqueue().unwrap();
    let behind = c.ask(ask(a, reply_with(4))).enqueue().unwrap();
    rule.soon("B has stashed the ask", journal.wait_for("stashed")).await;
    let unstashes = script(|_, ctx| {
        ctx.unstash_all();
        Ok(0)
    });
    rule.soon("B unstashes the ask", b.ask(unstashes)).await.unwrap();
    assert_eq!(rule.soon("the stashed ask is answered", asked).await.unwrap(), 9);
    assert_eq!(rule.soon("the ask behind it is answered", behind).await.unwrap(), 4);

    limited(&rule, a, b).await;
    elsewhere(&rule, a, b).await;

    // A diamond, and the same asks repeatedly.
    let bottom = system.spawn(ScriptedActor::default()).await.unwrap();
    let (left, right) = (ask(&bottom, reply_with(1)), ask(&bottom, reply_with(1)));
    let (to, other) = (b.clone(), c.clone());
    let both = async_script(move |_, _| {
        Box::pin(async move {
            let (one, two) = tokio::join!(to.ask(left), other.ask(right));
            Ok(one? + two?)
        })
    });
    assert_eq!(rule.soon("both branches are answered", a.ask(both)).await.unwrap(), 2);
    for _ in 0..100 {
        assert_eq!(
            rule.soon("the repeated ask is answered", a.ask(ask(b, ask(c, reply_with(1))))).await.unwrap(),
            1
        );
        assert_eq!(
            rule.soon("the reverse ask is answered", c.ask(ask(b, ask(a, reply_with(1))))).await.unwrap(),
            1
        );
    }
}

/// Asks one actor to defer its reply, which is sent while another actor waits for this one.
fn beside(keeps: &ActorRef<ScriptedActor>, asks: &ActorRef<ScriptedActor>) -> Script {
    let (keeps, asks) = (keeps.clone(), asks.clone());
    async_script(move |_, ctx: &mut Context<ScriptedActor>| {
        Box::pin(async move {
            let back = ask(ctx.actor_ref(), reply_with(8));
            let pending = asks.ask(back).enqueue()?;
            let kept = keeps.ask(defer_reply()).enqueue()?;
            let answers = script(|scripted: &mut ScriptedActor, _: &mut Context<ScriptedActor>| {
                scripted.deferred.drain(..).for_each(|later| assert!(later.reply(0)));
                Ok(0)
            });
            keeps.ask(answers).await?;
            kept.await?;
            // Held here and awaited in another task: this turn does not wait for it.
            let (later, promised) = ctx.reply_later::<Script>();
            tokio::spawn(async move { later.reply(pending.await.unwrap_or(0)) });
            promised
        })
    })
}

/// A cycle in which one ask has a time limit, or is awaited together with another future, ends by itself.
async fn limited(rule: &RuleContext, a: &ActorRef<ScriptedActor>, b: &ActorRef<ScriptedActor>) {
    let soon = Duration::from_millis(20);
    type Way =
        fn(ActorRef<ScriptedActor>, Script, Duration) -> crate::fixtures::scripted::HandlerFuture<'static>;
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
        let back = async_script(move |_, _| {
            Box::pin(async move {
                let got = to.ask(reply_with(4)).await;
                *noted.lock().unwrap() = Some(got);
                open.open();
                Ok(11)
            })
        });
        let to = b.clone();
        let message = async_script(move |_, _| way(to, back, soon));
        let asked = rule.soon("the limited ask gives up", a.ask(message)).await.unwrap();
        rule.soon("the other actor continues", done.pass()).await;
        let answer = answer.lock().unwrap().take().unwrap();
        // The asked actor inherits the deadline, so either ask may expire first.
        if index < 2 {
            assert!(matches!(asked, 10 | 11), "{index}: {asked}");
            let kind = answer.map_err(|error| error.kind());
            assert!(matches!(kind, Ok(4) | Err(ErrorKind::Timeout)), "{index}: {kind:?}");
        } else {
            assert_eq!(asked, 10, "{index}: only the limit ends the cycle");
            assert_eq!(answer.unwrap(), 4, "{index}: no cycle was reported");
        }
    }
}

/// Asks that are awaited in other tasks while the actors continue.
async fn elsewhere(rule: &RuleContext, a: &ActorRef<ScriptedActor>, b: &ActorRef<ScriptedActor>) {
    let (first, second) = (a.clone(), b.clone());
    let message = async_script(move |_, _| {
        Box::pin(async move {
            let back = async_script(move |_, _| {
                Box::pin(async move {
                    tokio::spawn(async move { first.ask(reply_with(12)).await });
                    Ok(13)
                })
            });
            Ok(tokio::spawn(async move { second.ask(back).await }).await.unwrap()?)
        })
    });
    assert_eq!(rule.soon("the ask in another task is answered", a.ask(message)).await.unwrap(), 13);
}
