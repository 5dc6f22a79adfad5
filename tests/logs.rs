//! Log lines name their actor, once and at the right level, on every backend.
//!
//! `cargo test --test logs --features ractor/message_span_propogation,kameo/tracing` runs it with the
//! defaults of the native crates: ractor polls an actor inside the span of its waker, and kameo logs on its
//! own.
#![cfg(all(feature = "ractor", feature = "kameo"))]

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use dactor::interceptors::Trace;
use dactor::prelude::*;
use dactor::{Directive, Error, Failure, Supervision};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Instrument, Level, Subscriber};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// One log line.
#[derive(Debug, Clone)]
struct Line {
    level: Level,
    target: String,
    text: String,
    /// The enclosing spans, outermost first, each as its name and its path or actor.
    spans: Vec<String>,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

#[derive(Default)]
struct Fields {
    text: String,
    actor: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let value = format!("{value:?}").trim_matches('"').to_owned();
        match field.name() {
            "message" => self.text.insert_str(0, &value),
            "path" | "actor" => self.actor = value.rsplit('/').next().unwrap_or_default().to_owned(),
            _ => {}
        }
    }
}

struct Name(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: LayerContext<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let name = format!("{} {}", attributes.metadata().name(), fields.actor);
        ctx.span(id).unwrap().extensions_mut().insert(Name(name.trim().to_owned()));
    }

    fn on_event(&self, event: &tracing::Event<'_>, ctx: LayerContext<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let spans = ctx.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        let spans = spans.map(|span| span.extensions().get::<Name>().unwrap().0.clone()).collect();
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        let text = format!("{} {}", fields.text, fields.actor).trim().to_owned();
        self.0.lock().unwrap().push(Line { level, target, text, spans });
    }
}

impl Lines {
    fn take(&self) -> Vec<Line> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The lines of user code in this file.
    fn of_users(&self) -> Vec<(String, Vec<String>)> {
        let lines = self.take().into_iter().filter(|line| line.target == "logs");
        lines.map(|line| (line.text, line.spans)).collect()
    }
}

/// Logs in every hook and handler, and tells the next actor from inside its handler.
struct Chatty(Option<ActorRef<Chatty>>);

impl Actor for Chatty {
    async fn on_start(&mut self, _ctx: &mut Context<Self>) -> Outcome<()> {
        tracing::info!("on_start");
        tokio::task::yield_now().await;
        tracing::info!("on_start goes on");
        Ok(())
    }

    async fn on_restart(&mut self, _: &Error, _ctx: &mut Context<Self>) -> Outcome<()> {
        tracing::info!("on_restart");
        Ok(())
    }

    async fn on_error(&mut self, _: &Failure, _ctx: &mut Context<Self>) -> Directive {
        tracing::info!("on_error");
        Directive::Resume
    }

    async fn on_stop(&mut self, _: &StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        tracing::info!("on_stop");
        Ok(())
    }
}

#[derive(Message)]
struct Talk;

impl Handler<Talk> for Chatty {
    async fn handle(&mut self, _: Talk, _ctx: &mut Context<Self>) -> Outcome<()> {
        tracing::info!("handling");
        if let Some(next) = &self.0 {
            next.tell(Talk)?;
        }
        tokio::task::yield_now().await;
        tracing::info!("handling goes on");
        Ok(())
    }
}

#[derive(Message)]
struct Fail;

impl Handler<Fail> for Chatty {
    async fn handle(&mut self, _: Fail, _ctx: &mut Context<Self>) -> Outcome<()> {
        Err(Failure::new("as ordered"))
    }
}

#[derive(Message)]
struct Panic;

impl Handler<Panic> for Chatty {
    async fn handle(&mut self, _: Panic, _ctx: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered")
    }
}

/// Stashes the first ask and answers it at the second.
struct Later(bool);
impl Actor for Later {}

#[derive(Message)]
#[message(reply = u32)]
struct First;

#[derive(Message)]
struct Second;

impl Handler<First> for Later {
    async fn handle(&mut self, first: First, ctx: &mut Context<Self>) -> Outcome<u32> {
        if !self.0 {
            return ctx.stash(first);
        }
        tracing::info!("answering");
        Ok(1)
    }
}

impl Handler<Second> for Later {
    async fn handle(&mut self, _: Second, ctx: &mut Context<Self>) -> Outcome<()> {
        self.0 = true;
        ctx.unstash_all();
        Ok(())
    }
}

