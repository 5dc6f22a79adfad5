//! Nodes: dactor systems in several processes that exchange messages between their actors.
//!
//! A [`Node`] lets a system listen at an address and connect to others. A ref to an actor of another node is an
//! [`ActorRef`](dactor_core::ActorRef) like any other.

mod accept;
mod authority;
mod builder;
mod config;
mod connection;
mod events;
mod handshake;
mod inner;
mod node;
mod peer;
mod reservation;
mod security;
pub mod system_actors;
#[cfg(feature = "tls")]
mod tls;
pub mod transport;

pub use authority::AuthorityState;
pub use builder::NodeBuilder;
pub use config::RemotingConfig;
pub use events::NodeEvent;
pub use handshake::Refusal;
pub use node::{AsPath, Node};
pub use peer::PeerStatus;
#[cfg(feature = "tls")]
pub use tls::Tls;
