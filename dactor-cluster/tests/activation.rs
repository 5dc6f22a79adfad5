//! Activation, deactivation, and the messages that meet them.

mod support;

use std::sync::atomic::Ordering;
use std::time::Duration;

use dactor_cluster::{ActivationState, ClusterError, TypeOptions};
use dactor_core::{End, ErrorKind, Overflow};
use support::*;

#[test]
fn one_activation_for_many_first_messages() {
    table("first", |case| async move {
        let cluster = case.builder().start().await.unwrap();
        for repetition in 0..100 {
            let key = format!("alice-{repetition}");
            let before = case.journal.count();
            let asks: Vec<_> = (0..1000)
                .map(|_| {
                    let actor = cluster.actor::<Account>(&key).unwrap();
                    tokio::spawn(async move { actor.ask(Balance).await })
                })
                .collect();
            for ask in asks {
                assert_eq!(ask.await.unwrap().unwrap(), 0);
            }
            assert_eq!(case.journal.count() - before, 1);
        }
        assert_eq!(cluster.active(), 100);
    });
}

#[test]
fn hooks_run_in_order() {
    table("hooks", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        assert_eq!(cluster.active(), 0);
        assert_eq!(alice.ask(Deposit(100)).await.unwrap(), 100);
        assert_eq!(cluster.state_of::<Account>("alice").unwrap(), ActivationState::Valid);
        let first = alice.ask(Generation).await.unwrap();
        alice.stop();
        until("the deactivation", || cluster.active() == 0).await;
        let expected = ["alice activate", "alice on_start", "alice on_deactivate requested", "alice on_stop"];
        assert_eq!(case.journal.notes(), expected);
        assert_eq!(alice.ask(Deposit(20)).await.unwrap(), 120);
        assert!(alice.ask(Generation).await.unwrap() > first);
        alice.ask(Leave).await.unwrap();
        alice.ask(Clear).await.unwrap();
        assert_eq!(alice.ask(Balance).await.unwrap(), 0);
        case.system.shutdown().await.unwrap();
        assert!(
            case.journal.notes().contains(&"alice on_deactivate shutdown".to_owned()),
            "{:?}",
            case.journal.notes()
        );
        let late = alice.ask(Balance).await.unwrap_err();
        assert!(!late.may_have_been_handled(), "{late:#}");
    });
}

#[test]
fn order_is_kept_across_deactivations() {
    table("order", |case| async move {
        let (_cluster, alice) = case.alice(TypeOptions::default()).await;
        let count = if case.is_durable { 500 } else { 3000 };
        let chunk = count / 20;
        for number in 0..count {
            alice.tell(Append(number)).unwrap();
            if number % chunk == 0 {
                let end = if (number / chunk).is_multiple_of(2) { End::Stop } else { End::Drain };
                alice.end(end).unwrap();
            }
            if number % (4 * chunk) == 0 {
                alice.ask(Generation).await.unwrap();
            }
        }
        // Told by the same sender after all others.
        let log = alice.ask(Log).await.unwrap();
        assert_eq!(log, (0..count).collect::<Vec<_>>());
        assert!(case.journal.count() > 2, "{} activations", case.journal.count());
    });
}

#[test]
fn a_failed_activation_is_answered_with_its_cause() {
    table("failed", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        case.journal.failures.store(2, Ordering::SeqCst);
        case.journal.activate_slowly.store(true, Ordering::SeqCst);
        let asks: Vec<_> = (0..50).map(|_| alice.ask(Balance).enqueue().unwrap()).collect();
        case.journal.gate.0.add_permits(100);
        for ask in asks {
            let error = ask.await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StartFailed);
            assert!(matches!(error.downcast_ref(), Some(ClusterError::Activate(_))), "{error:#}");
            assert!(format!("{error:#}").contains("the account is closed"), "{error:#}");
            assert!(!error.may_have_been_handled());
        }
        assert_eq!((case.journal.count(), cluster.active()), (1, 0));
        // Each later message is one attempt.
        assert!(alice.ask(Balance).await.is_err());
        assert_eq!(alice.ask(Balance).await.unwrap(), 0);
        assert_eq!(case.journal.count(), 3);
    });
}

