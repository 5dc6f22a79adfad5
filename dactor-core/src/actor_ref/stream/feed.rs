//! Feeds the caller's stream into the input of a handler.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;

use crate::base::panic::{contain, discard};
use crate::delivery::channel::{End, Tx};
use crate::interceptor::api::Outbound;
use crate::interceptor::items::ItemHooks;
use crate::{Error, ErrorKind, StreamOutcome};

/// How many items are taken from the caller's stream before they are sent together.
const GATHERED: usize = 16;

/// How many batches one poll sends. Without a bound, a stream that is always ready, with a consumer on
/// another thread that always has room, would starve the caller's timeout.
const MOST_ROUNDS: usize = 64;

/// Drives the caller's stream as far as there is room. It is polled by the future or stream that the caller
/// awaits: it needs no task, and stops when the caller gives up.
pub(crate) struct Feed<S: Stream> {
    /// `None` once it has ended.
    stream: Option<Pin<Box<S>>>,
    /// `None` once the input has ended or its consumer is gone.
    tx: Option<Tx<S::Item>>,
    gathered: VecDeque<S::Item>,
    /// How the stream ended.
    end: Option<End>,
    request: &'static str,
    /// If interceptors see its items.
    hooks: Option<Box<ItemHooks<dyn Outbound>>>,
}

impl<S: Stream> Feed<S> {
    pub(crate) fn new(stream: S, tx: Tx<S::Item>, request: &'static str) -> Self {
        Self {
            stream: Some(Box::pin(stream)),
            tx: Some(tx),
            gathered: VecDeque::new(),
            end: None,
            request,
            hooks: None,
        }
    }

    /// Lets interceptors see its items.
    pub(crate) fn intercept(&mut self, hooks: Option<Box<ItemHooks<dyn Outbound>>>) {
        self.hooks = hooks;
    }

    /// The actor has ended the output with this error, and ends the input with the same error: whichever of the two
    /// sides comes first.
    pub(crate) fn interrupt(&mut self, error: &Error) {
        if let Some(tx) = &self.tx {
            let _ = tx.end(End::Failed(error.clone()));
        }
        self.stop();
    }

    /// Takes no more items.
    pub(crate) fn stop(&mut self) {
        self.tx = None;
        self.hooks = None;
        discard(self.stream.take());
        self.gathered.drain(..).for_each(discard);
    }
}

impl<S: Stream> Feed<S>
where
    S::Item: Send + 'static,
{
    /// Sends as much as there is room for, and registers the waker for the rest.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        for _ in 0..MOST_ROUNDS {
            if self.tx.is_none() {
                return;
            }
            let waits = self.gather(cx);
            let Some(tx) = &self.tx else { return };
            match tx.poll_send_all(&mut self.gathered, cx) {
                Poll::Pending => return,
                // The handler does not want the rest.
                Poll::Ready(Err(_)) => return self.stop(),
                Poll::Ready(Ok(())) => {}
            }
            if let Some(end) = self.end.take() {
                if let Some(mut hooks) = self.hooks.take() {
                    hooks.end(match &end {
                        End::Failed(error) => StreamOutcome::Failed(error),
                        _ => StreamOutcome::Finished,
                    });
                }
                let _ = tx.end(end);
                return self.stop();
            }
            if waits {
                return;
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Takes the items that are ready. `true` when the stream is pending.
    fn gather(&mut self, cx: &mut Context<'_>) -> bool {
        while self.gathered.len() < GATHERED
            && let Some(stream) = &mut self.stream
        {
            let end = match contain(|| stream.as_mut().poll_next(cx)) {
                Ok(Poll::Ready(Some(item))) => {
                    match self.hooks.as_mut().map_or(Ok(()), |hooks| hooks.see(&item)) {
                        Ok(()) => {
                            self.gathered.push_back(item);
                            continue;
                        }
                        Err(refused) => {
                            discard(item);
                            End::Failed(refused)
                        }
                    }
                }
                Ok(Poll::Pending) => return true,
                Ok(Poll::Ready(None)) => End::Finished,
                Err(panic) => {
                    let error = Error::new(ErrorKind::Panicked).with("message", self.request);
                    End::Failed(error.with("in", "the input stream").because(panic))
                }
            };
            self.end = Some(end);
            discard(self.stream.take());
        }
        false
    }
}

impl<S: Stream> Drop for Feed<S> {
    fn drop(&mut self) {
        self.stop();
    }
}
