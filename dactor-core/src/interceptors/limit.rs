use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use crate::{Delivery, Inbound, Outbound, Verdict};

/// Lets only so many messages pass in a time, by [governor](https://docs.rs/governor): a bucket that leaks steadily.
///
/// A message too many is refused, with [`RetryLater`](crate::ErrorKind::RetryLater) and the time after which it would
/// pass; or, with [`delayed`](Self::delayed), waits its turn. Clones are one limit. As an [`Inbound`] it limits what
/// actors handle, as an [`Outbound`] what is sent.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{ErrorKind, System};
/// use dactor_core::interceptors::RateLimit;
///
#[doc = include_str!("backend.md")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// # let system = System::builder("slow").backend(Bare).build()?;
/// // Two at once, and then one every 30 ms.
/// let limit = RateLimit::new(2, Duration::from_millis(60));
/// let echo = system.spawn(Echo).await?.outbound(limit);
/// assert_eq!(echo.ask(Say(1)).await? + echo.ask(Say(2)).await?, 3);
/// let refused = echo.ask(Say(3)).await.unwrap_err();
/// assert_eq!(refused.kind(), ErrorKind::RetryLater);
/// tokio::time::sleep(refused.retry_after().unwrap()).await;
/// assert_eq!(echo.ask(Say(3)).await?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RateLimit {
    inner: Arc<Inner>,
    delays: bool,
}

struct Inner {
    start: Instant,
    /// The time that the limiter sees. Set and read under the lock.
    time: Time,
    limiter: Mutex<Limiter>,
    quota: Quota,
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Time, NoOpMiddleware<Nanos>>;

impl RateLimit {
    /// This many messages in a period; as many may come at once, unless [`burst`](Self::burst) says otherwise.
    ///
    /// # Panics
    ///
    /// When it could never let a message pass, or would let all: `messages` or `period` is zero.
    #[must_use]
    pub fn new(messages: u32, period: Duration) -> Self {
        let messages = NonZeroU32::new(messages).expect("a rate of at least one message");
        let quota = Quota::with_period(period / messages.get()).expect("a period of some time");
        Self::of(quota.allow_burst(messages))
    }

    /// How many may come at once.
    ///
    /// # Panics
    ///
    /// When it is zero.
    #[must_use]
    pub fn burst(self, messages: u32) -> Self {
        let messages = NonZeroU32::new(messages).expect("a burst of at least one message");
        Self { delays: self.delays, ..Self::of(self.inner.quota.allow_burst(messages)) }
    }

    /// Lets a message too many wait until it may pass, in the order in which they came, instead of refusing it. An
    /// actor handles nothing else meanwhile; of senders, only `send` and `ask` can wait.
    #[must_use]
    pub fn delayed(mut self) -> Self {
        self.delays = true;
        self
    }

    fn of(quota: Quota) -> Self {
        let time = Time::default();
        let limiter = Mutex::new(RateLimiter::direct_with_clock(quota, time.clone()));
        Self { inner: Arc::new(Inner { start: Instant::now(), time, limiter, quota }), delays: false }
    }

    fn judge(&self) -> Verdict {
        let Inner { start, time, limiter, .. } = &*self.inner;
        let limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Nanos::from(start.elapsed());
        time.set(now);
        let Err(too_many) = limiter.check() else { return Verdict::Continue };
        let wait = too_many.wait_time_from(now);
        if !self.delays {
            return Verdict::Retry(wait);
        }
        // Taken in advance: whoever comes meanwhile waits for the one after it.
        time.set(too_many.earliest_possible());
        match limiter.check() {
            Ok(()) => Verdict::Delay(wait),
            Err(_) => Verdict::Retry(wait),
        }
    }
}

impl Inbound for RateLimit {
    fn on_receive(&self, _: &mut Delivery<'_>) -> Verdict {
        self.judge()
    }
}

impl Outbound for RateLimit {
    fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
        self.judge()
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("quota", &self.inner.quota).field("delays", &self.delays).finish()
    }
}

/// A clock that shows what it is set to: tokio's time, which tests can drive, or a time to come.
#[derive(Debug, Clone, Default)]
struct Time(Arc<AtomicU64>);

impl Time {
    fn set(&self, time: Nanos) {
        self.0.store(time.as_u64(), Ordering::Relaxed);
    }
}

impl Clock for Time {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.load(Ordering::Relaxed).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::interceptors::testbed::{Echo, Say, system};

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn a_message_too_many_is_told_when_to_come_back() {
        let limit = RateLimit::new(10, 1000 * MS).burst(2);
        for (advance, verdict) in [
            (0, Verdict::Continue),
            (0, Verdict::Continue),
            (0, Verdict::Retry(100 * MS)),
            (40, Verdict::Retry(60 * MS)),
            (60, Verdict::Continue),
            (0, Verdict::Retry(100 * MS)),
            (5000, Verdict::Continue),
            (0, Verdict::Continue),
            (0, Verdict::Retry(100 * MS)),
        ] {
            tokio::time::advance(advance * MS).await;
            assert_eq!(limit.judge(), verdict);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_messages_keep_the_rate() {
        let limit = RateLimit::new(10, 1000 * MS).delayed().burst(1);
        let waits: Vec<_> = (0..4).map(|_| limit.judge()).collect();
        assert_eq!(
            waits,
            [Verdict::Continue, Verdict::Delay(100 * MS), Verdict::Delay(200 * MS), Verdict::Delay(300 * MS)]
        );
        tokio::time::advance(250 * MS).await;
        assert_eq!(limit.judge(), Verdict::Delay(150 * MS));
    }

    #[tokio::test(start_paused = true)]
    async fn an_actor_works_at_the_rate_and_clones_share_it() {
        let limit = RateLimit::new(10, 1000 * MS).burst(1).delayed();
        let system = system(|builder| builder);
        let one = system.spawn(Echo).inbound(limit.clone()).await.unwrap();
        let other = system.spawn(Echo).inbound(limit).await.unwrap();
        let start = Instant::now();
        for number in 0..3 {
            assert_eq!(one.ask(Say(number)).await.unwrap(), number);
            assert_eq!(other.ask(Say(number)).await.unwrap(), number);
        }
        // A timer of tokio's is at most a millisecond late.
        let elapsed = start.elapsed();
        assert!((500 * MS..=506 * MS).contains(&elapsed), "{elapsed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_cannot_wait_is_told() {
        let system = system(|builder| builder);
        let limit = RateLimit::new(1, 1000 * MS);
        let echo = system.spawn(Echo).await.unwrap();
        let delayed = echo.outbound(limit.clone().delayed());
        echo.outbound(limit).tell(Say(1)).unwrap();
        assert_eq!(delayed.tell(Say(2)).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(delayed.ask(Say(3)).await.unwrap(), 3);
    }

    #[test]
    #[should_panic(expected = "at least one message")]
    fn nothing_at_all_is_no_rate() {
        let _ = RateLimit::new(0, MS);
    }
}
