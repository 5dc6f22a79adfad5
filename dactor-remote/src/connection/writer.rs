//! The writer task: writes the send queue in batches.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::peer::Peer;

/// Writes until the connection is closed or fails.
pub(crate) async fn write(
    peer: &Arc<Peer>,
    number: u64,
    mut to: Box<dyn AsyncWrite + Send + Sync + Unpin>,
) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        peer.written().await;
        // Lets other tasks add frames: a few large writes are much cheaper than many small ones.
        tokio::task::yield_now().await;
        batch.clear();
        if !peer.take_batch(number, &mut batch) {
            return Ok(());
        }
        if !batch.is_empty() {
            to.write_all(&batch).await?;
            to.flush().await?;
        }
    }
}
