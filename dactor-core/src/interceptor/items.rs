//! The interceptors of one stream, on one side and in one direction.

use std::any::Any;
use std::sync::Arc;

use crate::base::label::Labelled;
use crate::base::panic::contain;
use crate::interceptor::api::{About, Inbound, Outbound};
use crate::interceptor::chain::{Named, broken, error, name};
use crate::interceptor::stream::{Direction, ItemVerdict, StreamEnd, StreamItem, StreamOutcome};
use crate::message::mode::Mode;
use crate::{ErrorKind, Headers, Pid, Result};

/// An interceptor of either kind, as the items of a stream see it.
pub(crate) trait SeesItems: Named {
    fn item(&self, item: &StreamItem<'_>) -> ItemVerdict;
    fn ended(&self, end: &StreamEnd<'_>);
}

impl SeesItems for dyn Inbound {
    fn item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        self.on_item(item)
    }

    fn ended(&self, end: &StreamEnd<'_>) {
        self.on_stream_end(end);
    }
}

impl SeesItems for dyn Outbound {
    fn item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        self.on_item(item)
    }

    fn ended(&self, end: &StreamEnd<'_>) {
        self.on_stream_end(end);
    }
}

/// A stream that interceptors see. Made where the request is admitted; they see its end once, also when it is dropped.
pub(crate) struct ItemHooks<I: SeesItems + ?Sized> {
    pub(crate) chain: Arc<[Arc<I>]>,
    pub(crate) target: Arc<dyn Labelled>,
    pub(crate) message: &'static str,
    pub(crate) mode: Mode,
    pub(crate) sender: Option<Pid>,
    pub(crate) headers: Headers,
    pub(crate) direction: Direction,
    /// That passed.
    pub(crate) items: u64,
    /// Its handler, or its caller, has the stream, and the interceptors have not seen its end.
    pub(crate) open: bool,
}

impl<I: SeesItems + ?Sized> ItemHooks<I> {
    fn about(&self) -> About<'_> {
        let Self { target, message, mode, sender, headers, .. } = self;
        About { target: &**target, message, mode: *mode, sender: *sender, behind: 0, headers }
    }

    /// Its handler, or its caller, has the stream from here on.
    pub(crate) fn begin(&mut self) {
        self.open = true;
    }

    /// Shows an item to the interceptors.
    ///
    /// # Errors
    ///
    /// When one of them refuses it or panics: the stream is to end with this error.
    #[cold]
    pub(crate) fn see(&mut self, item: &(dyn Any + Send)) -> Result<()> {
        let about = self.about();
        let seen = StreamItem { about, direction: self.direction, index: self.items, item };
        for interceptor in &*self.chain {
            let refused = match contain(|| interceptor.item(&seen)) {
                Ok(ItemVerdict::Continue) => continue,
                Ok(ItemVerdict::Reject(reason)) => error(&about, ErrorKind::Rejected).with("reason", reason),
                Err(panic) => broken(&about, panic),
            };
            return Err(refused.with("interceptor", name(&**interceptor)).perhaps_handled());
        }
        self.items += 1;
        Ok(())
    }

    /// Shows them the end, unless they have seen it.
    pub(crate) fn end(&mut self, outcome: StreamOutcome<'_>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let end = StreamEnd { about: self.about(), direction: self.direction, items: self.items, outcome };
        for interceptor in &*self.chain {
            if let Err(panic) = contain(|| interceptor.ended(&end)) {
                let (actor, interceptor) = (self.target.label(), name(&**interceptor));
                tracing::warn!(actor, interceptor, %panic, "an interceptor panicked at the end of a stream");
            }
        }
    }
}

impl<I: SeesItems + ?Sized> Drop for ItemHooks<I> {
    fn drop(&mut self) {
        self.end(StreamOutcome::Dropped);
        if !self.headers.is_empty() {
            crate::base::panic::discard(std::mem::take(&mut self.headers));
        }
    }
}
