use std::collections::HashMap;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::*;
use crate::interceptors::testbed::{Echo, Fault, Never, Numbers, Say, Then, system};
use crate::{Actor, ActorRef, ErrorKind, Handler, Message, Outcome};

#[derive(Debug, Clone, Default)]
struct Seen {
    name: &'static str,
    fields: HashMap<&'static str, String>,
    enclosing: Option<u64>,
    cause: Option<u64>,
    is_closed: bool,
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Seen {
    fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("-", String::as_str)
    }
}

/// All spans, by id.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(u64, Seen)>>>);

impl Spans {
    fn watched() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(Registry::default().with(spans.clone()));
        (spans, guard)
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Seen)) {
        let mut spans = self.0.lock().unwrap();
        // Span ids are reused.
        if let Some((_, seen)) = spans.iter_mut().rev().find(|(other, _)| *other == id.into_u64()) {
            change(seen);
        }
    }

    /// The span of this message.
    fn of(&self, message: &str) -> (u64, Seen) {
        let spans = self.0.lock().unwrap();
        spans.iter().find(|(_, seen)| seen.get("message").ends_with(message)).unwrap().clone()
    }
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: LayerContext<'_, S>) {
        if attributes.metadata().name() == "actor" {
            return;
        }
        let mut seen = Seen { name: attributes.metadata().name(), ..Seen::default() };
        attributes.record(&mut seen);
        seen.enclosing = attributes.parent().map(Id::into_u64);
        self.0.lock().unwrap().push((id.into_u64(), seen));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: LayerContext<'_, S>) {
        self.change(id, |seen| values.record(seen));
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: LayerContext<'_, S>) {
        self.change(id, |seen| seen.cause = Some(follows.into_u64()));
    }

    fn on_close(&self, id: Id, _: LayerContext<'_, S>) {
        self.change(&id, |seen| seen.is_closed = true);
    }
}

/// The fields of all events.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Seen>>>);

impl<S: tracing::Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        self.0.lock().unwrap().push(seen);
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_stream_is_an_event_in_the_trace() {
    let events = Events::default();
    let _guard = tracing::subscriber::set_default(Registry::default().with(events.clone()));
    let echo = system(Trace::install).spawn(Echo).await.unwrap();
    let request: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
    for then in [Then::Finish, Then::Fail, Then::Beside] {
        let mut items = Trace::within(request, echo.expand(Numbers(3, then)).into_future()).await.unwrap();
        for number in 0..3 {
            assert_eq!(items.next().await.unwrap().unwrap(), number);
        }
        if !matches!(then, Then::Beside) {
            while items.next().await.is_some() {}
        }
    }
    let ended = || {
        let events = events.0.lock().unwrap();
        let ended = events.iter().filter(|seen| seen.get("request").ends_with("Numbers"));
        ended.map(|seen| (seen.get("outcome").to_owned(), seen.get("items").to_owned())).collect::<Vec<_>>()
    };
    while ended().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ended(), ["finished", "failed", "dropped"].map(|how| (how.to_owned(), "3".to_owned())));
    let events = events.0.lock().unwrap();
    let ended: Vec<_> = events.iter().filter(|seen| seen.get("request").ends_with("Numbers")).collect();
    assert!(ended.iter().all(|seen| seen.get("trace_id") == "0af7651916cd43dd8448eb211c80319c"));
    assert!(ended[1].get("error").contains("finish"), "{:?}", ended[1]);
}

/// Asks, tells or forwards to the next actor, and replies with its own position.
///
struct Hop(ActorRef<End>, How);
#[derive(Clone, Copy)]
enum How {
    Ask,
    Tell,
    Forward,
}

struct End;
impl Actor for End {}
struct Last;
impl Message for Last {
    type Reply = TraceParent;
    type Access = crate::Exclusive;
}
impl Message for Hop {
    type Reply = TraceParent;
    type Access = crate::Exclusive;
}

impl Handler<Last> for End {
    async fn handle(&mut self, Last: Last, ctx: &mut crate::Context<Self>) -> Outcome<TraceParent> {
        assert_eq!(ctx.headers().get::<TraceParent>().copied(), Trace::current());
        tokio::task::yield_now().await;
        Ok(Trace::current().unwrap())
    }
}

impl Handler<Hop> for Echo {
    async fn handle(&mut self, Hop(next, how): Hop, ctx: &mut crate::Context<Self>) -> Outcome<TraceParent> {
        tokio::task::yield_now().await;
        match how {
            How::Ask => Ok(next.ask(Last).await?),
            How::Tell => {
                next.tell(Last)?;
                Ok(Trace::current().unwrap())
            }
            How::Forward => ctx.forward(&next, Last),
        }
    }
}

async fn hop(how: How) -> (Spans, TraceParent) {
    let (spans, _guard) = Spans::watched();
    let system = system(Trace::install);
    let (echo, end) = (system.spawn(Echo).name("echo").await.unwrap(), system.spawn(End).await.unwrap());
    let request = tracing::info_span!("request");
    let position = echo.ask(Hop(end.clone(), how)).instrument(request).await.unwrap();
    end.drain();
    end.wait().await.unwrap();
    assert_eq!(Trace::current(), None);
    (spans, position)
}

