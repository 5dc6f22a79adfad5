//! Deactivation of idle actors.

use std::sync::{Arc, Weak};
use std::time::Duration;

use dactor_core::End;

use crate::DeactivationReason;
use crate::cluster::Inner;
use crate::lease::nanos;

/// Starts the task, if any type has an idle timeout.
pub(crate) fn start(cluster: &Arc<Inner>) {
    let Some(shortest) = cluster.types().filter_map(|kind| kind.options.idle_after).min() else { return };
    let pause = (shortest / 4).clamp(Duration::from_millis(5), Duration::from_secs(5));
    let weak = Arc::downgrade(cluster);
    cluster.runtime.spawn(async move {
        while sweep(&weak) {
            tokio::time::sleep(pause).await;
        }
    });
}

fn sweep(cluster: &Weak<Inner>) -> bool {
    let Some(cluster) = cluster.upgrade().filter(|cluster| !cluster.has_ended()) else { return false };
    let now = nanos(cluster.clock.now());
    for kind in cluster.types() {
        let Some(before) = kind.options.idle_after.and_then(|idle| now.checked_sub(nanos(idle))) else {
            continue;
        };
        while let Some(idle) = kind.by_use.take_oldest(before) {
            idle.end(End::Drain, DeactivationReason::Idle);
        }
    }
    true
}
