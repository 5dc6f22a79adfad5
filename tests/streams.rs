//! Stream requests on both backends: 1 → n, n → 1, n → n, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dactor::{
    Actor, ActorRef, Context, ErrorKind, Expand, ExpandHandler, ExpandRequest, Failure, Handler, Input,
    Message, Outcome, Producer, Reduce, ReduceHandler, StopReason, System, Transform, TransformHandler,
};
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Source {
    other: Option<ActorRef<Source>>,
    sent: Arc<AtomicUsize>,
}

impl Actor for Source {}

/// What the producer of a stream does at the end.
#[derive(Debug, Clone, Copy)]
enum Then {
    Finish,
    /// Drops the producer.
    Leave,
    Fail,
    Panic,
    /// Never ends.
    Hang,
    /// Continues until the consumer is gone.
    Endless,
    /// Produces in a task, until it is asked to finish.
    Beside,
    Forward,
}

#[derive(Expand)]
#[message(item = u64)]
struct Count(u64, Then);

impl ExpandHandler<Count> for Source {
    async fn expand(&mut self, count: Count, mut out: Producer<u64>, ctx: &mut Context<Self>) -> Outcome<()> {
        let Count(items, then) = count;
        if let (Then::Forward, Some(other)) = (then, &self.other) {
            return ctx.forward(other, ExpandRequest::new(Count(items, Then::Finish), out));
        }
        if let Then::Beside = then {
            let sent = self.sent.clone();
            tokio::spawn(async move {
                while !out.is_drain_requested() {
                    if out.send(1).await.is_err() {
                        return;
                    }
                    sent.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                // The consumer may be gone.
                if out.send(u64::MAX).await.is_ok() {
                    let _ = out.finish().await;
                }
            });
            return Ok(());
        }
        for item in 0..items {
            out.send(item).await?;
            self.sent.fetch_add(1, Ordering::SeqCst);
        }
        match then {
            Then::Finish => out.finish().await?,
            Then::Leave => {}
            Then::Fail => return Err(Failure::new("no more")),
            Then::Panic => panic!("as ordered"),
            Then::Hang => std::future::pending().await,
            Then::Endless => loop {
                out.send(0).await?;
                self.sent.fetch_add(1, Ordering::SeqCst);
            },
            Then::Beside | Then::Forward => unreachable!(),
        }
        Ok(())
    }
}

#[derive(Reduce)]
#[message(item = u64, reply = u64)]
struct Sum;

impl ReduceHandler<Sum> for Source {
    async fn reduce(&mut self, _: Sum, mut numbers: Input<u64>, ctx: &mut Context<Self>) -> Outcome<u64> {
        // A slow upload does not occupy the actor.
        let (later, promised) = ctx.reply_later::<dactor::ReduceRequest<Sum>>();
        tokio::spawn(async move {
            let mut sum = 0;
            while let Some(number) = numbers.next().await {
                match number {
                    Ok(number) => sum += number,
                    Err(error) => return later.fail(error),
                }
            }
            later.reply(sum)
        });
        promised
    }
}

#[derive(Transform)]
#[message(input = u64, output = u64)]
struct Double;

impl TransformHandler<Double> for Source {
    async fn transform(
        &mut self,
        _: Double,
        mut numbers: Input<u64>,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        while let Some(number) = numbers.next().await {
            out.send(number? * 2).await?;
        }
        Ok(out.finish().await?)
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Ping;

impl Handler<Ping> for Source {
    async fn handle(&mut self, _: Ping, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(1)
    }
}

#[derive(Message)]
struct Crash;

impl Handler<Crash> for Source {
    async fn handle(&mut self, _: Crash, _: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered");
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

async fn source(system: &System) -> ActorRef<Source> {
    system.spawn(Source::default).await.unwrap()
}

#[test]
fn the_items_come_in_order_and_then_the_end() {
    everywhere(|system| async move {
        let source = source(&system).await;
        for buffer in [1, 2, 32, 1000] {
            for batch in [1, 7, 32] {
                let items =
                    source.expand(Count(500, Then::Finish)).buffer(buffer).batch(batch).await.unwrap();
                let items: Vec<_> = items.map(Result::unwrap).collect().await;
                assert!(items.into_iter().eq(0..500), "buffer {buffer}, batch {batch}");
            }
        }
    });
}

#[test]
fn a_stream_that_is_not_whole_ends_with_one_error() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let ends = [
            (Then::Leave, ErrorKind::Unfinished),
            (Then::Fail, ErrorKind::Failed),
            (Then::Panic, ErrorKind::Panicked),
        ];
        for (then, kind) in ends {
            let mut items = source.expand(Count(100, then)).await.unwrap();
            let mut next = 0;
            let error = loop {
                match items.next().await.unwrap() {
                    Ok(item) => {
                        assert_eq!(item, next);
                        next += 1;
                    }
                    Err(error) => break error,
                }
            };
            assert_eq!((next, error.kind()), (100, kind), "{then:?}: {error}");
            assert!(items.next().await.is_none(), "one error is the end");
            assert!(error.to_string().contains("Count"), "{error}");
        }
    });
}

#[test]
fn a_consumer_learns_how_the_actor_ended() {
    everywhere(|system| async move {
        for end in 0..4 {
            let source = source(&system).await;
            let mut hangs = source.expand(Count(3, Then::Hang)).await.unwrap();
            for item in 0..3 {
                assert_eq!(hangs.next().await.unwrap().unwrap(), item);
            }
            // Behind the hanging request.
            let mut waits = source.expand(Count(3, Then::Finish)).await.unwrap();
            match end {
                0 | 1 => source.kill(),
                2 => {
                    source.kill();
                    source.wait().await.unwrap();
                }
                _ => drop(system.clone().shutdown().await),
            }
            let error = hangs.next().await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
            assert!(hangs.next().await.is_none());
            let error = waits.next().await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
            if end < 3 {
                assert_eq!(
                    source.expand(Count(1, Then::Finish)).await.unwrap_err().kind(),
                    ErrorKind::Stopped
                );
            }
        }
    });
}

#[test]
fn a_producer_may_outlive_its_handler_but_not_its_instance() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let mut items = source.expand(Count(0, Then::Beside)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        assert_eq!(source.ask(Ping).await.unwrap(), 1, "the actor is free");
        source.tell(Crash).unwrap();
        let error = loop {
            if let Err(error) = items.next().await.unwrap() {
                break error;
            }
        };
        assert_eq!(
            error.kind(),
            ErrorKind::Interrupted,
            "a restart ends the streams of the instance: {error}"
        );
        assert!(items.next().await.is_none());
        let mut items = source.expand(Count(2, Then::Finish)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 0, "the next instance answers");
    });
}