/// Runs the test on each backend, on one thread, with a subscriber that keeps all log lines.
fn on_each_backend(test: impl AsyncFn(&dyn Fn() -> dactor::SystemBuilder, &Lines)) {
    for backend in ["ractor", "kameo"] {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        let _subscribed = tracing::subscriber::set_default(subscriber);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let builder = || match backend {
            "ractor" => System::builder("logs").backend(dactor_ractor::ractor()),
            _ => System::builder("logs").backend(dactor_kameo::kameo()),
        };
        println!("on {backend}");
        runtime.block_on(test(&builder, &lines));
    }
}

/// Takes the native handle, so that a wake goes through the native mailbox, and waits until the actor is
/// idle.
async fn at_rest(actor: &ActorRef<Chatty>) {
    assert!(actor.native().is_some());
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_log_line_of_a_handler_or_hook_is_about_its_actor_alone() {
    on_each_backend(async |builder, lines| {
        let system = builder().build().unwrap();
        let outer = tracing::info_span!("outer");
        let b = system.spawn(|| Chatty(None)).name("b").await.unwrap();
        let next = b.clone();
        let a = system.spawn(move || Chatty(Some(next.clone()))).name("a");
        let a = async { a.await.unwrap() }.instrument(outer.clone()).await;
        at_rest(&b).await;
        outer.in_scope(|| a.tell(Talk)).unwrap();
        at_rest(&a).await;
        at_rest(&b).await;
        b.ask(Fail).await.unwrap_err();
        b.ask(Panic).await.unwrap_err();
        at_rest(&b).await;
        for actor in [&b, &a] {
            outer.in_scope(|| actor.stop());
            actor.wait().await.unwrap();
        }
        let expected = [
            ("on_start", "b"),
            ("on_start goes on", "b"),
            ("on_start", "a"),
            ("on_start goes on", "a"),
            ("handling", "a"),
            ("handling", "b"),
            ("handling goes on", "a"),
            ("handling goes on", "b"),
            ("on_error", "b"),
            ("on_restart", "b"),
            ("on_stop", "b"),
            ("on_stop", "a"),
        ];
        let mut expected: Vec<_> =
            expected.map(|(text, actor)| (text.to_owned(), vec![format!("actor {actor}")])).to_vec();
        let mut seen = lines.of_users();
        expected.sort();
        seen.sort();
        assert_eq!(seen, expected);
    });
}

#[test]
fn levels_say_how_bad_it_is_and_a_final_failure_is_one_error() {
    on_each_backend(async |builder, lines| {
        let system = builder().build().unwrap();
        let a = system.spawn(|| Chatty(None)).name("a").await.unwrap();
        a.ask(Panic).await.unwrap_err();
        a.tell(Fail).unwrap();
        a.drain();
        a.wait().await.unwrap();
        a.tell(Talk).unwrap_err();
        let z = system
            .spawn(Chatty(None))
            .name("z")
            .supervision(Supervision::one_for_one().always(Directive::Stop))
            .await
            .unwrap();
        z.tell(Panic).unwrap();
        assert!(z.wait().await.unwrap().failure().is_some());
        at_rest(&z).await;
        let lines = lines.take();
        let ours = lines.iter().filter(|line| line.target.starts_with("dactor"));
        let mut seen: Vec<_> = ours.clone().map(|line| (line.level, line.text.as_str())).collect();
        seen.sort();
        let mut expected = vec![
            (Level::DEBUG, "started a"),
            (Level::WARN, "a handler failed a"),
            (Level::INFO, "restarted a"),
            (Level::WARN, "a handler failed a"),
            (Level::DEBUG, "ended a"),
            (Level::WARN, "dead letter a"),
            (Level::DEBUG, "started z"),
            (Level::WARN, "a handler failed z"),
            (Level::ERROR, "failed z"),
        ];
        expected.sort();
        assert_eq!(seen, expected);
        assert!(ours.clone().all(|line| line.spans.is_empty()), "{lines:?}");
        let natively =
            lines.iter().filter(|line| line.level == Level::ERROR && !line.target.starts_with("dactor"));
        assert!(natively.count() <= 1, "the runtime's own word, at most: {lines:?}");
    });
}

#[test]
fn a_stashed_ask_keeps_its_enclosing_span() {
    on_each_backend(async |builder, lines| {
        let system = builder().with(Trace::install).build().unwrap();
        let later = system.spawn(Later(false)).name("later").await.unwrap();
        let outer = tracing::info_span!("outer");
        let asked = outer.in_scope(|| later.ask(First).enqueue().unwrap());
        later.ask(Second).await.unwrap();
        assert_eq!(asked.await.unwrap(), 1);
        let expected = vec!["outer".to_owned(), "handle later".to_owned()];
        assert_eq!(lines.of_users(), [("answering".to_owned(), expected)]);
    });
}
