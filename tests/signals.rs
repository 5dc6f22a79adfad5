//! Shutdown on operating system signals. They go to this process, so there is one test.
#![cfg(unix)]

use std::pin::pin;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use dactor::spi::Backend;
use dactor::{Actor, Context, ErrorKind, Handler, Message, Outcome, Phase, StopReason, System};
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(20);

/// Events in order.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>, Arc<Notify>);

impl Journal {
    fn note(&self, entry: impl ToString) {
        self.0.lock().unwrap().push(entry.to_string());
        self.1.notify_one();
    }

    fn entries(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Clerk(Journal);

impl Actor for Clerk {
    async fn on_stop(&mut self, reason: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        self.0.note(format!("clerk {reason}"));
        Ok(())
    }
}

/// Never completes; notifies when it has begun.
struct Hold(Arc<Notify>);

impl Message for Hold {
    type Reply = ();
    type Access = dactor::Exclusive;
}

impl Handler<Hold> for Clerk {
    async fn handle(&mut self, Hold(begun): Hold, _: &mut Context<Self>) -> Outcome<()> {
        begun.notify_one();
        std::future::pending().await
    }
}

fn raise(signal: &str) {
    let sent = Command::new("kill").args([signal, &std::process::id().to_string()]).status();
    assert!(sent.expect("there is a kill command").success());
}

fn system(backend: impl Backend, journal: &Journal) -> System {
    let phase = Phase::before_actors("leave");
    let system = System::builder("signals").backend(backend).phase(phase).build().unwrap();
    let journal = journal.clone();
    let leave = async move || {
        journal.note("left");
        Ok(())
    };
    system.on_shutdown("leave", "note", leave).unwrap();
    system
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("timed out: {what}"))
}

async fn ends_in_order(backend: impl Backend, signal: &str) {
    let journal = Journal::default();
    let system = system(backend, &journal);
    let clerk = system.spawn(Clerk(journal.clone())).await.unwrap();
    let ended = system.shutdown_on_signals();
    raise(signal);
    soon("the shutdown", ended).await.unwrap();
    assert!(matches!(clerk.stop_reason(), Some(StopReason::Drained)));
    assert_eq!(journal.entries(), ["left", "clerk drained"]);
}

async fn a_second_signal_kills(backend: impl Backend) {
    let (journal, begun) = (Journal::default(), Arc::new(Notify::new()));
    let system = system(backend, &journal);
    let clerk = system.spawn(Clerk(journal.clone())).await.unwrap();
    clerk.tell(Hold(begun.clone())).unwrap();
    soon("the clerk is busy", begun.notified()).await;
    let ended = tokio::spawn(system.shutdown_on_signals());
    raise("-INT");
    soon("the phase", journal.1.notified()).await;
    raise("-TERM");
    let error = soon("the shutdown", ended).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
    assert_eq!(error.get("second signal"), Some("1 actors were left"));
    assert!(error.get("killed").is_some_and(|killed| killed.contains("/user/")), "{error}");
    assert_eq!(system.shutdown().await.unwrap_err().to_string(), error.to_string(), "all get the same");
    assert!(matches!(clerk.stop_reason(), Some(StopReason::Killed)));
    assert_eq!(journal.entries(), ["left"]);
}

async fn a_third_signal_ends_the_wait(backend: impl Backend) {
    let (journal, begun) = (Journal::default(), Arc::new(Notify::new()));
    let system = System::builder("signals").backend(backend).phase(Phase::before_actors("hang"));
    let system = system.build().unwrap();
    let task = {
        let begun = begun.clone();
        async move || {
            begun.notify_one();
            std::future::pending().await
        }
    };
    system.on_shutdown("hang", "forever", task).unwrap();
    let clerk = system.spawn(Clerk(journal.clone())).await.unwrap();
    let ended = tokio::spawn(system.shutdown_on_signals());
    raise("-INT");
    soon("the phase", begun.notified()).await;
    raise("-INT");
    assert!(matches!(soon("the clerk ends", clerk.wait()).await.unwrap(), StopReason::Killed));
    assert!(!ended.is_finished(), "the phase goes on");
    raise("-INT");
    let error = soon("the wait", ended).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownIncomplete);
    assert!(error.get("third signal").is_some() && error.get("second signal").is_some(), "{error}");
}

async fn returns_when_shut_down_otherwise(backend: impl Backend) {
    let system = system(backend, &Journal::default());
    let ended = tokio::spawn(system.shutdown_on_signals());
    system.shutdown().await.unwrap();
    soon("it returns", ended).await.unwrap().unwrap();
}

#[test]
fn signals_shut_a_system_down() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        for signal in ["-TERM", "-INT"] {
            ends_in_order(dactor_ractor::ractor(), signal).await;
            ends_in_order(dactor_kameo::kameo(), signal).await;
        }
        a_second_signal_kills(dactor_ractor::ractor()).await;
        a_second_signal_kills(dactor_kameo::kameo()).await;
        a_third_signal_ends_the_wait(dactor_ractor::ractor()).await;
        returns_when_shut_down_otherwise(dactor_ractor::ractor()).await;
    });
    let system = System::builder("nowhere").backend(dactor_ractor::ractor()).build().unwrap();
    let refused = pin!(system.shutdown_on_signals()).poll(&mut TaskContext::from_waker(Waker::noop()));
    assert!(matches!(refused, Poll::Ready(Err(error)) if error.kind() == ErrorKind::NoRuntime));
}
