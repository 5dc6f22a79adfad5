use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dactor_engine::{
    Claim, ClaimToken, Engine, EntityId, ErrorKind, Etag, Generation, Member, MemberState, NodeId, Opened,
    StorageError, Stored,
};

use super::TestStore;

/// The namespace that rules use unless they are about namespaces.
pub(crate) const NAMESPACE: &str = "kit";

/// A rule's access to the store under test.
#[derive(Clone)]
pub struct EngineContext {
    store: Arc<dyn TestStore>,
    seed: u64,
}

impl EngineContext {
    pub(crate) fn new(store: Arc<dyn TestStore>, seed: u64) -> Self {
        Self { store, seed }
    }

    /// Opens the store, as another process.
    pub async fn open(&self) -> Engine {
        self.store.open().await
    }

    /// The TTL of leases.
    pub fn ttl(&self) -> Duration {
        self.store.ttl()
    }

    /// Lets this time pass for the leases.
    pub async fn advance(&self, by: Duration) {
        self.store.advance(by).await;
    }

    /// The seed of injected faults.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A new node that has joined.
    pub async fn join(&self, engine: &Engine) -> NodeId {
        self.join_in(NAMESPACE, engine).await
    }

    /// A new node that has joined in this namespace.
    pub async fn join_in(&self, namespace: &str, engine: &Engine) -> NodeId {
        let node = NodeId::start("node:1");
        engine.membership.join(namespace, &node, self.ttl()).await.expect("a new node joins");
        node
    }

    /// Claims and opens an entity for a node.
    pub async fn own(&self, engine: &Engine, node: &NodeId, id: &EntityId) -> Owned {
        let token = ClaimToken::random();
        let generation = granted(engine.directory.claim(id, node, token).await);
        let opened = engine.state.open(id, generation, token).await.expect("the new owner opens the state");
        Owned { engine: engine.clone(), id: id.clone(), generation, token, opened }
    }

    /// The member with this node.
    pub async fn member(&self, engine: &Engine, node: &NodeId) -> Member {
        let members = engine.membership.members(NAMESPACE).await.expect("the members are listed");
        members.into_iter().find(|member| member.node == *node).expect("the node is a member")
    }

    /// The state of the member with this node.
    pub async fn member_state(&self, engine: &Engine, node: &NodeId) -> MemberState {
        self.member(engine, node).await.state
    }
}

impl fmt::Debug for EngineContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineContext").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// An entity with its owner's generation.
#[derive(Debug, Clone)]
pub struct Owned {
    /// The engine of the owner.
    pub engine: Engine,
    /// The entity.
    pub id: EntityId,
    /// The generation that was granted.
    pub generation: Generation,
    /// The token of the claim.
    pub token: ClaimToken,
    /// What was loaded.
    pub opened: Opened,
}

impl Owned {
    /// Saves over this etag, and returns the new one.
    pub async fn save(&self, read: Option<Etag>, body: impl Into<Bytes>) -> Result<Etag, StorageError> {
        let new = Etag::random();
        self.engine.state.save(&self.id, self.generation, read, new, body.into()).await.map(|()| new)
    }

    /// Clears over this etag, and returns the new one.
    pub async fn clear(&self, read: Option<Etag>) -> Result<Etag, StorageError> {
        let new = Etag::random();
        self.engine.state.clear(&self.id, self.generation, read, new).await.map(|()| new)
    }

    /// The stored state.
    pub async fn stored(&self) -> Stored {
        self.engine.state.read(&self.id).await.expect("the state is read").expect("the state was opened")
    }
}

/// An entity in the kit's namespace.
pub(crate) fn entity(key: &str) -> EntityId {
    EntityId::new(NAMESPACE, "Account", key).expect("a valid id")
}

/// The generation of a granted claim.
#[track_caller]
pub(crate) fn granted(claim: Result<Claim, StorageError>) -> Generation {
    match claim {
        Ok(Claim::Granted(generation)) => generation,
        other => panic!("the claim was not granted: {other:?}"),
    }
}

/// The operation must have failed with this kind.
#[track_caller]
pub(crate) fn refused<T: fmt::Debug>(result: Result<T, StorageError>, kind: ErrorKind, what: &str) {
    match result {
        Err(error) if error.kind() == kind => {}
        other => panic!("{what}: expected {kind:?}, got {other:?}"),
    }
}
