//! Reads that do not wait behind a waiting write.

use dactor_core::testkit::Gate;
use dactor_core::{ErrorKind, Overflow};
use futures_util::future::join_all;

use super::{read, spawn, write};
use crate::fixtures::reading::{Join, Read, Reading, Write, change, held, look, reads, writes};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-40",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Order, State::Handling)],
        "An interleaved read joins reads that run although a write waits for them, whether it was sent before the write was taken or after; other reads behind the write wait. It never runs beside a write.",
        "A call back into an actor that reads is answered.",
        body!(joins),
    ),
    Rule::must(
        "READ-41",
        Topic::Reads,
        &[(Topic::Reads, State::Handling)],
        "As many interleaved reads run at once as the spawn says, beside as many other reads as may. One more is refused with `Overloaded`, and is a dead letter.",
        "Reads in progress take a bounded amount of memory.",
        body!(limited),
    ),
    Rule::must(
        "READ-42",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Ask, State::Handling)],
        "As many reads as may run, which all wait for an interleaved read of their own actor, directly or through another actor, are answered, also while a write waits.",
        "Reads that call back into their actor do not block each other.",
        body!(call_back),
    ),
    Rule::must(
        "READ-43",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Bound, State::Handling)],
        "An interleaved ask joins reads from a full mailbox as well, where it waits in line.",
        "Queued writes do not hold up a call back.",
        body!(bounded),
    ),
];

async fn joins(rule: RuleContext) {
    for early in [false, true] {
        let (actor, Reading { journal, .. }) = spawn(&rule).await;
        let gate = Gate::new();
        let mut joined = Vec::new();
        let busy = Gate::new();
        let inside = busy.clone();
        let first = write(
            &actor,
            writes(move |_, _| {
                Box::pin(async move {
                    inside.pass().await;
                    Ok(0)
                })
            }),
        );
        rule.soon("a write runs", busy.reached()).await;
        let running = read(&actor, held("a", &gate));
        let waiting = write(&actor, change("w"));
        let behind = read(&actor, look("b"));
        if early {
            joined.push(actor.ask(Join(look("j"))).enqueue().unwrap());
            rule.let_idle().await;
            assert_eq!(journal.entries(), [""; 0], "not beside a write");
        }
        busy.open();
        rule.soon("the write is done", first).await.unwrap();
        rule.soon("the read runs", gate.reached()).await;
        if !early {
            rule.let_idle().await;
            joined.push(actor.ask(Join(look("j"))).enqueue().unwrap());
        }
        for joined in joined {
            assert_eq!(rule.soon("it joins", joined).await.unwrap(), 0);
        }
        assert_eq!(journal.entries(), ["+a", "j"]);
        gate.open();
        rule.soon("the read is done", running).await.unwrap();
        assert_eq!(rule.soon("the write is handled", waiting).await.unwrap(), 1);
        assert_eq!(rule.soon("the other read is done", behind).await.unwrap(), 1);
        assert_eq!(journal.entries(), ["+a", "j", "-a", "w", "b"]);
        assert_eq!(rule.soon("an idle actor reads", actor.ask(Join(look("k")))).await.unwrap(), 1);
    }
}

async fn limited(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Reading::default()).max_reads(2).max_interleaved(3).await.unwrap();
    let gate = Gate::new();
    let all: Vec<_> = (0..2).map(|_| read(&actor, held("r", &gate))).collect();
    rule.soon("the reads run", gate.reached_by(2)).await;
    let waits = read(&actor, held("r", &gate));
    let joined: Vec<_> = (0..3).map(|_| actor.ask(Join(held("j", &gate))).enqueue().unwrap()).collect();
    rule.soon("the interleaved reads run", gate.reached_by(5)).await;
    let error = rule.soon("one more is refused", actor.ask(Join(look("j")))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Overloaded);
    assert_eq!(events.journal().entries(), ["dead Join"]);
    assert_eq!(gate.arrivals(), 5);
    gate.open();
    rule.soon("all are done", async {
        join_all(all).await;
        join_all(joined).await;
        waits.await.unwrap();
    })
    .await;
}

async fn call_back(rule: RuleContext) {
    for (waiting, detects) in [(false, true), (true, true), (false, false), (true, false)] {
        let system = rule.builder().detect_ask_cycles(detects).build().unwrap();
        let actor = system.spawn(Reading::default()).await.unwrap();
        let other = system.spawn(Reading::default()).await.unwrap();
        let gate = Gate::new();
        let calls = |at: usize| {
            let (gate, other) = (gate.clone(), other.clone());
            reads(move |_, ctx| {
                let back = ctx.actor_ref().clone();
                Box::pin(async move {
                    gate.pass().await;
                    if at.is_multiple_of(2) {
                        return Ok(back.ask(Join(look("j"))).await? + 1);
                    }
                    let asks =
                        reads(move |_, _| Box::pin(async move { Ok(back.ask(Join(look("j"))).await? + 1) }));
                    Ok(other.ask(Read(asks)).await?)
                })
            })
        };
        let all: Vec<_> = (0..64).map(|at| read(&actor, calls(at))).collect();
        rule.soon("all run", gate.reached_by(64)).await;
        let behind = waiting.then(|| write(&actor, change("w")));
        rule.let_idle().await;
        gate.open();
        for reply in rule.soon("all are answered", join_all(all)).await {
            assert_eq!(reply.unwrap(), 1);
        }
        if let Some(behind) = behind {
            assert_eq!(rule.soon("the write is handled", behind).await.unwrap(), 1);
        }
    }
}

async fn bounded(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Reading::default()).bounded(1, Overflow::Block).await.unwrap();
    let gate = Gate::new();
    let running = read(&actor, held("a", &gate));
    rule.soon("it runs", gate.reached()).await;
    let writes: Vec<_> = (0..3).map(|_| actor.ask(Write(change("w"))).enqueue().unwrap()).collect();
    rule.let_idle().await;
    let joined = rule.soon("it joins", actor.ask(Join(look("j")))).await;
    assert_eq!(joined.unwrap(), 0);
    gate.open();
    assert_eq!(rule.soon("the read is done", running).await.unwrap(), 0);
    for (at, write) in writes.into_iter().enumerate() {
        assert_eq!(rule.soon("the write is handled", write).await.unwrap(), at as u64 + 1);
    }
}
