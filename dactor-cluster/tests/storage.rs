//! Durable state: failures of the engine, lost ownership, and states of other versions.

mod support;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dactor_cluster::stores::CapturingStore;
use dactor_cluster::{ClusterError, StateError};
use dactor_core::{Error, ErrorKind};
use dactor_engine::{
    Claim, ClaimToken, Engine, EntityId, ErrorKind as StorageErrorKind, Etag, Faults, Faulty, NodeId,
    StorageError,
};
use support::*;

fn alice(case: &Case) -> EntityId {
    EntityId::new(case.system.name(), "Account", "alice").unwrap()
}

async fn stored(engine: &Engine, id: &EntityId) -> Ledger {
    match engine.state.read(id).await.unwrap().and_then(|stored| stored.body) {
        Some(body) => serde_json::from_slice(&body[8..]).unwrap(),
        None => Ledger::default(),
    }
}

/// The error of a caller names its cause.
fn is_typed(error: &Error) -> bool {
    error.downcast_ref::<StorageError>().is_some() || error.downcast_ref::<ClusterError>().is_some()
}

#[test]
fn failures_and_lost_answers() {
    for seed in [1, 2, 3] {
        println!("seed {seed}");
        table(&format!("faults{seed}"), |case| async move {
            let faults = Faults::new(seed).fail(0.04).tear(0.02).lose_answer(0.02).land_late(0.02);
            let faulty = Engine::from(Faulty::new(case.engine.clone(), faults));
            // Leases are not what this is about.
            let engine = Engine { membership: case.engine.membership.clone(), ..faulty };
            let cluster = dactor_cluster::Cluster::builder(&case.system).engine(engine);
            let cluster = cluster.register::<Account>().start().await.unwrap();
            let actor = cluster.actor::<Account>("alice").unwrap();
            let id = alice(&case);
            let mut acknowledged = Vec::new();
            let steps = if case.is_durable { 200_u64 } else { 1000 };
            for number in 0..steps {
                match actor.ask(Once(number)).await {
                    Ok(_) => acknowledged.push(number),
                    Err(error) => assert!(is_typed(&error), "{error:#}"),
                }
                if number % 5 == 0 {
                    actor.stop();
                }
                // A handler sees the stored state.
                let seen = loop {
                    match actor.ask(Seen).await {
                        Ok(seen) => break seen,
                        Err(error) => assert!(is_typed(&error), "{error:#}"),
                    }
                };
                let ledger = stored(&case.engine, &id).await;
                assert_eq!(seen, ledger.seen, "step {number}");
                assert_eq!(ledger.cents, ledger.seen.len() as u64, "step {number}");
            }
            let ledger = stored(&case.engine, &id).await;
            assert!(ledger.seen.values().all(|times| *times == 1), "a double effect");
            assert!(acknowledged.iter().all(|number| ledger.seen.contains_key(number)), "a lost write");
            assert!(acknowledged.len() as u64 > steps * 8 / 10, "{} of {steps}", acknowledged.len());
        });
    }
}

#[test]
fn an_aborted_handler_separates_nothing() {
    table("abort", |case| async move {
        let faults = Faults::new(7).delay(1.0, Duration::from_millis(20));
        let engine = Engine::from(Faulty::new(case.engine.clone(), faults));
        let engine = Engine { membership: case.engine.membership.clone(), ..engine };
        let cluster = dactor_cluster::Cluster::builder(&case.system).engine(engine);
        let cluster = cluster.register::<Account>().start().await.unwrap();
        let actor = cluster.actor::<Account>("alice").unwrap();
        actor.ask(Balance).await.unwrap();
        for round in 0..50_u64 {
            let _ = actor.ask(Abortable(1)).timeout(Duration::from_millis(1 + round % 12)).await;
            if round % 10 == 9 {
                let _ = actor.ask(Abortable(1)).enqueue();
                actor.kill();
            }
            let cents = actor.ask(Balance).await.unwrap();
            assert_eq!(cents, stored(&case.engine, &alice(&case)).await.cents, "round {round}");
        }
    });
}

/// Takes the actor over, as another node does after the death of this one was recorded.
async fn take_over(case: &Case, node: &NodeId) {
    let Engine { directory, membership, state, .. } = &case.engine;
    membership.leave(node).await.unwrap();
    let other = NodeId::start("other");
    membership.join(case.system.name(), &other, Duration::from_secs(10)).await.unwrap();
    let (id, token) = (alice(case), ClaimToken::random());
    let Claim::Granted(generation) = directory.claim(&id, &other, token).await.unwrap() else { panic!() };
    let opened = state.open(&id, generation, token).await.unwrap();
    let mut ledger = stored(&case.engine, &id).await;
    ledger.cents += 1000;
    let body = [b"da\x01j\0\0\0\x03".as_slice(), &serde_json::to_vec(&ledger).unwrap()].concat();
    state.save(&id, generation, opened.etag, Etag::random(), Bytes::from(body)).await.unwrap();
    membership.leave(&other).await.unwrap();
}

