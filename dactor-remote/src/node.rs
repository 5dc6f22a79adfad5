//! A node.

use std::fmt;
use std::sync::Arc;

use dactor_core::path::{ActorPathParser, ActorPathParts, ActorSelection, SelectionAnchor};
use dactor_core::wire::{Association, Elsewhere, Remote};
use dactor_core::{
    ActorPath, ActorRef, Codec, Error, ErrorKind, NodeId, Recipient, Result, SentTo, System, WireCodec,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::builder::NodeBuilder;
use crate::events::NodeEvent;
use crate::inner::Inner;
use crate::peer::{PeerStatus, parts_of};
use crate::system_actors::{SpawnActor, name};

/// A system that other systems can reach, and that reaches others.
///
/// Clones are the same node. It is closed when it is [shut down](Self::shutdown), or with its last clone.
#[derive(Clone)]
pub struct Node {
    handle: Arc<NodeHandle>,
}

/// Closes the node with its last handle.
struct NodeHandle(Arc<Inner>);

impl Drop for NodeHandle {
    fn drop(&mut self) {
        self.0.closed.cancel();
    }
}

impl Node {
    /// Configures a node of this system.
    pub fn builder(system: &System) -> NodeBuilder {
        NodeBuilder::new(system)
    }

    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { handle: Arc::new(NodeHandle(inner)) }
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.handle.0
    }

    /// The address of the node.
    pub fn id(&self) -> &NodeId {
        &self.inner().id
    }

    /// Its system.
    pub fn system(&self) -> &System {
        &self.inner().system
    }

    /// The address of its system, as in the paths by which other nodes reach its actors.
    pub fn address(&self) -> &ActorPathParts {
        &self.inner().parts
    }

    /// The path by which other nodes reach an actor of this one.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) when it would be too long.
    pub fn path_of<A: dactor_core::Actor>(&self, actor: &ActorRef<A>) -> Result<ActorPath> {
        self.inner().external(&actor.path())
    }

    /// The ref to the actor at this path, on this node or on another one, which is connected to if it is not yet.
    ///
    /// # Errors
    ///
    /// - [`InvalidPath`](ErrorKind::InvalidPath): the text is not a path.
    /// - [`NoSuchActor`](ErrorKind::NoSuchActor), [`WrongIncarnation`](ErrorKind::WrongIncarnation): there is no such actor.
    /// - [`WrongActorType`](ErrorKind::WrongActorType): it is another actor, or not [served](NodeBuilder::serve).
    /// - [`Unresolved`](ErrorKind::Unresolved): the path is of another namespace, or its node cannot be reached.
    /// - [`Quarantined`](ErrorKind::Quarantined), [`UidReserved`](ErrorKind::UidReserved): its node was given up.
    pub async fn actor_at<A: Remote>(&self, path: impl AsPath) -> Result<ActorRef<A>> {
        let path = path.as_path()?;
        if let Some(local) = self.inner().local(&path) {
            return self.system().actor_at(&local?);
        }
        let peer = self.inner().peer_of(&path)?;
        self.inner().check_reservation(&path)?;
        peer.connect().await?;
        peer.association().actor_at(&path).await
    }

    /// The recipient at this path, of which only one message is known.
    ///
    /// # Errors
    ///
    /// Those of [`actor_at`](Self::actor_at); [`WrongActorType`](ErrorKind::WrongActorType) when the actor does not accept the message.
    pub async fn recipient_at<M: SentTo<Elsewhere<M>>>(&self, path: impl AsPath) -> Result<Recipient<M>> {
        let path = path.as_path()?;
        if let Some(local) = self.inner().local(&path) {
            let actor = self.system().find(&local?)?;
            let accepts = self.inner().served.accepts(&actor);
            return accepts.and_then(|accepts| accepts.recipient(&actor)).ok_or_else(|| {
                Error::new(ErrorKind::WrongActorType).with("actor", &path).with("expected", M::type_name())
            });
        }
        let peer = self.inner().peer_of(&path)?;
        self.inner().check_reservation(&path)?;
        peer.connect().await?;
        peer.association().recipient_at(&path).await
    }

    /// The actors that match a selection and are an `A`, on this node or on another one: `pekko.tcp://bank@host:5001/user/pool/*`.
    ///
    /// The selection is resolved once, where its actors live. In a text with a scheme, `?` begins a query.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) for a text that is no selection, and those of [`actor_at`](Self::actor_at) about the
    /// node.
    pub async fn select<A: Remote>(&self, selection: &str) -> Result<Vec<ActorRef<A>>> {
        let compiled = ActorSelection::compile(selection).map_err(|error| {
            Error::new(ErrorKind::InvalidPath).with("selection", selection).because(error)
        })?;
        let SelectionAnchor::Path(root) = compiled.anchor() else {
            return Ok(self.system().select(selection)?.actors());
        };
        if let Some(local) = self.inner().local(root) {
            let text = format!("{}{}", local?.to_string().trim_end_matches('/'), compiled.path());
            return Ok(self.system().select(&text)?.actors());
        }
        let peer = self.inner().peer_of(root)?;
        peer.connect().await?;
        peer.association().select(&compiled).await
    }

    /// The association with another node, for test kits.
    #[doc(hidden)]
    pub fn association(&self, node: &NodeId) -> Result<Arc<Association>> {
        self.inner().peer(node).map(|peer| peer.association().clone())
    }

    /// Spawns an actor on another node, by a [factory](NodeBuilder::factory) of that node. It is supervised there.
    ///
    /// # Errors
    ///
    /// Those of [`actor_at`](Self::actor_at), and [`Failed`](ErrorKind::Failed) with the reason of the other node: it has no such factory,
    /// does not [allow](NodeBuilder::allow_control) it, or the actor did not start.
    pub async fn spawn_on<A: Remote>(
        &self,
        node: &NodeId,
        factory: &str,
        args: &(impl Serialize + DeserializeOwned),
    ) -> Result<ActorRef<A>> {
        let address = parts_of(self.system().name(), node)?;
        let manager = format!("{address}/system/{}", name::SPAWN_MANAGER);
        let manager = self.recipient_at::<SpawnActor>(manager).await?;
        let mut bytes = Vec::new();
        encode(args, self.inner().config.codec, &mut bytes)?;
        let spawn = SpawnActor { factory: factory.to_owned(), name: None, args: bytes };
        let path = manager.ask(spawn).await?;
        self.actor_at(&path).await
    }

    /// Connects to a node, unless it is connected.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) when it cannot be reached or refuses, and [`Quarantined`](ErrorKind::Quarantined).
    pub async fn connect_peer(&self, node: &NodeId) -> Result<()> {
        self.inner().peer(node)?.connect().await
    }

    /// Closes the connection to a node, as if it had left. A message to it connects again.
    pub fn disconnect_peer(&self, node: &NodeId) {
        if let Some(peer) = self.inner().known(node) {
            peer.disconnect();
        }
    }

    /// Gives up the incarnation of a node that was reached last: see [`NodeEvent::Quarantined`].
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a node that was never reached.
    pub fn quarantine(&self, node: &NodeId) -> Result<()> {
        self.inner().peer(node)?.quarantine()
    }

    /// Ends the quarantine of a node before its time.
    pub fn lift_quarantine(&self, node: &NodeId) {
        if let Some(peer) = self.inner().known(node) {
            peer.end_quarantine(Instant::now(), true);
        }
    }

    /// The nodes that are known, in the order of their addresses.
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.inner().sorted_peers().iter().map(|peer| peer.status()).collect()
    }

    /// What is known about one node.
    pub fn peer(&self, node: &NodeId) -> Option<PeerStatus> {
        self.inner().known(node).map(|peer| peer.status())
    }

    /// Calls this with every event from now on. A panic is contained.
    pub fn on_event(&self, subscriber: impl Fn(&NodeEvent) + Send + Sync + 'static) {
        self.inner().events.subscribe(subscriber);
    }

    /// Leaves: tells the other nodes, and closes all connections. The system goes on.
    pub async fn shutdown(&self) {
        self.inner().say_bye().await;
        self.inner().closed.cancel();
    }
}

fn encode<T: Serialize + DeserializeOwned>(args: &T, codec: Codec, bytes: &mut Vec<u8>) -> Result<()> {
    WireCodec::<T>::serde().encode(args, codec, bytes)
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("address", &self.inner().parts.to_string()).finish_non_exhaustive()
    }
}

/// A path, or its text.
pub trait AsPath: Send {
    /// The path.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) for a text that is none.
    fn as_path(&self) -> Result<ActorPath>;
}

impl AsPath for &ActorPath {
    fn as_path(&self) -> Result<ActorPath> {
        Ok((*self).clone())
    }
}

impl AsPath for ActorPath {
    fn as_path(&self) -> Result<ActorPath> {
        Ok(self.clone())
    }
}

impl AsPath for &str {
    fn as_path(&self) -> Result<ActorPath> {
        ActorPathParser::parse_generated(self)
            .map_err(|error| Error::new(ErrorKind::InvalidPath).with("path", self).because(error))
    }
}

impl AsPath for String {
    fn as_path(&self) -> Result<ActorPath> {
        self.as_str().as_path()
    }
}

impl AsPath for &String {
    fn as_path(&self) -> Result<ActorPath> {
        self.as_str().as_path()
    }
}
