//! The phases of a shutdown.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ErrorKind, Failure, Phase, System};

use super::body;
use crate::actors::{Hold, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "PHASE-01",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle)],
        "The phases of a shutdown run in their order, those before the actors end while the actors still work and may be spawned, those after when the last one has ended; the tasks of one phase run together.",
        "A listener is closed before the actors behind it, a pool of connections after those that use it.",
        body!(in_order),
    ),
    Rule::must(
        "PHASE-02",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Idle)],
        "A task that fails, panics or takes longer than its phase allows is named in the error with its phase; the shutdown goes on, and the actors end.",
        "One bad task must not keep a process from ending, nor be overlooked.",
        body!(goes_on),
    )
    .pace(Pace::Driven),
    Rule::must(
        "PHASE-03",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead)],
        "The phases run once, however often and at the same time the system is shut down; everyone returns when all is done.",
        "Signals come twice.",
        body!(once),
    ),
    Rule::must(
        "PHASE-04",
        Topic::Shutdown,
        &[(Topic::Shutdown, State::Dead)],
        "A phase without a name or with one that is taken, a task for a phase that is not there, and one for a phase that has begun are errors.",
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

async fn in_order(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab
        .builder()
        .phase(Phase::after_actors("flush"))
        .phase(Phase::before_actors("leave"))
        .phase(Phase::before_actors("finish"))
        .build()
        .unwrap();
    let actor = system.spawn(Worker::new(&journal)).await.unwrap();
    noted(&system, &journal, "flush", "flushed");
    noted(&system, &journal, "finish", "finished");
    // Two tasks that wait for each other: they run together, and an actor serves one of them.
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
    lab.soon("the shutdown returns", system.shutdown()).await.unwrap();
    let entries = journal.entries();
    assert_eq!(entries[entries.len() - 4..], ["finished", "stop: drained", "drop", "flushed"], "{entries:?}");
    assert_eq!(system.live(), 0);
}

async fn goes_on(mut lab: Lab) {
    const SECOND: Duration = Duration::from_secs(1);
    let journal = Journal::new();
    let system = lab
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
    lab.clock().advance(SECOND * 6).await;
    assert!(!shutdown.is_finished() && system.live() == 1, "the phase has seven seconds");
    lab.clock().advance(SECOND).await;
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
    assert_eq!(system.live(), 0);
}

async fn once(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().phase(Phase::before_actors("leave")).build().unwrap();
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
    lab.soon("the phase has begun", gate.reached()).await;
    lab.rest().await;
    assert!(!first.is_finished() && !second.is_finished());
    gate.open();
    lab.soon("the first returns", first).await.unwrap().unwrap();
    lab.soon("the second returns", second).await.unwrap().unwrap();
    lab.soon("a third returns", system.shutdown()).await.unwrap();
    assert_eq!(journal.entries(), ["left"]);
}

async fn bad_input(lab: Lab) {
    let twice = lab.builder().phase(Phase::before_actors("a")).phase(Phase::after_actors("a")).build();
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::InvalidPhase);
    let nameless = lab.builder().phase(Phase::before_actors("")).build();
    assert_eq!(nameless.unwrap_err().kind(), ErrorKind::InvalidPhase);
    let system = lab.builder().phase(Phase::before_actors("leave")).build().unwrap();
    let error = system.on_shutdown("live", "typo", || async { Ok(()) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidPhase);
    assert!(error.to_string().contains("leave"), "it says which there are: {error}");
    lab.soon("the shutdown returns", system.shutdown()).await.unwrap();
    let error = system.on_shutdown("leave", "late", || async { Ok(()) }).unwrap_err();
    assert_eq!((error.kind(), error.get("task")), (ErrorKind::SystemShutDown, Some("late")));
}
