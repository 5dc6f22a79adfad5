//! One end of a link: the carrier of the frames that leave it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use super::conditions::{Conditions, lock};
use super::control;
use super::streams::Streams;
use super::transport::{Packet, carry};
use crate::path::ActorPath;
use crate::spi::{FarAsk, FarStreams, far_ended};
use crate::wire::{
    Body, Call, CancelAsk, Carrier, Frame, HeaderDecoders, Party, Remote, Served, Target, WantedRef,
    WireScope,
};
use crate::{Codec, End, Error, ErrorKind, Header, Result, StopReason, System};

/// One end of a link.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) shared: Arc<Shared>,
    at: usize,
}

/// Both ends.
pub(super) struct Shared {
    ends: [State; 2],
    pub(super) conditions: Arc<Conditions>,
    pub(super) runtime: Handle,
}

pub(super) struct State {
    pub(super) system: System,
    pub(super) served: Mutex<Served>,
    pub(super) headers: Mutex<HeaderDecoders>,
    out: UnboundedSender<Packet>,
    packets: AtomicU64,
    correlations: AtomicU64,
    /// Asks of this system.
    pub(super) pending: Mutex<BTreeMap<u64, Pending>>,
    /// Asks of the other system; `None` while one is on its way to its actor.
    pub(super) incoming: Mutex<HashMap<u64, Option<CancelAsk>>>,
    /// Asks of the other system that were given up before they came.
    pub(super) cancelled: Mutex<HashSet<u64>>,
    /// Actors of the other system that are watched here, and by how many types of refs.
    watching: Mutex<BTreeMap<String, (ActorPath, usize)>>,
    /// Actors of this system that the other one watches.
    pub(super) watched: Mutex<BTreeMap<String, AbortHandle>>,
    refusing: Mutex<Option<ErrorKind>>,
    /// The frames that have come.
    pub(super) seen: Mutex<HashSet<u64>>,
    pub(super) streams: Mutex<Streams>,
}

/// An ask that waits for its answer.
pub(super) struct Pending {
    pub(super) ask: Arc<dyn FarAsk>,
    timer: Option<AbortHandle>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.timer.iter().for_each(AbortHandle::abort);
    }
}

pub(super) fn pair(systems: [&System; 2], conditions: &Arc<Conditions>) -> [Arc<Side>; 2] {
    let (to_second, from_first) = unbounded_channel();
    let (to_first, from_second) = unbounded_channel();
    let [first, second] = systems;
    let shared = Arc::new(Shared {
        ends: [State::new(first, to_second), State::new(second, to_first)],
        conditions: conditions.clone(),
        runtime: Handle::current(),
    });
    let carry = |packets: UnboundedReceiver<Packet>, to: usize| {
        shared.runtime.spawn(carry(packets, Arc::downgrade(&shared), to, conditions.clone()));
    };
    carry(from_first, 1);
    carry(from_second, 0);
    [0, 1].map(|at| Arc::new(Side::new(shared.clone(), at)))
}

impl State {
    fn new(system: &System, out: UnboundedSender<Packet>) -> Self {
        Self {
            system: system.clone(),
            served: Mutex::default(),
            headers: Mutex::default(),
            out,
            packets: AtomicU64::new(0),
            correlations: AtomicU64::new(1),
            pending: Mutex::default(),
            incoming: Mutex::default(),
            cancelled: Mutex::default(),
            watching: Mutex::default(),
            watched: Mutex::default(),
            refusing: Mutex::default(),
            seen: Mutex::default(),
            streams: Mutex::default(),
        }
    }
}

