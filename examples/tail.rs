//! A log that several consumers follow, one of them slow: `expand` with backpressure per consumer, and a drain that ends
//! the streams in order. Run it with `cargo run --example tail`.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use dactor::prelude::*;
use dactor::{Expand, ExpandHandler, Producer};
use tokio::sync::watch;

/// The lines, which the producers read beside the actor, and how many there are.
struct Log {
    lines: Arc<RwLock<Vec<Arc<str>>>>,
    count: watch::Sender<usize>,
}

impl Actor for Log {}

#[derive(Message)]
struct Append(&'static str);

impl Handler<Append> for Log {
    async fn handle(&mut self, Append(line): Append, _ctx: &mut Context<Self>) -> Outcome<()> {
        let mut lines = self.lines.write().expect("no writer panics");
        lines.push(line.into());
        self.count.send_replace(lines.len());
        Ok(())
    }
}

/// The lines from this one on, including future ones.
#[derive(Expand)]
#[message(item = Arc<str>)]
struct Tail {
    from: usize,
}

impl ExpandHandler<Tail> for Log {
    async fn expand(
        &mut self,
        tail: Tail,
        mut out: Producer<Arc<str>>,
        _ctx: &mut Context<Self>,
    ) -> Outcome<()> {
        let (lines, mut count) = (self.lines.clone(), self.count.subscribe());
        // In a task: the actor is free for the next line while consumers follow.
        tokio::spawn(async move {
            let mut next = tail.from;
            loop {
                let line = lines.read().expect("no writer panics").get(next).cloned();
                match line {
                    Some(line) => {
                        out.send(line).await?;
                        next += 1;
                    }
                    // The log is complete.
                    None if out.is_drain_requested() => return out.finish().await,
                    None => tokio::select! {
                        _ = count.changed() => {}
                        () = out.drain_requested() => {}
                    },
                }
            }
        });
        Ok(())
    }
}

/// Follows the log for at most `most` lines. Returns the lines.
async fn follow(log: ActorRef<Log>, from: usize, most: usize, pause: Duration) -> dactor::Result<String> {
    let mut lines = log.expand(Tail { from }).buffer(2).await?;
    let mut seen = Vec::new();
    while let Some(line) = lines.next().await {
        seen.push(line?.to_string());
        if seen.len() == most {
            break;
        }
        tokio::time::sleep(pause).await;
    }
    Ok(seen.join(" "))
}

#[tokio::main]
async fn main() -> dactor::Result<()> {
    let system = System::new("tail");
    let log = Log { lines: Arc::default(), count: watch::Sender::new(0) };
    let log = system.spawn(log).name("log").await?;

    let none = Duration::ZERO;
    let fast = tokio::spawn(follow(log.clone(), 0, usize::MAX, none));
    let slow = tokio::spawn(follow(log.clone(), 0, usize::MAX, Duration::from_millis(20)));
    let late = tokio::spawn(follow(log.clone(), 4, usize::MAX, none));
    let leaves = tokio::spawn(follow(log.clone(), 0, 2, none));

    for line in ["one", "two", "three", "four", "five", "six", "seven"] {
        log.ask(Append(line)).await?;
    }
    println!("leaves after two: {}", leaves.await.expect("it does not panic")?);

    // All producers are asked to finish; the actor waits for them, and so for the slow consumer.
    log.drain();
    for (who, consumer) in [("fast", fast), ("late, from the fifth line", late), ("slow", slow)] {
        println!("{who}: {}", consumer.await.expect("it does not panic")?);
    }
    println!("the log: {}", log.wait().await?);
    system.shutdown().await
}
