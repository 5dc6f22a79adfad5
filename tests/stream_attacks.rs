//! Misused streams: futures dropped at every await, destructors and inputs that panic, producers used after
//! their actor ended, races between the end and a leaving consumer. Nothing hangs, no item is lost silently,
//! and the actor survives failures that are not its own.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use dactor::{
    Actor, ActorRef, Context, ErrorKind, Expand, ExpandHandler, ExpandRequest, Failure, Handler, Input,
    Items, Message, Outcome, Producer, Reduce, ReduceHandler, System, Transform, TransformHandler,
};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// The handler of a stream, as a closure of the test.
type Script<T> = Box<
    dyn for<'a> FnOnce(
            Producer<T>,
            &'a mut Context<Victim>,
        ) -> Pin<Box<dyn Future<Output = Outcome<()>> + Send + 'a>>
        + Send,
>;

#[derive(Clone, Default)]
struct Victim;
impl Actor for Victim {}

#[derive(Expand)]
#[message(item = u64)]
struct Run(Script<u64>);

impl ExpandHandler<Run> for Victim {
    async fn expand(&mut self, Run(script): Run, out: Producer<u64>, ctx: &mut Context<Self>) -> Outcome<()> {
        script(out, ctx).await
    }
}

fn run<F: Future<Output = Outcome<()>> + Send + 'static>(
    script: impl FnOnce(Producer<u64>) -> F + Send + 'static,
) -> Run {
    Run(Box::new(|out, _| Box::pin(script(out))))
}

/// Its destructor panics while it is armed.
struct Bomb(Arc<AtomicBool>, Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
        if self.0.load(Ordering::SeqCst) {
            std::panic::panic_any("as ordered");
        }
    }
}

#[derive(Clone, Default)]
struct Bombs {
    armed: Arc<AtomicBool>,
    dropped: Arc<AtomicUsize>,
}

impl Bombs {
    fn bomb(&self) -> Bomb {
        Bomb(self.armed.clone(), self.dropped.clone())
    }
}

#[derive(Expand)]
#[message(item = Bomb)]
struct Throw(Bombs, usize);

impl ExpandHandler<Throw> for Victim {
    async fn expand(&mut self, throw: Throw, mut out: Producer<Bomb>, _: &mut Context<Self>) -> Outcome<()> {
        for _ in 0..throw.1 {
            out.send(throw.0.bomb()).await?;
        }
        Ok(out.finish().await?)
    }
}

#[derive(Reduce)]
#[message(item = Bomb, reply = usize)]
struct Catch {
    most: usize,
}

impl ReduceHandler<Catch> for Victim {
    async fn reduce(
        &mut self,
        catch: Catch,
        mut input: Input<Bomb>,
        _: &mut Context<Self>,
    ) -> Outcome<usize> {
        let mut caught = 0;
        while caught < catch.most
            && let Some(bomb) = input.next().await
        {
            std::mem::forget(bomb?);
            caught += 1;
        }
        Ok(caught)
    }
}

/// Takes all items and produces none.
#[derive(Transform)]
#[message(input = u64, output = u64)]
struct Swallow;

impl TransformHandler<Swallow> for Victim {
    async fn transform(
        &mut self,
        _: Swallow,
        mut input: Input<u64>,
        out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        while let Some(item) = input.next().await {
            item?;
        }
        Ok(out.finish().await?)
    }
}

#[derive(Reduce)]
#[message(item = u64, reply = u64)]
struct Sum;

impl ReduceHandler<Sum> for Victim {
    async fn reduce(&mut self, _: Sum, mut input: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
        let mut sum = 0_u64;
        while let Some(item) = input.next().await {
            sum = sum.wrapping_add(item?);
        }
        Ok(sum)
    }
}

/// A stream of streams.
#[derive(Expand)]
#[message(item = Items<u64>)]
struct Nest(ActorRef<Victim>);

impl ExpandHandler<Nest> for Victim {
    async fn expand(
        &mut self,
        Nest(other): Nest,
        mut out: Producer<Items<u64>>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        for items in 0..5 {
            out.send(other.expand(count(items)).await?).await?;
        }
        Ok(out.finish().await?)
    }
}

fn count(items: u64) -> Run {
    run(move |mut out| async move {
        for item in 0..items {
            out.send(item).await?;
        }
        Ok(out.finish().await?)
    })
}

#[derive(Message)]
#[message(reply = u64)]
struct Ping;

impl Handler<Ping> for Victim {
    async fn handle(&mut self, _: Ping, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(1)
    }
}

/// Hides injected panics.
fn hide_ordered_panics() {
    static HIDDEN: Once = Once::new();
    HIDDEN.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"as ordered") {
                loud(info);
            }
        }));
    });
}

