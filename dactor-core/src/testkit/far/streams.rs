//! The streams of requests that travel over a link.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::conditions::lock;
use super::side::Side;
use crate::spi::{FarStreams, ItemSink, ItemSource};
use crate::wire::scope::enter;
use crate::wire::{Body, Carrier, Frame, Party, encode_error};
use crate::{Error, Result};

/// For how many items a stream has room at the receiver.
pub(super) const WINDOW: usize = 32;

/// The streams at one end: by what this end is in the request, and by its correlation id.
#[derive(Default)]
pub(super) struct Streams {
    leaving: BTreeMap<Key, Leaving>,
    coming: BTreeMap<Key, Arc<Coming>>,
}

/// The correlation id, and whether this end is the caller.
type Key = (u64, bool);

fn key(role: Party, correlation: u64) -> Key {
    (correlation, role == Party::Caller)
}

struct Leaving {
    credit: Arc<Semaphore>,
    pump: AbortHandle,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

pub(super) struct Coming {
    state: Mutex<Receiving>,
    room: Mutex<Option<AbortHandle>>,
}

struct Receiving {
    sink: Box<dyn ItemSink>,
    /// How many items the sender may still send.
    granted: usize,
}

impl Drop for Coming {
    fn drop(&mut self) {
        lock(&self.room).iter().for_each(AbortHandle::abort);
    }
}

impl Streams {
    /// Ends all of them.
    pub(super) fn fail(self, error: &Error) {
        for coming in self.coming.values() {
            lock(&coming.state).sink.end(Err(error.clone()));
        }
    }
}

fn other(role: Party) -> Party {
    match role {
        Party::Caller => Party::Callee,
        Party::Callee => Party::Caller,
    }
}

impl Side {
    /// Knows the streams of a request, of which this end is the caller or the callee. Items that leave wait for credit, which
    /// comes after the request has; the stream that comes, if there is one, is to be [opened](Self::open_streams).
    pub(super) fn add_streams(
        &self,
        role: Party,
        correlation: u64,
        streams: FarStreams,
    ) -> Option<Arc<Coming>> {
        if let Some(source) = streams.leaving {
            let credit = Arc::new(Semaphore::new(0));
            let pump = self.clone().pump(role, correlation, source, credit.clone());
            let pump = self.shared.runtime.spawn(pump).abort_handle();
            lock(&self.state().streams).leaving.insert(key(role, correlation), Leaving { credit, pump });
        }
        let state = Mutex::new(Receiving { sink: streams.coming?, granted: 0 });
        let coming = Arc::new(Coming { state, room: Mutex::default() });
        lock(&self.state().streams).coming.insert(key(role, correlation), coming.clone());
        Some(coming)
    }

    /// Gives credit for the stream that comes: behind the request, which must not be overtaken.
    pub(super) fn open_streams(&self, role: Party, correlation: u64, coming: Option<Arc<Coming>>) {
        if let Some(coming) = coming {
            let room = self.clone().grant(role, correlation, Arc::downgrade(&coming));
            *lock(&coming.room) = Some(self.shared.runtime.spawn(room).abort_handle());
        }
    }

    /// Sends items, one for each credit.
    async fn pump(
        self,
        role: Party,
        correlation: u64,
        mut source: Box<dyn ItemSource>,
        credit: Arc<Semaphore>,
    ) {
        let to = other(role);
        let end = loop {
            match credit.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_) => return,
            }
            let mut payload = Vec::new();
            let next = poll_fn(|cx| {
                let _scope = enter(self.scope());
                payload.clear();
                source.poll_item(cx, Carrier::codec(&self), &mut payload)
            });
            match next.await {
                Some(Ok(())) => {
                    self.send_frame(&Frame { correlation, body: Body::Item { to, payload: &payload } });
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let mut text = Vec::new();
        let error = end.map(|error| {
            encode_error(&error, &mut text);
            &*text
        });
        self.send_frame(&Frame { correlation, body: Body::End { to, error } });
        // Dropped outside of the lock: it aborts this task, at its next await, which there is none of.
        let done = lock(&self.state().streams).leaving.remove(&key(role, correlation));
        drop(done);
    }

    /// Lets the sender send as much as there is room for.
    async fn grant(self, role: Party, correlation: u64, coming: std::sync::Weak<Coming>) {
        let to = other(role);
        loop {
            let room = poll_fn(|cx| match coming.upgrade() {
                Some(coming) => {
                    let mut state = lock(&coming.state);
                    let granted = state.granted;
                    state.sink.poll_room(cx, granted)
                }
                None => std::task::Poll::Ready(None),
            });
            let Some(room) = room.await else { break };
            let Some(coming) = coming.upgrade() else { return };
            let more = {
                let mut state = lock(&coming.state);
                let more = room.saturating_sub(state.granted);
                state.granted += more;
                more
            };
            if more > 0 {
                let items = u32::try_from(more).unwrap_or(u32::MAX);
                self.send_frame(&Frame { correlation, body: Body::Credit { to, items } });
            }
        }
        let gone = lock(&self.state().streams).coming.remove(&key(role, correlation));
        if gone.is_some() {
            self.send_frame(&Frame { correlation, body: Body::Cancel { to } });
        }
    }

    pub(super) fn item(&self, role: Party, correlation: u64, payload: &[u8]) {
        let coming = lock(&self.state().streams).coming.get(&key(role, correlation)).cloned();
        let Some(coming) = coming else { return };
        let taken = {
            let mut state = lock(&coming.state);
            state.granted = state.granted.saturating_sub(1);
            state.sink.item(payload, Carrier::codec(self))
        };
        if taken.is_err() {
            drop(lock(&self.state().streams).coming.remove(&key(role, correlation)));
            self.send_frame(&Frame { correlation, body: Body::Cancel { to: other(role) } });
        }
    }

    pub(super) fn end_stream(&self, role: Party, correlation: u64, end: Result<()>) {
        let coming = lock(&self.state().streams).coming.remove(&key(role, correlation));
        if let Some(coming) = coming {
            lock(&coming.state).sink.end(end);
        }
    }

    pub(super) fn credit(&self, role: Party, correlation: u64, items: usize) {
        if let Some(leaving) = lock(&self.state().streams).leaving.get(&key(role, correlation)) {
            leaving.credit.add_permits(items);
        }
    }

    /// The other end does not want the items of this one any more, or has given up the request.
    pub(super) fn cancel_streams(&self, role: Party, correlation: u64) {
        let key = key(role, correlation);
        let mut streams = lock(&self.state().streams);
        let (leaving, coming) = (streams.leaving.remove(&key), streams.coming.remove(&key));
        drop(streams);
        drop(leaving);
        drop(coming);
    }
}
