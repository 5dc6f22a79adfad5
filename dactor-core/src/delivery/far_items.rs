//! The two halves of a stream, as a carrier between processes has them.

use std::any::type_name;
use std::task::{Context, Poll};

use crate::delivery::channel::{End, Refused, Rx, Tx};
use crate::delivery::far_codec::{decode, encode};
use crate::message::items::{ItemSink, ItemSource};
use crate::{Codec, Error, ErrorKind, Result, WireCodec};

/// Encodes the items that a channel has.
pub(crate) struct Leaving<T> {
    pub(crate) rx: Rx<T>,
    pub(crate) item: WireCodec<T>,
    pub(crate) request: &'static str,
}

impl<T: Send> ItemSource for Leaving<T> {
    fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
        codec: Codec,
        buffer: &mut Vec<u8>,
    ) -> Poll<Option<Result<()>>> {
        self.rx.poll_next(cx).map(|next| match next {
            Ok(item) => Some(encode(&self.item, &item, codec, buffer).map_err(|error| {
                self.rx.close();
                error.with("message", self.request)
            })),
            Err(End::Finished) => None,
            Err(End::Failed(error)) => Some(Err(error)),
            Err(End::Dropped) => Some(Err(error::<T>(ErrorKind::Unfinished, self.request))),
        })
    }
}

/// The producing half of a channel, or what holds it.
pub(crate) trait AsTx<T>: Send {
    fn as_tx(&self) -> &Tx<T>;
}

impl<T: Send> AsTx<T> for Tx<T> {
    fn as_tx(&self) -> &Tx<T> {
        self
    }
}

/// Decodes items into a channel.
pub(crate) struct Coming<T, P> {
    pub(crate) tx: Option<P>,
    pub(crate) item: WireCodec<T>,
    pub(crate) request: &'static str,
}

impl<T: Send, P: AsTx<T>> ItemSink for Coming<T, P> {
    fn item(&mut self, payload: &[u8], codec: Codec) -> Result<()> {
        let Some(tx) = &self.tx else { return Err(error::<T>(ErrorKind::ConsumerGone, self.request)) };
        let failed = match decode(&self.item, payload, codec) {
            Ok(item) => match tx.as_tx().try_send(item) {
                Ok(()) => return Ok(()),
                Err(Refused::Full(_)) => error::<T>(ErrorKind::MailboxFull, self.request)
                    .with("because", "more items came than there was room for"),
                Err(Refused::Closed(_) | Refused::Ended(_)) => {
                    return Err(error::<T>(ErrorKind::ConsumerGone, self.request));
                }
            },
            Err(error) => error.with("message", self.request),
        };
        self.end(Err(failed.clone()));
        Err(failed)
    }

    fn end(&mut self, end: Result<()>) {
        let Some(tx) = self.tx.take() else { return };
        match end {
            Ok(()) => drop(tx.as_tx().end(End::Finished)),
            // As if the producer itself had been dropped here: the end of the handler may say more.
            Err(error) if error.kind() == ErrorKind::Unfinished => {}
            Err(error) => drop(tx.as_tx().end(End::Failed(error))),
        }
    }

    fn poll_room(&mut self, cx: &mut Context<'_>, known: usize) -> Poll<Option<usize>> {
        match &self.tx {
            Some(tx) => tx.as_tx().poll_room(cx, known),
            None => Poll::Ready(None),
        }
    }
}

fn error<T>(kind: ErrorKind, request: &'static str) -> Error {
    Error::new(kind).with("message", request).with("item", type_name::<T>())
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::delivery::channel::channel;

    /// How the consumer sees the stream end.
    fn ended(end: Result<()>) -> End {
        let (tx, mut rx) = channel(1);
        let item = WireCodec::new(|(), _, _| Ok(()), |_, _| Ok(()));
        Coming { tx: Some(tx), item, request: "Numbers" }.end(end);
        match rx.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(end)) => end,
            _ => panic!("the stream has not ended"),
        }
    }

    #[test]
    fn a_stream_ends_as_it_did_in_the_other_process() {
        assert!(matches!(ended(Ok(())), End::Finished));
        let failed = ended(Err(Error::new(ErrorKind::Interrupted)));
        assert!(matches!(failed, End::Failed(error) if error.kind() == ErrorKind::Interrupted));
        // Without an error of its own: the result of the handler comes first.
        assert!(matches!(ended(Err(Error::new(ErrorKind::Unfinished))), End::Dropped));
    }
}