/// Runs the test on each backend and each flavour of runtime. The actor is not restarted, so a failure is
/// visible.
fn everywhere<F: Future<Output = ()>>(test: impl Fn(System, ActorRef<Victim>) -> F) {
    hide_ordered_panics();
    for threads in [1, 2] {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
        let runtime = runtime.unwrap();
        let builder = || System::builder("attacks").grace(Duration::from_secs(1));
        let ractor = builder().backend(dactor_ractor::ractor()).build().unwrap();
        let kameo = builder().backend(dactor_kameo::kameo()).build().unwrap();
        for system in [ractor, kameo] {
            runtime.block_on(async {
                let victim = system.spawn(Victim).await.unwrap();
                let test =
                    tokio::time::timeout(Duration::from_secs(20), test(system.clone(), victim.clone()));
                test.await.expect("it hangs");
                assert_eq!(victim.ask(Ping).await.unwrap(), 1, "it survives, and is free");
                if let Err(error) = system.shutdown().await {
                    panic!("{error:#}");
                }
                let tasks = async {
                    while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                };
                tokio::time::timeout(Duration::from_secs(10), tasks).await.expect("a task is left");
            });
        }
    }
}

/// Polls the future this many times, yielding in between. Returns its output, if it completed.
async fn poll_times<F: Future>(times: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..times {
        let polled = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        yield_now().await;
    }
    None
}

#[test]
fn a_consumer_may_be_dropped_at_every_await() {
    everywhere(|_, victim| async move {
        for times in 0..40 {
            let whole = async {
                let mut items = victim.expand(count(20)).buffer(2).await.unwrap();
                while let Some(item) = items.next().await {
                    item.unwrap();
                }
            };
            poll_times(times, whole).await;
            poll_times(times, victim.reduce(Sum, stream::iter(0..20)).buffer(2).into_future()).await;
            let swallowed = async {
                let mut items = victim.transform(Swallow, stream::iter(0..20)).buffer(2).await.unwrap();
                assert!(items.next().await.is_none());
            };
            poll_times(times, swallowed).await;
        }
        assert_eq!(victim.ask(Ping).await.unwrap(), 1);
    });
}

#[test]
fn sends_that_are_dropped_neither_repeat_nor_reorder_items() {
    everywhere(|_, victim| async move {
        for batch in [1, 2, 5] {
            let script = move |mut out: Producer<u64>| async move {
                for item in 0..200 {
                    // Dropped after one poll, whether sent or not.
                    poll_times(1, out.send(item)).await;
                }
                for item in 200..300 {
                    if out.try_send(item).is_err() {
                        yield_now().await;
                    }
                }
                out.send(1000).await?;
                Ok(out.finish().await?)
            };
            let mut items = victim.expand(run(script)).buffer(8).batch(batch).await.unwrap();
            let mut last = None;
            while let Some(item) = items.next().await {
                let item = item.unwrap();
                assert!(last < Some(item), "{item} after {last:?} in batches of {batch}");
                last = Some(item);
            }
            assert_eq!(last, Some(1000));
        }
    });
}

#[test]
fn a_batch_is_bounded_when_its_sends_are_dropped() {
    everywhere(|_, victim| async move {
        let accepted = Arc::new(AtomicUsize::new(0));
        let (counter, full) = (accepted.clone(), Arc::new(Notify::new()));
        let notify = full.clone();
        let script = move |mut out: Producer<u64>| async move {
            // The consumer takes no item.
            for item in 0..1000 {
                if poll_times(1, out.send(item)).await.is_some() {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            }
            let refused = out.try_send(0).unwrap_err();
            assert_eq!(refused.reason.kind(), ErrorKind::MailboxFull);
            notify.notify_one();
            Ok(out.finish().await?)
        };
        let items = victim.expand(run(script)).buffer(8).batch(4).await.unwrap();
        full.notified().await;
        assert!(accepted.load(Ordering::SeqCst) <= 12, "{accepted:?}");
        let taken = items.map(Result::unwrap).collect::<Vec<_>>().await;
        assert!(taken.iter().copied().eq(0..8 + 4), "{} items", taken.len());
    });
}

#[test]
fn a_try_send_does_not_overtake_its_batch() {
    everywhere(|_, victim| async move {
        let script = |mut out: Producer<u64>| async move {
            out.send(0).await?;
            out.try_send(1).map_err(Failure::new)?;
            out.send(2).await?;
            out.try_send(3).map_err(Failure::new)?;
            out.fail(Failure::new("no more"));
            Ok(())
        };
        for batch in [1, 2, 3, 8] {
            let mut items = victim.expand(run(script)).batch(batch).await.unwrap();
            for item in 0..4 {
                assert_eq!(items.next().await.unwrap().unwrap(), item);
            }
            assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Failed);
            assert!(items.next().await.is_none());
        }
    });
}

