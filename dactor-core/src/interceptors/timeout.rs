use std::time::Duration;

use crate::{Deadline, Delivery, Mode, Outbound, Verdict};

/// A default timeout for asks without a limit of their own.
///
/// An ask with a `timeout` or a `deadline` keeps it, even a longer one. The deadline of the message in whose
/// handler the ask is made still counts if it is earlier. The deadline is a header, so later interceptors see
/// it.
///
/// A `reduce` request is an ask like others. An `expand` or `transform` request is left alone, because a stream may be meant to go on;
/// with [`streams`](Self::streams) the time limits whole streams, too.
///
/// ```
/// # use std::time::Duration;
/// # use dactor_core::{ErrorKind, System};
/// use dactor_core::interceptors::DefaultTimeout;
///
#[doc = include_str!("backend.md")]
/// # struct Sleep;
/// # impl Message for Sleep { type Reply = (); type Access = dactor_core::Exclusive; }
/// # impl Handler<Sleep> for Echo {
/// #     async fn handle(&mut self, _: Sleep, _ctx: &mut Context<Self>) -> Outcome<()> { std::future::pending().await }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dactor_core::Result<()> {
/// let limit = DefaultTimeout::new(Duration::from_millis(20));
/// let system = System::builder("impatient").backend(TokioTasks).outbound(limit).build()?;
/// let echo = system.spawn(Echo).await?;
/// assert_eq!(echo.ask(Sleep).await.unwrap_err().kind(), ErrorKind::Timeout);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DefaultTimeout {
    timeout: Duration,
    streams: bool,
}

impl DefaultTimeout {
    /// Sets the default timeout.
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, streams: false }
    }

    /// Limits the streams of `expand` and `transform` requests as well, from the request to the end.
    #[must_use]
    pub fn streams(self) -> Self {
        Self { streams: true, ..self }
    }

    fn limits(self, mode: Mode) -> bool {
        match mode {
            Mode::Expand | Mode::Transform => self.streams,
            mode => mode.has_caller(),
        }
    }
}

impl Outbound for DefaultTimeout {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        if self.limits(delivery.mode()) && delivery.headers().get::<Deadline>().is_none() {
            delivery.headers_mut().insert(Deadline::after(self.timeout));
        }
        Verdict::Continue
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::ErrorKind;
    use crate::interceptors::testbed::{Echo, Fault, Nested, Never, Numbers, Say, Sum, Then, system};

    const DEFAULT: Duration = Duration::from_secs(5);

    /// How long an unanswered ask waits.
    async fn waited(ask: impl Future<Output = crate::Result<u64>>) -> Duration {
        let start = Instant::now();
        assert_eq!(ask.await.unwrap_err().kind(), ErrorKind::Timeout);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_without_a_limit_gets_one_and_others_keep_theirs() {
        let system = system(|builder| builder.outbound(DefaultTimeout::new(DEFAULT)));
        let echo = system.spawn(Echo).await.unwrap();
        assert_eq!(waited(echo.ask(Never)).await, DEFAULT);
        echo.kill();
        let second = Duration::from_secs(1);
        for own in [second, 60 * second] {
            let echo = system.spawn(Echo).await.unwrap();
            assert_eq!(waited(echo.ask(Never).timeout(own)).await, own);
            let echo = system.spawn(Echo).await.unwrap();
            assert_eq!(waited(echo.ask(Never).deadline(Instant::now() + own)).await, own);
            let echo = system.spawn(Echo).await.unwrap();
            assert_eq!(waited(echo.ask(Never).header(Deadline::after(own))).await, own);
        }
        let echo = system.spawn(Echo).await.unwrap();
        assert_eq!(waited(echo.ask(Never).enqueue().unwrap()).await, DEFAULT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_limited_if_that_is_wanted_and_an_upload_is() {
        for streams in [false, true] {
            let limit = DefaultTimeout::new(DEFAULT);
            let limit = if streams { limit.streams() } else { limit };
            let echo = system(|builder| builder.outbound(limit)).spawn(Echo).await.unwrap();
            let mut items = echo.expand(Numbers(1, Then::Beside)).await.unwrap();
            assert_eq!(items.next().await.unwrap().unwrap(), 0);
            let start = Instant::now();
            let next = tokio::time::timeout(2 * DEFAULT, items.next()).await;
            let ended = next.ok().map(|next| next.unwrap().unwrap_err().kind());
            let waited = if streams { DEFAULT } else { 2 * DEFAULT };
            assert_eq!((ended, start.elapsed()), (streams.then_some(ErrorKind::Timeout), waited));
            drop(items);
            let upload = echo.reduce(Sum, futures_util::stream::pending());
            assert_eq!(self::waited(upload.into_future()).await, DEFAULT);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_handler_knows_and_what_it_asks_is_bound_by_it() {
        let system = system(|builder| builder.outbound(DefaultTimeout::new(DEFAULT)));
        let inner = system.spawn(Echo).await.unwrap();
        let outer = system.spawn(Echo).await.unwrap();
        assert_eq!(
            waited(outer.ask(Nested(inner)).timeout(Duration::from_secs(2))).await,
            Duration::from_secs(2)
        );
        outer.kill();
        let echo = system.spawn(Echo).await.unwrap();
        assert_eq!(echo.ask(Say(3)).await.unwrap(), 3, "an ask that is answered is not affected");
        assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_in_the_past_is_not_sent_and_those_before_it_are_told() {
        use std::sync::Mutex;
        static ENDS: Mutex<Vec<ErrorKind>> = Mutex::new(Vec::new());
        struct Ends;
        impl Outbound for Ends {
            fn on_reply(&self, completion: &mut crate::Completion<'_>) {
                ENDS.lock().unwrap().extend(completion.error().map(crate::Error::kind));
            }
        }
        let system = system(|builder| builder.outbound(Ends).outbound(DefaultTimeout::new(Duration::ZERO)));
        let echo = system.spawn(Echo).await.unwrap();
        assert_eq!(echo.ask(Say(1)).await.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(*ENDS.lock().unwrap(), [ErrorKind::Timeout]);
        assert!(echo.tell(Say(1)).is_ok(), "a tell has no timeout");
    }
}
