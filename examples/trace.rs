//! One distributed trace across three actors: a shop asks its till, which tells the warehouse.
//! Run it with `cargo run --example trace`.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use dactor::interceptors::Trace;
use dactor::prelude::*;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt};

struct Shop {
    till: ActorRef<Till>,
}
impl Actor for Shop {}

struct Till {
    warehouse: ActorRef<Warehouse>,
}
impl Actor for Till {}

struct Warehouse;
impl Actor for Warehouse {}

#[derive(Message)]
#[message(reply = u64)]
struct Order(u64);

#[derive(Message)]
#[message(reply = u64)]
struct Pay(u64);

#[derive(Message)]
struct Ship;

impl Handler<Order> for Shop {
    async fn handle(&mut self, Order(books): Order, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.till.ask(Pay(books * 20)).await?)
    }
}

impl Handler<Pay> for Till {
    async fn handle(&mut self, Pay(cents): Pay, _ctx: &mut Context<Self>) -> Outcome<u64> {
        self.warehouse.tell(Ship)?;
        Ok(cents)
    }
}

impl Handler<Ship> for Warehouse {
    async fn handle(&mut self, _: Ship, _ctx: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> dactor::Result<()> {
    let spans = Spans::default();
    let _watching = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));

    // This line traces all messages to actors of the system.
    let system = System::builder("shop").backend(dactor::ractor()).with(Trace::install).build()?;
    let warehouse = system.spawn(Warehouse).name("warehouse").await?;
    let till = system.spawn(Till { warehouse }).name("till").await?;
    let shop = system.spawn(Shop { till }).name("shop").await?;

    // The request continues an existing trace, for example from the `traceparent` header of an HTTP request.
    let request = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse()?;
    let paid = Trace::within(request, shop.ask(Order(3))).await?;
    println!("paid: {paid}");
    system.shutdown().await?;

    let spans = spans.0.lock().unwrap();
    println!("trace 0af7651916cd43dd8448eb211c80319c, request b7ad6b7169203331");
    assert_eq!(spans.len(), 3, "one for each message");
    let mut parent = "b7ad6b7169203331";
    for (depth, span) in spans.iter().enumerate() {
        println!("{}{} in {}, by {}", "  ".repeat(depth + 1), span.message, span.actor, span.mode);
        println!("{}  span {} of {}", "  ".repeat(depth + 1), span.id, span.parent);
        assert_eq!((span.trace.as_str(), span.parent.as_str()), ("0af7651916cd43dd8448eb211c80319c", parent));
        parent = &span.id;
    }
    Ok(())
}

/// Collects the spans. A real program uses `tracing-opentelemetry`, or prints with `tracing_subscriber::fmt`.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Seen>>>);

#[derive(Default)]
struct Seen {
    actor: String,
    message: String,
    mode: String,
    trace: String,
    id: String,
    parent: String,
}

impl<S: Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        if attributes.metadata().name() == "handle" {
            let mut seen = Seen::default();
            attributes.record(&mut seen);
            self.0.lock().unwrap().push(seen);
        }
    }
}

impl Visit for Seen {
    fn record_str(&mut self, field: &Field, value: &str) {
        let text = match field.name() {
            "actor" => &mut self.actor,
            "message" => &mut self.message,
            "mode" => &mut self.mode,
            "trace_id" => &mut self.trace,
            "span_id" => &mut self.id,
            "parent_id" => &mut self.parent,
            _ => return,
        };
        let _ = write!(text, "{value}");
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
