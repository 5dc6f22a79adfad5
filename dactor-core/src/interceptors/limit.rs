mod ledger;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::Quota;
use governor::nanos::Nanos;
use tokio::time::Instant;

use self::ledger::{Charge, Ledger};
use crate::{Completion, Delivery, Header, Headers, Inbound, Outbound, Verdict};

/// A rate limit, by [governor](https://docs.rs/governor) (leaky bucket, GCRA).
///
/// Excess messages are refused, with [`RetryLater`](crate::ErrorKind::RetryLater) and the time to wait; or,
/// with [`delayed`](Self::delayed), wait in FIFO order. Clones share one limit. As an [`Inbound`] it limits
/// the messages that actors handle, as an [`Outbound`] the messages that are sent.
///
/// A stream request counts as one message. Its items do not count: they are limited by the buffer of the stream.
///
/// A message that does not get through is refunded: withdrawn while it waits, or that a later
/// interceptor or the mailbox refuses. Messages behind it in line keep their times.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{ErrorKind, System};
/// use dactor_core::interceptors::RateLimit;
///
#[doc = include_str!("backend.md")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// # let system = System::builder("slow").backend(TokioTasks).build()?;
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
    id: u64,
    start: Instant,
    quota: Quota,
    ledger: Mutex<Ledger>,
}

impl RateLimit {
    /// This many messages per period, with bursts up to the same number unless [`burst`](Self::burst) sets
    /// another.
    ///
    /// # Panics
    ///
    /// When `messages` or `period` is zero.
    #[must_use]
    pub fn new(messages: u32, period: Duration) -> Self {
        let messages = NonZeroU32::new(messages).expect("a rate limit needs at least one message");
        let quota =
            Quota::with_period(period / messages.get()).expect("a rate limit needs a period above zero");
        Self::of(quota.allow_burst(messages))
    }

    /// The maximum burst.
    ///
    /// # Panics
    ///
    /// When it is zero.
    #[must_use]
    pub fn burst(self, messages: u32) -> Self {
        let messages = NonZeroU32::new(messages).expect("a burst needs at least one message");
        Self { delays: self.delays, ..Self::of(self.inner.quota.allow_burst(messages)) }
    }

    /// Delays excess messages, in FIFO order, instead of refusing them. An actor handles no other message
    /// meanwhile; of senders, only `send` and `ask` can wait.
    #[must_use]
    pub fn delayed(mut self) -> Self {
        self.delays = true;
        self
    }

    fn of(quota: Quota) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let ledger = Mutex::new(Ledger::new(quota));
        Self { inner: Arc::new(Inner { id, start: Instant::now(), quota, ledger }), delays: false }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.inner.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judge(&self, headers: &mut Headers) -> Verdict {
        let now = Nanos::from(self.inner.start.elapsed());
        let charged = self.ledger().charge(now, self.delays);
        let mut charges = headers.remove::<Charges>().unwrap_or_default();
        // From an earlier send of the same message, when it is forwarded.
        charges.0.retain(|(limit, _)| *limit != self.inner.id);
        let verdict = match charged {
            Ok(Charge { id, wait }) => {
                charges.0.push((self.inner.id, id));
                if wait.is_zero() { Verdict::Continue } else { Verdict::Delay(wait) }
            }
            Err(wait) => Verdict::Retry(wait),
        };
        if !charges.0.is_empty() {
            headers.insert(charges);
        }
        verdict
    }

    /// Refunds a message that did not get through.
    fn conclude(&self, completion: &Completion<'_>) {
        if completion.got_through() {
            return;
        }
        let Some(Charges(charges)) = completion.headers().get() else { return };
        if let Some((_, charge)) = charges.iter().find(|(limit, _)| *limit == self.inner.id) {
            self.ledger().refund(*charge);
        }
    }
}

impl Inbound for RateLimit {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.judge(delivery.headers_mut())
    }

    fn on_complete(&self, completion: &mut Completion<'_>) {
        self.conclude(completion);
    }
}

impl Outbound for RateLimit {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.judge(delivery.headers_mut())
    }

    fn on_reply(&self, completion: &mut Completion<'_>) {
        self.conclude(completion);
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("quota", &self.inner.quota).field("delays", &self.delays).finish()
    }
}

