//! One end of a link.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::conditions::{Conditions, lock};
use super::transport::{Packet, carry};
use crate::path::ActorPath;
use crate::wire::association::{Lane, Link};
use crate::wire::{Association, WantedRef};
use crate::{Codec, End, Error, ErrorKind, Result, System};

/// One end of a link: the association of its system with the other one, over frames that go to a task.
pub(super) struct Side {
    pub(super) association: Arc<Association>,
    way: Arc<Way>,
    /// The frames that have come.
    seen: Mutex<HashSet<u64>>,
}

/// How frames leave one end.
struct Way {
    system: System,
    peer: System,
    conditions: Arc<Conditions>,
    out: UnboundedSender<Packet>,
    packets: AtomicU64,
    refusing: Mutex<Option<ErrorKind>>,
    association: OnceLock<Weak<Association>>,
    /// The other end, for frames that are delivered at once.
    other: OnceLock<Weak<Side>>,
}

pub(super) fn pair(systems: [&System; 2], conditions: &Arc<Conditions>) -> [Arc<Side>; 2] {
    let runtime = Handle::current();
    let [first, second] = systems;
    let (to_second, from_first) = unbounded_channel();
    let (to_first, from_second) = unbounded_channel();
    let sides = [
        Side::new([first, second], conditions, to_second, &runtime),
        Side::new([second, first], conditions, to_first, &runtime),
    ];
    for (from, to) in [(0, 1), (1, 0)] {
        let _ = sides[from].way.other.set(Arc::downgrade(&sides[to]));
    }
    for (packets, to) in [(from_first, &sides[1]), (from_second, &sides[0])] {
        runtime.spawn(carry(packets, Arc::downgrade(to), conditions.clone()));
    }
    sides
}

impl Side {
    fn new(
        [system, peer]: [&System; 2],
        conditions: &Arc<Conditions>,
        out: UnboundedSender<Packet>,
        runtime: &Handle,
    ) -> Arc<Self> {
        let way = Arc::new(Way {
            system: system.clone(),
            peer: peer.clone(),
            conditions: conditions.clone(),
            out,
            packets: AtomicU64::new(0),
            refusing: Mutex::default(),
            association: OnceLock::new(),
            other: OnceLock::new(),
        });
        let association = Association::new(system, way.clone(), runtime.clone());
        let _ = way.association.set(Arc::downgrade(&association));
        Arc::new(Self { association, way, seen: Mutex::default() })
    }

    pub(super) fn system(&self) -> &System {
        &self.way.system
    }

    pub(super) fn peer_system(&self) -> &System {
        &self.way.peer
    }

    pub(super) fn refuse(&self, kind: Option<ErrorKind>) {
        *lock(&self.way.refusing) = kind;
    }

    /// The path, if it is one of the other system.
    pub(super) fn checked(&self, path: &ActorPath) -> Result<ActorPath> {
        self.way.checked(path)
    }

    /// Whether an actor of the other system may be looked for.
    pub(super) fn check_target(&self, path: &ActorPath) -> Result<()> {
        self.way.checked(path)?;
        self.way.admit(path)
    }

    pub(super) fn receive(&self, packet: &Packet) {
        // Nothing of a system that was given up is delivered.
        let is_quarantined = *lock(&self.way.refusing) == Some(ErrorKind::Quarantined);
        if is_quarantined || !lock(&self.seen).insert(packet.number) {
            return;
        }
        self.way.conditions.note_delivered();
        if let Err(error) = self.association.receive([&*packet.frame]) {
            tracing::error!(%error, "a frame of a link cannot be read");
        }
    }
}

impl Way {
    fn checked(&self, path: &ActorPath) -> Result<ActorPath> {
        if path.is_in(self.peer.parts()) {
            return Ok(path.clone());
        }
        Err(self.error(ErrorKind::Unresolved).with("actor", path.to_serialization_format()))
    }

    fn check_refusal(&self, target: &ActorPath) -> Result<()> {
        match *lock(&self.refusing) {
            Some(kind) => Err(self.error(kind).with("actor", target).unhandled()),
            None => Ok(()),
        }
    }

    /// Delivers a frame on the thread of its sender.
    fn deliver(&self, packet: &Packet) -> Result<()> {
        let other = self.other.get().and_then(Weak::upgrade).filter(|_| !self.conditions.is_cut());
        let other = other.ok_or_else(|| self.error(ErrorKind::Disconnected))?;
        other.receive(packet);
        Ok(())
    }
}

impl Link for Way {
    fn admit(&self, target: &ActorPath) -> Result<()> {
        self.check_refusal(target)?;
        if self.conditions.is_cut() {
            return Err(self.error(ErrorKind::Disconnected).with("actor", target).unhandled());
        }
        Ok(())
    }

    fn admit_watch(&self, target: &ActorPath) -> Result<()> {
        self.check_refusal(target)
    }

    fn admit_end(&self, target: &ActorPath, how: End) -> Result<()> {
        if self.conditions.allows_end() {
            return Ok(());
        }
        let error = self.error(ErrorKind::Unsupported).with("actor", target).with("call", how.as_str());
        Err(error.with("because", "the other system lets no other one end its actors"))
    }

    fn is_up(&self) -> bool {
        !self.conditions.is_cut()
    }

    fn codec(&self) -> Codec {
        self.conditions.codec()
    }

    fn ask_timeout(&self) -> Duration {
        self.conditions.limit()
    }

    fn send(&self, frame: Vec<u8>, _: Lane) -> Result<()> {
        self.conditions.note_sent();
        let number = self.packets.fetch_add(1, Ordering::Relaxed);
        let epoch = self.conditions.epoch();
        let packet = Packet { number, epoch, frame };
        if self.conditions.at_once() {
            return self.deliver(&packet);
        }
        // An error says that the runtime of the link has ended, and that is as if the link were cut.
        let sent = self.out.send(packet);
        // Cut in between, an ask was perhaps not there to be failed.
        if sent.is_err() || epoch % 2 == 1 { Err(self.error(ErrorKind::Disconnected)) } else { Ok(()) }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind).with("system", self.peer.name())
    }

    fn path_of(&self, path: &ActorPath) -> Result<ActorPath> {
        Ok(path.clone())
    }

    fn local(&self, path: &ActorPath) -> Option<Result<ActorPath>> {
        path.is_in(self.system.parts()).then(|| Ok(path.clone()))
    }

    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()> {
        let path = self.checked(path)?;
        match self.association.get().and_then(Weak::upgrade) {
            Some(association) => wanted.far(&self.system, &path, &association.carrier()),
            None => Err(self.error(ErrorKind::Unresolved)),
        }
    }
}
