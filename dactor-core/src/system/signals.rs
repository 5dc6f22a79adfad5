//! Shutdown on operating system signals.

use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, select};

use crate::base::panic::contain;
use crate::mailbox::Ending;
use crate::{Error, ErrorKind, Result, System};

impl System {
    /// Waits for SIGTERM or SIGINT, and then [shuts down](Self::shutdown). A second signal kills the
    /// remaining actors, and the result is an error. A third signal ends the wait immediately: this returns
    /// while the shutdown continues.
    ///
    /// Signals are caught from this call on, even before it is awaited, and until the process exits: use it
    /// at the end of `main`, or in a task beside it. It also returns, with the same result, when the system
    /// is shut down otherwise.
    ///
    /// ```no_run
    /// # async fn program(system: dactor_core::System) -> dactor_core::Result<()> {
    /// let ended = system.shutdown_on_signals();
    /// // Spawn actors, serve.
    /// ended.await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`shutdown`](Self::shutdown), and [`NoRuntime`](ErrorKind::NoRuntime) where signals cannot be
    /// caught: this needs a tokio runtime with I/O enabled.
    pub fn shutdown_on_signals(&self) -> impl Future<Output = Result<()>> + Send + 'static {
        let (system, signals) = (self.clone(), catch());
        async move {
            let mut signals = signals?;
            if let Either::Right((result, _)) =
                select(pin!(signals.next()), pin!(system.shutdown_state().done())).await
            {
                return result;
            }
            let shutdown = pin!(system.shutdown());
            let shutdown = match select(shutdown, pin!(signals.next())).await {
                Either::Left((done, _)) => return done,
                Either::Right(((), shutdown)) => shutdown,
            };
            system.kill_all();
            match select(shutdown, pin!(signals.next())).await {
                Either::Left((done, _)) => done,
                Either::Right(_) => {
                    let error = system.shutdown_state().report().result(&system).err();
                    let error = error.unwrap_or_else(|| Error::new(ErrorKind::ShutdownIncomplete));
                    Err(error.with("third signal", "the shutdown is no longer awaited"))
                }
            }
        }
    }

    /// Kills all remaining actors, and prevents further spawns.
    fn kill_all(&self) {
        self.registry().close();
        let left = self.registry().snapshot();
        self.shutdown_state().report().add("second signal", format!("{} actors were left", left.len()));
        left.iter().for_each(|actor| actor.signal(Ending::Kill));
    }
}

fn catch() -> Result<Signals> {
    let error = |why: &dyn std::fmt::Display| {
        Error::new(ErrorKind::NoRuntime).with("call", "shutdown_on_signals").because(why.to_string())
    };
    tokio::runtime::Handle::try_current().map_err(|outside| error(&outside))?;
    // tokio panics in a runtime without I/O.
    match contain(Signals::new) {
        Ok(Ok(signals)) => Ok(signals),
        Ok(Err(refused)) => Err(error(&refused)),
        Err(panic) => Err(error(&panic)),
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        select(pin!(self.terminate.recv()), pin!(self.interrupt.recv())).await;
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
