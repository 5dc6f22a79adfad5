//! How many restarts there may be.

use std::time::Duration;

use dactor_core::testkit::{Faults, Journal};
use dactor_core::{ActorRef, ErrorKind, Supervision};

use super::body;
use super::family::child;
use super::member::{Member, Plan, ending, named};
use crate::actors::{Act, Boom, Count, Note};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "SUPER-21",
        Topic::Supervision,
        &[(Topic::Supervision, State::Handling), (Topic::Supervision, State::Failed)],
        "A budget of N allows N restarts in any window, to the tick; one more stops the actor as failed, saying so, and its parent fails over it.",
        "What does not get better must not be tried for ever.",
        body!(window),
    )
    .pace(Pace::Driven),
    Rule::must(
        "SUPER-22",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "Children that are restarted together have one budget; when their parent is restarted, it begins anew.",
        "It is the group that does not get better.",
        body!(shared),
    ),
    Rule::must(
        "SUPER-23",
        Topic::Supervision,
        &[(Topic::Supervision, State::Failed)],
        "A restart that fails is charged like any other failure, and the last error says that the budget is spent.",
        "An actor that cannot come back must not try for ever.",
        body!(failing_restarts),
    ),
];

const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

/// Lets it fail, and sees it restarted.
async fn restarted(actor: &ActorRef<Member>) {
    actor.tell(Boom("no")).unwrap();
    assert_eq!(actor.ask(Count()).await.unwrap(), 0);
}

async fn window(mut lab: Lab) {
    for late in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let twice = Supervision::one_for_one().budget(2, 10 * SECOND);
        let plan = Plan::new("a").supervision(twice);
        let parent = Plan::new("parent").supervision(Supervision::one_for_one().budget(0, SECOND));
        let parent = parent.child(plan).spawn(&system, &journal).await;
        let a = child(&lab, &parent, "a").await;
        restarted(&a).await;
        lab.clock().advance(3 * SECOND).await;
        restarted(&a).await;
        // The first one leaves the window in this tick.
        lab.clock().advance(7 * SECOND).await;
        restarted(&a).await;
        lab.clock().advance(3 * SECOND - TICK).await;
        if late {
            lab.clock().advance(TICK).await;
            restarted(&a).await;
            assert!(parent.is_alive());
            continue;
        }
        a.tell(Boom("once more")).unwrap();
        let reason = a.wait().await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "actor")), (ErrorKind::Panicked, Some("a")));
        assert_eq!(error.get("restart"), Some("refused: more than 2 restarts in 10s"));
        assert!(format!("{error:#}").contains("once more"), "{error}");
        let reason = parent.wait().await.unwrap();
        let error = reason.failure().expect("a failure");
        assert_eq!((error.kind(), named(error, "child")), (ErrorKind::ChildFailed, Some("a")));
        assert!(format!("{error:#}").contains("2 restarts in 10s"), "{error}");
        assert_eq!(journal.count("a restart: Panicked"), 3);
    }
}

async fn shared(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let twice = Supervision::all_for_one().budget(2, 600 * SECOND);
    let plan = ["a", "b", "c"]
        .into_iter()
        .fold(Plan::new("parent"), |plan, name| plan.child(Plan::new(name).supervision(twice.clone())));
    let parent = plan.spawn(&system, &journal).await;
    for round in 0..2 {
        for name in ["a", "b"] {
            let failing = child(&lab, &parent, name).await;
            failing.tell(Boom("no")).unwrap();
            lab.soon("it is restarted", failing.ask(Note(1))).await.unwrap();
            for name in ["a", "b", "c"] {
                let other = child(&lab, &parent, name).await;
                lab.soon("it is restarted, too", other.ask(Note(1))).await.unwrap();
            }
        }
        let c = child(&lab, &parent, "c").await;
        assert_eq!(journal.count("c restart: Panicked"), 2 * (round + 1));
        c.tell(Boom("once more")).unwrap();
        let reason = lab.soon("it ends", c.wait()).await.unwrap();
        let error = reason.failure().expect("a failure");
        assert!(error.get("restart").is_some_and(|why| why.contains("2 restarts")), "{error}");
        let fresh = child(&lab, &parent, "c").await;
        assert_ne!(fresh, c);
        assert_eq!(journal.count("parent restart: ChildFailed"), round + 1, "{journal:?}");
    }
}

async fn failing_restarts(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let faults = (1..10).fold(Faults::new(), |faults, call| faults.fail_on(call, "still bad"));
    let thrice = Supervision::one_for_one().budget(3, 600 * SECOND);
    let plan = Plan::new("a").restart(Act::Strike(faults.clone())).supervision(thrice);
    let parent = Plan::new("parent").child(plan).spawn(&system, &journal).await;
    let a = child(&lab, &parent, "a").await;
    a.tell(Boom("no")).unwrap();
    let reason = lab.soon("it ends", a.wait()).await.unwrap();
    assert_eq!(ending(&reason), "Failed");
    let error = reason.failure().expect("a failure");
    assert_eq!(error.get("hook"), Some("on_restart"));
    assert_eq!(error.get("restart"), Some("refused: more than 3 restarts in 600s"));
    assert_eq!(faults.calls(), 3);
    lab.soon("the parent fails over it", journal.wait_for("parent restart: ChildFailed")).await;
}
