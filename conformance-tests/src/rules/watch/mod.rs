//! Death watch.

pub(super) mod notice;
pub(super) mod order;
pub(super) mod outside;
pub(super) mod target;
pub(super) mod watcher;

use dactor_core::ActorRef;
use dactor_core::testkit::Journal;

use crate::RuleContext;
use crate::fixtures::tree::TreeActor;

fn of_watcher(journal: &Journal) -> Vec<String> {
    journal.entries().into_iter().filter_map(|entry| entry.strip_prefix("w ").map(str::to_owned)).collect()
}

/// Waits until this many messages are queued.
async fn queued(rule: &RuleContext, what: &str, actor: &ActorRef<TreeActor>, count: usize) {
    rule.soon(what, async {
        while actor.queued() < Some(count) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
