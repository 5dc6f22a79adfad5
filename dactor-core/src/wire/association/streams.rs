//! The streams of in-flight requests.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::heard::{Heard, beside, either, sign_every};
use super::link::Lane;
use super::{Association, lock};
use crate::spi::{FarStreams, ItemSink, ItemSource};
use crate::wire::scope::enter;
use crate::wire::{Body, Carrier, Frame, Party, encode_error};
use crate::{Error, ErrorKind, Result};

/// The receive window of a stream, in items.
pub(super) const WINDOW: usize = 32;

/// The streams at this end, by role of this end and correlation id.
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
    heard: Arc<Heard>,
    pump: AbortHandle,
    /// The failed reply to the request, which is sent after the end of the stream.
    reply: Option<(Vec<u8>, Lane)>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

pub(super) struct Coming {
    /// The lane of the received items.
    lane: u64,
    state: Mutex<Receiving>,
    heard: Heard,
    room: Mutex<Option<AbortHandle>>,
}

struct Receiving {
    sink: Box<dyn ItemSink>,
    /// The remaining credit of the sender.
    granted: usize,
    /// The expected sequence number of the next item.
    next: u64,
}

impl Drop for Coming {
    fn drop(&mut self) {
        lock(&self.room).iter().for_each(AbortHandle::abort);
    }
}

impl Streams {
    /// Ends all incoming streams with the error.
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

impl Association {
    /// Registers the streams of a request. Outgoing items wait for credit, which arrives after the request;
    /// the returned incoming stream must be [opened](Self::open_streams).
    pub(super) fn add_streams(
        &self,
        role: Party,
        correlation: u64,
        streams: FarStreams,
    ) -> Option<Arc<Coming>> {
        if let Some(source) = streams.leaving {
            let (credit, heard) = (Arc::new(Semaphore::new(0)), Arc::new(Heard::now()));
            let pump = self.shared().pump(role, correlation, source, credit.clone(), heard.clone());
            let pump = self.runtime.spawn(pump).abort_handle();
            let leaving = Leaving { credit, heard, pump, reply: None };
            lock(&self.streams).leaving.insert(key(role, correlation), leaving);
        }
        let state = Mutex::new(Receiving { sink: streams.coming?, granted: 0, next: 0 });
        let lane = match role {
            Party::Caller => {
                lock(&self.pending).get(&correlation).map_or(correlation, |pending| pending.answer)
            }
            Party::Callee => correlation,
        };
        let coming = Arc::new(Coming { lane, state, heard: Heard::now(), room: Mutex::default() });
        lock(&self.streams).coming.insert(key(role, correlation), coming.clone());
        Some(coming)
    }

    /// Starts granting credit for the incoming stream. Called after the request is sent, so that no credit
    /// overtakes it.
    pub(super) fn open_streams(&self, role: Party, correlation: u64, coming: Option<Arc<Coming>>) {
        if let Some(coming) = coming {
            let room = self.shared().grant(role, correlation, Arc::downgrade(&coming));
            *lock(&coming.room) = Some(self.runtime.spawn(room).abort_handle());
        }
    }

