//! An ask of another process: its answer goes back to where it came from.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::panic::discard;
#[cfg(feature = "wire")]
use crate::delivery::ask_state::Terms;
use crate::delivery::ask_state::{AskState, Asker, AtSlot, GivenUp, HolderRef, Sink};
use crate::delivery::far::{FarAsk, IncomingAsk, ReplyTo};
use crate::delivery::far_codec::encode;
use crate::mailbox::slot::AtomicSlot;
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{Codec, Error, Headers, Message, Result};

/// The state of an ask, as a local one has it, with the way back beside it: one allocation.
pub struct Incoming<M: Message> {
    pub(crate) state: AskState<M>,
    back: ReplyTo,
}

impl<M: Message> Incoming<M> {
    #[cfg(feature = "wire")]
    pub(crate) fn new(message: M, headers: Headers, deadline: Option<Instant>, back: ReplyTo) -> Self {
        let terms = Terms { deadline, cancel: None };
        Self { state: AskState::new(message, headers, terms, None), back }
    }

    /// Returns the answer, once it may leave.
    fn flush(&self) {
        if let Some((answer, headers)) = self.state.take_answer() {
            match answer {
                Ok(reply) => self.send(&reply, &headers),
                Err(error) => self.back.give(Err(&error), &headers),
            }
        }
    }

    fn send(&self, reply: &M::Reply, headers: &Headers) {
        let Some(wire) = M::WIRE else { unreachable!("an incoming message has a wire name") };
        let back = self.back.back();
        with_buffer(|buffer| {
            let mut encoded = Ok(());
            back.scoped(&mut || encoded = encode(&wire.reply(), reply, back.codec(), buffer));
            match encoded {
                Ok(()) => self.back.give(Ok(buffer), headers),
                Err(error) => {
                    let error = error.with("message", M::type_name()).perhaps_handled();
                    self.back.give(Err(&error), headers);
                }
            }
        });
    }
}

impl<M: Message> std::fmt::Debug for Incoming<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Incoming").field(&self.back).finish()
    }
}

impl<M: Message> IncomingAsk for Incoming<M> {
    fn cancel(&self) {
        self.back.forget();
        let Some(holder) = self.state.holder() else { return self.state.abandon() };
        match self.state.give_up_from(|| holder.clone()) {
            GivenUp::Answered(answer, _) | GivenUp::Held(answer) => discard(answer),
            GivenUp::Withdrawn(message) => discard(message),
            GivenUp::Claimed => {}
        }
    }
}

thread_local! {
    /// Replies are encoded into it, so that a reply costs no allocation.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A larger buffer is not kept.
const KEPT: usize = 64 * 1024;

/// A buffer that is empty. The code of the user's that runs with it may encode something itself, and gets another one.
fn with_buffer(run: impl FnOnce(&mut Vec<u8>)) {
    let mut buffer = BUFFER.try_with(RefCell::take).unwrap_or_default();
    run(&mut buffer);
    if buffer.capacity() <= KEPT {
        buffer.clear();
        let _ = BUFFER.try_with(|kept| kept.replace(buffer));
    }
}

impl<M: Message> Sink<M::Reply> for Incoming<M> {
    fn answer(&self, answer: Result<M::Reply>) -> bool {
        let answered = Sink::answer(&self.state, answer);
        self.flush();
        answered
    }

    fn answer_of_handler(&self, reply: M::Reply, passes: u32) -> Result<bool, M::Reply> {
        let answered = self.state.answer_of_handler(reply, passes)?;
        self.flush();
        Ok(answered)
    }
}

impl<M: Message> Asker for Incoming<M> {
    fn deadline(&self) -> Option<Instant> {
        Asker::deadline(&self.state)
    }

    fn is_gone(&self) -> bool {
        Asker::is_gone(&self.state)
    }

    fn has_given_up(&self) -> bool {
        self.state.has_given_up()
    }

    fn interleaves(&self) -> bool {
        self.state.interleaves()
    }

    fn slot(&self) -> &AtomicSlot {
        self.state.slot()
    }

    fn enter(&self, slot: AtSlot, holder: Option<&HolderRef>) -> bool {
        self.state.enter(slot, holder)
    }

    fn gone(&self) -> CancellationToken {
        self.state.gone()
    }

    fn pass_on(&self) {
        self.state.pass_on();
    }

    fn passes(&self) -> u32 {
        self.state.passes()
    }

    fn is_held_up(&self) -> bool {
        self.state.is_held_up()
    }

    fn held_by(&self) -> Option<crate::Pid> {
        self.state.held_by()
    }

    fn is_unclaimed(&self) -> bool {
        self.state.is_unclaimed()
    }

    fn hold(&self) {
        self.state.hold();
    }

    fn release(&self) {
        self.state.release();
        self.flush();
    }

    fn change_headers(&self, change: &mut dyn FnMut(&mut Headers)) {
        self.state.change_headers(change);
    }

    fn into_sink(self: Arc<Self>) -> Box<dyn Any + Send> {
        let sink: Arc<dyn Sink<M::Reply>> = self;
        Box::new(sink)
    }
}

/// It goes on to another process.
impl<M: Message> FarAsk for Incoming<M> {
    fn wire_name(&self) -> Option<&'static str> {
        self.state.wire_name()
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn mode(&self) -> Mode {
        M::MODE
    }

    fn headers(&self) -> Headers {
        self.state.headers()
    }

    fn deadline(&self) -> Option<Instant> {
        Asker::deadline(&self.state)
    }

    fn is_gone(&self) -> bool {
        Asker::is_gone(&self.state)
    }

    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        self.state.encode(codec, buffer)
    }

    fn sent(&self) -> Option<FarStreams> {
        self.state.sent()
    }

    fn answer(&self, payload: &[u8], codec: Codec, headers: Headers) -> bool {
        let answered = FarAsk::answer(&self.state, payload, codec, headers);
        self.flush();
        answered
    }

    fn fail(&self, error: Error) -> bool {
        Sink::answer(self, Err(error))
    }
}
