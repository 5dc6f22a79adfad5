//! Stream requests that leave the process, or come from another one.

#[cfg(feature = "wire")]
use crate::delivery::channel::Rx;
use crate::delivery::channel::Tx;
use crate::delivery::far_items::{AsTx, Coming, Leaving};
use crate::message::items::{FarStreams, ItemSink, ItemSource};
use crate::{
    Error, ErrorKind, Expand, ExpandRequest, Input, Producer, Reduce, ReduceRequest, Result, Transform,
    TransformRequest, WireCodec,
};

/// The end of a handler whose answer is a stream: nothing has to be said.
pub(super) const NOTHING: WireCodec<()> = WireCodec::new(|(), _, _| Ok(()), |_, _| Ok(()));

pub(super) fn wire_of<W>(wire: Option<W>) -> Result<W> {
    wire.ok_or_else(|| Error::new(ErrorKind::NotRemotable))
}

pub(super) fn of_expand<M: Expand>(request: ExpandRequest<M>) -> FarStreams {
    let Some(wire) = M::WIRE else { return FarStreams::default() };
    FarStreams { leaving: None, coming: Some(into_sink(request.out, wire.output())) }
}

pub(super) fn of_reduce<M: Reduce>(request: ReduceRequest<M>) -> FarStreams {
    let Some(wire) = M::WIRE else { return FarStreams::default() };
    FarStreams { leaving: Some(into_source(request.input, wire.input())), coming: None }
}

pub(super) fn of_transform<M: Transform>(request: TransformRequest<M>) -> FarStreams {
    let Some(wire) = M::WIRE else { return FarStreams::default() };
    FarStreams {
        leaving: Some(into_source(request.input, wire.input())),
        coming: Some(into_sink(request.out, wire.output())),
    }
}

/// Items that come fill the stream of this producer.
fn into_sink<T: Send + 'static>(out: Producer<T>, item: WireCodec<T>) -> Box<dyn ItemSink> {
    let request = out.request();
    Box::new(Coming { tx: Some(out), item, request })
}

/// The items of this input leave.
fn into_source<T: Send + 'static>(input: Input<T>, item: WireCodec<T>) -> Box<dyn ItemSource> {
    let (rx, request) = input.into_rx();
    Box::new(Leaving { rx, item, request })
}

impl<T: Send + 'static> AsTx<T> for Producer<T> {
    fn as_tx(&self) -> &Tx<T> {
        self.tx()
    }
}

/// A received request, with streams of the given capacity.
#[cfg(feature = "wire")]
pub(crate) use self::opening::{open_expand, open_reduce, open_transform};

#[cfg(feature = "wire")]
mod opening {
    use std::any::type_name;

    use super::{Coming, FarStreams, ItemSink, ItemSource, Leaving, Rx, Tx};
    use crate::delivery::channel::channel;
    use crate::{
        Expand, ExpandRequest, Input, Producer, Reduce, ReduceRequest, Transform, TransformRequest, WireCodec,
    };

    pub(crate) fn open_expand<M: Expand>(message: M, window: usize) -> (ExpandRequest<M>, FarStreams) {
        let request = type_name::<M>();
        let (tx, rx) = channel(window);
        let leaving = M::WIRE.map(|wire| leaving(rx, wire.output(), request));
        let out = Producer::new(tx, 1, request);
        (ExpandRequest { message, out }, FarStreams { leaving, coming: None })
    }

    pub(crate) fn open_reduce<M: Reduce>(message: M, window: usize) -> (ReduceRequest<M>, FarStreams) {
        let request = type_name::<M>();
        let (tx, rx) = channel(window);
        let coming = M::WIRE.map(|wire| coming(tx, wire.input(), request));
        let input = Input::new(rx, request);
        (ReduceRequest { message, input }, FarStreams { leaving: None, coming })
    }

    pub(crate) fn open_transform<M: Transform>(
        message: M,
        window: usize,
    ) -> (TransformRequest<M>, FarStreams) {
        let request = type_name::<M>();
        let (input_tx, input_rx) = channel(window);
        let (tx, rx) = channel(window);
        let coming = M::WIRE.map(|wire| coming(input_tx, wire.input(), request));
        let leaving = M::WIRE.map(|wire| leaving(rx, wire.output(), request));
        let (input, out) = (Input::new(input_rx, request), Producer::new(tx, 1, request));
        (TransformRequest { message, input, out }, FarStreams { leaving, coming })
    }

    fn leaving<T: Send + 'static>(
        rx: Rx<T>,
        item: WireCodec<T>,
        request: &'static str,
    ) -> Box<dyn ItemSource> {
        Box::new(Leaving { rx, item, request })
    }

    fn coming<T: Send + 'static>(tx: Tx<T>, item: WireCodec<T>, request: &'static str) -> Box<dyn ItemSink> {
        Box::new(Coming { tx: Some(tx), item, request })
    }
}