#[test]
fn a_panic_deactivates_and_the_rest_is_handled_by_the_next() {
    table("panic", |case| async move {
        let (_cluster, alice) = case.alice(TypeOptions::default()).await;
        alice.ask(Deposit(7)).await.unwrap();
        let waits = alice.ask(WaitForGate).enqueue().unwrap();
        let boom = alice.ask(Boom).enqueue().unwrap();
        let behind: Vec<_> = (0..10).map(|_| alice.ask(Deposit(1)).enqueue().unwrap()).collect();
        case.journal.gate.0.add_permits(1);
        assert_eq!(waits.await.unwrap(), 7);
        assert_eq!(boom.await.unwrap_err().kind(), ErrorKind::Panicked);
        for (index, deposit) in behind.into_iter().enumerate() {
            assert_eq!(deposit.await.unwrap(), 8 + index as u64);
        }
        assert_eq!(case.journal.count(), 2);
    });
}

#[test]
fn a_kill_leaves_what_waits_to_the_next() {
    table("kill", |case| async move {
        let (_cluster, alice) = case.alice(TypeOptions::default()).await;
        let waits = alice.ask(WaitForGate).enqueue().unwrap();
        let behind = alice.ask(Deposit(1)).enqueue().unwrap();
        until("the handler", || case.journal.notes().contains(&"waits".to_owned())).await;
        alice.kill();
        assert_eq!(waits.await.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(behind.await.unwrap(), 1);
        assert_eq!(case.journal.count(), 2);
    });
}

#[test]
fn idle_actors_are_deactivated() {
    table("idle", |case| async move {
        let options = TypeOptions::default().idle_after(Duration::from_millis(40));
        let (cluster, alice) = case.alice(options).await;
        alice.ask(Deposit(5)).await.unwrap();
        until("the deactivation", || cluster.active() == 0).await;
        assert!(case.journal.notes().contains(&"alice on_deactivate idle".to_owned()));
        assert_eq!(alice.ask(Balance).await.unwrap(), 5);
    });
}

#[test]
fn the_least_recently_used_is_deactivated() {
    table("lru", |case| async move {
        let cluster = case.builder().max_active(3).start().await.unwrap();
        for key in ["a", "b", "c", "a"] {
            cluster.actor::<Account>(key).unwrap().ask(Balance).await.unwrap();
        }
        cluster.actor::<Account>("d").unwrap().ask(Balance).await.unwrap();
        until("the deactivation", || cluster.active() == 3).await;
        assert_eq!(cluster.state_of::<Account>("b").unwrap(), ActivationState::Invalid);
        assert!(case.journal.notes().contains(&"b on_deactivate capacity".to_owned()));
        // Many more ids than may be active.
        for key in 0..500 {
            cluster.actor::<Account>(&format!("many-{key}")).unwrap().ask(Deposit(key)).await.unwrap();
        }
        until("the deactivations", || cluster.active() <= 3).await;
    });
}

#[test]
fn a_stop_during_the_activation() {
    table("stop", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        case.journal.activate_slowly.store(true, Ordering::SeqCst);
        let first = alice.ask(Deposit(1)).enqueue().unwrap();
        until("the activation", || case.journal.count() == 1).await;
        assert_eq!(cluster.state_of::<Account>("alice").unwrap(), ActivationState::Creating);
        alice.stop();
        let second = alice.ask(Deposit(1)).enqueue().unwrap();
        case.journal.gate.0.add_permits(100);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 2));
        // The messages before it are handled by this activation or by the next.
        let requested = "alice on_deactivate requested".to_owned();
        until("the deactivation", || case.journal.notes().contains(&requested)).await;
    });
}

#[test]
fn held_messages_are_answered_at_shutdown() {
    table("shutdown", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        case.journal.activate_slowly.store(true, Ordering::SeqCst);
        let asks: Vec<_> = (0..20).map(|_| alice.ask(Balance).enqueue().unwrap()).collect();
        until("the activation", || case.journal.count() == 1).await;
        let shutdown = tokio::spawn({
            let cluster = cluster.clone();
            async move { cluster.shutdown().await }
        });
        for ask in asks {
            assert!(!ask.await.unwrap_err().may_have_been_handled());
        }
        shutdown.await.unwrap().unwrap();
        assert!(alice.ask(Balance).await.is_err());
        assert!(!cluster.is_serving());
    });
}

