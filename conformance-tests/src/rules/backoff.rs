//! The wait before a restart, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{Backoff, StopReason, Supervision};

use super::body;
use super::family::child;
use super::member::Plan;
use crate::actors::{Boom, Note};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-24",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A restart waits as long as its backoff says, to the tick: twice as long each time up to the limit, and from the beginning after a quiet window; messages wait meanwhile, and none is lost.",
        "What a restart needs may take a while to come back, and must not be overrun.",
        body!(grows),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SUPER-25",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A wait that is longer than the window is no quiet window: the next wait is longer still.",
        "A slow comeback is not a good sign.",
        body!(longer_than_the_window),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SUPER-26",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::Stopped),
            (Topic::Supervision, State::Killed),
            (Topic::Supervision, State::Drained),
        ],
        "A stop or kill during the wait ends the actor at once, without a hook: there is no instance. A drain waits, and the restarted actor handles what is queued.",
        "Nobody waits for an actor that waits.",
        body!(ends),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SUPER-27",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Tree, State::Handling)],
        "The children have ended, and the failed instance is dropped, before the wait begins; a parent that stops meanwhile does not wait.",
        "What the old instance held is free while nobody works.",
        body!(released),
    )
    .pace(Pace::Driven),
];

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

fn backoff(first: u64, most: u64) -> Backoff {
    Backoff::exponential(SECOND * first as u32, SECOND * most as u32).jitter(0.0)
}

async fn grows(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let patient = Supervision::one_for_one().budget(100, 60 * SECOND).backoff(backoff(1, 4));
    let a = Plan::new("a").supervision(patient).spawn(&system, &journal).await;
    for (round, seconds) in [1, 2, 4, 4, 1, 2].into_iter().enumerate() {
        if round == 4 {
            lab.clock().advance(60 * SECOND).await;
        }
        a.tell(Boom("no")).unwrap();
        let asked = tokio::spawn(a.ask(Note(1)).enqueue().unwrap());
        a.tell(Note(2)).unwrap();
        lab.clock().advance(SECOND * seconds - TICK).await;
        assert!(!asked.is_finished(), "round {round}: too early");
        lab.clock().advance(TICK).await;
        assert!(asked.is_finished(), "round {round}: too late");
        assert_eq!(asked.await.unwrap().unwrap(), 1);
        assert_eq!(a.ask(Note(3)).await.unwrap(), 3);
        assert_eq!(journal.count("a restart: Panicked"), round + 1);
        assert_eq!(journal.count("a 2"), round + 1);
    }
    assert_eq!(system.dead_letters(), 0);
}

async fn longer_than_the_window(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let patient = Supervision::one_for_one().budget(100, 3 * SECOND).backoff(backoff(1, 60));
    let a = Plan::new("a").supervision(patient).spawn(&system, &journal).await;
    for (round, seconds) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        a.tell(Boom("no")).unwrap();
        lab.clock().advance(SECOND * seconds - TICK).await;
        assert_eq!(journal.count("a restart: Panicked"), round, "round {round}: too early");
        lab.clock().advance(TICK).await;
        assert_eq!(journal.count("a restart: Panicked"), round + 1, "round {round}: too late");
    }
}

async fn ends(mut lab: Lab) {
    for end in ["stop", "kill", "drain"] {
        let (journal, system) = (Journal::new(), lab.system());
        let patient = Supervision::one_for_one().backoff(backoff(10, 10));
        let a = Plan::new("a").supervision(patient).spawn(&system, &journal).await;
        a.tell(Boom("no")).unwrap();
        a.tell(Note(1)).unwrap();
        lab.clock().advance(SECOND).await;
        match end {
            "stop" => a.stop(),
            "kill" => a.kill(),
            _ => a.drain(),
        }
        lab.clock().advance(Duration::ZERO).await;
        let reason = a.stop_reason();
        match end {
            "stop" => assert!(matches!(reason, Some(StopReason::Stopped)), "{reason:?}"),
            "kill" => assert!(matches!(reason, Some(StopReason::Killed)), "{reason:?}"),
            _ => {
                assert!(reason.is_none(), "{reason:?}");
                lab.clock().advance(9 * SECOND).await;
                assert!(matches!(a.wait().await.unwrap(), StopReason::Drained));
                let rest = ["a restart: Panicked", "a 1", "a stop: drained, 0 children", "a drop"];
                assert_eq!(journal.entries()[2..], rest);
                continue;
            }
        }
        assert_eq!(journal.entries(), ["a start", "a drop"], "{end}");
        assert_eq!((system.live(), system.dead_letters()), (0, 1));
    }
}

async fn released(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let patient = Supervision::one_for_one().backoff(backoff(10, 10));
    let plan = Plan::new("a").supervision(patient).child(Plan::new("aa"));
    let parent = Plan::new("parent").child(plan).spawn(&system, &journal).await;
    let a = child(&lab, &parent, "a").await;
    a.tell(Boom("no")).unwrap();
    lab.clock().advance(SECOND).await;
    assert_eq!(journal.entries()[3..], ["aa stop: stopped, 0 children", "aa drop", "a drop"]);
    parent.stop();
    lab.clock().advance(Duration::ZERO).await;
    assert!(matches!(parent.stop_reason(), Some(StopReason::Stopped)));
    assert!(matches!(a.stop_reason(), Some(StopReason::Stopped)));
    assert_eq!(system.live(), 0);
}
