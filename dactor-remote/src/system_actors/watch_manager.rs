use dactor_core::wire::{Accepts, Remote};
use dactor_core::{Actor, Context, Handler, NodeId, Outcome};
use serde::{Deserialize, Serialize};

use super::{NodeAccess, travels};

/// Reports the watches between this node and others: `/system/watch-manager`.
#[derive(Debug)]
pub struct WatchManager(NodeAccess);

impl WatchManager {
    pub(super) fn new(node: NodeAccess) -> Self {
        Self(node)
    }

    pub(super) fn set_node(&mut self, node: NodeAccess) {
        self.0 = node;
    }
}

impl Actor for WatchManager {}

impl Remote for WatchManager {
    const TYPE: &'static str = "dactor.WatchManager";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<CountWatches>();
    }
}

/// Replies with the number of watches for each known node.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CountWatches;
travels!(CountWatches, Vec<NodeWatches>, "dactor.CountWatches");

/// The watches between this node and another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeWatches {
    /// The other node.
    pub node: NodeId,
    /// The number of its actors watched from here.
    pub watching: usize,
    /// The number of actors of this node that it watches.
    pub watched: usize,
}

impl Handler<CountWatches> for WatchManager {
    async fn handle(&mut self, _: CountWatches, _: &mut Context<Self>) -> Outcome<Vec<NodeWatches>> {
        let peers = self.0.get()?.sorted_peers();
        let watches = peers.iter().map(|peer| peer.status()).map(|status| NodeWatches {
            node: status.node,
            watching: status.watching,
            watched: status.watched,
        });
        Ok(watches.collect())
    }
}
