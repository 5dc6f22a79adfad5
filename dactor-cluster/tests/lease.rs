//! A node that loses its lease stops serving by itself.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_cluster::{Cluster, ClusterError, OnLeaseLost};
use dactor_core::ErrorKind;
use dactor_engine::ManualClock;
use support::*;

struct Cut {
    case: Case,
    clock: Arc<ManualClock>,
    partition: Arc<Partition>,
    cluster: Cluster,
}

async fn cut_off(case: Case, then: OnLeaseLost) -> Cut {
    let clock = Arc::new(ManualClock::new());
    let (partition, engine) = Partition::of(case.engine_with(clock.clone()));
    let cluster = Cluster::builder(&case.system)
        .engine(engine)
        .register::<Account>()
        .clock(clock.clone())
        .lease(Duration::from_secs(1), Duration::from_millis(100))
        .on_lease_lost(then)
        .start()
        .await
        .unwrap();
    Cut { case, clock, partition, cluster }
}

fn lost(error: &dactor_core::Error) -> bool {
    matches!(error.downcast_ref(), Some(ClusterError::LeaseLost { .. }))
}

#[test]
fn a_node_fences_itself_and_joins_again() {
    table("fencing", |case| async move {
        let Cut { case, clock, partition, cluster } = cut_off(case, OnLeaseLost::Rejoin).await;
        let alice = cluster.actor::<Account>("alice").unwrap();
        assert_eq!(alice.ask(Deposit(5)).await.unwrap(), 5);
        let first = cluster.node();
        let waits = alice.ask(WaitForGate).enqueue().unwrap();
        until("the handler", || case.journal.notes().contains(&"waits".to_owned())).await;
        let behind = alice.ask(Deposit(1)).enqueue().unwrap();
        partition.cut.store(true, Ordering::SeqCst);
        clock.advance(Duration::from_millis(900));
        assert!(!cluster.is_serving());
        // Before the thread has noticed anything: the answer is not given.
        case.journal.gate.0.add_permits(1);
        let interrupted = waits.await.unwrap_err();
        assert_eq!(interrupted.kind(), ErrorKind::Interrupted, "{interrupted:#}");
        assert!(interrupted.may_have_been_handled());
        let refused = behind.await.unwrap_err();
        assert!(lost(&refused) && !refused.may_have_been_handled(), "{refused:#}");
        let refused = alice.ask(Deposit(1)).await.unwrap_err();
        assert!(lost(&refused), "{refused:#}");
        until("the loss is noticed", || cluster.active() == 0).await;
        partition.cut.store(false, Ordering::SeqCst);
        until("the node has joined again", || cluster.is_serving() && cluster.node() != first).await;
        // The old incarnation still owns the actor until its death is recorded, which takes a TTL of watching.
        clock.advance(Duration::from_millis(200));
        let balance = loop {
            match alice.ask(Balance).await {
                Ok(balance) => break balance,
                Err(error) => {
                    let owned = matches!(error.downcast_ref(), Some(ClusterError::OwnedElsewhere { .. }));
                    assert!(owned || lost(&error), "{error:#}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        assert_eq!(balance, 5);
        assert!(
            !case.journal.notes().iter().any(|note| note.contains("on_deactivate")),
            "{:?}",
            case.journal.notes()
        );
    });
}

#[test]
fn a_node_shuts_its_system_down() {
    table("lost", |case| async move {
        let Cut { case, clock, partition, cluster } = cut_off(case, OnLeaseLost::ShutDown).await;
        let alice = cluster.actor::<Account>("alice").unwrap();
        alice.ask(Deposit(5)).await.unwrap();
        partition.cut.store(true, Ordering::SeqCst);
        clock.advance(Duration::from_secs(1));
        until("the shutdown", || case.system.actor_count() == 0).await;
        assert!(alice.ask(Balance).await.is_err());
    });
}

#[test]
fn a_lease_is_renewed() {
    table("renewed", |case| async move {
        let ttl = Duration::from_millis(300);
        let cluster = case.builder().lease(ttl, Duration::from_millis(50)).start().await.unwrap();
        let (alice, node) = (cluster.actor::<Account>("alice").unwrap(), cluster.node());
        let begin = std::time::Instant::now();
        while begin.elapsed() < 4 * ttl {
            alice.ask(Deposit(1)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!((cluster.node(), case.journal.count()), (node.clone(), 1));
        let members = case.engine.membership.members(case.system.name()).await.unwrap();
        assert!(members.iter().any(|member| member.node == node && member.renewals >= 3), "{members:?}");
        cluster.shutdown().await.unwrap();
        let members = case.engine.membership.members(case.system.name()).await.unwrap();
        assert!(members.iter().all(|member| member.state == dactor_engine::MemberState::Dead), "{members:?}");
    });
}