#[test]
fn deadlines_and_the_bound_count_for_held_messages() {
    table("held", |case| async move {
        let options = TypeOptions::default().bounded(2, Overflow::Reject);
        let (_cluster, alice) = case.alice(options).await;
        case.journal.activate_slowly.store(true, Ordering::SeqCst);
        let late = alice.ask(Deposit(100)).timeout(Duration::from_millis(20)).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Timeout);
        assert!(!late.may_have_been_handled());
        let kept = [1, 2].map(|cents| alice.ask(Deposit(cents)).enqueue().unwrap());
        let full = alice.ask(Deposit(50)).await.unwrap_err();
        assert_eq!(full.kind(), ErrorKind::MailboxFull);
        case.journal.gate.0.add_permits(1);
        let mut sum = 0;
        for ask in kept {
            sum = ask.await.unwrap();
        }
        assert_eq!(sum, 3);
    });
}

#[test]
fn a_virtual_actor_has_no_end() {
    table("watch", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        assert_eq!(alice.wait().await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(alice.path().without_address(), "/system/virtual/Account/alice");
        assert_eq!(alice, cluster.actor::<Account>("alice").unwrap());
        alice.stop(); // Not active: nothing to do.
        assert_eq!(cluster.active(), 0);
    });
}

#[test]
fn asks_have_a_default_timeout() {
    table("timeout", |case| async move {
        let options = TypeOptions::default().ask_timeout(Duration::from_millis(30));
        let (_cluster, alice) = case.alice(options).await;
        assert_eq!(alice.ask(WaitForGate).await.unwrap_err().kind(), ErrorKind::Timeout);
        case.journal.gate.0.add_permits(1);
        let recipient = alice.recipient::<WaitForGate>();
        assert_eq!(recipient.ask(WaitForGate).await.unwrap_err().kind(), ErrorKind::Timeout);
        let later = alice.ask(WaitForGate).deadline(tokio::time::Instant::now() + Duration::from_secs(20));
        let released = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            case.journal.gate.0.add_permits(2);
        };
        assert_eq!(tokio::join!(later, released).0.unwrap(), 0);
    });
}

#[test]
fn bad_input_is_an_error() {
    table("input", |case| async move {
        let cluster = case.builder().start().await.unwrap();
        for key in ["", "a/b", "a::b", &"x".repeat(600), "nul\0"] {
            let error = cluster.actor::<Account>(key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidName, "{key:?}: {error}");
        }
        for key in [".", "..", "$1", "Zo\u{eb} \u{4e2d}", "a b", "~24"] {
            assert_eq!(cluster.actor::<Account>(key).unwrap().ask(Deposit(3)).await.unwrap(), 3, "{key:?}");
        }
        let second = case.builder().start().await.unwrap_err();
        assert_eq!(second.kind(), ErrorKind::NameTaken);
        let none = dactor_cluster::Cluster::builder(&case.system).start().await.unwrap_err();
        assert_eq!(none.kind(), ErrorKind::Unsupported);
        let twice = case.builder().register::<Account>().start().await.unwrap_err();
        assert_eq!(twice.kind(), ErrorKind::InvalidName);
    });
}

#[test]
fn a_panic_in_a_hook_harms_only_its_message() {
    table("hook-panics", |case| async move {
        let (cluster, alice) = case.alice(TypeOptions::default()).await;
        let actor = cluster.actor::<Account>("panics-in-activate").unwrap();
        for _ in 0..3 {
            let error = actor.ask(Balance).await.unwrap_err();
            assert!(matches!(error.downcast_ref(), Some(ClusterError::Activate(_))), "{error:#}");
            assert!(format!("{error:#}").contains("a panic in activate"), "{error:#}");
            assert!(!error.may_have_been_handled());
        }
        let actor = cluster.actor::<Account>("panics-in-deactivate").unwrap();
        assert_eq!(actor.ask(Deposit(3)).await.unwrap(), 3);
        actor.stop();
        // The messages that meet its end are handled by the next activation.
        assert_eq!(actor.ask(Deposit(4)).await.unwrap(), 7);
        // A panic in the closure of an update changes neither memory nor store, and the next save is not kept waiting.
        assert_eq!(alice.ask(Deposit(5)).await.unwrap(), 5);
        let behind = alice.ask(BoomInUpdate).enqueue().unwrap();
        let next = alice.ask(Deposit(1)).enqueue().unwrap();
        assert_eq!(behind.await.unwrap_err().kind(), ErrorKind::Panicked);
        assert_eq!(next.await.unwrap(), 6);
        assert_eq!(cluster.active(), 2);
    });
}
