//! Reads in bounded mailboxes and in the stash.

use dactor_core::testkit::Gate;
use dactor_core::{ErrorKind, Overflow};
use futures_util::future::join_all;

use super::{read, spawn, write};
use crate::fixtures::reading::{Read, Reading, Write, change, held, look, writes};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-50",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Bound, State::Handling)],
        "A read that runs takes no room in a bounded mailbox: as many messages are accepted behind it as before, and senders in line are let in when a read begins.",
        "A read that runs has left the mailbox, as any message that is handled.",
        body!(bounded),
    ),
    Rule::must(
        "READ-51",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Inflow, State::Handling)],
        "Reads and writes that come back from the stash are handled in their order, before queued messages, and reads among them run beside each other.",
        "The stash keeps the order of messages.",
        body!(stash),
    ),
    Rule::must(
        "READ-52",
        Topic::Reads,
        &[(Topic::Reads, State::Handling)],
        "On two threads, reads and writes from many tasks, some of which give up, are each answered once, and a read never sees a write in progress.",
        "Messages come from everywhere.",
        body!(storm),
    ),
];

async fn bounded(rule: RuleContext) {
    let system = rule.system();
    let actor = system.spawn(Reading::default()).bounded(2, Overflow::Reject).await.unwrap();
    let gate = Gate::new();
    let mut running = Vec::new();
    for count in 1..=5 {
        running.push(read(&actor, held("r", &gate)));
        rule.soon("it runs", gate.reached_by(count)).await;
    }
    // The first write is taken, and waits outside for the reads.
    let mut queued = vec![write(&actor, change("w"))];
    rule.soon("the write is taken", async {
        while actor.queued() > Some(0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    queued.extend([write(&actor, change("w")), write(&actor, change("w"))]);
    let refused = actor.ask(Write(change("w"))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::MailboxFull);
    gate.open();
    rule.soon("the reads are done", join_all(running)).await;
    for (at, write) in queued.into_iter().enumerate() {
        assert_eq!(rule.soon("the write is handled", write).await.unwrap(), at as u64 + 1);
    }
    let actor = system.spawn(Reading::default()).bounded(1, Overflow::Block).await.unwrap();
    let gate = Gate::new();
    let senders: Vec<_> = (0..100)
        .map(|_| {
            let (actor, gate) = (actor.clone(), gate.clone());
            tokio::spawn(async move { actor.send(Read(held("r", &gate))).await })
        })
        .collect();
    rule.soon("as many run as may", gate.reached_by(64)).await;
    gate.open();
    for sender in senders {
        rule.soon("all are let in", sender).await.unwrap().unwrap();
    }
    rule.soon("all have run", gate.reached_by(100)).await;
}

async fn stash(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let (a, b, begun) = (Gate::new(), Gate::new(), Gate::new());
    let (first, second, inside) = (held("a", &a), held("b", &b), begun.clone());
    let puts = write(
        &actor,
        writes(move |_, ctx| {
            Box::pin(async move {
                inside.pass().await;
                let later = ctx.actor_ref().clone();
                let _ = ctx.stash(Read(first));
                let _ = ctx.stash(Read(second));
                let _ = ctx.stash(Write(change("stashed")));
                let _ = ctx.stash(Read(look("c")));
                ctx.unstash_all();
                drop(later);
                Ok(1)
            })
        }),
    );
    rule.soon("it runs", begun.reached()).await;
    let queued = read(&actor, look("queued"));
    begun.open();
    // The asker of the message in hand gets the reply of the first that was stashed.
    rule.soon("both run", a.reached()).await;
    rule.soon("both run", b.reached()).await;
    b.open();
    rule.soon("one is done", journal.wait_for("-b")).await;
    a.open();
    rule.soon("it is answered", puts).await.unwrap();
    rule.soon("the queued read is done", queued).await.unwrap();
    assert_eq!(journal.entries(), ["+a", "+b", "-b", "-a", "stashed", "c", "queued"]);
}

async fn storm(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let tasks: Vec<_> = (0..8_u64)
        .map(|task| {
            let actor = actor.clone();
            tokio::spawn(async move {
                let mut last = 0;
                for round in 0..100_u64 {
                    let is_write = (round + task) % 4 == 0;
                    let value = if is_write {
                        let script = writes(|reading, _| {
                            Box::pin(async move {
                                // Odd while the write is in progress.
                                reading.writes += 1;
                                tokio::task::yield_now().await;
                                reading.writes += 1;
                                Ok(reading.writes)
                            })
                        });
                        actor.ask(Write(script)).await.unwrap()
                    } else {
                        let script = crate::fixtures::reading::reads(|reading, _| {
                            Box::pin(async move {
                                let before = reading.writes;
                                tokio::task::yield_now().await;
                                assert_eq!(before, reading.writes);
                                Ok(before)
                            })
                        });
                        if round % 10 == 9 {
                            drop(actor.ask(Read(script)).enqueue().unwrap());
                            continue;
                        }
                        actor.ask(Read(script)).await.unwrap()
                    };
                    assert!(value % 2 == 0 && value >= last, "{value} after {last}");
                    last = value;
                }
            })
        })
        .collect();
    for task in tasks {
        rule.soon("a task is done", task).await.unwrap();
    }
    assert_eq!(actor.ask(Read(look(""))).await.unwrap(), 2 * 200);
}
