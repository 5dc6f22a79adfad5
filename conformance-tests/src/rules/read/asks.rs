//! The rest of the contract inside a read: limits, cancellation, replies, interceptors, cycles.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Verdict};
use tokio_util::sync::CancellationToken;

use super::{read, spawn, write};
use crate::fixtures::drop_note::DropNote;
use crate::fixtures::header::Tag;
use crate::fixtures::interceptor::RecordingInterceptor;
use crate::fixtures::reading::{Abort, Read, Reading, Write, change, held, look, reads, writes};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-30",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Cancel, State::Handling)],
        "A timeout, a cancelled token or a dropped ask ends the ask of one read: that read learns it and goes on, or is dropped if its message says so; the reads beside it are not affected. A queued read whose asker gave up does not run.",
        "Each read has its own asker.",
        body!(given_up),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-31",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Cancel, State::Handling)],
        "An ask that is made in a read inherits the deadline of that read, and of no other read beside it.",
        "Each read has its own deadline.",
        body!(deadlines),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-32",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Later, State::Handling)],
        "A read can defer its reply and forward its message. Each reply goes to its own asker, and each read sees its own headers.",
        "Reads beside each other do not mix what came with their messages.",
        body!(replies),
    ),
    Rule::must(
        "READ-33",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Inbound, State::Handling)],
        "Inbound interceptors see each read, its scope and its end, also of a read that fails or is killed. A delay holds up one read and not those beside it.",
        "An interceptor sees reads as it sees other messages.",
        body!(intercepted),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-34",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Ask, State::Handling)],
        "A read may ask its own actor for a read, which runs beside it, directly and through another actor.",
        "A read that waits for a read of the same actor is no cycle.",
        body!(own_actor),
    ),
    Rule::must(
        "READ-35",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Ask, State::Handling)],
        "A read that asks its own actor for a message which cannot run beside it gets `AskedItself`: a write, a read behind a waiting write, or a read beyond the limit.",
        "Such an ask would wait for itself.",
        body!(asks_itself),
    ),
    Rule::must(
        "READ-36",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Ask, State::Handling)],
        "Where cycles of asks are detected, a read that waits for another actor, which waits for a write of the first, is one: one ask gets `AskCycle`.",
        "A write waits for the reads before it.",
        body!(cycles),
    ),
];

const SECOND: Duration = Duration::from_secs(1);

/// Notes when the asker gives up, and goes on until the gate opens.
fn watches(gate: &Gate) -> crate::fixtures::reading::ReadScript {
    let gate = gate.clone();
    reads(move |reading, ctx| {
        Box::pin(async move {
            let _guard = DropNote(reading.journal.clone(), "dropped");
            tokio::select! {
                () = ctx.cancelled() => reading.journal.note("gone"),
                () = gate.pass() => return Ok(1),
            }
            gate.pass().await;
            Ok(2)
        })
    })
}

async fn given_up(mut rule: RuleContext) {
    for how in 0..3 {
        let (actor, Reading { journal, .. }) = spawn(&rule).await;
        let (gate, other) = (Gate::new(), Gate::new());
        let beside = read(&actor, held("a", &other));
        let token = CancellationToken::new();
        let ask = actor.ask(Read(watches(&gate)));
        let ask = match how {
            0 => ask.timeout(SECOND),
            1 => ask.cancel(token.clone()),
            _ => ask,
        };
        let mut pending = Some(ask.enqueue().unwrap());
        rule.soon("it runs", gate.reached()).await;
        match how {
            0 => rule.clock().advance(SECOND).await,
            1 => token.cancel(),
            _ => drop(pending.take()),
        }
        if let Some(pending) = pending {
            let expected = if how == 0 { ErrorKind::Timeout } else { ErrorKind::Cancelled };
            assert_eq!(pending.await.unwrap_err().kind(), expected);
        }
        rule.soon("it learns it", journal.wait_for("gone")).await;
        rule.let_idle().await;
        assert_eq!(journal.entries(), ["+a", "gone"], "and goes on");
        gate.open();
        rule.soon("it is done", journal.wait_for("dropped")).await;
        other.open();
        assert_eq!(beside.await.unwrap(), 0);
    }
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let (gate, other) = (Gate::new(), Gate::new());
    let beside = read(&actor, held("a", &other));
    let aborted = actor.ask(Abort(watches(&gate))).enqueue().unwrap();
    rule.soon("it runs", gate.reached()).await;
    drop(aborted);
    rule.soon("it is dropped", journal.wait_for("dropped")).await;
    let queued = write(&actor, change("w"));
    let unwanted = read(&actor, look("unwanted"));
    rule.let_idle().await;
    drop(unwanted);
    other.open();
    assert_eq!(beside.await.unwrap(), 0);
    assert_eq!(queued.await.unwrap(), 1);
    assert_eq!(actor.ask(Read(look("b"))).await.unwrap(), 1);
    let seen: Vec<_> = journal.entries().into_iter().filter(|entry| entry != "gone").collect();
    assert_eq!(seen, ["+a", "dropped", "-a", "w", "b"]);
}

