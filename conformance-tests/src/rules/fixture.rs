//! What the rules about interceptors, headers, cancellation and deferred replies share: an interceptor that notes what
//! it sees, an actor whose handlers are written in the rule, a header, and all the ways to end an actor.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    About, Actor, ActorRef, Around, Ask, Completion, Context, Delivery, Error, ErrorKind, Failure, Handler,
    Header, Inbound, Later, Message, Next, Outbound, Outcome, PendingReply, StopReason, Verdict,
};

use tokio::sync::oneshot;

use crate::Lab;
use crate::actors::{Note, Worker};

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

impl Header for Tag {
    const NAME: &'static str = "tag";
}

type Judge = dyn Fn(&mut Delivery<'_>) -> Verdict + Send + Sync;
type Witness = dyn Fn(&mut Completion<'_>) + Send + Sync;

/// An interceptor of either kind. It notes `a>` for a message, `a(` and `a)` around its handler if it is to, and `a< ok`
/// or `a< <kind>` for the end.
#[derive(Clone)]
pub(super) struct Spy {
    name: &'static str,
    journal: Journal,
    judge: Arc<Judge>,
    witness: Arc<Witness>,
    scoped: bool,
}

impl Spy {
    pub(super) fn new(name: &'static str, journal: &Journal) -> Self {
        let judge = Arc::new(|_: &mut Delivery<'_>| Verdict::Continue);
        let witness = Arc::new(|_: &mut Completion<'_>| {});
        Self { name, journal: journal.clone(), judge, witness, scoped: false }
    }

    /// Decides, after the note.
    pub(super) fn judge(
        mut self,
        judge: impl Fn(&mut Delivery<'_>) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        self.judge = Arc::new(judge);
        self
    }

    /// Decides always the same.
    pub(super) fn always(self, verdict: Verdict) -> Self {
        self.judge(move |_| verdict.clone())
    }

    /// Sees the end, after the note.
    pub(super) fn witness(mut self, witness: impl Fn(&mut Completion<'_>) + Send + Sync + 'static) -> Self {
        self.witness = Arc::new(witness);
        self
    }

    pub(super) fn scoped(mut self) -> Self {
        self.scoped = true;
        self
    }

    fn begin(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.journal.note(format!("{}>", self.name));
        (self.judge)(delivery)
    }

    fn end(&self, completion: &mut Completion<'_>) {
        let how = completion.error().map_or("ok".to_owned(), |error| format!("{:?}", error.kind()));
        self.journal.note(format!("{}< {how}", self.name));
        (self.witness)(completion);
    }
}

impl Inbound for Spy {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.begin(delivery)
    }

    fn scope(&self) -> Option<&dyn Around> {
        self.scoped.then_some(self as &dyn Around)
    }

    fn on_complete(&self, completion: &mut Completion<'_>) {
        self.end(completion);
    }
}

impl Around for Spy {
    fn around<'a>(&'a self, _: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        Box::pin(async move {
            self.journal.note(format!("{}(", self.name));
            next.await;
            self.journal.note(format!("{})", self.name));
        })
    }
}

impl Outbound for Spy {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        self.begin(delivery)
    }

    fn on_reply(&self, completion: &mut Completion<'_>) {
        self.end(completion);
    }
}

/// A handler on its way.
pub(super) type Run<'a> = Pin<Box<dyn Future<Output = Outcome<u32>> + Send + 'a>>;
type Job = Box<dyn for<'a> FnOnce(&'a mut Desk, &'a mut Context<Desk>) -> Run<'a> + Send>;

/// An actor that does what a message holds.
#[derive(Default)]
pub(super) struct Desk {
    /// Replies that are still to be given.
    pub(super) laters: Vec<Later<u32>>,
    /// Says that a reply was passed on.
    pub(super) promise: Option<Failure>,
    start: Option<Do>,
    stop: Option<Do>,
}

impl Desk {
    pub(super) fn on_start(mut self, job: Do) -> Self {
        self.start = Some(job);
        self
    }

    pub(super) fn on_stop(mut self, job: Do) -> Self {
        self.stop = Some(job);
        self
    }
}

impl Actor for Desk {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        match self.start.take() {
            Some(Do(job)) => job(self, ctx).await.map(drop),
            None => Ok(()),
        }
    }

    async fn on_stop(&mut self, _: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        match self.stop.take() {
            Some(Do(job)) => job(self, ctx).await.map(drop),
            None => Ok(()),
        }
    }
}

/// What a [`Desk`] is to do.
pub(super) struct Do(Job);

impl Message for Do {
    type Reply = u32;
}

/// The same, given up with its asker.
pub(super) struct Abortable(pub(super) Do);

impl Message for Abortable {
    type Reply = u32;
    const ABORT: bool = true;
}

impl Handler<Do> for Desk {
    async fn handle(&mut self, Do(job): Do, ctx: &mut Context<Self>) -> Outcome<u32> {
        job(self, ctx).await
    }
}

impl Handler<Abortable> for Desk {
    async fn handle(&mut self, Abortable(Do(job)): Abortable, ctx: &mut Context<Self>) -> Outcome<u32> {
        job(self, ctx).await
    }
}

/// A handler that awaits.
pub(super) fn job(
    job: impl for<'a> FnOnce(&'a mut Desk, &'a mut Context<Desk>) -> Run<'a> + Send + 'static,
) -> Do {
    Do(Box::new(job))
}

/// A handler that does not.
pub(super) fn quick(job: impl FnOnce(&mut Desk, &mut Context<Desk>) -> Outcome<u32> + Send + 'static) -> Do {
    Do(Box::new(|desk, ctx| {
        let outcome = job(desk, ctx);
        Box::pin(std::future::ready(outcome))
    }))
}

/// A handler that gives a number.
pub(super) fn give(number: u32) -> Do {
    quick(move |_, _| Ok(number))
}

/// A handler that makes a note.
pub(super) fn note(journal: &Journal, text: impl Display) -> Do {
    let (journal, text) = (journal.clone(), text.to_string());
    quick(move |_, _| {
        journal.note(text);
        Ok(0)
    })
}

/// Lets a desk do something now, and gives what came of it.
pub(super) async fn now<T: Send + 'static>(
    lab: &Lab,
    desk: &ActorRef<Desk>,
    work: impl FnOnce(&mut Context<Desk>) -> T + Send + 'static,
) -> T {
    let (done, outcome) = oneshot::channel();
    let asked = desk.ask(quick(move |_, ctx| {
        let _ = done.send(work(ctx));
        Ok(0)
    }));
    lab.soon("the desk works", asked).await.unwrap();
    outcome.await.unwrap()
}

/// A handler that waits at a gate.
pub(super) fn pass(gate: &Gate) -> Do {
    let gate = gate.clone();
    job(move |_, _| {
        Box::pin(async move {
            gate.pass().await;
            Ok(0)
        })
    })
}

/// A handler that keeps the reply for later.
pub(super) fn keep() -> Do {
    quick(|desk, ctx| {
        let (later, promised) = ctx.reply_later::<Do>();
        desk.laters.push(later);
        promised
    })
}

/// Sends a note in every way there is, and gives how each went for its sender.
pub(super) async fn every_way(lab: &Lab, actor: &ActorRef<Worker>) -> Vec<Option<ErrorKind>> {
    let recipient = actor.recipient::<Note>();
    let kind = |error: Error| error.kind();
    let mut went = vec![
        actor.tell(Note(1)).err().map(kind),
        actor.try_tell(Note(2)).err().map(|error| error.reason.kind()),
        lab.soon("a send is over", actor.send(Note(3))).await.err().map(kind),
        recipient.tell(Note(4)).err().map(kind),
        recipient.try_tell(Note(5)).err().map(|error| error.reason.kind()),
        lab.soon("a send is over", recipient.send(Note(6))).await.err().map(kind),
    ];
    let asks = [actor.ask(Note(7)).enqueue(), recipient.ask(Note(8)).enqueue()];
    for asked in asks {
        went.push(match asked {
            Ok(pending) => lab.soon("an ask is answered", pending).await.err().map(kind),
            Err(error) => Some(error.kind()),
        });
    }
    went.push(lab.soon("an ask is answered", actor.ask(Note(9))).await.err().map(kind));
    went.push(lab.soon("an ask is answered", recipient.ask(Note(10))).await.err().map(kind));
    went
}

/// Notes its text when it is dropped.
pub(super) struct Guard(pub(super) Journal, pub(super) &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.note(self.1);
    }
}

