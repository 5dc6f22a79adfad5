//! Activation of an actor: claim, open, decode, `activate`, spawn.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::ptr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use dactor_core::spi::{spawn_child, with_lifecycle};
use dactor_core::{ActorId, ActorRef, ErrorKind, Failure};
use dactor_engine::{Claim, ClaimToken, Generation, NodeId, Opened, StorageError};
use futures_util::FutureExt;

use crate::catalog::AnyEntry;
use crate::codec::decode;
use crate::entry::{ActivationGuard, Entry};
use crate::lease::Epoch;
use crate::lifecycle::{ActivationCore, VirtualLifecycle};
use crate::persistent::is_stateless;
use crate::placement::PlacementDecision;
use crate::{ActorAddress, Cluster, ClusterError, Persistent, StateError, VirtualActor};

/// The arguments of an activation: see [`VirtualActor::activate`].
pub struct Activation<A: VirtualActor> {
    core: Arc<ActivationCore>,
    state: Persistent<A::State>,
    entry: Arc<Entry<A>>,
    /// Created on first use.
    myself: OnceLock<ActorRef<A>>,
    cluster: Cluster,
}

impl<A: VirtualActor> Activation<A> {
    /// The state. All calls return handles to the same state.
    pub fn state(&self) -> Persistent<A::State> {
        self.state.share()
    }

    /// The key of the actor.
    pub fn key(&self) -> &str {
        self.core.id.key()
    }

    /// The address of the activation.
    pub fn address(&self) -> ActorAddress {
        let id = &self.core.id;
        let id = match ActorId::new(id.namespace(), id.actor_type(), id.key()) {
            Ok(id) => id,
            Err(error) => unreachable!("it was checked when the ref was made: {error}"),
        };
        ActorAddress { id, node: self.core.epoch.node().clone(), generation: self.core.generation }
    }

    /// The generation of this activation, as a fencing token for other systems.
    pub fn generation(&self) -> Generation {
        self.core.generation
    }

    /// The ref to the virtual actor.
    pub fn virtual_ref(&self) -> &ActorRef<A> {
        self.myself.get_or_init(|| self.entry.far_ref())
    }

    /// The cluster, for refs to other virtual actors.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

impl<A: VirtualActor> fmt::Debug for Activation<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Activation").field(&self.core).finish()
    }
}

/// Activates the actor and reports the result to its entry.
pub(crate) async fn run_activation<A: VirtualActor>(mut guard: ActivationGuard<A>) {
    let (entry, instance) = (guard.entry.clone(), guard.instance);
    let limit = entry.kind.options.activate_within;
    let activating = tokio::time::timeout(limit, activate(&entry, instance)).await;
    match activating.unwrap_or(Err(ClusterError::TooSlow(limit))) {
        Ok((local, core)) => {
            entry.started(instance, &local, &core);
            entry.cluster.activated(&entry.kind, &core);
        }
        Err(cause) => guard.failure = Some(cause),
    }
}

type Activated<A> = (ActorRef<A>, Arc<ActivationCore>);

async fn activate<A: VirtualActor>(
    entry: &Arc<Entry<A>>,
    instance: u64,
) -> Result<Activated<A>, ClusterError> {
    let cluster = &entry.cluster;
    if cluster.is_closing() {
        return Err(ClusterError::ShuttingDown);
    }
    let epoch = cluster.epoch();
    epoch.check()?;
    if cluster.place(&entry.kind, &entry.id, epoch.node()) != PlacementDecision::Here {
        return Err(ClusterError::NoCandidate);
    }
    let token = ClaimToken::random();
    let generation = claim(entry, &epoch, token).await?;
    let activated = open(entry, instance, (epoch, generation), token).await;
    if activated.is_err() {
        cluster.release_generation(entry.id.clone(), generation);
    }
    activated
}

async fn claim<A: VirtualActor>(
    entry: &Entry<A>,
    epoch: &Epoch,
    token: ClaimToken,
) -> Result<Generation, ClusterError> {
    let (cluster, id) = (&entry.cluster, &entry.id);
    let directory = &cluster.engine.directory;
    let mut reaped = false;
    loop {
        match retry(|| directory.claim(id, epoch.node(), token)).await? {
            Claim::Granted(generation) => return Ok(generation),
            // The owner may be dead without a recorded death.
            Claim::OwnedElsewhere { .. } if !reaped => {
                reaped = true;
                cluster.reap().await;
            }
            Claim::OwnedElsewhere { owner, .. } => {
                let retry_after = cluster.remaining_lease(&owner).await;
                return Err(ClusterError::OwnedElsewhere { node: owner, retry_after });
            }
        }
    }
}

