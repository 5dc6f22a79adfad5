//! The backoff before a restart, on a driven clock.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{Backoff, StopReason, Supervision};

use crate::fixtures::tree::{TreeSpec, child};
use crate::fixtures::worker::{Note, PanicWith};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-24",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A restart waits exactly for its backoff, which doubles up to the limit and is reset after a window without failures; messages are queued meanwhile, and none is lost.",
        "A dependency may need time to recover and must not be overloaded.",
        body!(grows),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SUPER-25",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling)],
        "A backoff that is longer than the window does not reset it: the next backoff is longer.",
        "A slow restart is not a recovery.",
        body!(longer_than_the_window),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SUPER-26",
        Topic::Supervision,
        &[
            (Topic::Supervision, State::Stopped),
            (Topic::Supervision, State::Killed),
            (Topic::Supervision, State::Drained),
        ],
        "A stop or kill during the backoff ends the actor at once, without a hook, because there is no instance. A drain waits for the restart, and the restarted actor handles its queue.",
        "Callers need not wait for an actor that waits for its backoff.",
        body!(ends),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "SUPER-27",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Tree, State::Handling)],
        "The children have ended and the failed instance is dropped before the backoff begins; a parent that stops meanwhile does not wait for it.",
        "The resources of the old instance are free during the backoff.",
        body!(released),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

fn backoff(first: u64, most: u64) -> Backoff {
    Backoff::exponential(SECOND * first as u32, SECOND * most as u32).jitter(0.0)
}

async fn grows(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let patient = Supervision::one_for_one().budget(100, 60 * SECOND).backoff(backoff(1, 4));
    let a = TreeSpec::new("a").supervision(patient).spawn(&system, &journal).await;
    for (round, seconds) in [1, 2, 4, 4, 1, 2].into_iter().enumerate() {
        if round == 4 {
            rule.clock().advance(60 * SECOND).await;
        }
        a.tell(PanicWith("no")).unwrap();
        let asked = tokio::spawn(a.ask(Note(1)).enqueue().unwrap());
        a.tell(Note(2)).unwrap();
        rule.clock().advance(SECOND * seconds - TICK).await;
        assert!(!asked.is_finished(), "round {round}: too early");
        rule.clock().advance(TICK).await;
        assert!(asked.is_finished(), "round {round}: too late");
        assert_eq!(asked.await.unwrap().unwrap(), 1);
        assert_eq!(a.ask(Note(3)).await.unwrap(), 3);
        assert_eq!(journal.count("a restart: Panicked"), round + 1);
        assert_eq!(journal.count("a 2"), round + 1);
    }
    assert_eq!(system.dead_letter_count(), 0);
}

async fn longer_than_the_window(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let patient = Supervision::one_for_one().budget(100, 3 * SECOND).backoff(backoff(1, 60));
    let a = TreeSpec::new("a").supervision(patient).spawn(&system, &journal).await;
    for (round, seconds) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        a.tell(PanicWith("no")).unwrap();
        rule.clock().advance(SECOND * seconds - TICK).await;
        assert_eq!(journal.count("a restart: Panicked"), round, "round {round}: too early");
        rule.clock().advance(TICK).await;
        assert_eq!(journal.count("a restart: Panicked"), round + 1, "round {round}: too late");
    }
}

async fn ends(mut rule: RuleContext) {
    for end in ["stop", "kill", "drain"] {
        let (journal, system) = (Journal::new(), rule.system());
        let patient = Supervision::one_for_one().backoff(backoff(10, 10));
        let a = TreeSpec::new("a").supervision(patient).spawn(&system, &journal).await;
        a.tell(PanicWith("no")).unwrap();
        a.tell(Note(1)).unwrap();
        rule.clock().advance(SECOND).await;
        match end {
            "stop" => a.stop(),
            "kill" => a.kill(),
            _ => a.drain(),
        }
        rule.clock().advance(Duration::ZERO).await;
        let reason = a.stop_reason();
        match end {
            "stop" => assert!(matches!(reason, Some(StopReason::Stopped)), "{reason:?}"),
            "kill" => assert!(matches!(reason, Some(StopReason::Killed)), "{reason:?}"),
            _ => {
                assert!(reason.is_none(), "{reason:?}");
                rule.clock().advance(9 * SECOND).await;
                assert!(matches!(a.wait().await.unwrap(), StopReason::Drained));
                let rest = ["a restart: Panicked", "a 1", "a stop: drained, 0 children", "a drop"];
                assert_eq!(journal.entries()[2..], rest);
                continue;
            }
        }
        assert_eq!(journal.entries(), ["a start", "a drop"], "{end}");
        assert_eq!((system.actor_count(), system.dead_letter_count()), (0, 1));
    }
}

async fn released(mut rule: RuleContext) {
    let (journal, system) = (Journal::new(), rule.system());
    let patient = Supervision::one_for_one().backoff(backoff(10, 10));
    let spec = TreeSpec::new("a").supervision(patient).child(TreeSpec::new("aa"));
    let parent = TreeSpec::new("parent").child(spec).spawn(&system, &journal).await;
    let a = child(&rule, &parent, "a").await;
    a.tell(PanicWith("no")).unwrap();
    rule.clock().advance(SECOND).await;
    assert_eq!(journal.entries()[3..], ["aa stop: stopped, 0 children", "aa drop", "a drop"]);
    parent.stop();
    rule.clock().advance(Duration::ZERO).await;
    assert!(matches!(parent.stop_reason(), Some(StopReason::Stopped)));
    assert!(matches!(a.stop_reason(), Some(StopReason::Stopped)));
    assert_eq!(system.actor_count(), 0);
}
