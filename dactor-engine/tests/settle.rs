//! Settling of unknown outcomes, on an engine with injected faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{
    ClaimToken, Engine, EntityId, ErrorKind, Etag, Faults, Faulty, Generation, Memory, Opened, Operation,
    Page, StateStore, StorageError, Stored,
};

fn alice() -> EntityId {
    EntityId::new("bank", "Account", "alice").unwrap()
}

fn repetition() -> Repetition {
    Repetition::default().first_pause(Duration::from_micros(10)).most(20)
}

async fn saves_with(faults: Faults) {
    let memory = Memory::new();
    let faulty = Engine::from(Faulty::new(memory.clone(), faults));
    let (id, first) = (alice(), Generation::FIRST);
    memory.open(&id, first, ClaimToken::random()).await.unwrap();
    let mut etag = None;
    for number in 0..200_u64 {
        let body = Some(Bytes::copy_from_slice(&number.to_be_bytes()));
        let body = if number % 10 == 9 { None } else { body };
        let write = Write { id: id.clone(), generation: first, read: etag, new: Etag::random(), body };
        let before = memory.read(&id).await.unwrap().unwrap();
        match settle::write(&*faulty.state, &write, &repetition()).await {
            Ok(()) => {
                let stored = memory.read(&id).await.unwrap().unwrap();
                assert_eq!(stored.etag, Some(write.new), "{faults:?}, save {number}");
                assert_eq!(stored.body, write.body, "{faults:?}, save {number}");
                etag = stored.etag;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{faults:?}, save {number}: {error}");
                assert!(!error.may_have_been_applied());
                assert_eq!(memory.read(&id).await.unwrap().unwrap(), before);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_unknown_outcome_is_settled() {
    for seed in 0..20 {
        saves_with(Faults::new(seed).lose_answer(0.4)).await;
        saves_with(Faults::new(seed).tear(0.4)).await;
        saves_with(Faults::new(seed).land_late(0.4)).await;
        let all = Faults::new(seed).fail(0.1).tear(0.1).lose_answer(0.1).land_late(0.1);
        saves_with(all.delay(0.1, Duration::from_millis(1))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_settles_as_fenced() {
    let memory = Memory::new();
    let id = alice();
    memory.open(&id, Generation::FIRST, ClaimToken::random()).await.unwrap();
    let lost = Engine::from(Faulty::new(memory.clone(), Faults::new(1).tear(1.0)));
    let write = Write {
        id: id.clone(),
        generation: Generation::FIRST,
        read: None,
        new: Etag::random(),
        body: Some("x".into()),
    };
    let begin = tokio::time::Instant::now();
    let error = settle::write(&*lost.state, &write, &Repetition::default()).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::UnknownOutcome, true));
    // The pauses double up to the longest: 5, 10, 20, 40, 80, 160, 320, 500 ms.
    assert_eq!(begin.elapsed(), Duration::from_millis(1135));
    assert_eq!(error.operation(), Operation::Save);
    assert_eq!(error.id(), Some("bank::Account/alice"));

    // The first answer is lost, then another generation opens the state, then the write is repeated.
    let store = TakenOver { memory: memory.clone(), saves: AtomicU32::new(0) };
    let error = settle::write(&store, &write, &repetition()).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::Fenced, true));
    assert_eq!(store.saves.load(Ordering::SeqCst), 2);
    assert_eq!(memory.read(&id).await.unwrap().unwrap().etag, Some(write.new));
}

/// Loses the answer of the first save, and then another generation opens the state.
struct TakenOver {
    memory: Memory,
    saves: AtomicU32,
}

#[async_trait]
impl StateStore for TakenOver {
    async fn open(&self, id: &EntityId, by: Generation, token: ClaimToken) -> Result<Opened, StorageError> {
        self.memory.open(id, by, token).await
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        let result = self.memory.save(id, generation, read, new, body).await;
        if self.saves.fetch_add(1, Ordering::SeqCst) > 0 {
            return result;
        }
        self.memory.open(id, generation.next().unwrap(), ClaimToken::random()).await?;
        Err(StorageError::new(ErrorKind::UnknownOutcome, Operation::Save).on(id))
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.memory.clear(id, generation, read, new).await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        self.memory.read(id).await
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        self.memory.list(namespace, actor_type, after, limit).await
    }
}

#[tokio::test]
async fn definite_errors_are_not_repeated() {
    let memory = Memory::new();
    let id = alice();
    let write =
        Write { id, generation: Generation::FIRST, read: None, new: Etag::random(), body: Some("x".into()) };
    let error = settle::write(&memory, &write, &repetition()).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_applied()), (ErrorKind::NotFound, false));
}

#[tokio::test]
async fn a_seed_gives_the_same_faults() {
    let run = async |seed| {
        let faulty = Faulty::new(Memory::new(), Faults::new(seed).fail(0.5));
        let mut failed = Vec::new();
        for _ in 0..64 {
            failed.push(faulty.read(&alice()).await.is_err());
        }
        failed
    };
    assert_eq!(run(3).await, run(3).await);
    assert_ne!(run(3).await, run(4).await);
}

#[tokio::test]
async fn the_parts_of_an_engine_share_one_store() {
    let engine = Engine::new(Arc::new(Memory::new()));
    engine.state.open(&alice(), Generation::FIRST, ClaimToken::random()).await.unwrap();
    assert!(engine.state.read(&alice()).await.unwrap().is_some());
}