#[test]
fn a_drain_asks_producers_to_finish_and_waits_for_them() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let mut items = source.expand(Count(0, Then::Beside)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        source.drain();
        let mut last = 0;
        while let Some(item) = items.next().await {
            last = item.unwrap();
        }
        assert_eq!(last, u64::MAX, "the producer finished in order");
        assert!(matches!(source.wait().await.unwrap(), StopReason::Drained));
    });
}

#[test]
fn a_consumer_that_is_gone_is_no_failure_of_the_actor() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let mut items = source.expand(Count(1, Then::Endless)).buffer(4).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 0);
        drop(items);
        assert_eq!(source.ask(Ping).await.unwrap(), 1);
        assert!(source.is_alive() == Some(true));
        assert_eq!(system.dead_letter_count(), 0);
        // Its handler has returned; a task continues.
        let items = source.expand(Count(1, Then::Beside)).buffer(4).await.unwrap();
        assert_eq!(source.ask(Ping).await.unwrap(), 1);
        drop(items);
        assert_eq!(source.ask(Ping).await.unwrap(), 1);
        assert_eq!(system.dead_letter_count(), 0);
        // Withdrawn before its handler began.
        let blocks = source.expand(Count(1, Then::Endless)).buffer(1).await.unwrap();
        drop(source.expand(Count(1, Then::Panic)).await.unwrap());
        drop(blocks);
        assert_eq!(source.ask(Ping).await.unwrap(), 1);
    });
}