/// A way in which an actor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Stop,
    Drain,
    Kill,
    /// By a handler that panics.
    Failure,
    NativeStop,
    NativeKill,
}

impl End {
    /// Those that need nothing native.
    pub(super) const OWN: [Self; 4] = [Self::Stop, Self::Drain, Self::Kill, Self::Failure];

    /// Ends a desk; the one that fails does so after what waits.
    pub(super) async fn of(self, lab: &Lab, desk: &ActorRef<Desk>) {
        match self {
            Self::Stop => desk.stop(),
            Self::Drain => desk.drain(),
            Self::Kill => desk.kill(),
            Self::Failure => desk.tell(quick(|_, _| panic!("over"))).unwrap(),
            Self::NativeStop => lab.native_stop(desk).await,
            Self::NativeKill => lab.native_kill(desk).await,
        }
    }

    /// Whether the running handler is dropped.
    pub(super) fn is_kill(self) -> bool {
        matches!(self, Self::Kill | Self::NativeKill)
    }
}

/// A desk in a handler that waits at a gate, and two messages behind it; all three are asked.
pub(super) struct Busy {
    pub(super) desk: ActorRef<Desk>,
    gate: Gate,
    asked: Vec<PendingReply<Do>>,
}

impl Busy {
    pub(super) async fn new(
        desk: ActorRef<Desk>,
        patience: Duration,
        configure: impl for<'a> Fn(Ask<'a, Do>) -> Ask<'a, Do>,
    ) -> Self {
        let gate = Gate::new();
        let asked = [pass(&gate), give(1), give(2)];
        let asked = asked.map(|message| configure(desk.ask(message)).enqueue().unwrap());
        tokio::time::timeout(patience, gate.reached()).await.expect("the handler runs");
        Self { desk, gate, asked: asked.into() }
    }

    pub(super) async fn end(&self, lab: &Lab, end: End) {
        end.of(lab, &self.desk).await;
        if !end.is_kill() {
            self.gate.open();
        }
    }

    /// What the askers got, when the actor has ended.
    pub(super) async fn answers(self, lab: &Lab) -> Vec<Result<u32, ErrorKind>> {
        let mut answers = Vec::new();
        for asked in self.asked {
            let answer = lab.soon("an asker is answered", asked).await;
            answers.push(answer.map_err(|error| error.kind()));
        }
        lab.soon("the actor ends", self.desk.wait()).await.unwrap();
        answers
    }
}