#[test]
fn a_fenced_save_loses_the_activation() {
    table("fenced", |case| async move {
        let writes = CapturingStore::new(case.engine.state.clone());
        let engine = Engine { state: Arc::new(writes.clone()), ..case.engine.clone() };
        let cluster = dactor_cluster::Cluster::builder(&case.system).engine(engine);
        let cluster = cluster.register::<Account>().start().await.unwrap();
        let actor = cluster.actor::<Account>("alice").unwrap();
        actor.ask(Deposit(1)).await.unwrap();
        let first = cluster.node();
        take_over(&case, &first).await;
        let expected = match actor.ask(Deposit(1)).await {
            Err(error) => {
                let storage = error.downcast_ref::<StorageError>();
                assert!(
                    storage.is_some_and(|error| error.kind() == StorageErrorKind::Fenced)
                        || matches!(error.downcast_ref(), Some(ClusterError::LeaseLost { .. })),
                    "{error:#}"
                );
                1002
            }
            // The node had joined again before: the new activation has loaded what the other node saved.
            Ok(cents) => {
                assert!(cents == 1002 && cluster.node() != first, "{cents}");
                1003
            }
        };
        // The node learns that it was declared dead, and joins again.
        until("the new incarnation", || cluster.node() != first).await;
        assert_eq!(actor.ask(Deposit(1)).await.unwrap(), expected);
        assert!(writes.writes().iter().filter(|write| !write.stored).count() <= 1);
    });
}

#[test]
fn an_actor_that_is_owned_elsewhere() {
    table("elsewhere", |case| async move {
        let cluster = case.builder().start().await.unwrap();
        let actor = cluster.actor::<Account>("alice").unwrap();
        let Engine { directory, membership, .. } = &case.engine;
        let other = NodeId::start("other");
        membership.join(case.system.name(), &other, Duration::from_secs(60)).await.unwrap();
        let claimed = directory.claim(&alice(&case), &other, ClaimToken::random()).await.unwrap();
        assert!(matches!(claimed, Claim::Granted(_)));
        let error = actor.ask(Balance).await.unwrap_err();
        match error.downcast_ref() {
            Some(ClusterError::OwnedElsewhere { node, retry_after }) => {
                assert_eq!(*node, other);
                assert!((50..=60).contains(&retry_after.as_secs()), "{retry_after:?}");
            }
            _ => panic!("{error:#}"),
        }
        assert!(!error.may_have_been_handled());
        membership.leave(&other).await.unwrap();
        assert_eq!(actor.ask(Balance).await.unwrap(), 0);
    });
}

#[test]
fn states_of_other_versions() {
    table("versions", |case| async move {
        let cluster = case.builder().start().await.unwrap();
        let header = |version: u8| [b"da\x01j\0\0\0".as_slice(), &[version]].concat();
        for (key, body) in [
            ("corrupt", b"not a state".to_vec()),
            ("broken", [header(3), b"{\"cents\": tr".to_vec()].concat()),
            ("newer", [header(4), b"{}".to_vec()].concat()),
            ("oldest", [header(1), b"{}".to_vec()].concat()),
            ("panic", [header(1), b"panic".to_vec()].concat()),
            ("old", [header(2), b"42".to_vec()].concat()),
        ] {
            let id = EntityId::new(case.system.name(), "Account", key).unwrap();
            let (node, token) = (NodeId::start("writer"), ClaimToken::random());
            case.engine.membership.join(case.system.name(), &node, Duration::from_secs(10)).await.unwrap();
            let Claim::Granted(generation) = case.engine.directory.claim(&id, &node, token).await.unwrap()
            else {
                panic!()
            };
            let opened = case.engine.state.open(&id, generation, token).await.unwrap();
            case.engine
                .state
                .save(&id, generation, opened.etag, Etag::random(), body.clone().into())
                .await
                .unwrap();
            case.engine.membership.leave(&node).await.unwrap();
            let actor = cluster.actor::<Account>(key).unwrap();
            if key == "old" {
                assert_eq!(actor.ask(Deposit(1)).await.unwrap(), 43);
                continue;
            }
            let error = actor.ask(Deposit(1)).await.unwrap_err();
            let expected = matches!(
                (key, error.downcast_ref::<StateError>()),
                ("corrupt", Some(StateError::Corrupt(_)))
                    | ("broken", Some(StateError::Decode(_)))
                    | ("newer", Some(StateError::Newer { stored: 4, known: 3 }))
                    | ("oldest", Some(StateError::Upgrade { stored: 1, .. }))
                    | ("panic", Some(StateError::Panicked(_)))
            );
            assert!(expected, "{key}: {error:#}");
            let kept = case.engine.state.read(&id).await.unwrap().unwrap();
            assert_eq!(kept.body.as_deref(), Some(&body[..]), "{key} was overwritten");
        }
        let keys = cluster.stored::<Account>(None, 10).await.unwrap().keys;
        assert_eq!(keys, ["broken", "corrupt", "newer", "old", "oldest", "panic"]);
    });
}

