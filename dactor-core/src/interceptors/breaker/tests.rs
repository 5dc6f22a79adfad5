use super::*;
use crate::interceptors::testbed::{Echo, Fault, Never, Numbers, Say, Then, system};
use crate::{ActorRef, ErrorKind, Overflow};

const PAUSE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn every_state_and_every_report() {
    let now = Instant::now();
    let (over, until) = (now - Duration::from_secs(1), now + Duration::from_secs(3));
    let policy = Policy { failures: 2, pause: PAUSE };
    let closed = |failures| State::Closed { failures };
    let open = |until| State::Open { until };
    let half = |probing| State::HalfOpen { probing };
    for (state, admitted, after) in [
        (closed(0), Ok(7), closed(0)),
        (closed(1), Ok(7), closed(1)),
        (open(until), Err(Duration::from_secs(3)), open(until)),
        (open(over), Ok(8), half(true)),
        (open(now), Ok(8), half(true)),
        (half(true), Err(PAUSE), half(true)),
        (half(false), Ok(8), half(true)),
    ] {
        let mut machine = Machine { epoch: 7, state };
        assert_eq!((machine.admit(now, policy), machine.state), (admitted, after), "{state:?}");
    }
    use Report::{Failure, Nothing, Success};
    let again = open(now + PAUSE);
    for (state, report, after, changes) in [
        (closed(1), Success, closed(0), false),
        (closed(0), Failure, closed(1), false),
        (closed(1), Failure, again, true),
        (closed(1), Nothing, closed(1), false),
        (half(true), Success, closed(0), true),
        (half(true), Failure, again, true),
        (half(true), Nothing, half(false), true),
        (open(until), Success, open(until), false),
        (open(until), Failure, open(until), false),
        (open(until), Nothing, open(until), false),
    ] {
        let mut machine = Machine { epoch: 7, state };
        machine.report(6, report, now, policy);
        assert_eq!(machine, Machine { epoch: 7, state }, "an old epoch is ignored: {state:?} {report:?}");
        machine.report(7, report, now, policy);
        assert_eq!(machine, Machine { epoch: 7 + u64::from(changes), state: after }, "{state:?} {report:?}");
    }
}

async fn opened() -> (ActorRef<Echo>, Breaker) {
    let breaker = Breaker::new(2, PAUSE);
    let echo = system(|builder| builder).spawn(Echo).await.unwrap().outbound(breaker.clone());
    for _ in 0..2 {
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    }
    assert_eq!(breaker.state(), BreakerState::Open);
    (echo, breaker)
}

