//! Observers that send messages themselves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use dactor_core::{ActorRef, ErrorKind, Event};

use super::body;
use super::fixture::{Desk, give};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[Rule::must(
    "DEAD-07",
    Topic::Tell,
    &[(Topic::Tell, State::Dead)],
    "An event that an observer causes reaches all observers after the one in hand, on the same thread and without a deeper stack; a chain without end is cut off, and its dead letters are still counted and in the feed.",
    "An observer may send messages.",
    body!(chain),
)];

async fn chain(lab: Lab) {
    // One that ends by itself, and one that does not.
    for (limit, expected) in [(100, Some(101)), (usize::MAX, None)] {
        let (seen, last) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, behind, target) = (seen.clone(), last.clone(), Arc::new(OnceLock::new()));
        let inner: Arc<OnceLock<ActorRef<Desk>>> = target.clone();
        let observer = move |event: &Event| {
            if let (Event::DeadLetter(_), Some(dead)) = (event, inner.get())
                && count.fetch_add(1, Ordering::Relaxed) < limit
            {
                let _ = dead.tell(give(1));
            }
        };
        let counts = move |event: &Event| {
            behind.fetch_add(usize::from(matches!(event, Event::DeadLetter(_))), Ordering::Relaxed);
        };
        let system = lab.builder().observe(observer).observe(counts).build().unwrap();
        let dead = system.spawn(Desk::default()).await.unwrap();
        dead.stop();
        lab.soon("the actor ends", dead.wait()).await.unwrap();
        target.set(dead.clone()).unwrap();
        for round in 1..=2 {
            assert_eq!(dead.tell(give(1)).unwrap_err().kind(), ErrorKind::Stopped);
            let (seen, last) = (seen.load(Ordering::Relaxed), last.load(Ordering::Relaxed));
            assert_eq!(seen, last, "both observers see the same");
            let letters = system.dead_letters();
            match expected {
                Some(expected) => {
                    assert_eq!((seen, letters), (expected + round - 1, (expected + round - 1) as u64))
                }
                None => assert!(seen > 100 * round && letters > seen as u64, "{seen} of {letters}"),
            }
        }
    }
}
