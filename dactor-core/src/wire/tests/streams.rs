//! Stream requests: the caller's halves in one process, the handler's in another.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use serde::{Deserialize, Serialize};

use super::Back;
use crate::delivery::channel::channel;
use crate::interceptors::testbed::system;
use crate::spi::{FarStreams, ItemSink, ItemSource, ReplyTo};
use crate::wire::{Accepts, Arriving, Opened, Remote, deliver};
use crate::{
    Actor, ActorRef, Codec, Context, Error, ErrorKind, Expand, ExpandHandler, ExpandRequest, Failure,
    Headers, Input, Message, Mode, Outcome, Priority, Producer, Reduce, ReduceHandler, Result, StreamWire,
    Transform, TransformHandler,
};

struct Numbers;
impl Actor for Numbers {}

#[derive(Serialize, Deserialize)]
struct Count {
    to: u64,
}

#[derive(Serialize, Deserialize)]
struct Sum;

#[derive(Serialize, Deserialize)]
struct Double;

impl Expand for Count {
    type Item = u64;
    const WIRE: Option<StreamWire<Self, (), u64>> = Some(StreamWire::serde("numbers.Count"));
}

impl Reduce for Sum {
    type Item = u64;
    type Reply = u64;
    const WIRE: Option<StreamWire<Self, u64, u64>> = Some(StreamWire::serde("numbers.Sum"));
}

impl Transform for Double {
    type Input = u64;
    type Output = u64;
    const WIRE: Option<StreamWire<Self, u64, u64>> = Some(StreamWire::serde("numbers.Double"));
}

impl ExpandHandler<Count> for Numbers {
    async fn expand(&mut self, count: Count, mut out: Producer<u64>, _: &mut Context<Self>) -> Outcome<()> {
        for number in 0..count.to {
            out.send(number).await?;
        }
        match count.to {
            13 => Err(Failure::new("unlucky")),
            _ => Ok(out.finish().await?),
        }
    }
}

impl ReduceHandler<Sum> for Numbers {
    async fn reduce(&mut self, _: Sum, mut numbers: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
        let mut sum = 0;
        while let Some(number) = numbers.next().await {
            sum += number?;
        }
        Ok(sum)
    }
}

impl TransformHandler<Double> for Numbers {
    async fn transform(
        &mut self,
        _: Double,
        mut numbers: Input<u64>,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        while let Some(number) = numbers.next().await {
            out.send(number? * 2).await?;
        }
        Ok(out.finish().await?)
    }
}

impl Remote for Numbers {
    const TYPE: &'static str = "numbers.Numbers";

    fn accepts(messages: &mut Accepts<Self>) {
        messages.expand::<Count>().reduce::<Sum>().transform::<Double>();
    }
}

async fn numbers() -> ActorRef<Numbers> {
    system(|builder| builder).spawn(Numbers).await.unwrap()
}

/// Opens a request and delivers it.
fn send(actor: &ActorRef<Numbers>, mode: Mode, name: &str, payload: &[u8], back: &Arc<Back>) -> FarStreams {
    let arriving = Arriving {
        mode,
        payload,
        codec: Codec::Json,
        headers: Headers::default(),
        deadline: None,
        reply_to: Some(ReplyTo::new(back.clone(), 7)),
        window: 4,
    };
    let Opened { envelope, streams, .. } = Accepts::<Numbers>::of().unwrap().open(name, arriving).unwrap();
    deliver(actor, envelope, Priority::Normal).unwrap();
    streams
}

/// The outgoing items as text, and the error that ended them.
async fn all(leaving: &mut dyn ItemSource) -> (Vec<String>, Option<Error>) {
    let mut items = Vec::new();
    loop {
        let mut buffer = Vec::new();
        match poll_fn(|cx| leaving.poll_item(cx, Codec::Json, &mut buffer)).await {
            Some(Ok(())) => items.push(String::from_utf8(buffer).unwrap()),
            end => return (items, end.map(Result::unwrap_err)),
        }
    }
}

fn room(coming: &mut dyn ItemSink, known: usize) -> Poll<Option<usize>> {
    coming.poll_room(&mut TaskContext::from_waker(Waker::noop()), known)
}