#[test]
fn destructors_of_items_may_panic() {
    everywhere(|_, victim| async move {
        for batch in [1, 4] {
            for take in [0, 1, 9] {
                let bombs = Bombs::default();
                let mut items =
                    victim.expand(Throw(bombs.clone(), 100)).buffer(8).batch(batch).await.unwrap();
                for _ in 0..take {
                    drop(items.next().await.unwrap().unwrap());
                }
                for _ in 0..20 {
                    yield_now().await;
                }
                bombs.armed.store(true, Ordering::SeqCst);
                drop(items);
                assert_eq!(victim.ask(Ping).await.unwrap(), 1, "it is no failure of the actor");
                bombs.armed.store(false, Ordering::SeqCst);
            }
        }
        // On their way into the actor, which takes one of them.
        let bombs = Bombs::default();
        let source = bombs.clone();
        let input = stream::iter(0..100).map(move |at| {
            source.armed.store(at >= 20, Ordering::SeqCst);
            source.bomb()
        });
        assert_eq!(victim.reduce(Catch { most: 1 }, input).buffer(2).await.unwrap(), 1);
        bombs.armed.store(false, Ordering::SeqCst);
        assert_eq!(victim.ask(Ping).await.unwrap(), 1);
    });
}

/// An input that panics.
struct Faulty {
    left: u64,
    in_drop: bool,
}

impl Stream for Faulty {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<u64>> {
        if self.left == 0 {
            if self.in_drop {
                return Poll::Ready(None);
            }
            std::panic::panic_any("as ordered");
        }
        self.left -= 1;
        Poll::Ready(Some(1))
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        if self.in_drop {
            std::panic::panic_any("as ordered");
        }
    }
}

#[test]
fn an_input_may_panic_in_its_poll_and_in_its_destructor() {
    everywhere(|_, victim| async move {
        for left in [0, 1, 15, 16, 17, 32, 33, 100] {
            let error = victim.reduce(Sum, Faulty { left, in_drop: false }).await.unwrap_err();
            assert!(format!("{error:#}").contains("input stream"), "{error:#}");
            assert_eq!(victim.reduce(Sum, Faulty { left, in_drop: true }).await.unwrap(), left);
            let mut items = victim.transform(Swallow, Faulty { left, in_drop: false }).await.unwrap();
            let error = items.next().await.unwrap().unwrap_err();
            assert!(format!("{error:#}").contains("input stream"), "{error:#}");
            assert!(items.next().await.is_none());
            let mut items = victim.transform(Swallow, Faulty { left, in_drop: true }).await.unwrap();
            assert!(items.next().await.is_none());
        }
        // Given up while it is fed.
        let endless = Faulty { left: u64::MAX, in_drop: true };
        poll_times(2, victim.reduce(Sum, endless).buffer(1).into_future()).await;
    });
}

#[test]
fn a_producer_that_is_used_after_its_actor_gets_an_error() {
    everywhere(|system, _| async move {
        for end in 0..3 {
            let victim = system.spawn(Victim).await.unwrap();
            let kept = Arc::new(Mutex::new(None));
            let keep = kept.clone();
            let script = move |mut out: Producer<u64>| async move {
                out.send(1).await?;
                *keep.lock().unwrap() = Some(out);
                Ok(())
            };
            let mut items = victim.expand(run(script)).await.unwrap();
            assert_eq!(items.next().await.unwrap().unwrap(), 1);
            match end {
                0 => victim.kill(),
                1 => victim.stop(),
                _ => {
                    let mut panics = victim.expand(run(|_| async { panic!("as ordered") })).await.unwrap();
                    assert_eq!(panics.next().await.unwrap().unwrap_err().kind(), ErrorKind::Panicked);
                }
            }
            let error = items.next().await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
            assert!(items.next().await.is_none());
            drop(items);
            // An actor that was spawned from a value ends when it panics.
            victim.wait().await.unwrap();
            let mut out = kept.lock().unwrap().take().unwrap();
            out.closed().await;
            assert!(matches!(out.send(2).await.unwrap_err().kind(), ErrorKind::ConsumerGone));
            let back = out.try_send(3).unwrap_err();
            assert_eq!(back.message, 3);
            assert_eq!(out.finish().await.unwrap_err().kind(), ErrorKind::ConsumerGone);
        }
        // The consumer exists, but has not polled yet.
        let victim = system.spawn(Victim).await.unwrap();
        let kept = Arc::new(Mutex::new(None));
        let keep = kept.clone();
        let script = move |out: Producer<u64>| async move {
            *keep.lock().unwrap() = Some(out);
            Ok(())
        };
        let mut items = victim.expand(run(script)).await.unwrap();
        victim.ask(Ping).await.unwrap();
        victim.kill();
        victim.wait().await.unwrap();
        let mut out = kept.lock().unwrap().take().unwrap();
        assert_eq!(out.send(2).await.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(out.finish().await.unwrap_err().kind(), ErrorKind::Interrupted);
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Interrupted);
    });
}

