use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::current;
use crate::base::random::fraction;
use crate::{Actor, ActorRef, Error, Result, SentTo};

/// Retries asks, on the caller's side, that fail with a temporary error.
///
/// It waits for as long as the error says ([`Error::retry_after`]), or else uses exponential backoff with
/// jitter, so that callers that failed together do not retry together. It gives up, with the last error,
/// after the last attempt, or when the wait would exceed the deadline: its own, or that of the message in
/// whose handler it runs.
///
/// It retries only temporary errors ([`Error::is_temporary`]), and only if no handler can have seen the
/// message ([`Error::may_have_been_handled`]): a refusal by an actor behind a
/// [forwarding](crate::Context::forward) router is not retried by default. For idempotent messages,
/// [`when`](Self::when) can allow more errors.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{Delivery, Outbound, System, Verdict};
/// use dactor_core::interceptors::Retry;
///
#[doc = include_str!("backend.md")]
/// # struct Busy(std::sync::atomic::AtomicU32);
/// # impl Outbound for Busy {
/// #     fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
/// #         match self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
/// #             0 | 1 => Verdict::Retry(Duration::from_millis(1)),
/// #             _ => Verdict::Continue,
/// #         }
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// # let system = System::builder("patient").backend(TokioTasks).build()?;
/// # let echo = system.spawn(Echo).await?.outbound(Busy(0.into()));
/// let retry = Retry::default().attempts(5).base(Duration::from_millis(5)).timeout(Duration::from_secs(1));
/// assert_eq!(retry.ask(&echo, || Say(7)).await?, 7); // refused twice
/// // With options, or another call:
/// assert_eq!(retry.run(|| echo.ask(Say(8)).timeout(Duration::from_millis(100))).await?, 8);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Retry {
    attempts: u32,
    base: Duration,
    max: Duration,
    jitter: f64,
    timeout: Option<Duration>,
    when: Arc<dyn Fn(&Error) -> bool + Send + Sync>,
}

impl Default for Retry {
    /// Five attempts; backoff from 10 ms up to one second, shortened by up to half at random.
    fn default() -> Self {
        Self {
            attempts: 5,
            base: Duration::from_millis(10),
            max: Duration::from_secs(1),
            jitter: 0.5,
            timeout: None,
            when: Arc::new(is_safe),
        }
    }
}

