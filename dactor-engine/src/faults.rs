//! Fault injection at configured rates, reproducible by a seed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::random::Sequence;
use crate::settle::Write;
use crate::{
    Claim, ClaimToken, Directory, Engine, EntityId, ErrorKind, Etag, Eviction, FencedSql, Generation, Member,
    MemberChange, Membership, NodeId, Opened, Operation, Page, Placement, PlacementChange, Row, StateStore,
    Statement, StorageError, Stored, Value, Watch,
};

/// The faults of a [`Faulty`] engine and their rates. A rate is clamped to `0.0..=1.0` and zero by default.
///
/// The same seed yields the same faults, if the operations run in the same order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub struct Faults {
    seed: u64,
    fail: f64,
    tear: f64,
    lose_answer: f64,
    land_late: f64,
    delay: f64,
    longest_delay: Duration,
}

impl Faults {
    /// No faults.
    pub fn new(seed: u64) -> Self {
        let longest_delay = Duration::ZERO;
        Self { seed, fail: 0.0, tear: 0.0, lose_answer: 0.0, land_late: 0.0, delay: 0.0, longest_delay }
    }

    /// The operation is not applied and fails with [`Unavailable`](ErrorKind::Unavailable).
    pub fn fail(mut self, rate: f64) -> Self {
        self.fail = rate;
        self
    }

    /// A torn write, which recovery discards: it is not applied and fails with
    /// [`UnknownOutcome`](ErrorKind::UnknownOutcome).
    pub fn tear(mut self, rate: f64) -> Self {
        self.tear = rate;
        self
    }

    /// A write is applied but fails with [`UnknownOutcome`](ErrorKind::UnknownOutcome).
    pub fn lose_answer(mut self, rate: f64) -> Self {
        self.lose_answer = rate;
        self
    }

    /// A save or clear fails with [`UnknownOutcome`](ErrorKind::UnknownOutcome), and is applied after one to
    /// three further operations on the same state. Other operations are torn instead.
    pub fn land_late(mut self, rate: f64) -> Self {
        self.land_late = rate;
        self
    }

    /// The operation is delayed by up to `longest`.
    pub fn delay(mut self, rate: f64, longest: Duration) -> Self {
        (self.delay, self.longest_delay) = (rate, longest);
        self
    }
}

/// The fault of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperationFault {
    Pass,
    Fail,
    Tear,
    LoseAnswer,
    LandLate,
}

/// An engine wrapper that injects [`Faults`].
///
/// ```
/// use dactor_engine::{Engine, Faults, Faulty, Memory};
///
/// let faults = Faults::new(42).fail(0.05).lose_answer(0.05);
/// let engine = Engine::from(Faulty::new(Memory::new(), faults));
/// ```
pub struct Faulty {
    inner: Engine,
    faults: Faults,
    sequence: Sequence,
    late: Mutex<HashMap<EntityId, Vec<LateWrite>>>,
}

/// A delayed write.
struct LateWrite {
    write: Write,
    also: Option<Arc<[Statement]>>,
    /// The number of further operations before it is applied.
    operations: u8,
}

impl Faulty {
    /// Wraps the engine.
    pub fn new(engine: impl Into<Engine>, faults: Faults) -> Self {
        let sequence = Sequence::new(faults.seed);
        Self { inner: engine.into(), faults, sequence, late: Mutex::default() }
    }

    /// Draws the delay and the fault of an operation, and waits for the delay.
    async fn draw(&self) -> OperationFault {
        let (delay, length, mut drawn) =
            (self.sequence.fraction(), self.sequence.fraction(), self.sequence.fraction());
        if delay < self.faults.delay {
            tokio::time::sleep(self.faults.longest_delay.mul_f64(length)).await;
        }
        let Faults { fail, tear, lose_answer, land_late, .. } = self.faults;
        for (rate, fault) in [
            (fail, OperationFault::Fail),
            (tear, OperationFault::Tear),
            (lose_answer, OperationFault::LoseAnswer),
            (land_late, OperationFault::LandLate),
        ] {
            if drawn < rate {
                return fault;
            }
            drawn -= rate.max(0.0);
        }
        OperationFault::Pass
    }

    async fn reading<T>(
        &self,
        operation: Operation,
        id: &(dyn fmt::Display + Sync),
        call: impl Future<Output = Result<T, StorageError>> + Send,
    ) -> Result<T, StorageError> {
        match self.draw().await {
            OperationFault::Fail => Err(injected(ErrorKind::Unavailable, operation, id)),
            _ => call.await,
        }
    }

    async fn writing<T: Send>(
        &self,
        operation: Operation,
        id: &(dyn fmt::Display + Sync),
        call: impl Future<Output = Result<T, StorageError>> + Send,
    ) -> Result<T, StorageError> {
        match self.draw().await {
            OperationFault::Pass => call.await,
            OperationFault::Fail => Err(injected(ErrorKind::Unavailable, operation, id)),
            OperationFault::Tear | OperationFault::LandLate => {
                Err(injected(ErrorKind::UnknownOutcome, operation, id))
            }
            OperationFault::LoseAnswer => {
                call.await?;
                Err(injected(ErrorKind::UnknownOutcome, operation, id))
            }
        }
    }

