//! The streams of requests that travel over a link.

use std::collections::HashMap;
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
    leaving: HashMap<(Party, u64), Leaving>,
    coming: HashMap<(Party, u64), Arc<Coming>>,
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

struct Coming {
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
    /// Lets the streams of a request flow, of which this end is the caller or the callee.
    pub(super) fn start_streams(&self, role: Party, correlation: u64, streams: FarStreams) {
        let key = (role, correlation);
        if let Some(source) = streams.leaving {
            let credit = Arc::new(Semaphore::new(0));
            let pump = self.clone().pump(key, source, credit.clone());
            let pump = self.shared.runtime.spawn(pump).abort_handle();
            lock(&self.state().streams).leaving.insert(key, Leaving { credit, pump });
        }
        if let Some(sink) = streams.coming {
            let state = Mutex::new(Receiving { sink, granted: 0 });
            let coming = Arc::new(Coming { state, room: Mutex::default() });
            lock(&self.state().streams).coming.insert(key, coming.clone());
            let room = self.clone().grant(key, Arc::downgrade(&coming));
            *lock(&coming.room) = Some(self.shared.runtime.spawn(room).abort_handle());
        }
    }

    /// Sends items, one for each credit.
    async fn pump(self, key: (Party, u64), mut source: Box<dyn ItemSource>, credit: Arc<Semaphore>) {
        let (role, correlation) = key;
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
        let done = lock(&self.state().streams).leaving.remove(&key);
        drop(done);
    }

    /// Lets the sender send as much as there is room for.
    async fn grant(self, key: (Party, u64), coming: std::sync::Weak<Coming>) {
        let (role, correlation) = key;
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
        let gone = lock(&self.state().streams).coming.remove(&key);
        if gone.is_some() {
            self.send_frame(&Frame { correlation, body: Body::Cancel { to } });
        }
    }

    pub(super) fn item(&self, role: Party, correlation: u64, payload: &[u8]) {
        let coming = lock(&self.state().streams).coming.get(&(role, correlation)).cloned();
        let Some(coming) = coming else { return };
        let taken = {
            let mut state = lock(&coming.state);
            state.granted = state.granted.saturating_sub(1);
            state.sink.item(payload, Carrier::codec(self))
        };
        if taken.is_err() {
            drop(lock(&self.state().streams).coming.remove(&(role, correlation)));
            self.send_frame(&Frame { correlation, body: Body::Cancel { to: other(role) } });
        }
    }

    pub(super) fn end_stream(&self, role: Party, correlation: u64, end: Result<()>) {
        let coming = lock(&self.state().streams).coming.remove(&(role, correlation));
        if let Some(coming) = coming {
            lock(&coming.state).sink.end(end);
        }
    }

    pub(super) fn credit(&self, role: Party, correlation: u64, items: usize) {
        if let Some(leaving) = lock(&self.state().streams).leaving.get(&(role, correlation)) {
            leaving.credit.add_permits(items);
        }
    }

    /// The other end does not want the items of this one any more, or has given up the request.
    pub(super) fn cancel_streams(&self, role: Party, correlation: u64) {
        let key = (role, correlation);
        let mut streams = lock(&self.state().streams);
        let (leaving, coming) = (streams.leaving.remove(&key), streams.coming.remove(&key));
        drop(streams);
        drop(leaving);
        drop(coming);
    }
}
