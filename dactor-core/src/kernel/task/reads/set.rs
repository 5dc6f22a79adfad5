//! The reads that run at the same time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use smallvec::SmallVec;
use tokio::time::Instant;

use crate::delivery::completion::Finished;
use crate::delivery::envelope::dispatch::RunningRead;

/// As many as run at once by default need no memory beside their own.
const INLINE: usize = 64;

/// The description of a running read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadInfo {
    pub(super) message: &'static str,
    pub(super) interleaved: bool,
    /// Whether it delays the idle timeout when it is done.
    pub(super) counts: bool,
    /// Since when it runs, if it is an event when it runs too long, and was none yet.
    pub(super) watched_since: Option<Instant>,
}

pin_project! {
    /// The place of one read, used by one after the other.
    #[derive(Default)]
    struct Place<'a> {
        #[pin]
        running: Option<RunningRead<'a>>,
        info: Option<ReadInfo>,
    }
}

impl Place<'_> {
    /// Polls the read, if there is one. Returns its description when it is done.
    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Option<(ReadInfo, Finished)> {
        let mut this = self.project();
        let Poll::Ready(finished) = this.running.as_mut().as_pin_mut()?.poll(cx) else { return None };
        this.running.set(None);
        this.info.take().map(|info| (info, finished))
    }
}

pin_project! {
    /// Running reads. All of them are polled whenever one may go on: there are few, and each would need a waker of its own
    /// otherwise.
    #[derive(Default)]
    pub(super) struct ReadSet<'a> {
        // The first is inside: a read that runs alone is not allocated.
        #[pin]
        first: Place<'a>,
        others: SmallVec<[Pin<Box<Place<'a>>>; INLINE]>,
        reads: usize,
        interleaved: usize,
    }
}

impl<'a> ReadSet<'a> {
    /// How many reads run, not counting interleaved ones.
    pub(super) fn reads(&self) -> usize {
        self.reads
    }

    pub(super) fn interleaved(&self) -> usize {
        self.interleaved
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads + self.interleaved == 0
    }

    /// Adds a read and polls it. Returns its description if it is done at once.
    pub(super) fn start(
        self: Pin<&mut Self>,
        running: RunningRead<'a>,
        info: ReadInfo,
        cx: &mut TaskContext<'_>,
    ) -> Option<(ReadInfo, Finished)> {
        let mut this = self.project();
        let place = if this.first.info.is_none() {
            this.first.as_mut()
        } else {
            let free = this.others.iter().position(|place| place.info.is_none());
            let at = free.unwrap_or_else(|| {
                this.others.push(Box::pin(Place::default()));
                this.others.len() - 1
            });
            this.others[at].as_mut()
        };
        let mut place = place;
        let projected = place.as_mut().project();
        let mut slot = projected.running;
        slot.set(Some(running));
        *projected.info = Some(info);
        let counter = if info.interleaved { this.interleaved } else { this.reads };
        *counter += 1;
        let done = place.poll(cx);
        if done.is_some() {
            *counter -= 1;
        }
        done
    }

    /// Polls all reads. Whether any is done.
    pub(super) fn poll_all(
        self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        mut is_done: impl FnMut(ReadInfo, Finished),
    ) -> bool {
        let this = self.project();
        let mut any = false;
        let others = this.others.iter_mut().map(|place| place.as_mut());
        for place in std::iter::once(this.first).chain(others) {
            if let Some((info, finished)) = place.poll(cx) {
                let counter = if info.interleaved { &mut *this.interleaved } else { &mut *this.reads };
                *counter -= 1;
                is_done(info, finished);
                any = true;
            }
        }
        any
    }

    /// Reports the reads that run longer than this, each once. When the next one will, if any.
    pub(super) fn report_slow(
        self: Pin<&mut Self>,
        limit: Duration,
        report: impl Fn(&'static str),
    ) -> Option<Instant> {
        let this = self.project();
        let now = Instant::now();
        let mut next = None;
        let others = this.others.iter_mut().map(|place| place.as_mut());
        for place in std::iter::once(this.first).chain(others) {
            let Some(info) = place.project().info else { continue };
            let Some(since) = info.watched_since else { continue };
            match since.checked_add(limit) {
                Some(due) if due <= now => {
                    info.watched_since = None;
                    report(info.message);
                }
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None => info.watched_since = None,
            }
        }
        next
    }
}
