//! The single deadline of a deep tree.

use std::time::Duration;

use dactor_core::testkit::Journal;

use crate::fixtures::chain::{ChainLink, GetBottom, MILLI, StopBehavior, Work};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TREE-19",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping), (Topic::Tree, State::Drained)],
        "A tree has one deadline, however deep it is: with a grace period of ten seconds, an `on_stop` of 100 ms and 20 accepted messages of 20 ms at the bottom of twenty levels complete, in a stop, a drain and a shutdown.",
        "Depth must not shorten the time of healthy actors.",
        body!(deep),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "TREE-20",
        Topic::Tree,
        &[(Topic::Tree, State::Stopping)],
        "In a chain with actors that hang in `on_stop`, these are killed one after the other from the bottom; the actors between them run `on_stop`, and all have ended within the grace period.",
        "At the deadline only the actors that block others are killed.",
        body!(hang_in_line),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const GRACE: Duration = Duration::from_secs(10);

async fn deep(mut rule: RuleContext) {
    for ending in ["stop", "drain", "shutdown"] {
        let (system, journal) = (rule.builder().grace(GRACE).build().unwrap(), Journal::new());
        let stop = |below| if below == 0 { StopBehavior::Sleep(100 * MILLI) } else { StopBehavior::Return };
        let top = system.spawn(ChainLink { below: 19, journal: journal.clone(), stop }).await.unwrap();
        let bottom = top.ask(GetBottom).await.unwrap();
        let works = if ending == "stop" { 0 } else { 20 };
        (0..works).for_each(|_| bottom.tell(Work).unwrap());
        let closing = system.clone();
        let shutdown = match ending {
            "stop" => None,
            "drain" => None,
            _ => Some(tokio::spawn(async move { closing.shutdown().await })),
        };
        match ending {
            "stop" => top.stop(),
            "drain" => top.drain(),
            _ => {}
        }
        for _ in 0..60 {
            rule.clock().advance(10 * MILLI).await;
        }
        let expected = if ending == "stop" { "stopped" } else { "drained" };
        assert_eq!(top.stop_reason().map(|reason| reason.to_string()).as_deref(), Some(expected), "{ending}");
        assert_eq!(bottom.stop_reason().unwrap().to_string(), expected, "{ending}");
        assert_eq!(journal.count("worked"), works);
        let stops: Vec<_> = (0..20).map(|below| format!("stopped {below}")).collect();
        assert_eq!(journal.entries()[works..], stops);
        if let Some(shutdown) = shutdown {
            shutdown.await.unwrap().unwrap();
        }
    }
}

async fn hang_in_line(mut rule: RuleContext) {
    for shut_down in [false, true] {
        let (system, journal) = (rule.builder().grace(GRACE).build().unwrap(), Journal::new());
        let stop = |below| if below % 2 == 0 { StopBehavior::Hang } else { StopBehavior::Sleep(MILLI) };
        let top =
            system.spawn(ChainLink { below: 9, journal: journal.clone(), stop }).name("top").await.unwrap();
        let closing = system.clone();
        let shutdown = tokio::spawn(async move { if shut_down { closing.shutdown().await } else { Ok(()) } });
        if !shut_down {
            top.stop();
        }
        rule.clock().advance(GRACE / 4 * 3 - MILLI).await;
        assert!(journal.is_empty(), "killed too early");
        for _ in 0..130 {
            rule.clock().advance(10 * MILLI).await;
        }
        assert_eq!(journal.entries(), ["stopped 1", "stopped 3", "stopped 5", "stopped 7", "stopped 9"]);
        assert!(top.is_alive() == Some(false) && system.actor_count() == 0);
        if shut_down {
            let error = shutdown.await.unwrap().unwrap_err();
            let killed = error.get("did not stop").unwrap();
            assert_eq!(killed.split(' ').count(), 5, "{error}");
            assert!(
                !killed.split(' ').any(|path| path == "pekko://test/user/top"),
                "the top actor was not killed: {error}"
            );
        }
    }
}
