//! Streams on both backends, beside what the conformance rules check.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor::{Context, ErrorKind, Expand, ExpandHandler, Outcome, Producer, System};
use futures_util::stream;

#[path = "common/numbers.rs"]
mod numbers;

use self::numbers::{Count, Double, Numbers, Sum};

/// Ones for ever, beside the actor. Counts them.
#[derive(Expand)]
#[message(item = u64)]
struct Ones(Arc<AtomicUsize>);

impl ExpandHandler<Ones> for Numbers {
    async fn expand(&mut self, Ones(sent): Ones, out: Producer<u64>, _: &mut Context<Self>) -> Outcome<()> {
        out.drive(stream::repeat_with(move || {
            sent.fetch_add(1, Ordering::SeqCst);
            1
        }));
        Ok(())
    }
}

const GRACE: Duration = Duration::from_millis(200);

/// Runs the test on each backend and each flavour of runtime.
fn everywhere<F: Future<Output = ()>>(test: impl Fn(System) -> F) {
    for threads in [1, 2] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
        let runtime = runtime.unwrap();
        let ractor =
            System::builder("streams").grace(GRACE).backend(dactor_ractor::ractor()).build().unwrap();
        let kameo = System::builder("streams").grace(GRACE).backend(dactor_kameo::kameo()).build().unwrap();
        for system in [ractor, kameo] {
            runtime.block_on(async {
                let ended = tokio::time::timeout(Duration::from_secs(30), test(system.clone())).await;
                ended.expect("it hangs");
                let _ = system.shutdown().await;
            });
        }
    }
}

#[test]
fn a_slow_consumer_holds_up_its_own_stream_only() {
    everywhere(|system| async move {
        let sent = Arc::new(AtomicUsize::new(0));
        let numbers = system.spawn(Numbers).await.unwrap();
        let mut slow = numbers.expand(Ones(sent.clone())).buffer(8).await.unwrap();
        let mut other = numbers.expand(Count(100)).await.unwrap();
        while let Some(item) = other.next().await {
            item.unwrap();
        }
        assert_eq!(numbers.reduce(Sum, stream::iter(0..100)).await.unwrap(), 4950);
        let mut doubled = numbers.transform(Double, stream::iter(0..100)).await.unwrap();
        while let Some(item) = doubled.next().await {
            item.unwrap();
        }
        assert!(sent.load(Ordering::SeqCst) <= 10, "the buffer is bounded");
        for _ in 0..100 {
            slow.next().await.unwrap().unwrap();
        }
    });
}

#[test]
fn a_shutdown_ends_streams_that_do_not_finish() {
    everywhere(|system| async move {
        let numbers = system.spawn(Numbers).await.unwrap();
        let mut ones = numbers.expand(Ones(Arc::default())).await.unwrap();
        assert_eq!(ones.next().await.unwrap().unwrap(), 1);
        let _ = system.shutdown().await;
        let error = loop {
            if let Err(error) = ones.next().await.unwrap() {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
        assert!(ones.next().await.is_none());
        assert_eq!(numbers.expand(Count(1)).await.unwrap_err().kind(), ErrorKind::Stopped);
    });
}