#[tokio::test]
async fn asks_are_children_and_share_the_trace() {
    let (spans, position) = hop(How::Ask).await;
    let (hop, outer) = spans.of("Hop");
    let (_, inner) = spans.of("Last");
    let (request, seen) = spans.0.lock().unwrap()[0].clone();
    assert_eq!((seen.name, outer.name, inner.name), ("request", "handle", "handle"));
    assert_eq!((outer.enclosing, inner.enclosing), (Some(request), Some(hop)));
    assert_eq!((outer.cause, inner.cause), (None, None));
    assert_eq!(
        (outer.get("trace_id"), outer.get("span_id")),
        (inner.get("trace_id"), inner.get("parent_id"))
    );
    assert_eq!(inner.get("trace_id"), format!("{:032x}", position.trace_id));
    assert_eq!(inner.get("span_id"), format!("{:016x}", position.parent_id));
    assert_eq!(
        (outer.get("actor"), outer.get("mode"), outer.get("sender")),
        ("pekko://testbed/user/echo", "ask", "-")
    );
    assert!(outer.get("actor_type").ends_with("Echo"));
    assert_ne!(inner.get("sender"), "-");
    assert_eq!(outer.get("error"), "-");
    assert!(seen.is_closed && outer.is_closed && inner.is_closed);
}

#[tokio::test]
async fn a_tell_follows_from_what_sent_it() {
    let (spans, _) = hop(How::Tell).await;
    let (hop, outer) = spans.of("Hop");
    let (_, inner) = spans.of("Last");
    assert_eq!((inner.enclosing, inner.cause, inner.get("mode")), (None, Some(hop), "tell"));
    assert_eq!(
        (outer.get("trace_id"), outer.get("span_id")),
        (inner.get("trace_id"), inner.get("parent_id"))
    );
    assert!(outer.is_closed && inner.is_closed);
}

#[tokio::test]
async fn a_forwarded_ask_comes_from_the_handler_that_forwards_it() {
    let (spans, position) = hop(How::Forward).await;
    let (hop, outer) = spans.of("Hop");
    let (_, inner) = spans.of("Last");
    assert_eq!((inner.enclosing, inner.get("mode")), (Some(hop), "ask"));
    assert_eq!(
        (outer.get("trace_id"), outer.get("span_id")),
        (inner.get("trace_id"), inner.get("parent_id"))
    );
    assert_eq!(inner.get("span_id"), format!("{:016x}", position.parent_id));
    assert!(outer.is_closed && inner.is_closed);
}

#[tokio::test]
async fn a_trace_that_came_with_the_message_goes_on() {
    let (spans, _guard) = Spans::watched();
    let system = system(Trace::install);
    let end = system.spawn(End).await.unwrap();
    let request = TraceParent { trace_id: 7, parent_id: 8, flags: 0 };
    let position = end.ask(Last).header(request).await.unwrap();
    assert_eq!((position.trace_id, position.flags), (7, 0));
    assert_ne!(position.parent_id, 8);
    assert_eq!(spans.of("Last").1.get("parent_id"), "0000000000000008");
    let within = Trace::within(request, async { (end.ask(Last).await.unwrap(), Trace::current()) }).await;
    assert_eq!((within.0.trace_id, within.1), (7, Some(request)));
    let (one, other) = (end.ask(Last).await.unwrap(), end.ask(Last).await.unwrap());
    assert!(one.trace_id != other.trace_id && one.is_sampled(), "each starts its own");
}

struct Refuse;
impl Inbound for Refuse {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        if delivery.message::<Say>().is_some() { Verdict::Drop } else { Verdict::Continue }
    }
}

#[tokio::test]
async fn a_span_ends_with_its_message_and_has_its_error() {
    let (spans, _guard) = Spans::watched();
    let system = system(Trace::install);
    let echo = system.spawn(Echo).inbound(Refuse).await.unwrap();
    assert_eq!(echo.ask(Fault).await.unwrap_err().kind(), ErrorKind::Failed);
    let (_, fault) = spans.of("Fault");
    assert!(fault.is_closed && fault.get("error").contains("a fault"), "{fault:?}");
    assert_eq!(echo.ask(Say(1)).await.unwrap_err().kind(), ErrorKind::Dropped);
    let (_, say) = spans.of("Say");
    assert!(say.is_closed && say.get("error").contains("dropped"), "{say:?}");
    let never = echo.ask(Never).enqueue().unwrap();
    tokio::task::yield_now().await;
    assert!(!spans.of("Never").1.is_closed);
    echo.kill();
    assert_eq!(never.await.unwrap_err().kind(), ErrorKind::Interrupted);
    echo.wait().await.unwrap();
    let (_, never) = spans.of("Never");
    assert!(never.is_closed && never.get("error").contains("ended while"), "{never:?}");
}
