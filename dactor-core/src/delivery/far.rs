//! Asks whose asker or whose actor is in another process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{Codec, Error, ErrorKind, Headers, Result};

/// An ask that leaves the process, as its carrier keeps it until the answer comes. It is the state of the ask itself: to
/// keep it costs no allocation.
pub trait FarAsk: Send + Sync {
    /// Its message's name on the wire; `None` for a message that cannot leave the process.
    fn wire_name(&self) -> Option<&'static str>;

    /// The type of its message.
    fn message_type(&self) -> &'static str;

    /// How it is sent: as an ask, or as a stream.
    fn mode(&self) -> Mode;

    /// What travels beside the message.
    fn headers(&self) -> Headers;

    /// The deadline for the answer.
    fn deadline(&self) -> Option<Instant>;

    /// Whether the asker has given up.
    fn is_gone(&self) -> bool;

    /// Appends the message to the buffer. It can still be taken back after that.
    ///
    /// # Errors
    ///
    /// [`NotRemotable`](ErrorKind::NotRemotable) without a wire name, [`EncodeFailed`](ErrorKind::EncodeFailed) when it cannot
    /// be encoded, [`Cancelled`](ErrorKind::Cancelled) when the asker has given up.
    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()>;

    /// Says that the message is leaving now, and gives the streams that came with it. From here on an asker who gives up
    /// cannot take it back, and [`may_have_been_handled`](Error::may_have_been_handled) is true.
    ///
    /// `None` when the asker has given up before: then it must not be sent.
    fn sent(&self) -> Option<FarStreams>;

    /// Answers with the encoded reply, or with an error when that cannot be decoded. `false` when the asker is gone, or was
    /// answered before.
    fn answer(&self, payload: &[u8], codec: Codec, headers: Headers) -> bool;

    /// Answers with an error. `false` as above.
    fn fail(&self, error: Error) -> bool;

    /// Answers with an error, and with the headers that came beside it. `false` as above.
    fn fail_with(&self, error: Error, headers: Headers) -> bool {
        let _ = headers;
        self.fail(error)
    }
}

/// An ask that came from another process, as its carrier keeps it while the answer is awaited.
pub trait IncomingAsk: Send + Sync {
    /// The asker in the other process has given up: takes the message back if no handler has it yet. No answer is
    /// returned after that.
    fn cancel(&self);
}

/// Where the answers of asks from one other process go.
pub trait ReplyReturn: Send + Sync {
    /// Takes the answer to the ask with this id: its encoded reply, or its error, and the headers beside it. It is called
    /// once for each ask, from any task; it must not wait.
    fn reply(&self, correlation: u64, answer: Result<&[u8], &Error>, headers: &Headers);

    /// How replies are encoded.
    fn codec(&self) -> Codec;

    /// Runs the encoding of a reply: inside of the scope in which refs are encoded, if there is one.
    fn scoped(&self, encode: &mut dyn FnMut()) {
        encode();
    }
}

/// The obligation to answer one ask of another process. It answers once: dropped without an answer, it returns
/// [`NoReply`](ErrorKind::NoReply).
#[must_use = "dropping it answers with an error"]
pub struct ReplyTo {
    back: Arc<dyn ReplyReturn>,
    correlation: u64,
    answered: AtomicBool,
}

impl ReplyTo {
    /// For the ask with this id.
    pub fn new(back: Arc<dyn ReplyReturn>, correlation: u64) -> Self {
        Self { back, correlation, answered: AtomicBool::new(false) }
    }

    /// Answers with an error.
    pub fn fail(self, error: &Error) {
        self.give(Err(error), Headers::NONE);
    }

    pub(crate) fn back(&self) -> &dyn ReplyReturn {
        &*self.back
    }

    /// The first answer is returned; later ones are not.
    pub(crate) fn give(&self, answer: Result<&[u8], &Error>, headers: &Headers) {
        if !self.answered.swap(true, Ordering::AcqRel) {
            self.back.reply(self.correlation, answer, headers);
        }
    }

    /// The asker has given up: an answer is dropped.
    pub(crate) fn forget(&self) {
        self.answered.store(true, Ordering::Release);
    }
}

impl Drop for ReplyTo {
    fn drop(&mut self) {
        if !*self.answered.get_mut() {
            let error = Error::new(ErrorKind::NoReply).with("because", "the ask was dropped on its way");
            self.give(Err(&error), Headers::NONE);
        }
    }
}

impl fmt::Debug for ReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReplyTo").field(&self.correlation).finish()
    }
}
