//! Connecting to another node, with a reconnect backoff.

use std::sync::Arc;

use dactor_core::{ErrorKind, Result};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::Peer;
use crate::authority::AuthorityState;
use crate::connection::reader::Buffer;
use crate::events::NodeEvent;
use crate::handshake::{Failed, Refusal, say_hello};
use crate::inner::Inner;

impl Peer {
    /// Starts the connecting task, unless it is running.
    pub(super) fn want(&self) {
        let Some(node) = self.node() else { return };
        let mut state = self.lock();
        let is_unresolved = state.authority.state() == AuthorityState::Unresolved;
        if !is_unresolved || state.dialing || state.accepting || node.closed.is_cancelled() {
            return;
        }
        state.dialing = true;
        drop(state);
        if let Some(peer) = node.known(&self.id) {
            node.runtime.spawn(peer.dial(node.clone()));
        } else {
            self.lock().dialing = false;
        }
    }

    /// Waits for a connection. Fails with the error of the next failed attempt.
    pub(crate) async fn connect(&self) -> Result<()> {
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.lock();
            match state.authority.state() {
                AuthorityState::Connected => return Ok(()),
                AuthorityState::Quarantined { .. } => return Err(self.error_of(ErrorKind::Quarantined)),
                AuthorityState::Unresolved => state.waiters.push(sender),
            }
        }
        self.want();
        answer.await.unwrap_or_else(|_| Err(self.error_of(ErrorKind::Disconnected)))
    }

    /// Whether a watch, a deferred frame, a waiting task or a joined node needs the connection.
    pub(super) fn is_wanted(&self) -> bool {
        let watching = self.association().watching() > 0;
        let state = self.lock();
        state.authority.state() == AuthorityState::Unresolved
            && (watching || state.joined || state.authority.has_deferred() || !state.waiters.is_empty())
    }

    /// Connects until the peer is connected or no connection is needed.
    async fn dial(self: Arc<Self>, node: Arc<Inner>) {
        let (shortest, longest) = node.config.backoff;
        let mut pause = shortest;
        while self.is_wanted() && !node.closed.is_cancelled() {
            let limit = node.config.attempt_timeout();
            let failed = match timeout(limit, self.attempt(&node)).await {
                Ok(Ok(())) => break,
                Ok(Err(failed)) => failed,
                Err(_) => Failed::Io(std::io::ErrorKind::TimedOut.into()),
            };
            if !self.attempt_failed(&failed) {
                break;
            }
            let jittered = pause.mul_f64(0.5 + fraction());
            tokio::select! {
                () = tokio::time::sleep(jittered) => {}
                () = node.closed.cancelled() => break,
            }
            pause = (pause * 2).min(longest);
        }
        self.lock().dialing = false;
        // A frame may have been deferred in the meantime.
        if self.is_wanted() {
            self.want();
        }
    }

    /// Returns `false` if the connecting task should stop.
    fn attempt_failed(&self, failed: &Failed) -> bool {
        if self.lock().authority.state() == AuthorityState::Connected {
            return false;
        }
        if failed.refusal() == Some(Refusal::Simultaneous) {
            // The other node's connection is being accepted.
            return true;
        }
        if let Failed::Refused { why, .. } = failed {
            let (node, detail) = (Some(self.id.clone()), failed.to_string());
            self.publish(&NodeEvent::Refused { node, refusal: *why, detail });
        }
        let error = failed.error(&self.id);
        self.lock().answer_waiters(&Err(error));
        self.lock().down_since.get_or_insert_with(tokio::time::Instant::now);
        true
    }

    async fn attempt(self: &Arc<Self>, node: &Arc<Inner>) -> Result<(), Failed> {
        let stream = node.network.connect(&self.id).await?;
        let (mut stream, certificate) = node.security.connect(stream, &self.id).await?;
        let mut buffer = Buffer::new();
        let hello = node.hello(&self.id, self.lock().established);
        let welcome = say_hello(&mut stream, &mut buffer, &hello).await?;
        let id = node.check_hello(&welcome, certificate.as_ref())?;
        if id != self.id {
            return Err(Failed::ours(Refusal::WrongNode, format!("{id} and not {}", self.id)));
        }
        if self.lock().quarantined == Some(welcome.incarnation) {
            return Err(Failed::ours(Refusal::Quarantined, "it was given up"));
        }
        self.establish(node, &welcome, stream, buffer);
        Ok(())
    }
}

/// A pseudo-random number in `0.0..1.0`.
fn fraction() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(0);
    (number >> 11) as f64 / (1_u64 << 53) as f64
}
