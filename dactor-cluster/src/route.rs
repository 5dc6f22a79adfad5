//! The route of messages to a virtual actor.

use std::sync::Arc;
use std::time::Duration;

use dactor_core::spi::{Envelope, FarRefused, FarRoute};
use dactor_core::{End, Error, ErrorKind, Priority, Result};

use crate::entry::Entry;
use crate::{DeactivationReason, VirtualActor};

pub(crate) struct VirtualRoute<A: VirtualActor> {
    entry: Arc<Entry<A>>,
}

impl<A: VirtualActor> VirtualRoute<A> {
    pub(crate) fn new(entry: Arc<Entry<A>>) -> Self {
        Self { entry }
    }
}

impl<A: VirtualActor> FarRoute<A> for VirtualRoute<A> {
    fn deliver(&self, envelope: Envelope<A>, priority: Priority) -> Result<(), FarRefused<A>> {
        self.entry.deliver(envelope, priority)
    }

    fn end(&self, how: End) -> Result<()> {
        self.entry.end(how, DeactivationReason::Requested);
        Ok(())
    }

    fn watch(&self) -> Result<()> {
        let error = Error::new(ErrorKind::Unsupported).with("virtual actor", &self.entry.id);
        Err(error.with("because", "a virtual actor has no end, only its activations have"))
    }

    fn unwatch(&self) {}

    fn is_own_code(&self) -> bool {
        self.entry.is_own_code()
    }

    fn ask_timeout(&self) -> Option<Duration> {
        self.entry.kind.options.ask_timeout
    }
}
