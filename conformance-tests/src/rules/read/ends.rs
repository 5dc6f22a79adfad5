//! Reads when their actor starts or ends.

use std::sync::Arc;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Error, ErrorKind, Result, StopReason};
use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::{read, spawn, write};
use crate::fixtures::drop_note::DropNote;
use crate::fixtures::reading::{Join, Read, Reading, change, held, look, reads};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-10",
        Topic::Reads,
        &[(Topic::Reads, State::Starting), (Topic::Reads, State::Stopping)],
        "Reads that are sent while the actor starts run beside each other after the start; a read that is sent while `on_stop` runs is refused with `Stopped`.",
        "Reads are messages like others.",
        body!(hooks),
    ),
    Rule::must(
        "READ-11",
        Topic::Reads,
        &[(Topic::Reads, State::Stopped), (Topic::Reads, State::Dead), (Topic::Stop, State::Handling)],
        "A stop lets the running reads finish, and `on_stop` follows. Queued reads and writes are refused with `Stopped` at once, also while the reads run.",
        "A stop waits for running reads as it waits for a running handler, and a read that waits for a queued one does not wait for ever.",
        body!(stopped),
    ),
    Rule::must(
        "READ-12",
        Topic::Reads,
        &[(Topic::Reads, State::Drained), (Topic::Drain, State::Handling)],
        "A drain handles all reads and writes that were accepted, in their order, and ends when the last read is done.",
        "A drain loses nothing that was accepted.",
        body!(drained),
    ),
    Rule::must(
        "READ-13",
        Topic::Reads,
        &[(Topic::Reads, State::Killed), (Topic::Kill, State::Handling)],
        "A kill drops all running reads: their askers get `Interrupted`, the askers of queued reads and writes `Stopped`, and the local variables of the reads are dropped.",
        "A kill ends an actor at its next await, however many messages it handles.",
        body!(killed),
    ),
    Rule::must(
        "READ-14",
        Topic::Reads,
        &[(Topic::Reads, State::NativeStop)],
        "A native stop ends an actor whose reads are done, and lets reads that run finish or interrupts them with an error.",
        "No asker hangs when an actor is stopped natively.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "READ-15",
        Topic::Reads,
        &[(Topic::Reads, State::NativeKill)],
        "A native kill drops all reads that run: their askers get `Interrupted`.",
        "No asker hangs when an actor is killed natively.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "READ-16",
        Topic::Reads,
        &[(Topic::Reads, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, the askers of running reads get `Interrupted`, and the asker of a waiting write gets `Stopped`.",
        "An asker on another runtime does not hang.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "READ-17",
        Topic::Reads,
        &[(Topic::Shutdown, State::Handling), (Topic::Reads, State::Handling)],
        "A shutdown waits for reads that run: an actor that reads is not idle, and another actor of the system can still ask it.",
        "A shutdown empties pipelines of actors.",
        body!(shutdown),
    ),
];

fn kind(reply: Result<u64>) -> Option<ErrorKind> {
    reply.err().as_ref().map(Error::kind)
}

async fn hooks(rule: RuleContext) {
    let (starting, stopping, gate) = (Gate::new(), Gate::new(), Gate::new());
    let reading =
        Reading { starting: Some(starting.clone()), stopping: Some(stopping.clone()), ..Reading::default() };
    let system = rule.system();
    let spawning = system.clone();
    let spawned = tokio::spawn(async move { spawning.spawn(reading).name("reads").await });
    rule.soon("the actor starts", starting.reached()).await;
    let actor: ActorRef<Reading> = system.get("reads").unwrap();
    let reads = [read(&actor, held("a", &gate)), read(&actor, held("b", &gate))];
    rule.let_idle().await;
    assert_eq!(gate.arrivals(), 0);
    starting.open();
    rule.soon("the actor has started", spawned).await.unwrap().unwrap();
    rule.soon("both run", gate.reached_by(2)).await;
    gate.open();
    for read in reads {
        rule.soon("the read is done", read).await.unwrap();
    }
    actor.stop();
    rule.soon("the actor stops", stopping.reached()).await;
    assert_eq!(kind(actor.ask(Read(look("late"))).await), Some(ErrorKind::Stopped));
    stopping.open();
    rule.soon("the actor ends", actor.wait()).await.unwrap();
}

async fn stopped(rule: RuleContext) {
    for closed in [false, true] {
        let (actor, Reading { journal, .. }) = spawn(&rule).await;
        let gate = Gate::new();
        let running = [read(&actor, held("a", &gate)), read(&actor, held("b", &gate))];
        rule.soon("both run", gate.reached_by(2)).await;
        let mut queued = Vec::new();
        if closed {
            queued.push(kind_of(write(&actor, change("w"))).boxed());
            rule.let_idle().await;
            queued.push(kind_of(read(&actor, look("c"))).boxed());
            rule.let_idle().await;
        }
        actor.stop();
        for queued in queued {
            assert_eq!(rule.soon("it is refused", queued).await, Some(ErrorKind::Stopped));
        }
        assert_eq!(kind(actor.ask(Read(look("late"))).await), Some(ErrorKind::Stopped));
        assert_eq!(kind(actor.ask(Join(look("late"))).await), Some(ErrorKind::Stopped));
        assert!(actor.is_alive() == Some(true));
        gate.open();
        for running in running {
            assert_eq!(rule.soon("the read is done", running).await.unwrap(), 0);
        }
        let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert!(matches!(reason, StopReason::Stopped));
        let mut seen = journal.entries();
        // Both were released at once, perhaps by two threads.
        seen[2..4].sort_unstable();
        assert_eq!(seen, ["+a", "+b", "-a", "-b", "on_stop"]);
        assert_eq!(kind(actor.ask(Read(look("late"))).await), Some(ErrorKind::Stopped));
    }
}

async fn kind_of<M: dactor_core::Message<Reply = u64>>(
    reply: dactor_core::PendingReply<M>,
) -> Option<ErrorKind> {
    kind(reply.await)
}

async fn drained(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let gate = Gate::new();
    let first = read(&actor, held("a", &gate));
    rule.soon("the first runs", gate.reached()).await;
    let second = write(&actor, change("w"));
    let last = Gate::new();
    let third = read(&actor, held("b", &last));
    actor.drain();
    assert_eq!(kind(actor.ask(Read(look("late"))).await), Some(ErrorKind::Stopped));
    gate.open();
    assert_eq!(rule.soon("the first is done", first).await.unwrap(), 0);
    assert_eq!(rule.soon("the write is done", second).await.unwrap(), 1);
    rule.soon("the last runs", last.reached()).await;
    rule.let_idle().await;
    assert!(actor.is_alive() == Some(true));
    last.open();
    assert_eq!(rule.soon("the last is done", third).await.unwrap(), 1);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Drained));
    assert_eq!(journal.entries(), ["+a", "-a", "w", "+b", "-b", "on_stop"]);
}