/// The limits that charged a message, and the id of each charge.
#[derive(Debug, Clone, Default)]
struct Charges(Vec<(u64, u64)>);

impl Header for Charges {
    const NAME: &'static str = "rate-limit-charges";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::interceptors::testbed::{Echo, Numbers, Say, Then, system};

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
            assert_eq!(limit.judge(&mut Headers::default()), verdict);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_request_counts_as_one_message() {
        for inbound in [false, true] {
            let limit = RateLimit::new(2, 1000 * MS);
            let spawn = system(|builder| builder).spawn(Echo);
            let echo = if inbound {
                spawn.inbound(limit).await.unwrap()
            } else {
                spawn.await.unwrap().outbound(limit)
            };
            for _ in 0..2 {
                let items = echo.expand(Numbers(100, Then::Finish)).await.unwrap();
                assert_eq!(futures_util::StreamExt::count(items).await, 100, "inbound {inbound}");
            }
            let refused = match echo.expand(Numbers(1, Then::Finish)).await {
                Ok(mut items) => items.next().await.unwrap().unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(refused.kind(), ErrorKind::RetryLater, "inbound {inbound}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_messages_keep_the_rate() {
        let limit = RateLimit::new(10, 1000 * MS).delayed().burst(1);
        let waits: Vec<_> = (0..4).map(|_| limit.judge(&mut Headers::default())).collect();
        assert_eq!(
            waits,
            [Verdict::Continue, Verdict::Delay(100 * MS), Verdict::Delay(200 * MS), Verdict::Delay(300 * MS)]
        );
        tokio::time::advance(250 * MS).await;
        assert_eq!(limit.judge(&mut Headers::default()), Verdict::Delay(150 * MS));
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
        // A tokio timer is at most a millisecond late.
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

    /// How long an ask is delayed.
    async fn turn(echo: &crate::ActorRef<Echo>) -> Duration {
        let start = Instant::now();
        echo.ask(Say(0)).await.unwrap();
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_sent_is_not_charged() {
        let (system, slow) = (system(|builder| builder), RateLimit::new(1, 1000 * MS).delayed());
        let echo = system.spawn(Echo).await.unwrap().outbound(slow.clone());
        assert_eq!(turn(&echo).await, Duration::ZERO);
        // Withdrawn while they wait, in any order.
        let asks = (0..100).map(|_| {
            tokio::spawn({
                let echo = echo.clone();
                async move { echo.ask(Say(1)).timeout(10 * MS).await }
            })
        });
        for ask in asks.collect::<Vec<_>>() {
            assert_eq!(ask.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        }
        let dropped = tokio::time::timeout(5 * MS, echo.send(Say(2))).await;
        assert!(dropped.is_err());
        // A sender that cannot wait.
        assert_eq!(echo.tell(Say(3)).unwrap_err().kind(), ErrorKind::Unsupported);
        let waited = turn(&echo).await;
        assert!(waited <= 1000 * MS, "{waited:?}");
        // Refused by a later interceptor, and by the mailbox.
        struct No;
        impl Outbound for No {
            fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
                Verdict::Drop
            }
        }
        tokio::time::advance(5000 * MS).await;
        assert_eq!(echo.outbound(No).tell(Say(4)).unwrap_err().kind(), ErrorKind::Dropped);
        let ended = system.spawn(Echo).await.unwrap().outbound(slow);
        ended.kill();
        ended.wait().await.unwrap();
        assert!(
            ended.tell(Say(5)).is_err()
                && ended.ask(Say(5)).await.is_err()
                && ended.send(Say(5)).await.is_err()
        );
        assert_eq!(turn(&echo).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_handled_is_not_charged() {
        let (system, slow) = (system(|builder| builder), RateLimit::new(1, 1000 * MS).delayed());
        let echo = system.spawn(Echo).inbound(slow).await.unwrap();
        assert_eq!(turn(&echo).await, Duration::ZERO);
        for _ in 0..10 {
            assert_eq!(echo.ask(Say(1)).timeout(10 * MS).await.unwrap_err().kind(), ErrorKind::Timeout);
        }
        let waited = turn(&echo).await;
        assert!(waited <= 1000 * MS, "{waited:?}");
    }

    #[test]
    #[should_panic(expected = "at least one message")]
    fn nothing_at_all_is_no_rate() {
        let _ = RateLimit::new(0, MS);
    }
}
