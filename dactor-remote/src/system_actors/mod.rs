//! The system actors of a node under `/system`: an interface to its tables by messages.
//!
//! They are ordinary actors, which other nodes reach by path, for example
//! `pekko.tcp://bank@host:port/system/node-directory`.

mod cancel_manager;
mod node_directory;
mod spawn_manager;
mod watch_manager;

use std::sync::{Arc, Weak};

use dactor_core::path::Guardian;
use dactor_core::wire::Served;
use dactor_core::{ActorPath, Context, Error, ErrorKind, Exclusive, Handler, Message, Outcome, Result};

pub use cancel_manager::{CancelManager, CountAsks, NodeAsks};
pub use node_directory::{ListNodes, NodeDirectory, NodeInfo};
pub(crate) use spawn_manager::{Factories, factory};
pub use spawn_manager::{ListFactories, SpawnActor, SpawnManager};
pub use watch_manager::{CountWatches, NodeWatches, WatchManager};

use crate::inner::Inner;

/// The names of the system actors.
pub(crate) mod name {
    pub(crate) const SPAWN_MANAGER: &str = "spawn-manager";
    pub(crate) const WATCH_MANAGER: &str = "watch-manager";
    pub(crate) const CANCEL_MANAGER: &str = "cancel-manager";
    pub(crate) const NODE_DIRECTORY: &str = "node-directory";
}

/// Lets the system actors receive messages from other nodes.
pub(crate) fn serve(served: &mut Served) -> Result<()> {
    served.add::<SpawnManager>()?;
    served.add::<WatchManager>()?;
    served.add::<CancelManager>()?;
    served.add::<NodeDirectory>()
}

/// Starts the system actors. Actors left from a previous node of the system are attached to this one.
pub(crate) async fn start(node: &Arc<Inner>) -> Result<()> {
    let access = NodeAccess(Arc::downgrade(node));
    begin(node, name::SPAWN_MANAGER, &access, SpawnManager::new).await?;
    begin(node, name::WATCH_MANAGER, &access, WatchManager::new).await?;
    begin(node, name::CANCEL_MANAGER, &access, CancelManager::new).await?;
    begin(node, name::NODE_DIRECTORY, &access, NodeDirectory::new).await
}

async fn begin<A: Handler<Adopt>>(
    node: &Arc<Inner>,
    name: &str,
    access: &NodeAccess,
    make: impl Fn(NodeAccess) -> A + Send + Sync + 'static,
) -> Result<()> {
    let invalid = |error| Error::new(ErrorKind::InvalidPath).because(error);
    let path = ActorPath::new(node.system.parts(), Guardian::System).and_then(|system| system.join(name));
    if let Ok(actor) = node.system.actor_at::<A>(&path.map_err(invalid)?) {
        return actor.ask(Adopt(access.clone())).await;
    }
    let access = access.clone();
    node.system.spawn_service(move || make(access.clone())).name(name).await.map(drop)
}

/// Attaches a system actor to the current node of its system.
#[derive(Debug)]
struct Adopt(NodeAccess);

impl Message for Adopt {
    type Reply = ();
    type Access = Exclusive;
}

macro_rules! adopts {
    ($($actor:ident)*) => {
        $(impl Handler<Adopt> for $actor {
            async fn handle(&mut self, Adopt(node): Adopt, _: &mut Context<Self>) -> Outcome<()> {
                self.set_node(node);
                Ok(())
            }
        })*
    };
}
adopts!(SpawnManager WatchManager CancelManager NodeDirectory);

/// A handle to the node of a system actor; the node may be closed.
#[derive(Debug, Clone)]
struct NodeAccess(Weak<Inner>);

impl NodeAccess {
    fn get(&self) -> Result<Arc<Inner>> {
        self.0.upgrade().ok_or_else(|| {
            Error::new(ErrorKind::Disconnected).with("because", "the node of the actor is closed")
        })
    }
}

/// Implements `Message` with a wire name.
macro_rules! travels {
    ($message:ty, $reply:ty, $name:literal) => {
        impl dactor_core::Message for $message {
            type Reply = $reply;
            type Access = dactor_core::Exclusive;
            const WIRE: Option<dactor_core::Wire<Self>> = Some(dactor_core::Wire::serde($name));
        }
    };
}
use travels;
