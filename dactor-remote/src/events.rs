//! The events of a node.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use dactor_core::{ActorPath, NodeId};

use crate::handshake::Refusal;

/// An event concerning the connection to another node.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NodeEvent {
    /// The node is not connected; messages to it are deferred.
    Unresolved {
        /// The other node.
        node: NodeId,
    },
    /// The node is connected.
    Connected {
        /// The other node.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// The node is quarantined: no message is sent to this incarnation, and none of its messages is
    /// delivered.
    Quarantined {
        /// The other node.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// The quarantine of a node has ended.
    Lifted {
        /// The other node.
        node: NodeId,
    },
    /// A message to a quarantined node was refused.
    InvalidAssociation {
        /// The other node.
        node: NodeId,
        /// The target of the message.
        actor: ActorPath,
    },
    /// A handshake was refused, by this node or by the other one.
    Refused {
        /// The other node, if known.
        node: Option<NodeId>,
        /// The reason.
        refusal: Refusal,
        /// A human-readable description.
        detail: String,
    },
    /// A connection was lost, and with it the frames in the send queue. Frames already written may be lost,
    /// too.
    Gap {
        /// The other node.
        node: NodeId,
        /// The number of frames in the send queue.
        unwritten: usize,
    },
    /// The first connection to this incarnation of the node was established.
    NodeJoined {
        /// The other node.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// A joined node shut down, was disconnected or quarantined, or was replaced by another incarnation.
    NodeLeft {
        /// The other node.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// A path received from another node leads to no node reachable from here.
    PathRefused {
        /// The received text.
        path: String,
    },
}

type Subscriber = Arc<dyn Fn(&NodeEvent) + Send + Sync>;

/// The subscribers of events. A panic in a subscriber is caught.
#[derive(Default)]
pub(crate) struct Events(Mutex<Arc<Vec<Subscriber>>>);

impl Events {
    pub(crate) fn subscribe(&self, subscriber: impl Fn(&NodeEvent) + Send + Sync + 'static) {
        let mut subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut subscribers).push(Arc::new(subscriber));
    }

    pub(crate) fn publish(&self, event: &NodeEvent) {
        match event {
            NodeEvent::Refused { .. } | NodeEvent::Quarantined { .. } | NodeEvent::Gap { .. } => {
                tracing::warn!(?event, "node");
            }
            _ => tracing::debug!(?event, "node"),
        }
        let subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for subscriber in subscribers.iter() {
            if catch_unwind(AssertUnwindSafe(|| subscriber(event))).is_err() {
                tracing::error!("an event subscriber of the node panicked");
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
