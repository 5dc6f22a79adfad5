//! The reader task: parses packets and passes their frames to the association. It never waits for an actor.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::inbound::State;
use crate::peer::Peer;

/// The initial size of the receive buffer; a larger packet grows it.
const BUFFER: usize = 64 * 1024;

/// Why the reader stopped.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The other node closed the connection, or it failed.
    Broken(io::Error),
    /// The other node is shutting down.
    Bye,
    /// The connection was replaced or closed by this node.
    Replaced,
    /// The other node violated the protocol.
    Invalid(String),
}

/// The receive buffer: received bytes not yet parsed.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), begin: 0, end: 0 }
    }

    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.begin += count;
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
    }

    /// Reads more bytes, with room for a packet of `needed` bytes in total.
    pub(crate) async fn fill(
        &mut self,
        from: &mut (impl AsyncRead + Unpin + ?Sized),
        needed: usize,
        least: usize,
    ) -> io::Result<()> {
        if self.begin > 0 && self.bytes.len() - self.begin < needed.max(least / 2) {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        let size = needed.max(least);
        if self.bytes.len() - self.begin < needed || self.bytes.len() < least {
            self.bytes.resize(self.begin + size, 0);
        }
        let count = from.read(&mut self.bytes[self.end..]).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.end += count;
        Ok(())
    }
}

/// Reads until the connection ends.
pub(crate) async fn read(
    peer: &Arc<Peer>,
    number: u64,
    mut from: Box<dyn AsyncRead + Send + Sync + Unpin>,
    mut buffer: Buffer,
) -> ReadEnd {
    let mut needed = 0;
    loop {
        if (needed > 0 || buffer.filled().is_empty())
            && let Err(error) = buffer.fill(&mut *from, needed, BUFFER).await
        {
            return ReadEnd::Broken(error);
        }
        let received = peer.receive(number, buffer.filled());
        let Some((read, received)) = received else { return ReadEnd::Replaced };
        match received {
            Ok(State::More(more)) => needed = more,
            Ok(State::Bye) => return ReadEnd::Bye,
            Ok(State::Invalid(why)) => return ReadEnd::Invalid(why.into()),
            Err(error) => return ReadEnd::Invalid(format!("{error:#}")),
        }
        buffer.consume(read);
    }
}
