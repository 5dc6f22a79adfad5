//! What a node reports.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use dactor_core::{ActorPath, NodeId};

use crate::handshake::Refusal;

/// What has happened between this node and others.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum NodeEvent {
    /// There is no connection to this node: messages to it wait.
    Unresolved {
        /// Which one.
        node: NodeId,
    },
    /// There is a connection to this node.
    Connected {
        /// Which one.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// A node was given up: nothing is sent to this incarnation of it, and nothing that it sends is delivered.
    Quarantined {
        /// Which one.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// The quarantine of a node has ended.
    Lifted {
        /// Which one.
        node: NodeId,
    },
    /// A message to a node that is quarantined was refused.
    InvalidAssociation {
        /// Which one.
        node: NodeId,
        /// The actor that the message was for.
        actor: ActorPath,
    },
    /// A connection was refused, by this node or by the other one.
    Refused {
        /// Which one, if it said so.
        node: Option<NodeId>,
        /// Why.
        refusal: Refusal,
        /// The same for people.
        detail: String,
    },
    /// A connection was lost, and with it the frames that were not written yet. What was under way in the network may be
    /// lost, too.
    Gap {
        /// The node.
        node: NodeId,
        /// How many frames were not written.
        unwritten: usize,
    },
    /// A node was reached for the first time, in this incarnation.
    NodeJoined {
        /// Which one.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// A node that had joined has left, was disconnected, was given up, or was replaced by another incarnation.
    NodeLeft {
        /// Which one.
        node: NodeId,
        /// Its incarnation.
        incarnation: u64,
    },
    /// The text of a path that came from another node names no actor that this one can reach.
    PathRefused {
        /// The text.
        path: String,
    },
}

type Subscriber = Arc<dyn Fn(&NodeEvent) + Send + Sync>;

/// Tells subscribers, whose panics are contained.
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
                tracing::error!("a subscriber of the events of a node panicked");
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}
