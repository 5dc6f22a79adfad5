//! The lower bound: a hand-written loop over a tokio channel, with messages by value.

use std::future::poll_fn;
use std::task::{Context, Poll};

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
    type BoundedRef = mpsc::Sender<Message>;

    fn start() -> Self {
        Self
    }

    async fn spawn(&self, tally: Tally) -> Self::Ref {
        let (sender, mut inbox) = mpsc::unbounded_channel();
        tokio::spawn(serve(tally, move |cx| inbox.poll_recv(cx)));
        sender
    }

    async fn spawn_bounded(&self, tally: Tally, capacity: usize) -> Option<Self::BoundedRef> {
        let (sender, mut inbox) = mpsc::channel(capacity);
        tokio::spawn(serve(tally, move |cx| inbox.poll_recv(cx)));
        Some(sender)
    }

    fn tell(actor: &Self::Ref, n: u64) {
        assert!(actor.send(Message::Add(n)).is_ok(), "the loop runs");
    }

    async fn send(actor: &Self::BoundedRef, n: u64) {
        assert!(actor.send(Message::Add(n)).await.is_ok(), "the loop runs");
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

/// `next` is what `recv` of either channel awaits.
async fn serve(mut tally: Tally, mut next: impl FnMut(&mut Context<'_>) -> Poll<Option<Message>>) {
    while let Some(message) = poll_fn(&mut next).await {
        match message {
            Message::Add(n) => {
                tally.add(n);
            }
            Message::Get(n, reply) => {
                // Fails if the caller has given up.
                let _ = reply.send(tally.add(n));
            }
            Message::Stop => break,
        }
    }
}