#[tokio::test]
async fn items_of_an_expand_leave() {
    let (actor, back) = (numbers().await, Arc::new(Back::default()));
    let streams = send(&actor, Mode::Expand, "numbers.Count", br#"{"to":5}"#, &back);
    assert!(streams.coming.is_none());
    let (items, end) = all(&mut *streams.leaving.unwrap()).await;
    assert_eq!((items.join(" "), end.is_none()), ("0 1 2 3 4".to_owned(), true));
    assert_eq!(back.next().await.1.unwrap(), b"", "the end of the handler");
}

#[tokio::test]
async fn a_stream_that_is_cut_short_says_so() {
    let (actor, back) = (numbers().await, Arc::new(Back::default()));
    let mut streams = send(&actor, Mode::Expand, "numbers.Count", br#"{"to":13}"#, &back);
    let (items, end) = all(&mut **streams.leaving.as_mut().unwrap()).await;
    assert_eq!((items.len(), end.unwrap().kind()), (13, ErrorKind::Unfinished));
    assert_eq!(back.error().await.kind(), ErrorKind::Failed, "and the handler says why");
    // The consumer is dropped: the handler does not keep waiting.
    let streams = send(&actor, Mode::Expand, "numbers.Count", br#"{"to":1000}"#, &back);
    drop(streams);
    back.next().await.1.unwrap();
}

#[tokio::test]
async fn items_of_a_reduce_come() {
    let (actor, back) = (numbers().await, Arc::new(Back::default()));
    let streams = send(&actor, Mode::Reduce, "numbers.Sum", b"null", &back);
    let mut coming = streams.coming.unwrap();
    assert_eq!(room(&mut *coming, 0), Poll::Ready(Some(4)), "the window");
    for item in [&b"1"[..], b"2", b"3"] {
        coming.item(item, Codec::Json).unwrap();
    }
    coming.end(Ok(()));
    assert_eq!(back.next().await.1.unwrap(), b"6");
    assert_eq!(coming.item(b"4", Codec::Json).unwrap_err().kind(), ErrorKind::ConsumerGone);
    assert_eq!(room(&mut *coming, 0), Poll::Ready(None));
}

#[tokio::test]
async fn a_bad_item_ends_the_stream() {
    let (actor, back) = (numbers().await, Arc::new(Back::default()));
    for (item, kind) in [(&b"x"[..], ErrorKind::DecodeFailed), (b"1", ErrorKind::MailboxFull)] {
        let streams = send(&actor, Mode::Reduce, "numbers.Sum", b"null", &back);
        let mut coming = streams.coming.unwrap();
        // The handler has not run yet: the window stays full.
        let refused = (0..5).find_map(|_| coming.item(item, Codec::Json).err()).unwrap();
        assert_eq!(refused.kind(), kind);
        assert!(
            refused.get("message").unwrap().ends_with("Sum")
                && refused.get("item").or(refused.get("value")) == Some("u64")
        );
        let answer = back.error().await;
        assert_eq!(answer.kind(), ErrorKind::Failed, "the handler got it as its last item: {answer:?}");
        assert!(format!("{answer:#}").contains(&kind.to_string()), "{answer:#}");
    }
}

#[tokio::test]
async fn a_transform_has_both() {
    let (actor, back) = (numbers().await, Arc::new(Back::default()));
    let streams = send(&actor, Mode::Transform, "numbers.Double", b"null", &back);
    let (mut coming, mut leaving) = (streams.coming.unwrap(), streams.leaving.unwrap());
    for item in [&b"1"[..], b"2"] {
        coming.item(item, Codec::Json).unwrap();
    }
    coming.end(Ok(()));
    assert_eq!(all(&mut *leaving).await.0, ["2", "4"]);
    // Cancelled by the caller.
    let streams = send(&actor, Mode::Transform, "numbers.Double", b"null", &back);
    back.next().await.1.unwrap();
    drop(streams.coming);
    assert_eq!(all(&mut *streams.leaving.unwrap()).await.1.unwrap().kind(), ErrorKind::Unfinished);
    assert!(format!("{:#}", back.error().await).contains("cancelled"));
}

#[tokio::test]
async fn a_request_that_leaves_gives_its_streams_away() {
    let (tx, mut rx) = channel(2);
    let request = ExpandRequest { message: Count { to: 1 }, out: Producer::new(tx, 1, "Count") };
    let wire = ExpandRequest::<Count>::WIRE.unwrap();
    let mut buffer = Vec::new();
    wire.message().encode(&request, Codec::Json, &mut buffer).unwrap();
    assert_eq!((wire.name(), &*buffer), ("numbers.Count", &br#"{"to":1}"#[..]));
    assert_eq!(wire.message().decode(&buffer, Codec::Json).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut coming = request.into_streams().coming.unwrap();
    assert_eq!(room(&mut *coming, 2), Poll::Pending);
    coming.item(b"7", Codec::Json).unwrap();
    assert_eq!(room(&mut *coming, 2), Poll::Ready(Some(1)));
    assert_eq!(poll_fn(|cx| rx.poll_next(cx)).await.unwrap(), 7);
    coming.end(Err(Error::new(ErrorKind::Interrupted)));
    let Err(crate::delivery::channel::End::Failed(error)) = poll_fn(|cx| rx.poll_next(cx)).await else {
        panic!()
    };
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[tokio::test]
async fn a_stream_is_opened_in_its_own_way() {
    let back = Arc::new(Back::default());
    let arriving = Arriving {
        mode: Mode::Ask,
        payload: b"null",
        codec: Codec::Json,
        headers: Headers::default(),
        deadline: None,
        reply_to: Some(ReplyTo::new(back.clone(), 7)),
        window: 4,
    };
    let error = Accepts::<Numbers>::of().unwrap().open("numbers.Sum", arriving).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownMessage);
    assert!(
        error.get("because").unwrap().contains("`ask`") && error.get("because").unwrap().contains("`reduce`")
    );
    assert_eq!(back.error().await.kind(), ErrorKind::UnknownMessage);
}