#[test]
fn a_failed_save_leaves_memory_as_it_was() {
    table("failing", |case| async move {
        let failing = Faulty::new(case.engine.clone(), Faults::new(1).fail(1.0));
        let engine =
            Engine { state: Arc::new(SavesFail(failing, case.engine.clone())), ..case.engine.clone() };
        let cluster = dactor_cluster::Cluster::builder(&case.system).engine(engine);
        let cluster = cluster.register::<Account>().start().await.unwrap();
        let actor = cluster.actor::<Account>("alice").unwrap();
        let error = actor.ask(Deposit(5)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.downcast_ref::<StorageError>().is_some_and(StorageError::is_transient));
        assert_eq!(actor.ask(Balance).await.unwrap(), 0);
        assert_eq!(case.journal.count(), 1);
    });
}

#[test]
fn an_activation_that_does_not_know_its_state_is_given_up() {
    table("unknown", |case| async move {
        let torn = Faulty::new(case.engine.clone(), Faults::new(1).tear(1.0));
        let engine = Engine { state: Arc::new(SavesFail(torn, case.engine.clone())), ..case.engine.clone() };
        let cluster = dactor_cluster::Cluster::builder(&case.system).engine(engine);
        let cluster = cluster.register::<Account>().start().await.unwrap();
        let actor = cluster.actor::<Account>("alice").unwrap();
        let error = actor.ask(Deposit(5)).await.unwrap_err();
        let storage = error.downcast_ref::<StorageError>().unwrap();
        assert!(
            storage.kind() == StorageErrorKind::UnknownOutcome && storage.may_have_been_applied(),
            "{error:#}"
        );
        assert_eq!(actor.ask(Balance).await.unwrap(), 0);
        assert_eq!(case.journal.count(), 2, "the state is loaded afresh");
    });
}

#[test]
fn an_activation_that_was_replaced_is_given_up() {
    table("replaced", |case| async move {
        let (cluster, actor) = case.alice(Default::default()).await;
        assert_eq!(actor.ask(Deposit(1)).await.unwrap(), 1);
        // Another activation of the same node has opened the state.
        let Engine { directory, state, .. } = &case.engine;
        let (id, token) = (alice(&case), ClaimToken::random());
        let claim = directory.claim(&id, &cluster.node(), token).await.unwrap();
        let Claim::Granted(generation) = claim else { panic!("{claim:?}") };
        state.open(&id, generation, token).await.unwrap();
        let error = actor.ask(Deposit(1)).await.unwrap_err();
        let storage = error.downcast_ref::<StorageError>().unwrap();
        assert_eq!((storage.kind(), storage.may_have_been_applied()), (StorageErrorKind::Fenced, false));
        assert_eq!(actor.ask(Deposit(1)).await.unwrap(), 2);
        assert_eq!(case.journal.count(), 2, "the state is loaded afresh");
    });
}

/// All saves fail, and all else passes.
struct SavesFail(Faulty, Engine);

#[async_trait::async_trait]
impl dactor_engine::StateStore for SavesFail {
    async fn open(
        &self,
        id: &EntityId,
        generation: dactor_engine::Generation,
        token: ClaimToken,
    ) -> Result<dactor_engine::Opened, StorageError> {
        self.1.state.open(id, generation, token).await
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: dactor_engine::Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        self.0.save(id, generation, read, new, body).await
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: dactor_engine::Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.0.clear(id, generation, read, new).await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<dactor_engine::Stored>, StorageError> {
        self.1.state.read(id).await
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<dactor_engine::Page, StorageError> {
        self.1.state.list(namespace, actor_type, after, limit).await
    }
}