async fn deadlines(mut rule: RuleContext) {
    let system = rule.system();
    let other = system.spawn(Reading::default()).await.unwrap();
    let gate = Gate::new();
    let busy = gate.clone();
    let blocks = write(
        &other,
        writes(move |_, _| {
            Box::pin(async move {
                busy.pass().await;
                Ok(0)
            })
        }),
    );
    rule.soon("the other actor is busy", gate.reached()).await;
    let actor = system.spawn(Reading::default()).await.unwrap();
    let asks = || {
        let other = other.clone();
        Read(reads(move |_, ctx| {
            Box::pin(async move {
                match other.ask(Write(change("w"))).await {
                    Ok(_) => Ok(u64::from(ctx.deadline().is_some())),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Timeout);
                        Ok(99)
                    }
                }
            })
        }))
    };
    let limited = actor.ask(asks()).timeout(SECOND).enqueue().unwrap();
    let unlimited = actor.ask(asks()).enqueue().unwrap();
    rule.clock().advance(SECOND).await;
    if let Err(error) = limited.await {
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
    gate.open();
    blocks.await.unwrap();
    assert_eq!(rule.soon("the other read waits on", unlimited).await.unwrap(), 0);
}

async fn replies(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let (other, _) = spawn(&rule).await;
    write(&other, change("w")).await.unwrap();
    let gate = Gate::new();
    let tagged = |tag: u32| {
        let (gate, actor) = (gate.clone(), actor.clone());
        let script = reads(move |_, ctx| {
            Box::pin(async move {
                gate.pass().await;
                ctx.set_reply_header(Tag(tag + 100));
                Ok(u64::from(ctx.headers().get::<Tag>().unwrap().0))
            })
        });
        tokio::spawn(async move { actor.header(Tag(tag)).ask(Read(script)).with_headers().await })
    };
    let asks: Vec<_> = (0..5).map(tagged).collect();
    rule.soon("all run", gate.reached_by(5)).await;
    gate.open();
    for (tag, ask) in asks.into_iter().enumerate() {
        let (reply, headers) = rule.soon("it is answered", ask).await.unwrap().unwrap();
        assert_eq!((reply, headers.get::<Tag>()), (tag as u64, Some(&Tag(tag as u32 + 100))));
    }
    let (send, received) = tokio::sync::oneshot::channel();
    let later = read(
        &actor,
        reads(move |_, ctx| {
            Box::pin(async move {
                let (later, promised) = ctx.reply_later::<Read>();
                let _ = send.send(later);
                promised
            })
        }),
    );
    let later_reply = rule.soon("it is deferred", received).await.unwrap();
    write(&actor, change("w")).await.unwrap();
    assert!(later_reply.reply(7), "a deferred reply holds up no write");
    assert_eq!(later.await.unwrap(), 7);
    let forwarded = read(
        &actor,
        reads(move |_, ctx| Box::pin(async move { ctx.forward(&other, Read(look("forwarded"))) })),
    );
    assert_eq!(rule.soon("the other actor answers", forwarded).await.unwrap(), 1);
}

async fn intercepted(mut rule: RuleContext) {
    let journal = Journal::new();
    let system = rule.system();
    let plain = RecordingInterceptor::new("a", &journal);
    let actor = system.spawn(Reading::default).inbound(plain.clone().scoped()).await.unwrap();
    let gate = Gate::new();
    let first = read(&actor, held("", &gate));
    rule.soon("it runs", gate.reached()).await;
    assert_eq!(actor.ask(Read(look(""))).await.unwrap(), 0);
    assert_eq!(journal.entries(), ["a>", "a(", "a>", "a(", "a)", "a< ok"], "beside the first");
    let opened = Gate::new();
    opened.open();
    let failed = actor.ask(Read(crate::fixtures::reading::failing(&opened))).await;
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(journal.entries().last().unwrap(), "a< Failed");
    actor.kill();
    assert_eq!(first.await.unwrap_err().kind(), ErrorKind::Interrupted);
    actor.wait().await.unwrap();
    assert_eq!(journal.entries().last().unwrap(), "a< Interrupted");
    let delays = plain.decide(|delivery| match delivery.headers().get::<Tag>() {
        Some(_) => Verdict::Delay(SECOND),
        None => Verdict::Continue,
    });
    let actor = system.spawn(Reading::default()).inbound(delays).await.unwrap();
    let delayed = actor.header(Tag(1)).ask(Read(look(""))).enqueue().unwrap();
    assert_eq!(rule.soon("it is not held up", actor.ask(Read(look("")))).await.unwrap(), 0);
    rule.clock().advance(SECOND).await;
    assert_eq!(delayed.await.unwrap(), 0);
}