/// Holds a guard across its await.
fn guarded(gate: &Gate) -> crate::fixtures::reading::ReadScript {
    let gate = gate.clone();
    reads(move |reading, _| {
        Box::pin(async move {
            let _guard = DropNote(reading.journal.clone(), "dropped");
            gate.pass().await;
            Ok(0)
        })
    })
}

async fn killed(rule: RuleContext) {
    for closed in [false, true] {
        let (actor, Reading { journal, .. }) = spawn(&rule).await;
        let gate = Gate::new();
        let running: Vec<_> = (0..3).map(|_| read(&actor, guarded(&gate))).collect();
        rule.soon("all run", gate.reached_by(3)).await;
        let mut queued = Vec::new();
        if closed {
            queued.push(kind_of(write(&actor, change("w"))).boxed());
            rule.let_idle().await;
            queued.push(kind_of(read(&actor, look("c"))).boxed());
        }
        actor.kill();
        let flavor = tokio::runtime::Handle::current().runtime_flavor();
        if flavor == tokio::runtime::RuntimeFlavor::CurrentThread {
            // A read that could continue is not polled again. On another thread, the poll in progress may go on.
            gate.open();
        }
        for running in running {
            assert_eq!(kind(rule.soon("it is dropped", running).await), Some(ErrorKind::Interrupted));
        }
        for queued in queued {
            assert_eq!(rule.soon("it is refused", queued).await, Some(ErrorKind::Stopped));
        }
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(journal.entries(), ["dropped"; 3]);
    }
}