    /// Sends one item for each credit. Items carry sequence numbers, and a final one carries their count, so
    /// that the receiver detects a lost item.
    async fn pump(
        self: Arc<Self>,
        role: Party,
        correlation: u64,
        mut source: Box<dyn ItemSource>,
        credit: Arc<Semaphore>,
        heard: Arc<Heard>,
    ) {
        let (to, limit, mut sent) = (other(role), self.link.stream_timeout(), 0_u64);
        let lane = self.stream_lane(role, correlation);
        let send = |body: Body<'_>| self.send_frame(&Frame { correlation, body }, lane);
        let end = loop {
            heard.note();
            match either(credit.acquire(), heard.silence(limit)).await {
                Ok(Ok(permit)) => permit.forget(),
                Ok(Err(_)) => return,
                Err(()) => break Some(self.silent(limit)),
            }
            let mut payload = Vec::new();
            let next = poll_fn(|cx| {
                let _scope = enter(self.scope());
                payload.clear();
                payload.extend_from_slice(&sent.to_le_bytes());
                source.poll_item(cx, self.link.codec(), &mut payload)
            });
            // An empty item is a keep-alive.
            match beside(next, sign_every(limit), || send(Body::Item { to, payload: &[] })).await {
                Some(Ok(())) => send(Body::Item { to, payload: &payload }),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
            sent += 1;
        };
        if end.is_none() {
            send(Body::Item { to, payload: &sent.to_le_bytes() });
        }
        let mut text = Vec::new();
        let error = end.map(|error| {
            encode_error(&error, &mut text);
            &*text
        });
        send(Body::End { to, error });
        // Dropped outside of the lock. Dropping aborts this task, which has no await left.
        let done = lock(&self.streams).leaving.remove(&key(role, correlation));
        self.left(done);
    }

    /// Sends the reply that was held until the end of the stream.
    fn left(&self, leaving: Option<Leaving>) {
        if let Some((reply, lane)) = leaving.and_then(|mut leaving| leaving.reply.take()) {
            drop(self.link.send(reply, lane));
        }
    }

    /// Holds the reply to a request until its outgoing stream has ended; `false` if it already has.
    pub(super) fn hold_reply(&self, correlation: u64, reply: &Frame<'_>, lane: Lane) -> bool {
        let mut streams = lock(&self.streams);
        let Some(leaving) = streams.leaving.get_mut(&key(Party::Callee, correlation)) else { return false };
        let mut frame = self.link.buffer();
        let held = reply.encode(&mut frame).is_ok();
        leaving.reply = held.then_some((frame, lane));
        held
    }

    /// Whether a stream of the request is still open.
    pub(super) fn has_streams(&self, role: Party, correlation: u64) -> bool {
        let (streams, key) = (lock(&self.streams), key(role, correlation));
        streams.leaving.contains_key(&key) || streams.coming.contains_key(&key)
    }

    fn silent(&self, limit: Duration) -> Error {
        let error = self.link.error(ErrorKind::Timeout).with("after", format!("{limit:?}"));
        error.with("because", "nothing was heard of the other end of the stream")
    }

    /// Items to the caller are in the lane of the reply.
    fn stream_lane(&self, role: Party, correlation: u64) -> Lane {
        match role {
            Party::Caller => Lane::Answer(correlation),
            Party::Callee => lock(&self.incoming)
                .get(&correlation)
                .map_or(Lane::Answer(correlation), |incoming| Lane::Answer(incoming.answer)),
        }
    }

    /// Grants credit as the receive window allows. Fails the stream when the sender has credit and is silent
    /// for too long.
    async fn grant(self: Arc<Self>, role: Party, correlation: u64, coming: Weak<Coming>) {
        let (to, limit) = (other(role), self.link.stream_timeout());
        let credit =
            |items, lane| self.send_frame(&Frame { correlation, body: Body::Credit { to, items } }, lane);
        // The first credit must not overtake the request.
        let mut lane = if role == Party::Caller { Lane::Normal } else { Lane::Urgent };
        loop {
            // Under one lock: an item received in between would be counted as room twice.
            let room = poll_fn(|cx| match coming.upgrade() {
                Some(coming) => {
                    let mut state = lock(&coming.state);
                    let granted = state.granted;
                    let room = state.sink.poll_room(cx, granted);
                    let more = room.map(|room| room.map(|room| room.saturating_sub(granted)));
                    if let Poll::Ready(Some(more)) = more {
                        state.granted += more;
                    }
                    more
                }
                None => Poll::Ready(None),
            });
            let room = beside(room, sign_every(limit), || credit(0, lane));
            let Ok(room) = either(room, silence(&coming, limit)).await else {
                return self.lose_stream(role, correlation, self.silent(limit));
            };
            let Some(more) = room else { break };
            let Some(coming) = coming.upgrade() else { return };
            if more > 0 {
                coming.heard.note();
                credit(u32::try_from(more).unwrap_or(u32::MAX), lane);
                lane = Lane::Urgent;
            }
        }
        let gone = lock(&self.streams).coming.remove(&key(role, correlation));
        if gone.is_some() {
            self.send_frame(&Frame { correlation, body: Body::Cancel { to } }, Lane::Urgent);
        }
    }

    /// Fails an incomplete stream at both ends.
    fn lose_stream(&self, role: Party, correlation: u64, error: Error) {
        if lock(&self.streams).coming.contains_key(&key(role, correlation)) {
            self.send_frame(&Frame { correlation, body: Body::Cancel { to: other(role) } }, Lane::Urgent);
            self.end_stream(role, correlation, Err(error));
        }
    }

    /// The lane of the received items.
    pub(super) fn coming_lane(&self, role: Party, correlation: u64) -> Option<u64> {
        lock(&self.streams).coming.get(&key(role, correlation)).map(|coming| coming.lane)
    }

    pub(super) fn item(&self, role: Party, correlation: u64, payload: &[u8]) {
        let coming = lock(&self.streams).coming.get(&key(role, correlation)).cloned();
        let Some(coming) = coming else { return };
        coming.heard.note();
        if payload.is_empty() {
            return;
        }
        let number = payload.split_first_chunk().map(|(number, item)| (u64::from_le_bytes(*number), item));
        let taken = {
            let mut state = lock(&coming.state);
            match number {
                Some((number, item)) if number == state.next && !item.is_empty() => {
                    state.granted = state.granted.saturating_sub(1);
                    state.next += 1;
                    Ok(state.sink.item(item, self.link.codec()).is_ok())
                }
                Some((count, _)) if count == state.next => Err(Ok(())),
                _ => Err(Err(self.lost_item(state.next))),
            }
        };
        match taken {
            Ok(true) => {}
            Ok(false) => {
                drop(lock(&self.streams).coming.remove(&key(role, correlation)));
                self.send_frame(&Frame { correlation, body: Body::Cancel { to: other(role) } }, Lane::Urgent);
            }
            Err(Ok(())) => self.end_stream(role, correlation, Ok(())),
            Err(Err(error)) => self.lose_stream(role, correlation, error),
        }
    }

    fn lost_item(&self, number: u64) -> Error {
        let error = self.link.error(ErrorKind::Disconnected).with("number", number);
        error.with("because", "an item of the stream was lost")
    }

    /// Handles the end of an incoming stream. A complete stream was already ended by the item with the count.
    pub(super) fn sender_ended(&self, role: Party, correlation: u64, end: Result<()>) {
        let coming = lock(&self.streams).coming.get(&key(role, correlation)).cloned();
        let Some(coming) = coming else { return };
        let next = lock(&coming.state).next;
        self.end_stream(role, correlation, end.and_then(|()| Err(self.lost_item(next))));
    }

    pub(super) fn end_stream(&self, role: Party, correlation: u64, end: Result<()>) {
        let coming = lock(&self.streams).coming.remove(&key(role, correlation));
        if let Some(coming) = coming {
            lock(&coming.state).sink.end(end);
        }
    }

    pub(super) fn credit(&self, role: Party, correlation: u64, items: usize) {
        if let Some(leaving) = lock(&self.streams).leaving.get(&key(role, correlation)) {
            // Zero items are a keep-alive.
            leaving.heard.note();
            leaving.credit.add_permits(items);
        }
    }

    /// Handles a cancel: the other end dropped the consumer or abandoned the request.
    pub(super) fn streams_cancelled(&self, role: Party, correlation: u64) {
        // An actor that wants no more items may still send some. A caller that wants none has abandoned the
        // request.
        match role {
            Party::Callee => self.cancel_streams(role, correlation),
            Party::Caller => {
                let leaving = lock(&self.streams).leaving.remove(&key(role, correlation));
                self.left(leaving);
            }
        }
    }

    /// Drops the streams of a request at this end.
    pub(super) fn cancel_streams(&self, role: Party, correlation: u64) {
        let key = key(role, correlation);
        let mut streams = lock(&self.streams);
        let (leaving, coming) = (streams.leaving.remove(&key), streams.coming.remove(&key));
        drop(streams);
        self.left(leaving);
        drop(coming);
    }
}

/// Waits until a sender with credit has been silent for this long.
async fn silence(coming: &Weak<Coming>, limit: Duration) {
    loop {
        let Some(coming) = coming.upgrade() else { return std::future::pending().await };
        if lock(&coming.state).granted == 0 {
            coming.heard.note();
        }
        let left = coming.heard.left(limit);
        drop(coming);
        match left {
            Some(left) => tokio::time::sleep(left).await,
            None => return,
        }
    }
}
