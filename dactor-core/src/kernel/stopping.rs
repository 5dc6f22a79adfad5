//! One deadline for stopping a tree of actors.
//!
//! An actor ends after its children: it asks them to end, waits for them, and then runs its `on_stop`. Only
//! the *driver* of the tree has a deadline: the actor whose stop or restart began it, or the shutdown of the
//! system. The actors below wait for their children without a deadline of their own, so the depth of the tree
//! does not shorten the time.
//!
//! ```text
//!   0                     1/2                  3/4            7/8             1    of the grace period
//!   ├─ drain (a shutdown) ─┼─ stop (a shutdown) ─┤
//!   ├─ the tree ends by itself ──────────────────┼─ kill rounds ─┼─ all are killed ─┤
//! ```
//!
//! At three quarters of the grace period the driver begins to kill, in rounds. Unfinished actors without
//! unfinished children use up the time; all others only wait for them. So a round kills these leaves, and
//! their ancestors continue with `on_stop`. The next round begins when the leaves have ended, or when their
//! share of the time is over: the time until seven eighths, divided by the height of the unfinished tree. So
//! even a chain of hanging actors is finished by then, and an actor that does not hang runs its hooks. At
//! seven eighths, all remaining actors are killed.
//!
//! A leaf that was not asked to end yet, because its parent hangs in a handler, is stopped in one round, and
//! killed in a later one.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::future::Future;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use crate::Pid;
use crate::kernel::actor_core::{ActorMeta, DynActor};
use crate::kernel::family::{all_ended, ended};
use crate::mailbox::Ending;

/// The minimum duration of a round.
const SHORTEST: Duration = Duration::from_millis(5);

/// When this many eighths of the grace period are over; `None` for never.
pub(crate) fn after(begin: Instant, grace: Duration, eighths: u32) -> Option<Instant> {
    begin.checked_add(grace / 8 * eighths)
}

/// Waits with a deadline. `false` when it was exceeded.
pub(crate) async fn until(then: Option<Instant>, waiting: impl Future<Output = ()>) -> bool {
    match then {
        Some(then) => timeout_at(then, waiting).await.is_ok(),
        None => {
            waiting.await;
            true
        }
    }
}

/// Drives the end of these actors and all their descendants.
pub(crate) async fn drive(driver: &ActorMeta, actors: &[Arc<dyn DynActor>]) {
    let (begin, grace) = (Instant::now(), driver.system().grace());
    if until(after(begin, grace, 6), all_ended(actors)).await {
        return;
    }
    // A shutdown that began meanwhile drives all live actors, by its own deadline.
    if driver.system().registry().is_closed()
        && until(Instant::now().checked_add(grace), all_ended(actors)).await
    {
        return;
    }
    let left = || unfinished(actors);
    kill_in_rounds(left, Instant::now() + grace / 8).await;
    all_ended(actors).await;
}

/// Kills the leaves, round by round, and at the end all that are left. Returns the killed actors.
pub(crate) async fn kill_in_rounds(
    left: impl Fn() -> Vec<Arc<dyn DynActor>>,
    end: Instant,
) -> Vec<Arc<dyn DynActor>> {
    let mut killed = Vec::new();
    // The first leaves have already had all the time there was.
    let mut waits = false;
    loop {
        let (leaves, height) = leaves(left());
        let time = end.saturating_duration_since(Instant::now());
        if leaves.is_empty() || time.is_zero() {
            break;
        }
        if mem::replace(&mut waits, true) {
            let _ = timeout((time / height).max(SHORTEST), ended(leaves.iter())).await;
        }
        for leaf in leaves.into_iter().filter(|leaf| !leaf.meta().has_ended()) {
            match leaf.ending() {
                Ending::None => leaf.signal(Ending::Stop),
                Ending::Drain | Ending::Stop => {
                    leaf.signal(Ending::Kill);
                    killed.push(leaf);
                }
                Ending::Kill => {}
            }
        }
    }
    for actor in left() {
        if actor.ending() != Ending::Kill {
            actor.signal(Ending::Kill);
            killed.push(actor);
        }
    }
    killed
}

/// These actors and all their descendants, except ended ones. An actor that has not reached its host is
/// killed by its parent, and not awaited.
fn unfinished(actors: &[Arc<dyn DynActor>]) -> Vec<Arc<dyn DynActor>> {
    let mut found = Vec::new();
    let mut next = actors.to_vec();
    while let Some(actor) = next.pop() {
        let meta = actor.meta();
        if !meta.has_ended() && meta.is_hosted() {
            next.extend(meta.family().children());
            found.push(actor);
        }
    }
    found
}

/// The actors without a child among them, and the height of the tree.
fn leaves(mut actors: Vec<Arc<dyn DynActor>>) -> (Vec<Arc<dyn DynActor>>, u32) {
    // Children first: a child has a higher id than its parent.
    actors.sort_by_key(|actor| Reverse(actor.pid()));
    let mut below: HashMap<Pid, u32> = HashMap::new();
    let mut highest = 1;
    actors.retain(|actor| {
        let children = below.remove(&actor.pid());
        let height = children.unwrap_or(0) + 1;
        highest = highest.max(height);
        if let Some(parent) = actor.meta().parent() {
            let known = below.entry(parent.pid()).or_default();
            *known = height.max(*known);
        }
        children.is_none()
    });
    (actors, highest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::system::test_actors::{child, system, test_actor};

    #[test]
    fn leaves_are_those_without_a_child_that_is_left() {
        let system = system();
        let top = test_actor(&system, Guardian::User);
        let (left, right) = (child(&top, None), child(&top, None));
        let lower = child(&left, None);
        let all: Vec<Arc<dyn DynActor>> = vec![top.clone(), left.clone(), right.clone(), lower.clone()];
        let pids = |actors: &[Arc<dyn DynActor>]| actors.iter().map(|actor| actor.pid()).collect::<Vec<_>>();
        let (found, height) = leaves(all.clone());
        assert_eq!((pids(&found), height), (vec![lower.meta.pid(), right.meta.pid()], 3));
        let (found, height) = leaves(all[..2].to_vec());
        assert_eq!((pids(&found), height), (vec![left.meta.pid()], 2));
        assert_eq!(leaves(Vec::new()).0.len(), 0);
    }

    #[test]
    fn a_time_that_never_comes() {
        let now = Instant::now();
        assert_eq!(after(now, Duration::MAX, 6), None);
        assert_eq!(after(now, Duration::from_secs(8), 6), Some(now + Duration::from_secs(6)));
        assert_eq!(after(now, Duration::ZERO, 6), Some(now));
    }
}
