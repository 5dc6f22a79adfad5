use dactor_core::wire::{Accepts, Remote};
use dactor_core::{Actor, Context, Handler, NodeId, Outcome};
use serde::{Deserialize, Serialize};

use super::{NodeAccess, travels};

/// Knows the asks between this node and others, which are cancelled when an asker gives up: `/system/cancel-manager`.
#[derive(Debug)]
pub struct CancelManager(NodeAccess);

impl CancelManager {
    pub(super) fn new(node: NodeAccess) -> Self {
        Self(node)
    }

    pub(super) fn set_node(&mut self, node: NodeAccess) {
        self.0 = node;
    }
}

impl Actor for CancelManager {}

impl Remote for CancelManager {
    const TYPE: &'static str = "dactor.CancelManager";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<CountAsks>();
    }
}

/// Is answered with the number of asks under way with each node that this one knows.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CountAsks;
travels!(CountAsks, Vec<NodeAsks>, "dactor.CountAsks");

/// The asks between this node and another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeAsks {
    /// The other one.
    pub node: NodeId,
    /// How many asks of this node wait for its answers.
    pub pending: usize,
    /// How many of its asks are not answered here yet.
    pub incoming: usize,
}

impl Handler<CountAsks> for CancelManager {
    async fn handle(&mut self, _: CountAsks, _: &mut Context<Self>) -> Outcome<Vec<NodeAsks>> {
        let peers = self.0.get()?.sorted_peers();
        let asks = peers.iter().map(|peer| NodeAsks {
            node: peer.id().clone(),
            pending: peer.association().pending(),
            incoming: peer.association().incoming(),
        });
        Ok(asks.collect())
    }
}
