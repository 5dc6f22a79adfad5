//! The floor: a hand-written loop over a tokio channel, messages by value.

use tokio::sync::{mpsc, oneshot};

use super::Subject;
use crate::tally::Tally;

pub(crate) enum Message {
    Add(u64),
    Get(u64, oneshot::Sender<u64>),
    Stop,
}

pub(crate) struct TokioLoop;

impl Subject for TokioLoop {
    type Ref = mpsc::UnboundedSender<Message>;

    fn start() -> Self {
        Self
    }

    async fn spawn(&self, tally: Tally) -> Self::Ref {
        let (sender, inbox) = mpsc::unbounded_channel();
        tokio::spawn(serve(tally, inbox));
        sender
    }

    fn tell(actor: &Self::Ref, n: u64) {
        assert!(actor.send(Message::Add(n)).is_ok(), "the loop runs");
    }

    async fn ask(actor: &Self::Ref, n: u64) -> u64 {
        let (reply, answer) = oneshot::channel();
        assert!(actor.send(Message::Get(n, reply)).is_ok(), "the loop runs");
        answer.await.expect("the loop answers")
    }

    async fn stop(actor: &Self::Ref) {
        assert!(actor.send(Message::Stop).is_ok(), "the loop runs");
    }
}

async fn serve(mut tally: Tally, mut inbox: mpsc::UnboundedReceiver<Message>) {
    while let Some(message) = inbox.recv().await {
        match message {
            Message::Add(n) => {
                tally.add(n);
            }
            Message::Get(n, reply) => {
                // An asker that went away needs no answer.
                let _ = reply.send(tally.add(n));
            }
            Message::Stop => break,
        }
    }
}
