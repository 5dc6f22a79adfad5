use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dactor_core::spi;
use tokio::sync::{SetOnce, mpsc};

use super::Flaws;
use crate::NativeExit;
use crate::mutants::Flaw;

/// A signal to the task of a native actor.
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
    signals: mpsc::UnboundedSender<Signal>,
    killed: SetOnce<()>,
    exit: SetOnce<NativeExit>,
    wakes: AtomicUsize,
    /// For a mutant: whether a turn is queued.
    queued: AtomicBool,
    flaw: Flaws,
}

impl Handle {
    pub(super) fn new(signals: mpsc::UnboundedSender<Signal>, flaw: Flaws) -> Self {
        let (killed, exit, wakes, queued) = Default::default();
        Self { inner: Arc::new(Inner { signals, killed, exit, wakes, queued, flaw }) }
    }

    pub(super) fn native_handle(&self) -> impl spi::NativeHandle + use<> {
        WakeHandle(self.clone())
    }

    /// Stops the task between two turns.
    pub fn stop(&self) {
        self.send(Signal::Stop);
    }

    /// Lets the task handle its queued messages, then ends it.
    pub fn drain(&self) {
        self.send(Signal::Drain);
    }

    /// Ends the task at its next await.
    pub fn kill(&self) {
        let _ = self.inner.killed.set(());
    }

    /// Signals that a linked peer has ended.
    pub fn peer_died(&self) {
        self.send(Signal::PeerDied);
    }

    /// How the task ended.
    pub async fn exit(&self) -> NativeExit {
        self.inner.exit.wait().await.clone()
    }

    pub(super) async fn killed(&self) {
        self.inner.killed.wait().await;
    }

    pub(super) fn ended(&self, exit: NativeExit) {
        let _ = self.inner.exit.set(exit);
    }

    /// Records that a turn has ended.
    pub(super) fn turn_ended(&self) {
        self.inner.queued.store(false, Ordering::SeqCst);
    }

    fn send(&self, signal: Signal) {
        // Fails if the task has ended.
        let _ = self.inner.signals.send(signal);
    }
}

struct WakeHandle(Handle);

impl spi::NativeHandle for WakeHandle {
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
