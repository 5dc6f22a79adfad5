use dactor_core::wire::{Accepts, Remote};
use dactor_core::{Actor, Context, Handler, NodeId, Outcome};
use serde::{Deserialize, Serialize};

use super::{NodeAccess, travels};
use crate::authority::AuthorityState;

/// Lists the other nodes: `/system/node-directory`.
#[derive(Debug)]
pub struct NodeDirectory(NodeAccess);

impl NodeDirectory {
    pub(super) fn new(node: NodeAccess) -> Self {
        Self(node)
    }

    pub(super) fn set_node(&mut self, node: NodeAccess) {
        self.0 = node;
    }
}

impl Actor for NodeDirectory {}

impl Remote for NodeDirectory {
    const TYPE: &'static str = "dactor.NodeDirectory";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.message::<ListNodes>();
    }
}

/// Replies with the known nodes, sorted by address.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ListNodes;
travels!(ListNodes, Vec<NodeInfo>, "dactor.ListNodes");

/// A known node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NodeInfo {
    /// Its address.
    pub node: NodeId,
    /// Its incarnation, if it was ever connected.
    pub incarnation: Option<u64>,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether it is quarantined.
    pub quarantined: bool,
    /// The version of its application.
    pub application: String,
}

impl Handler<ListNodes> for NodeDirectory {
    async fn handle(&mut self, _: ListNodes, _: &mut Context<Self>) -> Outcome<Vec<NodeInfo>> {
        let peers = self.0.get()?.sorted_peers();
        let info = peers.iter().map(|peer| peer.status()).map(|status| NodeInfo {
            connected: status.state == AuthorityState::Connected,
            quarantined: matches!(status.state, AuthorityState::Quarantined { .. }),
            node: status.node,
            incarnation: status.incarnation,
            application: status.application,
        });
        Ok(info.collect())
    }
}
