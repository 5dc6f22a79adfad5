//! The accept loop, the accepting side of the handshake, and the heartbeat task.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::reader::Buffer;
use crate::events::NodeEvent;
use crate::handshake::{Answer, Failed, answer, hear_hello};
use crate::inner::Inner;
use crate::transport::{Duplex, Listener};

/// Accepts connections until the node is closed.
pub(crate) async fn accept(node: Weak<Inner>, mut listener: Box<dyn Listener>, closed: CancellationToken) {
    let Some(limit) = node.upgrade().map(|node| node.config.max_handshakes) else { return };
    let handshakes = Arc::new(Semaphore::new(limit));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed.cancelled() => return,
        };
        let Some(node) = node.upgrade() else { return };
        match accepted {
            Ok(stream) => match handshakes.clone().try_acquire_owned() {
                Ok(permit) => {
                    node.runtime.clone().spawn(async move {
                        greet(&node, stream).await;
                        drop(permit);
                    });
                }
                Err(_) => tracing::warn!("connection refused: too many concurrent handshakes"),
            },
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                // Perhaps out of file descriptors: back off before the next accept.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn greet(node: &Arc<Inner>, stream: Duplex) {
    let limit = node.config.handshake_timeout;
    match timeout(limit, handshake(node, stream)).await {
        Ok(Ok(())) => {}
        Ok(Err(Failed::Io(error))) => tracing::info!(%error, "handshake failed"),
        Ok(Err(Failed::Refused { why, text, .. })) => {
            node.events.publish(&NodeEvent::Refused { node: None, refusal: why, detail: text });
        }
        Err(_) => tracing::warn!(?limit, "handshake timed out"),
    }
}

/// Reads a hello and answers it.
async fn handshake(node: &Arc<Inner>, stream: Duplex) -> Result<(), Failed> {
    let (mut stream, certificate) = node.security.accept(stream).await?;
    let mut buffer = Buffer::new();
    let heard = hear_hello(&mut stream, &mut buffer).await;
    let checked = heard.and_then(|hello| Ok((node.check_hello(&hello, certificate.as_ref())?, hello)));
    let (id, hello) = match checked {
        Ok(checked) => checked,
        Err(failed) => {
            if let Failed::Refused { why, text, .. } = &failed {
                answer(&mut stream, &Answer::Refused(*why, text.clone())).await?;
            }
            return Err(failed);
        }
    };
    let peer = node.peer(&id).map_err(|error| Failed::Io(std::io::Error::other(error)))?;
    let decision = peer.accept(node, &hello);
    match &decision {
        Answer::Refused(why, text) => {
            answer(&mut stream, &decision).await?;
            Err(Failed::ours(*why, text.clone()))
        }
        Answer::Welcome(_) => {
            let accepting = Accepting { peer: &peer, done: false };
            answer(&mut stream, &decision).await?;
            accepting.done();
            peer.establish(node, &hello, stream, buffer);
            Ok(())
        }
    }
}

/// Guard of a connection being accepted, until it is established or fails.
struct Accepting<'a> {
    peer: &'a crate::peer::Peer,
    done: bool,
}

impl Accepting<'_> {
    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Accepting<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.peer.accept_failed();
        }
    }
}

/// Sends heartbeats and checks the timeouts of all peers at this interval.
pub(crate) async fn tick(node: Weak<Inner>, every: Duration, closed: CancellationToken) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = closed.cancelled() => return,
        }
        let Some(node) = node.upgrade() else { return };
        node.sorted_peers().iter().for_each(|peer| peer.beat());
        node.expire_reservations();
    }
}