async fn native_stop(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    rule.take_native_handle(&actor);
    assert_eq!(rule.soon("a read is done", actor.ask(Read(look("a")))).await.unwrap(), 0);
    let gate = Gate::new();
    let running = read(&actor, held("b", &gate));
    rule.soon("it runs", gate.reached()).await;
    rule.native_stop(&actor).await;
    gate.open();
    if let Err(error) = rule.soon("the asker is answered", running).await {
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
    rule.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(kind(actor.ask(Read(look("late"))).await), Some(ErrorKind::Stopped));
}

async fn native_kill(rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let gate = Gate::new();
    let running = [read(&actor, held("a", &gate)), read(&actor, held("b", &gate))];
    rule.soon("both run", gate.reached_by(2)).await;
    rule.native_kill(&actor).await;
    for running in running {
        assert_eq!(kind(rule.soon("it is dropped", running).await), Some(ErrorKind::Interrupted));
    }
    rule.soon("the actor ends", actor.wait()).await.unwrap();
}

async fn runtime_dropped(rule: RuleContext) {
    let builder = rule.builder();
    let gate = Gate::new();
    let inside = gate.clone();
    let journal = Journal::new();
    let notes = journal.clone();
    let (running, queued) = rule
        .on_dropped_runtime(move || async move {
            let reading = Reading { journal: notes, ..Reading::default() };
            let actor = builder.build().unwrap().spawn(reading).await.unwrap();
            let running = [read(&actor, guarded(&inside)), read(&actor, guarded(&inside))];
            inside.reached_by(2).await;
            let queued = write(&actor, change("w"));
            for _ in 0..16 {
                tokio::task::yield_now().await;
            }
            (running, queued)
        })
        .await;
    for running in running {
        assert_eq!(kind(rule.soon("it is dropped", running).await), Some(ErrorKind::Interrupted));
    }
    assert_eq!(kind(rule.soon("it is refused", queued).await), Some(ErrorKind::Stopped));
    assert_eq!(journal.entries(), ["dropped"; 2]);
}

async fn shutdown(rule: RuleContext) {
    let system = rule.system();
    let source = system.spawn(Reading::default()).await.unwrap();
    let reader = system.spawn(Reading::default()).await.unwrap();
    let gate = Gate::new();
    let (inside, asked) = (gate.clone(), source.clone());
    let (told, hears) = oneshot::channel();
    let told = Arc::new(std::sync::Mutex::new(Some(told)));
    let running = read(
        &reader,
        reads(move |_, _| {
            Box::pin(async move {
                inside.pass().await;
                let answer = asked.ask(Read(look("asked"))).await;
                if let Some(told) = told.lock().unwrap().take() {
                    let _ = told.send(answer.is_ok());
                }
                Ok(answer?)
            })
        }),
    );
    rule.soon("it runs", gate.reached()).await;
    let ending = tokio::spawn({
        let system = system.clone();
        async move { system.shutdown().await }
    });
    rule.let_idle().await;
    assert!(!ending.is_finished(), "the read is not done");
    gate.open();
    assert_eq!(rule.soon("the read is done", running).await.unwrap(), 0);
    assert!(rule.soon("the other actor answered", hears).await.unwrap());
    rule.soon("the system is down", ending).await.unwrap().unwrap();
}