async fn own_actor(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Reading::default()).await.unwrap();
    let other = system.spawn(Reading::default()).await.unwrap();
    let direct =
        reads(|_, ctx| Box::pin(async move { Ok(ctx.actor_ref().ask(Read(look("inner"))).await? + 1) }));
    assert_eq!(rule.soon("a read of its own", read(&actor, direct)).await.unwrap(), 1);
    let through = reads(move |_, ctx| {
        let back = ctx.actor_ref().clone();
        Box::pin(async move {
            let asks =
                writes(move |_, _| Box::pin(async move { Ok(back.ask(Read(look("inner"))).await? + 1) }));
            Ok(other.ask(Write(asks)).await? + 1)
        })
    });
    assert_eq!(rule.soon("through another actor", read(&actor, through)).await.unwrap(), 2);
}

async fn asks_itself(rule: RuleContext) {
    let system = rule.builder().detect_ask_cycles(false).build().unwrap();
    let actor = system.spawn(Reading::default()).await.unwrap();
    let asks = |message: fn() -> Read, gate: &Gate| {
        let gate = gate.clone();
        reads(move |_, ctx| {
            Box::pin(async move {
                gate.pass().await;
                let error = ctx.actor_ref().ask(message()).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::AskedItself);
                Ok(1)
            })
        })
    };
    let own_write = reads(|_, ctx| {
        Box::pin(async move {
            let error = ctx.actor_ref().ask(Write(change("w"))).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AskedItself);
            Ok(1)
        })
    });
    assert_eq!(rule.soon("a write", read(&actor, own_write)).await.unwrap(), 1);
    let gate = Gate::new();
    let first = read(&actor, asks(|| Read(look("inner")), &gate));
    rule.soon("it runs", gate.reached()).await;
    let waiting = write(&actor, change("w"));
    rule.let_idle().await;
    gate.open();
    assert_eq!(rule.soon("a read behind a write", first).await.unwrap(), 1);
    assert_eq!(rule.soon("the write is handled", waiting).await.unwrap(), 1);
    // A write that comes between the ask and the next poll.
    let raced = reads(|_, ctx| {
        Box::pin(async move {
            ctx.actor_ref().tell(Write(change("w")))?;
            let error = ctx.actor_ref().ask(Read(look("inner"))).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AskedItself);
            Ok(1)
        })
    });
    assert_eq!(rule.soon("a write in between", read(&actor, raced)).await.unwrap(), 1);
    let single = system.spawn(Reading::default()).max_reads(1).await.unwrap();
    let gate = Gate::new();
    gate.open();
    let beyond = read(&single, asks(|| Read(look("inner")), &gate));
    assert_eq!(rule.soon("a read beyond the limit", beyond).await.unwrap(), 1);
}

async fn cycles(rule: RuleContext) {
    let system = rule.builder().detect_ask_cycles(true).build().unwrap();
    let actor = system.spawn(Reading::default()).await.unwrap();
    let other = system.spawn(Reading::default()).await.unwrap();
    for waits_first in [false, true] {
        let gate = Gate::new();
        let (back, to, inside) = (actor.clone(), other.clone(), gate.clone());
        let through = reads(move |_, _| {
            Box::pin(async move {
                inside.pass().await;
                let asks = writes(move |_, _| {
                    Box::pin(async move {
                        match back.ask(Write(change("w"))).await {
                            Ok(_) => Ok(1),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::AskCycle);
                                Ok(2)
                            }
                        }
                    })
                });
                match to.ask(Write(asks)).await {
                    Ok(value) => Ok(value),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::AskCycle);
                        Ok(3)
                    }
                }
            })
        });
        let running = read(&actor, through);
        rule.soon("it runs", gate.reached()).await;
        // Beside a read that waits for something else first.
        let (held_up, beside) = (Gate::new(), Gate::new());
        held_up.open();
        let beside_read = read(&actor, held("", if waits_first { &beside } else { &held_up }));
        rule.let_idle().await;
        gate.open();
        rule.let_idle().await;
        beside.open();
        rule.soon("the read beside it is done", beside_read).await.unwrap();
        assert!(rule.soon("the cycle is broken", running).await.unwrap() >= 2);
    }
}
