//! A run is reproducible with the same seed and clock, on every backend.
#![cfg(all(feature = "ractor", feature = "kameo"))]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dactor::interceptors::Retry;
use dactor::prelude::*;
use dactor::spi::Backend;
use dactor::{Delivery, Outbound, Verdict};
use tokio::time::Instant;

type Times = Arc<Mutex<Vec<Duration>>>;

/// Records when each instance starts, and fails.
struct Fragile(Times, Instant);

impl Actor for Fragile {
    async fn on_start(&mut self, _: &mut Context<Self>) -> Outcome<()> {
        self.0.lock().unwrap().push(self.1.elapsed());
        Ok(())
    }
}

#[derive(Message)]
struct Fall;

impl Handler<Fall> for Fragile {
    async fn handle(&mut self, Fall: Fall, _: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered")
    }
}

/// Refuses every message, and records when.
struct Busy(Times, Instant);

impl Outbound for Busy {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        self.0.lock().unwrap().push(self.1.elapsed());
        Verdict::Reject("busy".into())
    }
}

/// When an actor with jittered backoff was restarted, and when a jittered retry asked.
async fn run(backend: impl Backend, seed: u64) -> Vec<Duration> {
    let system = System::builder("seeded").backend(backend).seed(seed).build().unwrap();
    assert_eq!(system.seed(), seed);
    let (times, start) = (Times::default(), Instant::now());
    let record = times.clone();
    let backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(10)).jitter(1.0);
    let actor = system
        .spawn(move || Fragile(record.clone(), start))
        .supervision(Supervision::one_for_one().unlimited().backoff(backoff))
        .await
        .unwrap();
    for _ in 0..5 {
        let error = actor.ask(Fall).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
    }
    let busy = actor.outbound(Busy(times.clone(), start));
    let retry = Retry::default().attempts(5).jitter(1.0).when(|_| true);
    assert_eq!(retry.ask(&busy, || Fall).await.unwrap_err().kind(), ErrorKind::Rejected);
    system.shutdown().await.unwrap();
    let times = times.lock().unwrap();
    times.clone()
}

#[tokio::test(start_paused = true)]
async fn a_seed_determines_a_run() {
    std::panic::set_hook(Box::new(|_| {}));
    let first = run(dactor::ractor(), 7).await;
    assert!(first.len() >= 10, "{first:?}");
    assert_eq!(run(dactor::ractor(), 7).await, first);
    assert_eq!(run(dactor::kameo(), 7).await, first);
    assert_ne!(run(dactor::ractor(), 8).await, first);
}
