//! The lower bound for a library with boxed messages: the same hand-written loop, with one box and
//! one dynamic call per message.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::task::{Context, Poll};

use tokio::sync::{mpsc, oneshot};

use super::Subject;
use crate::tally::Tally;

/// A message that knows how to apply itself.
pub(crate) trait Envelope: Send {
    fn open(self: Box<Self>, tally: &mut Tally) -> ControlFlow<()>;
}

struct Add(u64);

impl Envelope for Add {
    fn open(self: Box<Self>, tally: &mut Tally) -> ControlFlow<()> {
        tally.add(self.0);
        ControlFlow::Continue(())
    }
}

struct Get(u64, oneshot::Sender<u64>);

impl Envelope for Get {
    fn open(self: Box<Self>, tally: &mut Tally) -> ControlFlow<()> {
        // Fails if the caller has given up.
        let _ = self.1.send(tally.add(self.0));
        ControlFlow::Continue(())
    }
}

struct Stop;

impl Envelope for Stop {
    fn open(self: Box<Self>, _tally: &mut Tally) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

pub(crate) struct TokioBoxed;

impl Subject for TokioBoxed {
    type Ref = mpsc::UnboundedSender<Box<dyn Envelope>>;
    type BoundedRef = mpsc::Sender<Box<dyn Envelope>>;

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
        assert!(actor.send(Box::new(Add(n))).is_ok(), "the loop runs");
    }

    async fn send(actor: &Self::BoundedRef, n: u64) {
        assert!(actor.send(Box::new(Add(n))).await.is_ok(), "the loop runs");
    }

    async fn ask(actor: &Self::Ref, n: u64) -> u64 {
        let (reply, answer) = oneshot::channel();
        assert!(actor.send(Box::new(Get(n, reply))).is_ok(), "the loop runs");
        answer.await.expect("the loop answers")
    }

    async fn stop(actor: &Self::Ref) {
        assert!(actor.send(Box::new(Stop)).is_ok(), "the loop runs");
    }
}

/// `next` is what `recv` of either channel awaits.
async fn serve(mut tally: Tally, mut next: impl FnMut(&mut Context<'_>) -> Poll<Option<Box<dyn Envelope>>>) {
    while let Some(envelope) = poll_fn(&mut next).await {
        if envelope.open(&mut tally).is_break() {
            break;
        }
    }
}
