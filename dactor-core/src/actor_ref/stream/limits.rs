//! Timeouts for the consumer of a stream.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::{Deadline, ErrorKind};

/// The limits that a caller sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    /// For the first item.
    pub(crate) first: Option<Duration>,
    /// Between two items.
    pub(crate) between: Option<Duration>,
    /// For the whole stream.
    pub(crate) whole: Option<Instant>,
    pub(crate) cancel: Option<CancellationToken>,
}

impl Limits {
    /// Starts the limits of a stream that is sent now; `None` without limits.
    pub(crate) fn start(self) -> Option<Box<Watch>> {
        let Self { first, between, whole, cancel } = self;
        if first.is_none() && between.is_none() && whole.is_none() && cancel.is_none() {
            return None;
        }
        let next = first.or(between).map(|wait| Deadline::after(wait).0);
        let mut watch = Watch {
            between,
            whole,
            next,
            which: if first.is_some() { "the first item" } else { "the next item" },
            timer: None,
            cancel: cancel.map(|token| Box::pin(token.cancelled_owned())),
        };
        watch.set_timer();
        Some(Box::new(watch))
    }
}

/// The watch over a stream, which also ends at this time.
pub(crate) fn ending_by(watch: Option<Box<Watch>>, deadline: Option<Instant>) -> Option<Box<Watch>> {
    let Some(deadline) = deadline else { return watch };
    match watch {
        None => Limits { whole: Some(deadline), ..Limits::default() }.start(),
        Some(mut watch) => {
            watch.whole = watch.whole.map_or(Some(deadline), |whole| Some(whole.min(deadline)));
            watch.set_timer();
            Some(watch)
        }
    }
}

/// The running limits of a stream.
pub(crate) struct Watch {
    between: Option<Duration>,
    whole: Option<Instant>,
    /// When the next item is overdue.
    next: Option<Instant>,
    which: &'static str,
    timer: Option<Pin<Box<Sleep>>>,
    cancel: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Watch {
    /// Restarts the item timeout.
    pub(crate) fn item(&mut self) {
        self.next = self.between.map(|wait| Deadline::after(wait).0);
        self.which = "the next item";
        self.set_timer();
    }

    fn set_timer(&mut self) {
        let Some(earliest) = [self.next, self.whole].into_iter().flatten().min() else {
            self.timer = None;
            return;
        };
        match &mut self.timer {
            Some(timer) if timer.deadline() == earliest => {}
            Some(timer) => timer.as_mut().reset(earliest),
            none => *none = Some(Box::pin(tokio::time::sleep_until(earliest))),
        }
    }

    /// Why the consumer gives up: the kind of error, and which limit was reached.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(ErrorKind, &'static str)> {
        if let Some(cancel) = &mut self.cancel
            && cancel.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready((ErrorKind::Cancelled, "the token"));
        }
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        ready!(timer.as_mut().poll(cx));
        let whole = self.whole.is_some_and(|whole| self.next.is_none_or(|next| whole <= next));
        Poll::Ready((ErrorKind::Timeout, if whole { "the whole stream" } else { self.which }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The limit that passes, and after how many milliseconds.
    async fn passes(watch: &mut Watch) -> (&'static str, u128) {
        let begin = Instant::now();
        let (kind, limit) = std::future::poll_fn(|cx| watch.poll(cx)).await;
        assert_eq!(kind, ErrorKind::Timeout);
        (limit, begin.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn each_item_restarts_the_limit_between_items() {
        let limits = Limits { first: Some(2 * SECOND), between: Some(SECOND), ..Limits::default() };
        let mut watch = limits.clone().start().unwrap();
        assert_eq!(passes(&mut watch).await, ("the first item", 2_000));
        let mut watch = limits.start().unwrap();
        for _ in 0..3 {
            tokio::time::advance(SECOND * 9 / 10).await;
            watch.item();
        }
        assert_eq!(passes(&mut watch).await, ("the next item", 1_000));
        let mut watch = Limits { first: Some(SECOND), ..Limits::default() }.start().unwrap();
        watch.item();
        let never = std::future::poll_fn(|cx| watch.poll(cx));
        assert!(tokio::time::timeout(10 * SECOND, never).await.is_err(), "only the first item has a limit");
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_limit_is_named() {
        for (whole, expected) in [
            (1_500, ("the whole stream", 1_500)),
            (2_000, ("the whole stream", 2_000)),
            (2_500, ("the first item", 2_000)),
        ] {
            let whole = Instant::now() + Duration::from_millis(whole);
            let limits = Limits { first: Some(2 * SECOND), ..Limits::default() };
            let mut watch = ending_by(limits.clone().start(), Some(whole)).unwrap();
            assert_eq!(passes(&mut watch).await, expected);
            let whole = Instant::now() + SECOND;
            let limits = Limits { whole: Some(whole + SECOND), ..limits };
            let mut watch = ending_by(limits.start(), Some(whole)).unwrap();
            assert_eq!(passes(&mut watch).await, ("the whole stream", 1_000), "the earlier of two deadlines");
        }
        let mut watch = ending_by(None, Some(Instant::now() + SECOND)).unwrap();
        assert_eq!(passes(&mut watch).await, ("the whole stream", 1_000));
    }
}
