//! The thread that renews the node's lease.
//!
//! It has its own runtime, so that busy actors do not starve it. It renews only while the state store
//! responds and the actors' runtime makes progress: a node that cannot serve must not keep its actors from
//! other nodes.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use dactor_core::{Error, ErrorKind, Result};
use dactor_engine::{EntityId, ErrorKind as StorageErrorKind, NodeId, StorageError};

use crate::OnLeaseLost;
use crate::cluster::Inner;
use crate::lease::Epoch;

/// Starts the thread. It ends when the sender is dropped.
pub(crate) fn start(cluster: &Arc<Inner>) -> Result<mpsc::Sender<()>> {
    let failed =
        |error: std::io::Error| Error::new(ErrorKind::StartFailed).with("call", "renewals").because(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (stop, stopped) = mpsc::channel();
    let weak = Arc::downgrade(cluster);
    watch_progress(cluster);
    let run = move || {
        let mut renewals = Renewals { cluster: weak, seen: (0, Instant::now()) };
        let mut pause = Duration::ZERO;
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
            match runtime.block_on(renewals.round()) {
                Some(next) => pause = next,
                None => break,
            }
        }
    };
    thread::Builder::new().name("dactor-lease".into()).spawn(run).map_err(failed)?;
    Ok(stop)
}

/// Increments a counter while the actors' runtime makes progress.
fn watch_progress(cluster: &Arc<Inner>) {
    let (weak, pause) = (Arc::downgrade(cluster), cluster.lease.ttl / 10);
    cluster.runtime.spawn(async move {
        while let Some(cluster) = weak.upgrade() {
            cluster.progress.fetch_add(1, Ordering::Relaxed);
            drop(cluster);
            tokio::time::sleep(pause).await;
        }
    });
}

struct Renewals {
    cluster: Weak<Inner>,
    /// The last counter value, and when it was first seen.
    seen: (u64, Instant),
}

impl Renewals {
    /// Renews once. Returns the time until the next renewal, or `None` after the cluster has ended.
    async fn round(&mut self) -> Option<Duration> {
        let cluster = self.cluster.upgrade()?;
        if cluster.has_ended() {
            return None;
        }
        let ttl = cluster.lease.ttl;
        let (regular, soon) = (ttl / 3, (ttl / 20).max(Duration::from_millis(1)));
        let epoch = cluster.epoch();
        if epoch.is_lost() {
            return self.rejoin(&cluster).await.then_some(regular).or(Some(soon));
        }
        let sent = cluster.clock.now();
        let renewed = match self.makes_progress(&cluster) {
            true => within(ttl / 3, renew(&cluster, &epoch)).await,
            false => Renewed::Failed("the runtime of the actors makes no progress".into()),
        };
        let is_lost = match renewed {
            Renewed::Done => {
                epoch.prolong(sent + ttl - cluster.lease.margin);
                cluster.reap().await;
                return Some(regular.min(epoch.remaining()));
            }
            Renewed::Failed(why) => {
                tracing::warn!(node = %epoch.node(), why, "the lease was not renewed");
                epoch.check().is_err()
            }
            Renewed::Lost => true,
        };
        if is_lost {
            cluster.lose(&epoch);
            if cluster.lease.on_lost == OnLeaseLost::ShutDown {
                let system = cluster.system.clone();
                cluster.runtime.spawn(async move { system.shutdown().await });
                return None;
            }
            return Some(Duration::ZERO);
        }
        Some(soon.min(epoch.remaining()))
    }

    /// Rejoins as a new incarnation.
    async fn rejoin(&mut self, cluster: &Inner) -> bool {
        let sent = cluster.clock.now();
        let node = NodeId::start(&cluster.lease.address);
        let ttl = cluster.lease.ttl;
        let joined =
            tokio::time::timeout(ttl / 3, cluster.engine.membership.join(cluster.namespace(), &node, ttl));
        match joined.await {
            Ok(Ok(())) => {
                tracing::info!(%node, "the node has joined again");
                let until = sent + ttl - cluster.lease.margin;
                cluster.set_epoch(Epoch::new(node, cluster.clock.clone(), until));
                true
            }
            Ok(Err(error)) => {
                tracing::warn!(%node, %error, "the node could not join again");
                false
            }
            Err(_) => false,
        }
    }

    /// Whether the actors' runtime has made progress within half a TTL.
    fn makes_progress(&mut self, cluster: &Inner) -> bool {
        let progress = cluster.progress.load(Ordering::Relaxed);
        if progress != self.seen.0 {
            self.seen = (progress, Instant::now());
        }
        self.seen.1.elapsed() < cluster.lease.ttl / 2
    }
}

enum Renewed {
    Done,
    /// The store reports the lease as lost.
    Lost,
    Failed(String),
}

async fn renew(cluster: &Inner, epoch: &Epoch) -> Result<(), StorageError> {
    // The state store may be separate: a node that cannot save must not keep its actors.
    if let Ok(probe) = EntityId::new(cluster.namespace(), "dactor", "health") {
        cluster.engine.state.read(&probe).await?;
    }
    cluster.engine.membership.renew(epoch.node()).await
}

async fn within(limit: Duration, renewing: impl Future<Output = Result<(), StorageError>>) -> Renewed {
    match tokio::time::timeout(limit, renewing).await {
        Ok(Ok(())) => Renewed::Done,
        Ok(Err(error)) if error.kind() == StorageErrorKind::Fenced => Renewed::Lost,
        Ok(Err(error)) => Renewed::Failed(error.to_string()),
        Err(_) => Renewed::Failed(format!("no answer within {limit:?}")),
    }
}
