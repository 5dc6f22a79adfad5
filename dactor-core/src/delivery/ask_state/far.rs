//! An ask whose actor is in another process.

use std::sync::Arc;

use tokio::time::Instant;

use super::{AskState, Asker, GivenUp, Holder, Sink};
use crate::base::panic::discard;
use crate::delivery::far::FarAsk;
use crate::delivery::far_codec::{decode_reply, encode_message};
use crate::message::items::FarStreams;
use crate::message::mode::Mode;
use crate::{Codec, Error, ErrorKind, Headers, Message, Result};

impl<M: Message> AskState<M> {
    /// Gives up, and takes the message out of the mailbox that holds it, if one does.
    pub(crate) fn give_up_from(&self, first: impl Fn() -> Arc<dyn Holder>) -> GivenUp<M> {
        let abandonment = self.give_up().unwrap_or_else(|| {
            loop {
                let holder = self.holder().unwrap_or_else(&first);
                let mut abandonment = None;
                holder.withdraw(&mut || {
                    abandonment = self.withdraw_from(holder.pid());
                    abandonment.as_ref().and_then(|abandonment| abandonment.slot)
                });
                // None when it was forwarded meanwhile.
                if let Some(abandonment) = abandonment {
                    return abandonment;
                }
            }
        });
        if let Some(gone) = abandonment.gone {
            gone.cancel();
        }
        if !matches!(abandonment.found, GivenUp::Answered(..)) {
            self.holder().unwrap_or_else(first).asker_gone();
        }
        abandonment.found
    }

    /// The answer, when it may leave: given once.
    pub(crate) fn take_answer(&self) -> Option<(Result<M::Reply>, Headers)> {
        let mut state = self.lock();
        if state.holds > 0 {
            return None;
        }
        let answer = state.answer.take()?;
        Some((answer, std::mem::take(&mut state.reply_headers)))
    }

    /// Gives up without a mailbox that would have to forget the message.
    pub(crate) fn abandon(&self) {
        let abandonment = super::abandon(self.lock(), None);
        if let Some(gone) = abandonment.gone {
            gone.cancel();
        }
        discard(abandonment.found);
    }
}

impl<M: Message> FarAsk for AskState<M> {
    fn wire_name(&self) -> Option<&'static str> {
        M::WIRE.map(|wire| wire.name())
    }

    fn message_type(&self) -> &'static str {
        M::type_name()
    }

    fn mode(&self) -> Mode {
        M::MODE
    }

    fn headers(&self) -> Headers {
        self.lock().headers.clone()
    }

    fn deadline(&self) -> Option<Instant> {
        Asker::deadline(self)
    }

    fn is_gone(&self) -> bool {
        Asker::is_gone(self)
    }

    fn encode(&self, codec: Codec, buffer: &mut Vec<u8>) -> Result<()> {
        // Under the lock, so that an asker who gives up finds it here or finds that it has left.
        match &self.lock().message {
            Some(message) => encode_message(message, codec, buffer),
            None => Err(Error::new(ErrorKind::Cancelled).with("message", M::type_name()).unhandled()),
        }
    }

    fn sent(&self) -> Option<FarStreams> {
        let message = self.lock().message.take()?;
        Some(message.into_streams())
    }

    fn answer(&self, payload: &[u8], codec: Codec, headers: Headers) -> bool {
        let reply = decode_reply::<M>(payload, codec);
        if !headers.is_empty() {
            self.change_headers(&mut |own| own.merge(&headers));
        }
        Sink::answer(self, reply)
    }

    fn fail(&self, error: Error) -> bool {
        Sink::answer(self, Err(error))
    }

    fn fail_with(&self, error: Error, headers: Headers) -> bool {
        if !headers.is_empty() {
            self.change_headers(&mut |own| own.merge(&headers));
        }
        self.fail(error)
    }
}