impl Side {
    pub(super) fn new(shared: Arc<Shared>, at: usize) -> Self {
        Self { shared, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn state(&self) -> &State {
        &self.shared.ends[self.at]
    }

    pub(super) fn system(&self) -> &System {
        &self.state().system
    }

    pub(super) fn peer_system(&self) -> &System {
        &self.shared.ends[1 - self.at].system
    }

    pub(super) fn carrier(&self) -> Arc<dyn Carrier> {
        Arc::new(self.clone())
    }

    pub(super) fn serve<A: Remote>(&self) -> Result<()> {
        lock(&self.state().served).add::<A>()
    }

    pub(super) fn header<H: Header>(&self) -> Result<()> {
        lock(&self.state().headers).register::<H>()
    }

    pub(super) fn pending(&self) -> usize {
        lock(&self.state().pending).len()
    }

    pub(super) fn refuse(&self, kind: Option<ErrorKind>) {
        *lock(&self.state().refusing) = kind;
    }

    /// Whether nothing of the other system is heard any more.
    pub(super) fn is_quarantined(&self) -> bool {
        *lock(&self.state().refusing) == Some(ErrorKind::Quarantined)
    }

    /// The path, if it is one of the other system.
    pub(super) fn checked(&self, path: &ActorPath) -> Result<ActorPath> {
        if path.is_in(self.peer_system().parts()) {
            return Ok(path.clone());
        }
        Err(self.error(ErrorKind::Unresolved).with("actor", path.to_serialization_format()))
    }

    /// Whether an actor of the other system may be looked for.
    pub(super) fn look_up(&self, path: &ActorPath) -> Result<()> {
        self.checked(path)?;
        self.admit(path)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).with("system", self.peer_system().name())
    }

    fn check_refusal(&self, target: &ActorPath) -> Result<()> {
        match *lock(&self.state().refusing) {
            Some(kind) => Err(self.error(kind).with("actor", target).unhandled()),
            None => Ok(()),
        }
    }

    /// Sends a frame that fits: its names and paths were checked before.
    pub(super) fn send_frame(&self, frame: &Frame<'_>) {
        let mut bytes = Vec::new();
        match frame.encode(&mut bytes) {
            Ok(()) => self.send(bytes),
            Err(error) => tracing::error!(%error, "a frame of a link cannot be encoded"),
        }
    }

    pub(super) fn control(&self, target: &ActorPath, name: &str, payload: &[u8]) {
        let (text, uid) = (target.to_string(), target.uid().map(|uid| uid.get()));
        let call = Call { payload, ..Call::new(Target::Path { path: &text, uid }, name) };
        self.send_frame(&Frame { correlation: 0, body: Body::OneWay(call) });
    }

    /// The link is cut: what waits for the other system waits no more.
    pub(super) fn disconnect(&self) {
        let error = self.error(ErrorKind::Disconnected);
        let pending = std::mem::take(&mut *lock(&self.state().pending));
        for pending in pending.into_values() {
            pending.ask.fail(error.clone().with("message", pending.ask.message_type()));
        }
        let streams = std::mem::take(&mut *lock(&self.state().streams));
        streams.fail(&error);
        let watched = std::mem::take(&mut *lock(&self.state().watched));
        watched.values().for_each(AbortHandle::abort);
    }

    /// The link is whole again: watches are set again.
    pub(super) fn reconnect(&self) {
        let paths: Vec<_> = lock(&self.state().watching).values().map(|(path, _)| path.clone()).collect();
        paths.iter().for_each(|path| self.control(path, control::WATCH, &[]));
    }

    /// The other system is given up: what is watched there has ended.
    pub(super) fn give_up(&self, reason: &StopReason) {
        self.disconnect();
        let watching = std::mem::take(&mut *lock(&self.state().watching));
        for (path, _) in watching.into_values() {
            far_ended(self.system(), &path, reason);
        }
    }

    /// An actor of the other system has ended.
    pub(super) fn terminated(&self, path: &ActorPath, reason: &StopReason) {
        lock(&self.state().watching).remove(&path.to_serialization_format());
        far_ended(self.system(), path, reason);
    }
}

impl Carrier for Side {
    fn admit(&self, target: &ActorPath) -> Result<()> {
        self.check_refusal(target)?;
        if self.shared.conditions.is_cut() {
            return Err(self.error(ErrorKind::Disconnected).with("actor", target).unhandled());
        }
        Ok(())
    }

