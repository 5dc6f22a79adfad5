//! The phases of a shutdown.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Failure, Phase, System};

use crate::fixtures::worker::{Hold, Note, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PHASE-01",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle)],
        "The phases of a shutdown run in their order: those before the actors while actors still work and can be spawned, those after when the last actor has ended. The tasks of one phase run concurrently.",
        "A listener is closed before the actors that it feeds, and a connection pool after the actors that use it.",
        body!(in_order),
    ),
    Rule::must(
        "PHASE-02",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle)],
        "A task that fails, panics or exceeds the time of its phase is named in the error together with its phase; the shutdown continues, and the actors end.",
        "A faulty task must neither keep a process from ending nor be overlooked.",
        body!(goes_on),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "PHASE-03",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead)],
        "The phases run once, however often and concurrently `shutdown` is called; every call returns when the shutdown is complete.",
        "Signals may arrive twice.",
        body!(once),
    ),
    Rule::must(
        "PHASE-04",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead)],
        "A phase without a name or with a name that is taken, a task for an unknown phase and a task for a phase that has begun are errors.",
        "A task that would never run must not be accepted.",
        body!(bad_input),
    ),
];

fn noted(system: &System, journal: &Journal, phase: &str, task: &'static str) {
    let journal = journal.clone();
    let done = async move || {
        journal.note(task);
        Ok(())
    };
    system.on_shutdown(phase, task, done).unwrap();
}

async fn in_order(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule
        .builder()
        .phase(Phase::after_actors("flush"))
        .phase(Phase::before_actors("leave"))
        .phase(Phase::before_actors("finish"))
        .build()
        .unwrap();
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    noted(&system, &journal, "flush", "flushed");
    noted(&system, &journal, "finish", "finished");
    // Two tasks that wait for each other: they run concurrently, and an actor serves one of them.
    let (held, served, spawning) = (gate.clone(), actor.clone(), system.clone());
    system
        .on_shutdown("leave", "one", move || async move {
            served.ask(Note(1)).await?;
            spawning.spawn(Worker::new(&Journal::new())).await?;
            held.open();
            Ok(())
        })
        .unwrap();
    let worker = actor.clone();
    system
        .on_shutdown("leave", "two", move || async move {
            worker.ask(Hold(2, gate)).await?;
            Ok(())
        })
        .unwrap();
    rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
    let entries = journal.entries();
    assert_eq!(entries[entries.len() - 4..], ["finished", "stop: drained", "drop", "flushed"], "{entries:?}");
    assert_eq!(system.actor_count(), 0);
}

async fn goes_on(mut rule: RuleContext) {
    const SECOND: Duration = Duration::from_secs(1);
    let journal = Journal::new();
    let system = rule
        .builder()
        .phase(Phase::before_actors("leave").within(SECOND * 7))
        .phase(Phase::after_actors("flush"))
        .build()
        .unwrap();
    system.spawn(Worker::new(&journal)).await.unwrap();
    system.on_shutdown("leave", "rude", || async { Err(Failure::new("will not")) }).unwrap();
    system.on_shutdown("leave", "clumsy", || async { panic!("dropped it") }).unwrap();
    system.on_shutdown("leave", "slow", std::future::pending).unwrap();
    noted(&system, &journal, "leave", "left");
    noted(&system, &journal, "flush", "flushed");
    let closing = system.clone();
    let shutdown = tokio::spawn(async move { closing.shutdown().await });
    rule.clock().advance(SECOND * 6).await;
    assert!(!shutdown.is_finished() && system.actor_count() == 1, "the phase may take seven seconds");
    rule.clock().advance(SECOND).await;
    let error = shutdown.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
    let text = error.to_string();
    for part in [
        "leave: rude failed: will not",
        "leave: clumsy panicked: dropped it",
        "leave: slow was not done within 7s",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(journal.entries(), ["start", "left", "stop: drained", "drop", "flushed"]);
    assert_eq!(system.actor_count(), 0);
}

async fn once(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = rule.builder().phase(Phase::before_actors("leave")).build().unwrap();
    noted(&system, &journal, "leave", "left");
    let held = gate.clone();
    let hold = move || async move {
        held.pass().await;
        Ok(())
    };
    system.on_shutdown("leave", "hold", hold).unwrap();
    let shutdown = |system: &System| {
        let system = system.clone();
        tokio::spawn(async move { system.shutdown().await })
    };
    let (first, second) = (shutdown(&system), shutdown(&system));
    rule.soon("the phase begins", gate.reached()).await;
    rule.let_idle().await;
    assert!(!first.is_finished() && !second.is_finished());
    gate.open();
    rule.soon("the first shutdown returns", first).await.unwrap().unwrap();
    rule.soon("the second shutdown returns", second).await.unwrap().unwrap();
    rule.soon("the third shutdown returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["left"]);
}

async fn bad_input(rule: RuleContext) {
    let twice = rule.builder().phase(Phase::before_actors("a")).phase(Phase::after_actors("a")).build();
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::InvalidPhase);
    let nameless = rule.builder().phase(Phase::before_actors("")).build();
    assert_eq!(nameless.unwrap_err().kind(), ErrorKind::InvalidPhase);
    let system = rule.builder().phase(Phase::before_actors("leave")).build().unwrap();
    let error = system.on_shutdown("live", "typo", || async { Ok(()) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidPhase);
    assert!(error.to_string().contains("leave"), "the error lists the phases: {error}");
    rule.soon("the shutdown returns", system.shutdown()).await.unwrap();
    let error = system.on_shutdown("leave", "late", || async { Ok(()) }).unwrap_err();
    assert_eq!((error.kind(), error.get("task")), (ErrorKind::SystemShutDown, Some("late")));
}
