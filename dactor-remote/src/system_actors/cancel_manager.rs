use dactor_core::wire::{Accepts, Remote};
use dactor_core::{Actor, Context, Handler, NodeId, Outcome};
use serde::{Deserialize, Serialize};

use super::{NodeAccess, travels};

/// Reports the in-flight asks between this node and others, which are cancelled when the asker gives up:
/// `/system/cancel-manager`.
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

/// Replies with the number of in-flight asks for each known node.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CountAsks;
travels!(CountAsks, Vec<NodeAsks>, "dactor.CountAsks");

/// The in-flight asks between this node and another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeAsks {
    /// The other node.
    pub node: NodeId,
    /// Asks of this node that the other node has not answered yet.
    pub pending: usize,
    /// Asks of the other node that this node has not answered yet.
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
