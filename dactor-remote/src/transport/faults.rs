//! Fault injection for networks, for tests.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use dactor_core::NodeId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Duplex, Listener, Network, Opening};

/// A fault injected into a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteFault {
    /// The bytes are dropped.
    Lose,
    /// The bytes are written twice.
    Duplicate,
    /// The bytes are written after those of the next write.
    Reorder,
    /// One bit is flipped.
    Corrupt,
    /// The second half is dropped, and the stream ends.
    Cut,
}

/// A network wrapper that injects faults: partitions, silence and faulty writes.
#[derive(Clone)]
pub struct FaultyNetwork {
    network: Arc<dyn Network>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    writes: AtomicU64,
    spoiled: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Streams of an earlier epoch are cut.
    epoch: u64,
    /// Opening a stream fails.
    is_cut: bool,
    /// No byte arrives, and no call fails.
    is_silent: bool,
    /// The fault, injected into every n-th write.
    fault: Option<(WriteFault, u64)>,
    wakers: Vec<Waker>,
}

impl FaultyNetwork {
    /// Wraps a network; no fault is injected yet.
    pub fn new(network: impl Network) -> Self {
        Self { network: Arc::new(network), shared: Arc::default() }
    }

    /// Ends all streams and refuses new ones.
    pub fn cut(&self) {
        self.change(|state| {
            state.epoch += 1;
            state.is_cut = true;
        });
    }

    /// Ends all streams. New ones can be opened.
    pub fn reset(&self) {
        self.change(|state| state.epoch += 1);
    }

    /// Stops all traffic without an error, like a power failure of the other machine.
    pub fn silence(&self) {
        self.change(|state| state.is_silent = true);
    }

    /// Ends all faults. Streams that were cut stay cut.
    pub fn heal(&self) {
        self.change(|state| {
            state.is_cut = false;
            state.is_silent = false;
            state.fault = None;
        });
    }

    /// Injects the fault into every n-th write.
    pub fn spoil(&self, fault: WriteFault, every: u64) {
        self.change(|state| state.fault = Some((fault, every)));
    }

    /// The number of faulty writes.
    pub fn spoiled(&self) -> usize {
        self.shared.spoiled.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.shared.lock();
        change(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn around(&self, stream: Duplex) -> io::Result<Duplex> {
        let state = self.shared.lock();
        if state.is_cut {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let epoch = state.epoch;
        drop(state);
        let read = Half { inner: stream.read, shared: self.shared.clone(), epoch, held: Vec::new() };
        let write = Half { inner: stream.write, shared: self.shared.clone(), epoch, held: Vec::new() };
        Ok(Duplex::new(read, write))
    }
}

impl fmt::Debug for FaultyNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyNetwork").finish_non_exhaustive()
    }
}

impl Network for FaultyNetwork {
    fn connect<'a>(&'a self, to: &'a NodeId) -> Opening<'a, Duplex> {
        Box::pin(async move {
            if self.shared.lock().is_silent {
                return std::future::pending().await;
            }
            let stream = self.network.connect(to).await?;
            self.around(stream)
        })
    }

    fn bind<'a>(&'a self, at: &'a str) -> Opening<'a, Box<dyn Listener>> {
        Box::pin(async move {
            let inner = self.network.bind(at).await?;
            Ok(Box::new(FaultyListener { inner, network: self.clone() }) as Box<dyn Listener>)
        })
    }
}

struct FaultyListener {
    inner: Box<dyn Listener>,
    network: FaultyNetwork,
}

impl Listener for FaultyListener {
    fn accept(&mut self) -> Opening<'_, Duplex> {
        Box::pin(async move {
            loop {
                let stream = self.inner.accept().await?;
                if let Ok(stream) = self.network.around(stream) {
                    return Ok(stream);
                }
            }
        })
    }

    fn local_addr(&self) -> io::Result<NodeId> {
        self.inner.local_addr()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the stream works; registers the waker for a change.
    fn check(&self, epoch: u64, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        state.wakers.retain(|waker| !waker.will_wake(cx.waker()));
        state.wakers.push(cx.waker().clone());
        match (state.is_silent, state.epoch != epoch) {
            (true, _) => Poll::Pending,
            (false, true) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            (false, false) => Poll::Ready(Ok(())),
        }
    }

    fn fault(&self) -> Option<WriteFault> {
        let (fault, every) = self.lock().fault?;
        let count = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        let strikes = count.is_multiple_of(every);
        self.spoiled.fetch_add(usize::from(strikes), Ordering::Relaxed);
        strikes.then_some(fault)
    }
}

struct Half<T> {
    inner: T,
    shared: Arc<Shared>,
    epoch: u64,
    /// Bytes to write before all others.
    held: Vec<u8>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Half<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.shared.check(self.epoch, cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.inner).poll_read(cx, buf),
            other => other,
        }
    }
}

impl<T: AsyncWrite + Unpin> Half<T> {
    /// Writes the held bytes.
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            match Pin::new(&mut self.inner).poll_write(cx, &self.held) {
                Poll::Ready(Ok(count)) => drop(self.held.drain(..count)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Half<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match this.shared.check(this.epoch, cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => return Poll::Pending,
        }
        let swapped = std::mem::take(&mut this.held);
        match this.shared.fault() {
            Some(WriteFault::Lose) => {}
            Some(WriteFault::Duplicate) => this.held = [buf, buf].concat(),
            Some(WriteFault::Reorder) if swapped.is_empty() => {
                this.held = buf.to_vec();
                return Poll::Ready(Ok(buf.len()));
            }
            Some(WriteFault::Corrupt) => {
                this.held = buf.to_vec();
                let middle = buf.len() / 2;
                this.held[middle] ^= 0x10;
            }
            Some(WriteFault::Cut) => {
                this.held = buf[..buf.len() / 2].to_vec();
                let _ = this.poll_held(cx);
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            Some(WriteFault::Reorder) | None => this.held = buf.to_vec(),
        }
        this.held.extend_from_slice(&swapped);
        let _ = this.poll_held(cx)?;
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.shared.check(self.epoch, cx) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        // A write to reorder is held until the next one.
        let reorders = matches!(self.shared.lock().fault, Some((WriteFault::Reorder, _)));
        if !reorders {
            match self.poll_held(cx) {
                Poll::Ready(Ok(())) => {}
                other => return other,
            }
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
