//! Two systems that reach each other, for the rules about actors of another system.

use std::fmt;
use std::sync::Arc;

use dactor_core::testkit::FarLink;
use dactor_core::wire::{Association, HeaderDecoders, Served};
use dactor_core::{Codec, ErrorKind, System};

/// What two systems need so that the rules can run on them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FarSettings {
    /// The actors of both that take messages.
    pub served: Served,
    /// The headers that both can read.
    pub headers: HeaderDecoders,
    /// How payloads are encoded.
    pub codec: Codec,
    /// Whether one system may end actors of the other one.
    pub control: bool,
    /// For what is random.
    pub seed: u64,
}

impl FarSettings {
    pub(crate) fn new(
        served: Served,
        headers: HeaderDecoders,
        codec: Codec,
        control: bool,
        seed: u64,
    ) -> Self {
        Self { served, headers, codec, control, seed }
    }
}

/// Two systems that reach each other. Their paths have the addresses by which they do.
pub trait FarPair: Send + Sync {
    /// The systems: this one and the other one.
    fn systems(&self) -> [&System; 2];

    /// The association of this system with the other one (0), or of the other one with this (1).
    fn association(&self, of: usize) -> Arc<Association>;

    /// Cuts the connection: no frame arrives from now on.
    fn cut(&self);

    /// Restores the connection.
    fn heal(&self);

    /// This system gives the other one up.
    fn quarantine(&self);

    /// Messages of this system are refused with an error of this kind. `false` when that cannot be made so.
    fn refuse(&self, kind: Option<ErrorKind>) -> bool;

    /// How many frames were sent, both ways.
    fn frames(&self) -> u64;

    /// Whether messages wait while nothing gets through. If not, they are refused.
    fn defers(&self) -> bool;

    /// The link that can be made to lose frames, if it is one.
    fn link(&self) -> Option<&FarLink> {
        None
    }
}

/// A link of the test kit.
pub(crate) struct Linked {
    systems: [System; 2],
    link: FarLink,
}

impl Linked {
    pub(crate) fn new(here: System, there: System, settings: &FarSettings) -> Self {
        let link = FarLink::with_seed(&here, &there, settings.seed).expect("two systems");
        link.codec(settings.codec).allow_end(settings.control);
        let linked = Self { systems: [here, there], link };
        for of in [0, 1] {
            linked.association(of).set_tables(settings.served.clone(), settings.headers.clone());
        }
        linked
    }
}

impl FarPair for Linked {
    fn systems(&self) -> [&System; 2] {
        let [here, there] = &self.systems;
        [here, there]
    }

    fn association(&self, of: usize) -> Arc<Association> {
        self.link.association(&self.systems[of]).expect("it is linked")
    }

    fn cut(&self) {
        self.link.cut();
    }

    fn heal(&self) {
        self.link.heal();
    }

    fn quarantine(&self) {
        self.link.quarantine(&self.systems[0]).expect("it is linked");
    }

    fn refuse(&self, kind: Option<ErrorKind>) -> bool {
        self.link.refuse(&self.systems[0], kind).is_ok()
    }

    fn frames(&self) -> u64 {
        self.link.frames().0
    }

    fn defers(&self) -> bool {
        false
    }

    fn link(&self) -> Option<&FarLink> {
        Some(&self.link)
    }
}

impl fmt::Debug for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Linked").field(&self.link).finish()
    }
}