    fn codec(&self) -> Codec {
        self.shared.conditions.codec()
    }

    fn scope(&self) -> Arc<dyn WireScope> {
        Arc::new(self.clone())
    }

    fn next_correlation(&self) -> u64 {
        self.state().correlations.fetch_add(1, Ordering::Relaxed)
    }

    fn send_ask(&self, frame: Vec<u8>, correlation: u64, ask: Arc<dyn FarAsk>, streams: FarStreams) {
        let timer = ask.deadline().is_none().then(|| {
            let (side, limit) = (self.clone(), self.shared.conditions.limit());
            let fail = async move {
                tokio::time::sleep(limit).await;
                let late = lock(&side.state().pending).remove(&correlation);
                if let Some(pending) = late {
                    let error = side.error(ErrorKind::Timeout).with("after", format!("{limit:?}"));
                    pending.ask.fail(error.with("message", pending.ask.message_type()));
                }
            };
            self.shared.runtime.spawn(fail).abort_handle()
        });
        lock(&self.state().pending).insert(correlation, Pending { ask, timer });
        let coming = self.add_streams(Party::Caller, correlation, streams);
        self.send(frame);
        self.open_streams(Party::Caller, correlation, coming);
        // Cut in between, it was perhaps not there to be failed.
        if self.shared.conditions.is_cut() {
            self.disconnect();
        }
    }

    fn send(&self, frame: Vec<u8>) {
        self.shared.conditions.note_sent();
        let number = self.state().packets.fetch_add(1, Ordering::Relaxed);
        let packet = Packet { number, epoch: self.shared.conditions.epoch(), frame };
        // An error says that the runtime of the link has ended, and that is as if the link were cut.
        let _ = self.state().out.send(packet);
    }

    fn end(&self, target: &ActorPath, how: End) -> Result<()> {
        self.admit(target)?;
        if !self.shared.conditions.allows_end() {
            let error = self.error(ErrorKind::Unsupported).with("actor", target).with("call", how.as_str());
            return Err(error.with("because", "the other system lets no other one end its actors"));
        }
        self.control(target, control::END, how.as_str().as_bytes());
        Ok(())
    }

    fn watch(&self, target: &ActorPath) -> Result<()> {
        self.check_refusal(target)?;
        let mut watching = lock(&self.state().watching);
        let key = target.to_serialization_format();
        let (_, count) = watching.entry(key).or_insert_with(|| (target.clone(), 0));
        *count += 1;
        // Not while the link is cut: it is set when the link is whole again.
        if *count == 1 && !self.shared.conditions.is_cut() {
            self.control(target, control::WATCH, &[]);
        }
        Ok(())
    }

    fn unwatch(&self, target: &ActorPath) {
        let mut watching = lock(&self.state().watching);
        let key = target.to_serialization_format();
        let Some((_, count)) = watching.get_mut(&key) else { return };
        *count -= 1;
        if *count == 0 {
            watching.remove(&key);
            self.control(target, control::UNWATCH, &[]);
        }
    }

    fn asker_gone(&self) {
        let mut gone = Vec::new();
        lock(&self.state().pending).retain(|correlation, pending| {
            let is_gone = pending.ask.is_gone();
            if is_gone {
                gone.push(*correlation);
            }
            !is_gone
        });
        gone.sort_unstable();
        for correlation in gone {
            self.send_frame(&Frame { correlation, body: Body::Cancel { to: Party::Callee } });
        }
    }
}

impl WireScope for Side {
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath> {
        Ok(path.clone())
    }

    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()> {
        if path.is_in(self.system().parts()) {
            let actor = self.system().find(path)?;
            let served = lock(&self.state().served).clone();
            return wanted.local(&actor, served.accepts(&actor));
        }
        wanted.far(self.system(), &self.checked(path)?, &self.carrier())
    }
}