impl Retry {
    /// The maximum number of attempts, including the first. At least one.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// The wait after the first attempt.
    pub fn base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The longest wait, unless an error asks for more.
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// The random part of each wait: clamped to `0.0..=1.0`.
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) };
        self
    }

    /// The timeout over all attempts.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Retries these errors instead of the default ones.
    pub fn when(mut self, is_retried: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.when = Arc::new(is_retried);
        self
    }

    /// Asks an actor, with a new message for each attempt.
    ///
    /// # Errors
    ///
    /// The last one.
    pub async fn ask<A: Actor, M: SentTo<A>>(
        &self,
        actor: &ActorRef<A>,
        mut message: impl FnMut() -> M + Send,
    ) -> Result<M::Reply> {
        let until = self.until();
        let ask = || {
            let ask = actor.ask(message());
            match until {
                Some(until) => ask.deadline(until),
                None => ask,
            }
        };
        self.repeat(until, || actor.system().random().fraction(), ask).await
    }

    /// Runs a call until it succeeds. The [`timeout`](Self::timeout) does not interrupt a running call.
    ///
    /// # Errors
    ///
    /// The last one.
    pub async fn run<T, F: Future<Output = Result<T>>>(&self, call: impl FnMut() -> F) -> Result<T> {
        self.repeat(self.until(), fraction, call).await
    }

    async fn repeat<T, F: Future<Output = Result<T>>>(
        &self,
        until: Option<Instant>,
        random: impl Fn() -> f64,
        mut call: impl FnMut() -> F,
    ) -> Result<T> {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if attempt >= self.attempts || !(self.when)(&error) {
                return Err(error);
            }
            let wait = error.retry_after().unwrap_or_else(|| self.backoff(attempt, random()));
            if !ends_before(wait, until.into_iter().chain(current::deadline()).min()) {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    fn until(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// The wait after this attempt; `random` is from 0 to 1.
    fn backoff(&self, attempt: u32, random: f64) -> Duration {
        let doubled = 1_u32.checked_shl(attempt - 1).and_then(|times| self.base.checked_mul(times));
        let wait = doubled.unwrap_or(self.max).min(self.max);
        let cut = Duration::try_from_secs_f64(wait.as_secs_f64() * self.jitter * random);
        wait.saturating_sub(cut.unwrap_or(wait))
    }
}

/// Whether the error is temporary, and a retry cannot repeat what a handler did.
fn is_safe(error: &Error) -> bool {
    error.is_temporary() && !error.may_have_been_handled()
}

/// Whether there is time for another attempt after the wait.
fn ends_before(wait: Duration, deadline: Option<Instant>) -> bool {
    match (Instant::now().checked_add(wait), deadline) {
        (Some(end), Some(deadline)) => end < deadline,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("base", &self.base)
            .field("max", &self.max)
            .field("jitter", &self.jitter)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::interceptors::testbed::{Echo, Fault, Never, Say, system};
    use crate::{Context, Delivery, ErrorKind, Handler, Message, Outbound, Outcome, Overflow, Verdict};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn waits_double_up_to_the_longest() {
        let retry = Retry::default().base(10 * MS).max(50 * MS).jitter(0.5);
        for (attempt, random, wait) in [
            (1, 0.0, 10 * MS),
            (1, 1.0, 5 * MS),
            (2, 0.0, 20 * MS),
            (3, 0.0, 40 * MS),
            (4, 0.0, 50 * MS),
            (4, 0.5, Duration::from_micros(37_500)),
            (33, 0.0, 50 * MS),
            (u32::MAX, 1.0, 25 * MS),
        ] {
            assert_eq!(retry.backoff(attempt, random), wait, "{attempt} {random}");
        }
        assert_eq!(retry.clone().jitter(7.0).backoff(1, 1.0), Duration::ZERO);
        assert_eq!(retry.clone().jitter(f64::NAN).backoff(1, 1.0), 10 * MS);
        assert_eq!(retry.max(Duration::MAX).base(Duration::MAX).jitter(0.0).backoff(9, 0.0), Duration::MAX);
    }

    /// Returns these verdicts, and records when.
    struct Script(Mutex<Vec<Verdict>>, Arc<Mutex<Vec<Duration>>>, Instant);

    impl Outbound for Script {
        fn on_send(&self, _: &mut Delivery<'_>) -> Verdict {
            self.1.lock().unwrap().push(self.2.elapsed());
            self.0.lock().unwrap().pop().unwrap_or(Verdict::Continue)
        }
    }

    async fn scripted(verdicts: &[Verdict]) -> (ActorRef<Echo>, Arc<Mutex<Vec<Duration>>>) {
        let times = Arc::default();
        let script =
            Script(Mutex::new(verdicts.iter().rev().cloned().collect()), Arc::clone(&times), Instant::now());
        (system(|builder| builder).spawn(Echo).await.unwrap().outbound(script), times)
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_as_long_as_the_error_says() {
        let (echo, times) = scripted(&[Verdict::Retry(70 * MS), Verdict::Retry(3000 * MS)]).await;
        assert_eq!(Retry::default().ask(&echo, || Say(1)).await.unwrap(), 1);
        assert_eq!(*times.lock().unwrap(), [Duration::ZERO, 70 * MS, 3070 * MS]);
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_after_the_last_attempt_and_at_once_where_it_is_not_safe() {
        let refusals = vec![Verdict::Retry(MS); 9];
        for (attempts, asked) in [(0, 1), (1, 1), (3, 3)] {
            let (echo, times) = scripted(&refusals).await;
            let error = Retry::default().attempts(attempts).ask(&echo, || Say(1)).await.unwrap_err();
            assert_eq!((error.kind(), times.lock().unwrap().len()), (ErrorKind::RetryLater, asked));
        }
        for verdict in [Verdict::Drop, Verdict::Reject("no".into())] {
            let (echo, times) = scripted(&[verdict]).await;
            assert!(Retry::default().ask(&echo, || Say(1)).await.is_err());
            assert_eq!(times.lock().unwrap().len(), 1);
        }
        let (echo, times) = scripted(&[]).await;
        assert_eq!(Retry::default().ask(&echo, || Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(times.lock().unwrap().len(), 1);
        let anything = Retry::default().jitter(0.0).attempts(3).when(|_| true);
        assert_eq!(anything.ask(&echo, || Fault).await.unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(times.lock().unwrap()[1..], [Duration::ZERO, 10 * MS, 30 * MS]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_mailbox_is_tried_again_until_there_is_room() {
        let echo = system(|builder| builder).spawn(Echo).bounded(1, Overflow::Reject).await.unwrap();
        let held = echo.ask(Never).enqueue().unwrap();
        tokio::task::yield_now().await;
        echo.tell(Say(1)).unwrap();
        let retry = Retry::default().attempts(3).jitter(0.0);
        let start = Instant::now();
        assert_eq!(retry.ask(&echo, || Say(1)).await.unwrap_err().kind(), ErrorKind::MailboxFull);
        assert_eq!(start.elapsed(), 30 * MS);
        drop(held);
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_beyond_its_own_deadline() {
        let (echo, times) = scripted(&vec![Verdict::Retry(40 * MS); 9]).await;
        let start = Instant::now();
        let retry = Retry::default().timeout(100 * MS);
        assert_eq!(retry.ask(&echo, || Say(1)).await.unwrap_err().kind(), ErrorKind::RetryLater);
        assert_eq!(start.elapsed(), 80 * MS, "a third wait would end too late");
        assert_eq!(times.lock().unwrap().len(), 3);
        // An attempt in flight ends at the deadline, too.
        assert_eq!(retry.ask(&echo, || Never).await.unwrap_err().kind(), ErrorKind::RetryLater);
        let (echo, _) = scripted(&[]).await;
        assert_eq!(retry.ask(&echo, || Never).await.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(start.elapsed(), 260 * MS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_ends_with_the_deadline_leaves_no_time() {
        let at = |deadline| ends_before(2 * MS, Some(Instant::now() + deadline));
        assert_eq!([MS, 2 * MS, 3 * MS].map(at), [false, false, true]);
        assert_eq!([2 * MS, Duration::MAX].map(|wait| ends_before(wait, None)), [true, false]);
    }

    struct Relay(ActorRef<Echo>);
    impl Message for Relay {
        type Reply = Duration;
        type Access = crate::Exclusive;
    }

    impl Handler<Relay> for Echo {
        async fn handle(&mut self, Relay(other): Relay, _ctx: &mut Context<Self>) -> Outcome<Duration> {
            let start = Instant::now();
            let refused = Retry::default().ask(&other, || Say(1)).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::RetryLater);
            Ok(start.elapsed())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nor_beyond_that_of_the_message_being_handled() {
        let (echo, _) = scripted(&vec![Verdict::Retry(40 * MS); 9]).await;
        let relay = system(|builder| builder).spawn(Echo).await.unwrap();
        assert_eq!(relay.ask(Relay(echo)).timeout(100 * MS).await.unwrap(), 80 * MS);
    }
}
