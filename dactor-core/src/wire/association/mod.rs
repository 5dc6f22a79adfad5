//! The association of two systems, as one of them has it: what is under way between the two.
//!
//! An [`Association`] keeps the asks of this system until their answers come, the asks of the other system until they are
//! answered here, the watches of both, and the streams. It does not know how frames travel: a [`Link`] does. The link of a
//! test carries them from one task to another; that of a node has a connection behind it.

mod asks;
mod control;
mod heard;
mod identify;
mod link;
mod receive;
mod select;
mod streams;
mod watches;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

pub use self::link::{Lane, Link, Order, order_of};

use self::asks::{Cancelled, IncomingTable, PendingTable};
use self::streams::Streams;
use self::watches::Watching;
use crate::spi::{FarAsk, FarStreams};
use crate::wire::{
    Body, Call, Carrier, Frame, HeaderDecoders, Party, Remote, Served, Target, WantedRef, WireScope,
};
use crate::{ActorPath, AnyActorRef, Codec, End, Header, Result, System};

/// One end of the association of two systems.
pub struct Association {
    system: System,
    link: Arc<dyn Link>,
    runtime: Handle,
    own: Weak<Self>,
    /// What this system takes from the other one.
    tables: RwLock<Arc<Tables>>,
    correlations: AtomicU64,
    /// Asks of this system.
    pending: Mutex<PendingTable>,
    /// Whether a task looks for asks that have waited too long.
    sweeping: AtomicBool,
    /// Asks of the other system.
    incoming: Mutex<IncomingTable>,
    /// Actors of this system that the other one has sent messages to, by their paths in frames.
    targets: Mutex<HashMap<Box<str>, AnyActorRef>>,
    /// Asks of the other system that were given up before they came.
    cancelled: Mutex<Cancelled>,
    /// Actors of the other system that are watched here.
    watching: Mutex<Watching>,
    /// Actors of this system that the other one watches.
    watched: Mutex<HashMap<String, AbortHandle>>,
    streams: Mutex<Streams>,
}

/// The types of actors that take messages, and of headers that can be read.
#[derive(Debug, Clone, Default)]
struct Tables {
    served: Served,
    headers: HeaderDecoders,
}

impl Association {
    /// An association of `system` over this link. Its tasks run in `runtime`.
    pub fn new(system: &System, link: Arc<dyn Link>, runtime: Handle) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            system: system.clone(),
            link,
            runtime,
            own: own.clone(),
            tables: RwLock::default(),
            correlations: AtomicU64::new(1),
            pending: Mutex::default(),
            sweeping: AtomicBool::new(false),
            incoming: Mutex::default(),
            targets: Mutex::default(),
            cancelled: Mutex::default(),
            watching: Mutex::default(),
            watched: Mutex::default(),
            streams: Mutex::default(),
        })
    }

    /// This system.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The link.
    pub fn link(&self) -> &Arc<dyn Link> {
        &self.link
    }

    /// Lets actors of this type take messages from the other system.
    ///
    /// # Errors
    ///
    /// Those of [`Accepts::of`](crate::wire::Accepts::of).
    pub fn serve<A: Remote>(&self) -> Result<()> {
        self.change_tables(|tables| tables.served.add::<A>())
    }

    /// Lets headers of this type be read.
    ///
    /// # Errors
    ///
    /// Those of [`HeaderDecoders::register`].
    pub fn header<H: Header>(&self) -> Result<()> {
        self.change_tables(|tables| tables.headers.register::<H>())
    }

    /// Sets both tables at once, for a carrier that has several associations.
    pub fn set_tables(&self, served: Served, headers: HeaderDecoders) {
        let tables = Arc::new(Tables { served, headers });
        *self.tables.write().unwrap_or_else(PoisonError::into_inner) = tables;
    }

    fn change_tables(&self, change: impl FnOnce(&mut Tables) -> Result<()>) -> Result<()> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut tables))
    }

    fn tables(&self) -> Arc<Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many asks of this system wait for an answer of the other one.
    pub fn pending(&self) -> usize {
        lock(&self.pending).len()
    }

    /// How many asks of the other system are not answered yet.
    pub fn incoming(&self) -> usize {
        lock(&self.incoming).len()
    }

    /// Itself, as the carrier of refs.
    pub fn carrier(&self) -> Arc<dyn Carrier> {
        self.shared()
    }

    fn shared(&self) -> Arc<Self> {
        match self.own.upgrade() {
            Some(own) => own,
            None => unreachable!("it is borrowed, so it exists"),
        }
    }

    /// Sends a frame that fits: its names and paths were checked before.
    fn send_frame(&self, frame: &Frame<'_>, lane: Lane) {
        let mut bytes = self.link.buffer();
        match frame.encode(&mut bytes) {
            Ok(()) => drop(self.link.send(bytes, lane)),
            Err(error) => tracing::error!(%error, "a frame cannot be encoded"),
        }
    }

    fn control(&self, target: &ActorPath, name: &str, payload: &[u8], lane: Lane) {
        let (text, uid) = (target.to_string(), target.uid().map(|uid| uid.get()));
        let call = Call { payload, ..Call::new(Target::Path { path: &text, uid }, name) };
        self.send_frame(&Frame { correlation: 0, body: Body::OneWay(call) }, lane);
    }
}

impl Carrier for Association {
    fn admit(&self, target: &ActorPath) -> Result<()> {
        self.link.admit(target)
    }

    fn codec(&self) -> Codec {
        self.link.codec()
    }

    fn scope(&self) -> Arc<dyn WireScope> {
        self.shared()
    }

    fn next_correlation(&self) -> u64 {
        self.correlations.fetch_add(1, Ordering::Relaxed)
    }

    fn buffer(&self) -> Vec<u8> {
        self.link.buffer()
    }

    fn fits(&self, bytes: usize) -> Result<()> {
        self.link.fits(bytes)
    }

    fn send_ask(&self, frame: Vec<u8>, correlation: u64, ask: Arc<dyn FarAsk>, streams: FarStreams) {
        self.add_pending(correlation, ask, &frame);
        let coming = self.add_streams(Party::Caller, correlation, streams);
        if let Err(error) = self.link.send(frame, Lane::Normal) {
            self.fail_ask(correlation, &error);
            return;
        }
        self.open_streams(Party::Caller, correlation, coming);
    }

    fn send(&self, frame: Vec<u8>) {
        // The link has made a dead letter of what it refuses here.
        drop(self.link.send(frame, Lane::Normal));
    }

    fn end(&self, target: &ActorPath, how: End) -> Result<()> {
        self.link.admit(target)?;
        self.link.admit_end(target, how)?;
        // A drain lets the actor handle what was sent before, so it must not overtake that.
        let lane = if how == End::Drain { Lane::Normal } else { Lane::Urgent };
        self.control(target, control::END, how.as_str().as_bytes(), lane);
        Ok(())
    }

    fn watch(&self, target: &ActorPath) -> Result<()> {
        self.begin_watch(target)
    }

    fn unwatch(&self, target: &ActorPath) {
        self.end_watch(target);
    }

    fn asker_gone(&self) {
        self.cancel_given_up();
    }
}

impl WireScope for Association {
    fn path_of(&self, path: &ActorPath) -> Result<ActorPath> {
        self.link.path_of(path)
    }

    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()> {
        match self.link.local(path) {
            Some(local) => {
                let actor = self.system.find(&local?)?;
                wanted.local(&actor, self.tables().served.accepts(&actor))
            }
            None => self.link.resolve(path, wanted),
        }
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("system", &self.system.name())
            .field("pending", &self.pending())
            .field("incoming", &self.incoming())
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