async fn refused(echo: &ActorRef<Echo>) -> Option<Duration> {
    let error = echo.ask(Say(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RetryLater);
    error.retry_after()
}

#[tokio::test(start_paused = true)]
async fn it_opens_and_says_how_long_and_closes_after_a_good_probe() {
    let (echo, breaker) = opened().await;
    assert_eq!(refused(&echo).await, Some(PAUSE));
    assert_eq!(echo.tell(Say(1)).unwrap_err().kind(), ErrorKind::RetryLater);
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(refused(&echo).await, Some(Duration::from_secs(6)));
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    echo.tell(Say(1)).unwrap();
    let probe = echo.ask(Say(2)).enqueue().unwrap();
    refused(&echo).await;
    echo.tell(Say(1)).unwrap();
    assert_eq!((probe.await.unwrap(), breaker.state()), (2, BreakerState::Closed));
    assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(echo.ask(Say(1)).await.unwrap(), 1, "one failure is not two");
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_opens_it_again() {
    let (echo, _) = opened().await;
    tokio::time::advance(PAUSE).await;
    assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(refused(&echo).await, Some(PAUSE));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_or_cancelled_releases_its_place() {
    let (echo, breaker) = opened().await;
    tokio::time::advance(PAUSE).await;
    let probe = echo.ask(Never).enqueue().unwrap();
    refused(&echo).await;
    drop(probe);
    let token = tokio_util::sync::CancellationToken::new();
    let probe = echo.ask(Never).cancel(token.clone()).enqueue().unwrap();
    refused(&echo).await;
    token.cancel();
    assert_eq!(probe.await.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert_eq!((echo.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));
}

/// Refuses the first message.
#[derive(Default)]
struct Refuse(AtomicU64, Option<Duration>);

impl Outbound for Refuse {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        match (self.0.fetch_add(1, Ordering::Relaxed), self.1) {
            (0, Some(delay)) => Verdict::Delay(delay),
            (0, None) => Verdict::Reject("first".into()),
            _ => Verdict::Continue,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_a_later_interceptor_refuses_releases_its_place() {
    let (echo, breaker) = opened().await;
    tokio::time::advance(PAUSE).await;
    let refusing = echo.outbound(Refuse::default());
    assert_eq!(refusing.ask(Say(1)).await.unwrap_err().kind(), ErrorKind::Rejected);
    assert_eq!((refusing.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));

    let (echo, breaker) = opened().await;
    tokio::time::advance(PAUSE).await;
    let delaying = echo.outbound(Refuse(0.into(), Some(PAUSE)));
    assert_eq!(delaying.ask(Say(1)).enqueue().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!((delaying.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));

    // Dropped before it was sent.
    let (echo, breaker) = opened().await;
    tokio::time::advance(PAUSE).await;
    let delaying = echo.outbound(Refuse(0.into(), Some(PAUSE)));
    let waiting = tokio::time::timeout(PAUSE / 2, delaying.ask(Say(1))).await;
    assert!(waiting.is_err(), "it is being delayed");
    assert_eq!((delaying.ask(Say(1)).await.unwrap(), breaker.state()), (1, BreakerState::Closed));
}

#[tokio::test(start_paused = true)]
async fn what_is_counted_can_be_chosen_and_two_breakers_do_not_mix() {
    let (strict, lax) = (Breaker::new(1, PAUSE), Breaker::new(1, PAUSE));
    let lax = lax.fails_on(|error| error.kind() == ErrorKind::Timeout);
    let echo = system(|builder| builder.outbound(lax.clone())).spawn(Echo).await.unwrap();
    let echo = echo.outbound(strict.clone());
    assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!((strict.state(), lax.state()), (BreakerState::Open, BreakerState::Closed));
    tokio::time::advance(PAUSE).await;
    let slow = echo.ask(Never).timeout(Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(slow.kind(), ErrorKind::Timeout);
    assert_eq!((strict.state(), lax.state()), (BreakerState::Open, BreakerState::Open));
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_it_opened_does_not_close_it() {
    let breaker = Breaker::new(1, PAUSE);
    let echo = system(|builder| builder).spawn(Echo).bounded(8, Overflow::Reject).await.unwrap();
    let echo = echo.outbound(breaker.clone());
    let good = echo.ask(Say(1)).enqueue().unwrap();
    let bad = echo.ask(Fault).enqueue().unwrap();
    let dropped = echo.ask(Never).enqueue().unwrap();
    assert_eq!(bad.await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!((good.await.unwrap(), breaker.state()), (1, BreakerState::Open));
    drop(dropped);
    assert_eq!(refused(&echo).await, Some(PAUSE));
}

/// Takes all items.
async fn streamed(echo: &ActorRef<Echo>, then: Then) -> Option<ErrorKind> {
    let mut items = echo.expand(Numbers(3, then)).await.unwrap();
    loop {
        match items.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Some(error.kind()),
            None => return None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_with_an_error_is_a_failure() {
    let breaker = Breaker::new(2, PAUSE);
    let echo = system(|builder| builder).spawn(Echo).await.unwrap().outbound(breaker.clone());
    assert_eq!(streamed(&echo, Then::Fail).await, Some(ErrorKind::Failed));
    assert_eq!(streamed(&echo, Then::Finish).await, None, "a success in between");
    assert_eq!(streamed(&echo, Then::Fail).await, Some(ErrorKind::Failed));
    // Dropped in the middle: neither.
    let mut items = echo.expand(Numbers(3, Then::Beside)).await.unwrap();
    assert_eq!(items.next().await.unwrap().unwrap(), 0);
    drop(items);
    assert_eq!(breaker.state(), BreakerState::Closed);
    // The handler returns, and the stream fails later.
    let mut items = echo.expand(Numbers(1, Then::Beside)).item_within(PAUSE).await.unwrap();
    assert_eq!(items.next().await.unwrap().unwrap(), 0);
    assert_eq!(items.next().await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(breaker.state(), BreakerState::Open);
    assert_eq!(echo.expand(Numbers(1, Then::Finish)).await.unwrap_err().kind(), ErrorKind::RetryLater);
    tokio::time::advance(PAUSE).await;
    assert_eq!(streamed(&echo, Then::Finish).await, None, "the probe");
    assert_eq!(breaker.state(), BreakerState::Closed);
}