#[test]
fn streams_nest() {
    everywhere(|system, victim| async move {
        let other = system.spawn(Victim).await.unwrap();
        let mut outer = victim.expand(Nest(other.clone())).buffer(1).await.unwrap();
        let mut items = 0;
        while let Some(inner) = outer.next().await {
            let inner = inner.unwrap().map(Result::unwrap).collect::<Vec<_>>().await;
            assert!(inner.into_iter().eq(0..items));
            items += 1;
        }
        assert_eq!(items, 5);
        // Dropped with unread streams inside.
        drop(victim.expand(Nest(other.clone())).await.unwrap());
        assert_eq!(victim.ask(Ping).await.unwrap(), 1);
        assert_eq!(other.ask(Ping).await.unwrap(), 1);
    });
}

#[test]
fn a_finish_may_race_the_consumers_leave() {
    everywhere(|_, victim| async move {
        for round in 0..500 {
            let (tx, rx) = tokio::sync::oneshot::channel();
            let script = move |out: Producer<u64>| async move {
                let _ = tx.send(());
                Ok(out.finish().await?)
            };
            let mut items = victim.expand(run(script)).await.unwrap();
            rx.await.unwrap();
            if round % 2 == 0 {
                drop(items);
            } else {
                assert!(items.next().await.is_none());
            }
        }
    });
}

#[test]
fn what_a_handler_sent_before_it_failed_comes_first() {
    everywhere(|_, victim| async move {
        for round in 0..500 {
            let script = move |mut out: Producer<u64>| async move {
                for item in 0..3 {
                    out.send(item).await?;
                }
                // With the producer elsewhere, the stream ends with the handler.
                let elsewhere = async move {
                    out.closed().await;
                    drop(out);
                };
                if round % 2 == 0 {
                    tokio::spawn(elsewhere);
                }
                Err(Failure::new("no more"))
            };
            let mut items = victim.expand(run(script)).await.unwrap();
            for item in 0..3 {
                assert_eq!(items.next().await.unwrap().unwrap(), item);
            }
            assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Failed);
            assert!(items.next().await.is_none());
        }
    });
}

#[test]
fn limits_hold_for_a_stream_that_never_pauses() {
    everywhere(|_, victim| async move {
        let script = |mut out: Producer<u64>| async move {
            loop {
                out.send(0).await?;
            }
        };
        let limit = Duration::from_millis(30);
        let mut items = victim.expand(run(script)).buffer(10_000).timeout(limit).await.unwrap();
        let error = loop {
            if let Err(error) = items.next().await.unwrap() {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let error = victim.reduce(Sum, stream::repeat(1)).buffer(10_000).timeout(limit).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let mut items =
            victim.transform(Swallow, stream::repeat(1)).buffer(10_000).timeout(limit).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        // A limit that overflows the clock is no limit.
        let mut items = victim.expand(count(2)).first_within(Duration::MAX).item_within(Duration::MAX).await;
        assert_eq!(items.as_mut().unwrap().next().await.unwrap().unwrap(), 0);
    });
}

#[test]
fn a_forwarded_stream_does_not_end_with_its_forwarder() {
    everywhere(|system, victim| async move {
        let go = Arc::new(Notify::new());
        let wait = go.clone();
        // The actor is busy while the request waits in its mailbox.
        let blocks = run(|out| async move {
            wait.notified().await;
            Ok(out.finish().await?)
        });
        let mut blocks = victim.expand(blocks).await.unwrap();
        let router = system.spawn(Victim).await.unwrap();
        let other = victim.clone();
        let forward = Run(Box::new(move |out, ctx| {
            Box::pin(async move { ctx.forward(&other, ExpandRequest::new(count(3), out)) })
        }));
        let items = router.expand(forward).await.unwrap();
        router.ask(Ping).await.unwrap();
        router.stop();
        router.wait().await.unwrap();
        go.notify_one();
        assert!(blocks.next().await.is_none());
        assert_eq!(items.map(Result::unwrap).collect::<Vec<_>>().await, [0, 1, 2]);
    });
}