async fn open<A: VirtualActor>(
    entry: &Arc<Entry<A>>,
    instance: u64,
    (epoch, generation): (Arc<Epoch>, Generation),
    token: ClaimToken,
) -> Result<Activated<A>, ClusterError> {
    let (cluster, id) = (&entry.cluster, &entry.id);
    let engine = &cluster.engine;
    let opened = if is_stateless::<A::State>() {
        Opened { etag: None, body: None }
    } else {
        retry(|| engine.state.open(id, generation, token)).await?
    };
    let value = load::<A>(&opened)?;
    let erased: Weak<dyn AnyEntry> = Arc::downgrade(&(entry.clone() as Arc<dyn AnyEntry>));
    let runtime = cluster.runtime.clone();
    let core =
        Arc::new(ActivationCore::new((id.clone(), generation, instance), epoch, engine, runtime, erased));
    let format = (entry.kind.options.serializer, A::STATE_VERSION);
    let state = Persistent::new(core.clone(), format, value, &opened);
    let activation = Activation {
        core: core.clone(),
        state,
        entry: entry.clone(),
        myself: OnceLock::new(),
        cluster: Cluster::of(cluster.clone()),
    };
    let actor = activating(entry, contained(|| A::activate(activation))).await;
    let actor = actor.map_err(ClusterError::Activate)?;
    let local = spawn(entry, &core, actor).await?;
    Ok((local, core))
}

async fn spawn<A: VirtualActor>(
    entry: &Arc<Entry<A>>,
    core: &Arc<ActivationCore>,
    actor: A,
) -> Result<ActorRef<A>, ClusterError> {
    let lifecycle = VirtualLifecycle { core: core.clone(), entry: entry.clone() };
    let parent = entry.kind.parent.get().ok_or(ClusterError::ShuttingDown)?;
    let mut spawn = match entry.kind.options.bound {
        Some((capacity, overflow)) => spawn_child(parent, actor).bounded(capacity, overflow),
        None => spawn_child(parent, actor),
    };
    let key = entry.id.key();
    // These keys are not valid names: such an activation gets a generated name. The path of the virtual actor
    // is not affected.
    if !matches!(key, "." | "..") && !key.starts_with('$') {
        spawn = spawn.name(key);
    }
    with_lifecycle(spawn, lifecycle).await.map_err(|error| match error.kind() {
        ErrorKind::SystemShutDown | ErrorKind::Stopped => ClusterError::ShuttingDown,
        _ => ClusterError::Activate(Failure::from(error)),
    })
}

thread_local! {
    /// The entry whose `activate` is being polled on this thread.
    static ACTIVATING: Cell<usize> = const { Cell::new(0) };
}

/// Whether the `activate` of this entry is being polled on this thread.
pub(crate) fn is_activating<A: VirtualActor>(entry: &Entry<A>) -> bool {
    ACTIVATING.get() == ptr::from_ref(entry).addr()
}

/// Polls the code of `activate`, so that asks of the same actor are [recognised](is_activating).
async fn activating<A: VirtualActor, T>(entry: &Entry<A>, code: impl Future<Output = T>) -> T {
    let mut code = pin!(code);
    poll_fn(|cx| {
        let outer = ACTIVATING.replace(ptr::from_ref(entry).addr());
        let polled = code.as_mut().poll(cx);
        ACTIVATING.set(outer);
        polled
    })
    .await
}

/// Decodes the opened state. This runs user code, which may panic.
fn load<A: VirtualActor>(opened: &Opened) -> Result<A::State, ClusterError> {
    let load = || match &opened.body {
        Some(body) => decode::<A>(body).map_err(ClusterError::State),
        None => Ok(A::State::default()),
    };
    catch_unwind(AssertUnwindSafe(load))
        .unwrap_or_else(|payload| Err(ClusterError::State(StateError::Panicked(panicked(&*payload)))))
}

/// Runs user code. A panic becomes a failure.
async fn contained<T, F: Future<Output = Result<T, Failure>>>(
    code: impl FnOnce() -> F,
) -> Result<T, Failure> {
    let run = AssertUnwindSafe(async { code().await }).catch_unwind();
    run.await.unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> Failure {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    Failure::new(format!("it panicked: {}", text.as_deref().unwrap_or("(no text)")))
}

/// The maximum number of attempts.
const ATTEMPTS: u32 = 6;

/// Retries an operation after transient errors. Claims and opens are idempotent by their token.
pub(crate) async fn retry<T, F: Future<Output = Result<T, StorageError>>>(
    operation: impl Fn() -> F,
) -> Result<T, StorageError> {
    let mut pause = Duration::from_millis(2);
    for _ in 1..ATTEMPTS {
        match operation().await {
            Err(error) if error.is_transient() => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            outcome => return outcome,
        }
    }
    operation().await
}

/// The remaining time of a node's lease.
pub(crate) fn remaining(members: &[dactor_engine::Member], node: &NodeId, ttl: Duration) -> Duration {
    let owner = members.iter().find(|member| member.node == *node);
    owner.map_or(ttl, |owner| owner.remaining.max(Duration::from_millis(10)))
}