#[test]
fn a_slow_consumer_holds_up_its_own_stream_only() {
    everywhere(|system| async move {
        let sent = Arc::new(AtomicUsize::new(0));
        let slow = system.spawn(Source { sent: sent.clone(), other: None }).await.unwrap();
        let mut items = slow.expand(Count(0, Then::Beside)).buffer(8).await.unwrap();
        let mut other = slow.expand(Count(100, Then::Finish)).await.unwrap();
        while let Some(item) = other.next().await {
            item.unwrap();
        }
        assert!(sent.load(Ordering::SeqCst) <= 108, "the buffer is bounded");
        for _ in 0..100 {
            items.next().await.unwrap().unwrap();
        }
    });
}

#[test]
fn limits_end_a_stream() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let ms = Duration::from_millis;
        let mut items = source.expand(Count(0, Then::Hang)).first_within(ms(20)).await.unwrap();
        let error = items.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(format!("{error:#}").contains("first item"), "{error:#}");
        source.kill();
        let source = self::source(&system).await;
        let mut items = source.expand(Count(2, Then::Hang)).item_within(ms(20)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 0);
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        source.kill();
        let source = self::source(&system).await;
        let mut items = source.expand(Count(2, Then::Hang)).timeout(ms(20)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 0);
        assert_eq!(items.next().await.unwrap().unwrap(), 1);
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        source.kill();
        let source = self::source(&system).await;
        let token = CancellationToken::new();
        let mut items = source.expand(Count(1, Then::Hang)).cancel(token.clone()).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), 0);
        token.cancel();
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        let error = source.expand(Count(1, Then::Finish)).buffer(0).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidCapacity);
    });
}

#[test]
fn a_stream_comes_in_and_one_reply_goes_out() {
    everywhere(|system| async move {
        let source = source(&system).await;
        assert_eq!(source.reduce(Sum, stream::iter(0..1000)).buffer(4).await.unwrap(), 499_500);
        assert_eq!(source.reduce(Sum, stream::empty()).await.unwrap(), 0);
        let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "as ordered"));
        let error = source.reduce(Sum, numbers).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed, "{error}");
        assert!(format!("{error:#}").contains("input stream"), "{error:#}");
        // Given up in the middle.
        let slow = source.reduce(Sum, stream::iter(0..3).chain(stream::pending()));
        let given_up = tokio::time::timeout(Duration::from_millis(20), slow.into_future()).await;
        assert!(given_up.is_err());
        assert_eq!(source.ask(Ping).await.unwrap(), 1);
    });
}

#[test]
fn a_stream_comes_in_and_another_goes_out() {
    everywhere(|system| async move {
        let source = source(&system).await;
        let doubled = source.transform(Double, stream::iter(0..1000)).buffer(3).await.unwrap();
        let doubled: Vec<_> = doubled.map(Result::unwrap).collect().await;
        assert!(doubled.into_iter().eq((0..1000).map(|number| number * 2)));
        let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "as ordered"));
        let mut doubled = source.transform(Double, numbers).await.unwrap();
        for number in 0..5 {
            assert_eq!(doubled.next().await.unwrap().unwrap(), number * 2);
        }
        assert_eq!(doubled.next().await.unwrap().unwrap_err().kind(), ErrorKind::Failed);
        assert!(doubled.next().await.is_none());
    });
}

#[test]
fn a_stream_request_can_be_forwarded_and_sent_to_a_recipient() {
    everywhere(|system| async move {
        let other = source(&system).await;
        let router = system.spawn(Source { other: Some(other.clone()), ..Default::default() }).await.unwrap();
        let items = router.expand(Count(10, Then::Forward)).await.unwrap();
        assert_eq!(items.map(Result::unwrap).collect::<Vec<_>>().await.len(), 10);
        let recipient = other.recipient::<ExpandRequest<Count>>();
        let items = recipient.expand(Count(10, Then::Finish)).await.unwrap();
        assert_eq!(items.map(Result::unwrap).collect::<Vec<_>>().await.len(), 10);
        other.kill();
        other.wait().await.unwrap();
        let mut items = router.expand(Count(10, Then::Forward)).await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Stopped);
        assert_eq!(router.ask(Ping).await.unwrap(), 1);
    });
}
