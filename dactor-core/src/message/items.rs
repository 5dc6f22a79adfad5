//! The items of a stream that leaves the process, with their type erased.

use std::fmt;
use std::task::{Context, Poll};

use crate::{Codec, Result};

/// The items of a stream that leave the process: a carrier encodes one after the other.
///
/// Dropped, it closes the stream: its producer learns that no more items are wanted.
pub trait ItemSource: Send {
    /// Appends the next item to the buffer. `None` when the stream is finished; an error is the last item: the stream is not
    /// whole. An item that cannot be encoded is such an error.
    ///
    /// [`Unfinished`](crate::ErrorKind::Unfinished) says that the producer was dropped. The other side gives the same end
    /// to its consumer when it passes the error to [`ItemSink::end`].
    fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
        codec: Codec,
        buffer: &mut Vec<u8>,
    ) -> Poll<Option<Result<()>>>;
}

/// Where the items of a stream that come from another process go.
///
/// Dropped before its [end](Self::end), it ends the stream as unfinished.
pub trait ItemSink: Send {
    /// Takes the next item.
    ///
    /// # Errors
    ///
    /// [`DecodeFailed`](crate::ErrorKind::DecodeFailed), which ends the stream;
    /// [`ConsumerGone`](crate::ErrorKind::ConsumerGone) when the consumer is gone;
    /// [`MailboxFull`](crate::ErrorKind::MailboxFull) when there was no [room](Self::poll_room) for it, which ends the stream, too.
    fn item(&mut self, payload: &[u8], codec: Codec) -> Result<()>;

    /// Ends the stream: finished, or cut short by this error.
    fn end(&mut self, end: Result<()>);

    /// For how many more items there is room, once it differs from `known`; `Ready(None)` when the consumer is gone.
    fn poll_room(&mut self, cx: &mut Context<'_>, known: usize) -> Poll<Option<usize>>;
}

/// The streams of one request, seen from the process that it leaves or comes to.
#[derive(Default)]
pub struct FarStreams {
    /// Items that leave.
    pub leaving: Option<Box<dyn ItemSource>>,
    /// Where items that come go.
    pub coming: Option<Box<dyn ItemSink>>,
}

impl FarStreams {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leaving.is_none() && self.coming.is_none()
    }
}

impl fmt::Debug for FarStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FarStreams")
            .field("leaving", &self.leaving.is_some())
            .field("coming", &self.coming.is_some())
            .finish()
    }
}
