use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dactor_core::spi;
use tokio::sync::{SetOnce, mpsc};

use super::Flaws;
use crate::NativeExit;
use crate::mutants::Flaw;

/// What a task of the reference backend is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Wake,
    Stop,
    Drain,
    PeerDied,
}

/// The native actor of the reference backend.
#[derive(Debug, Clone)]
pub struct Handle {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    mail: mpsc::UnboundedSender<Signal>,
    killed: SetOnce<()>,
    exit: SetOnce<NativeExit>,
    wakes: AtomicUsize,
    /// Of a mutant: whether a turn is queued.
    queued: AtomicBool,
    flaw: Flaws,
}

impl Handle {
    pub(super) fn new(mail: mpsc::UnboundedSender<Signal>, flaw: Flaws) -> Self {
        let (killed, exit, wakes, queued) = Default::default();
        Self { inner: Arc::new(Inner { mail, killed, exit, wakes, queued, flaw }) }
    }

    pub(super) fn host(&self) -> impl spi::Host + use<> {
        Host(self.clone())
    }

    /// Stops the task between two turns.
    pub fn stop(&self) {
        self.send(Signal::Stop);
    }

    /// Lets the task finish what it has.
    pub fn drain(&self) {
        self.send(Signal::Drain);
    }

    /// Ends the task at its next await.
    pub fn kill(&self) {
        let _ = self.inner.killed.set(());
    }

    /// Tells the task that a peer is gone.
    pub fn peer_died(&self) {
        self.send(Signal::PeerDied);
    }

    /// How the task ended, once it has.
    pub async fn exit(&self) -> NativeExit {
        self.inner.exit.wait().await.clone()
    }

    pub(super) async fn killed(&self) {
        self.inner.killed.wait().await;
    }

    pub(super) fn ended(&self, exit: NativeExit) {
        let _ = self.inner.exit.set(exit);
    }

    /// A turn has ended.
    pub(super) fn turned(&self) {
        self.inner.queued.store(false, Ordering::SeqCst);
    }

    fn send(&self, signal: Signal) {
        // Refused when the task has ended.
        let _ = self.inner.mail.send(signal);
    }
}

struct Host(Handle);

impl spi::Host for Host {
    fn wake(&self) {
        let earlier = self.0.inner.wakes.fetch_add(1, Ordering::Relaxed);
        if self.0.inner.flaw.is(Flaw::LosesWakes) && earlier % 2 == 1 {
            return;
        }
        if self.0.inner.flaw.is(Flaw::ClearsFlagLate) && self.0.inner.queued.swap(true, Ordering::SeqCst) {
            return;
        }
        if self.0.inner.flaw.is(Flaw::WakesBySpawning) {
            let handle = self.0.clone();
            tokio::spawn(async move { handle.send(Signal::Wake) });
            return;
        }
        self.0.send(Signal::Wake);
    }

    fn stop(&self) {
        if !self.0.inner.flaw.is(Flaw::IgnoresIdleStop) {
            self.0.stop();
        }
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}
