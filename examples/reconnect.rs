//! A client that reconnects with exponential backoff. Messages wait in its mailbox meanwhile.
//! Run it with `cargo run --example reconnect`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dactor::prelude::*;

/// A server that refuses the next `refusals` connections and drops the connection at the third question.
#[derive(Default)]
struct Server {
    refusals: AtomicU32,
    questions: AtomicU32,
}

impl Server {
    async fn connect(&self) -> Result<(), &'static str> {
        let refuses = self.refusals.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        if refuses { Err("refused") } else { Ok(()) }
    }

    async fn answer(&self) -> Result<u32, &'static str> {
        match self.questions.fetch_add(1, Relaxed) + 1 {
            3 => Err("the connection is closed"),
            number => Ok(number),
        }
    }
}

struct Connection {
    server: Arc<Server>,
}

impl Actor for Connection {
    async fn on_start(&mut self, _ctx: &mut Context<Self>) -> Outcome<()> {
        let connected = self.server.connect().await;
        println!("connecting: {}", connected.err().unwrap_or("done"));
        connected.map_err(Failure::new)
    }

    async fn on_restart(&mut self, failure: &dactor::Error, ctx: &mut Context<Self>) -> Outcome<()> {
        let hook = failure.get("hook").unwrap_or("the question");
        println!("reconnecting, because {hook} failed");
        self.on_start(ctx).await
    }

    /// A broken connection affects all messages, so the supervision strategy decides.
    async fn on_error(&mut self, _failure: &Failure, _ctx: &mut Context<Self>) -> Directive {
        Directive::Escalate
    }
}

#[derive(Message)]
#[message(reply = u32)]
struct Question;

impl Handler<Question> for Connection {
    async fn handle(&mut self, _: Question, _ctx: &mut Context<Self>) -> Outcome<u32> {
        self.server.answer().await.map_err(Failure::new)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> dactor::Result<()> {
    let system = System::new("client");
    let server = Arc::new(Server::default());
    let patient = Supervision::one_for_one()
        .budget(5, Duration::from_secs(60))
        .backoff(Backoff::exponential(Duration::from_millis(10), Duration::from_secs(1)).jitter(0.1));
    let factory = {
        let server = server.clone();
        move || Connection { server: server.clone() }
    };
    let connection = system.spawn(factory).name("connection").supervision(patient).await?;

    println!("answer {}", connection.ask(Question).await?);
    println!("answer {}", connection.ask(Question).await?);
    server.refusals.store(3, Relaxed);
    let begin = Instant::now();
    if let Err(error) = connection.ask(Question).await {
        println!("no answer: {error:#}");
    }
    // Sent without a connection: the message waits for the restart.
    println!("answer {}", connection.ask(Question).await?);
    // The backoff is 10 ms, then 20, 40 and 80.
    assert!(begin.elapsed() >= Duration::from_millis(150));

    // The restart budget ends the attempts.
    server.refusals.store(100, Relaxed);
    server.questions.store(2, Relaxed);
    println!("the last question: {}", connection.ask(Question).await.unwrap_err());
    let reason = connection.wait().await?;
    println!("given up: {}", reason.failure().and_then(|error| error.get("restart")).unwrap_or("not at all"));
    system.shutdown().await
}