    async fn write(&self, write: Write, also: Option<Arc<[Statement]>>) -> Result<(), StorageError> {
        let id = write.id.clone();
        let operation = if write.body.is_some() { Operation::Save } else { Operation::Clear };
        let unknown = || Err(injected(ErrorKind::UnknownOutcome, operation, &id));
        let fault = self.draw().await;
        let result = match fault {
            OperationFault::Pass => self.apply(&write, also.as_ref()).await,
            OperationFault::Fail => Err(injected(ErrorKind::Unavailable, operation, &id)),
            OperationFault::Tear | OperationFault::LandLate => unknown(),
            OperationFault::LoseAnswer => self.apply(&write, also.as_ref()).await.and_then(|()| unknown()),
        };
        self.land(&id).await;
        if fault == OperationFault::LandLate {
            let late = LateWrite { operations: 1 + (self.sequence.fraction() * 3.0) as u8, write, also };
            self.late(|all| all.entry(id).or_default().push(late));
        }
        result
    }

    async fn apply(&self, write: &Write, also: Option<&Arc<[Statement]>>) -> Result<(), StorageError> {
        let Write { id, generation, read, new, body } = write;
        match (body, also) {
            (Some(body), Some(also)) => {
                let sql = self.sql(Operation::Save)?;
                sql.save_with(id, *generation, *read, *new, body.clone(), also.clone()).await
            }
            (Some(body), None) => self.inner.state.save(id, *generation, *read, *new, body.clone()).await,
            (None, _) => self.inner.state.clear(id, *generation, *read, *new).await,
        }
    }

    fn sql(&self, operation: Operation) -> Result<&dyn FencedSql, StorageError> {
        self.inner.sql.as_deref().ok_or_else(|| StorageError::new(ErrorKind::Unsupported, operation))
    }

    fn late<T>(&self, access: impl FnOnce(&mut HashMap<EntityId, Vec<LateWrite>>) -> T) -> T {
        access(&mut self.late.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies the delayed writes that are due after an operation on this state.
    async fn land(&self, id: &EntityId) {
        let landing: Vec<_> = self.late(|late| {
            let Some(writes) = late.get_mut(id) else { return Vec::new() };
            writes.iter_mut().for_each(|late| late.operations -= 1);
            writes.extract_if(.., |late| late.operations == 0).collect()
        });
        for late in landing {
            // The writer has already received its response.
            let _ = self.apply(&late.write, late.also.as_ref()).await;
        }
    }
}

fn injected(kind: ErrorKind, operation: Operation, id: &(dyn fmt::Display + Sync)) -> StorageError {
    StorageError::new(kind, operation).on(&format_args!("{id}")).because("an injected fault")
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl From<Faulty> for Engine {
    fn from(faulty: Faulty) -> Self {
        let has_sql = faulty.inner.sql.is_some();
        let engine = Arc::new(faulty);
        if has_sql { Engine::with_sql(engine) } else { Engine::new(engine) }
    }
}

#[async_trait]
impl Directory for Faulty {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        self.reading(Operation::Lookup, id, self.inner.directory.lookup(id)).await
    }

    async fn claim(
        &self,
        id: &EntityId,
        claimant: &NodeId,
        token: ClaimToken,
    ) -> Result<Claim, StorageError> {
        self.writing(Operation::Claim, id, self.inner.directory.claim(id, claimant, token)).await
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        self.writing(Operation::Release, id, self.inner.directory.release(id, generation)).await
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        let call = self.inner.directory.watch_placements(namespace);
        self.reading(Operation::Watch, &namespace, call).await
    }
}

#[async_trait]
impl Membership for Faulty {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        self.writing(Operation::Join, node, self.inner.membership.join(namespace, node, ttl)).await
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        self.writing(Operation::Renew, node, self.inner.membership.renew(node)).await
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        self.writing(Operation::Evict, node, self.inner.membership.evict(node, seen)).await
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        self.writing(Operation::Leave, node, self.inner.membership.leave(node)).await
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        self.reading(Operation::Members, &namespace, self.inner.membership.members(namespace)).await
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        self.reading(Operation::Watch, &namespace, self.inner.membership.watch_members(namespace)).await
    }
}

#[async_trait]
impl StateStore for Faulty {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        let result = self.writing(Operation::Open, id, self.inner.state.open(id, generation, token)).await;
        self.land(id).await;
        result
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        let write = Write { id: id.clone(), generation, read, new, body: Some(body) };
        self.write(write, None).await
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        let write = Write { id: id.clone(), generation, read, new, body: None };
        self.write(write, None).await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        let result = self.reading(Operation::Read, id, self.inner.state.read(id)).await;
        self.land(id).await;
        result
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        let id = format!("{namespace}::{actor_type}");
        self.reading(Operation::List, &id, self.inner.state.list(namespace, actor_type, after, limit)).await
    }
}

#[async_trait]
impl FencedSql for Faulty {
    async fn save_with(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
        also: Arc<[Statement]>,
    ) -> Result<(), StorageError> {
        let write = Write { id: id.clone(), generation, read, new, body: Some(body) };
        self.write(write, Some(also)).await
    }

    async fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        let inner = self.sql(Operation::Query)?;
        self.reading(Operation::Query, &sql, inner.query(sql, args)).await
    }
}
