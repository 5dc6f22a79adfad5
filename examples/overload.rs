//! A slow actor under load: a bounded mailbox, a high-priority message, load shedding and dead letters.
//! Run it with `cargo run --example overload`.

use std::time::Duration;

use dactor::Shed;
use dactor::prelude::*;

struct Printer;
impl Actor for Printer {}

#[derive(Message)]
struct Print(u32);

/// Overtakes the messages that wait.
#[derive(Message)]
#[message(reply = &'static str, priority = High)]
struct Status;

impl Handler<Print> for Printer {
    async fn handle(&mut self, Print(page): Print, _ctx: &mut Context<Self>) -> Outcome<()> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        println!("printed page {page}");
        Ok(())
    }
}

impl Handler<Status> for Printer {
    async fn handle(&mut self, _: Status, _ctx: &mut Context<Self>) -> Outcome<&'static str> {
        Ok("busy")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> dactor::Result<()> {
    let system = System::new("office");
    let mut dead = system.dead_letter_feed();

    // Backpressure: the mailbox holds four pages, and `send` waits for room, so memory stays bounded.
    let patient = system.spawn(Printer).name("patient").bounded(4, Overflow::Block).await?;
    for page in 1..=8 {
        patient.send(Print(page)).await?;
    }
    println!("{:?} pages wait, and the printer is {}", patient.queued(), patient.ask(Status).await?);
    let full = loop {
        if let Err(error) = patient.tell(Print(9)) {
            break error;
        }
    };
    assert_eq!(full.kind(), ErrorKind::MailboxFull);
    println!("a tell does not wait: {full}");
    patient.drain();
    patient.wait().await?;

    // Load shedding: once the oldest page has waited too long, new pages are rejected with a retry-after hint.
    let shed = Shed::default().length(100).age(Duration::from_millis(50));
    let prompt = system.spawn(Printer).name("prompt").shed(shed).await?;
    for page in 1..=8 {
        prompt.at(Priority::Low).tell(Print(page))?;
    }
    tokio::time::sleep(Duration::from_millis(70)).await;
    let overloaded = prompt.tell(Print(9)).unwrap_err();
    assert_eq!(overloaded.kind(), ErrorKind::Overloaded);
    assert!(overloaded.retry_after() >= Some(Duration::from_millis(50)));
    println!("rejected: {overloaded}");
    prompt.stop();
    prompt.wait().await?;

    // Every message that was not handled is a dead letter.
    let lost = system.dead_letter_count();
    for _ in 0..lost {
        let letter = dead.next().await.expect("the subscriber keeps up");
        println!("{} for {}: {:?}", letter.message, letter.target, letter.error.kind());
    }
    system.shutdown().await
}
