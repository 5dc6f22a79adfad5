//! The actor that most rules observe: it notes everything that happens to it, and does what messages say.

use std::future::Future;
use std::time::Duration;

use dactor_core::testkit::{Faults, Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Directive, Error, ErrorKind, Failure, Handler, Message, Outcome, Priority,
    StopReason,
};

/// What a hook does after it has made its note.
#[derive(Debug, Clone, Default)]
pub(crate) enum Act {
    #[default]
    Go,
    Fail(&'static str),
    Panic(&'static str),
    Hold(Gate),
    /// As planned for each time, over restarts.
    Strike(Faults),
}

impl Act {
    pub(crate) async fn perform(&self) -> Outcome<()> {
        match self {
            Self::Go => Ok(()),
            Self::Fail(text) => Err(Failure::new(*text)),
            Self::Panic(text) => panic!("{text}"),
            Self::Hold(gate) => {
                gate.pass().await;
                Ok(())
            }
            Self::Strike(faults) => faults.strike().await,
        }
    }
}

/// What the hooks of a [`Worker`] do.
#[derive(Debug, Clone)]
pub(crate) struct Hooks {
    pub(crate) start: Act,
    pub(crate) restart: Act,
    pub(crate) stop: Act,
    /// What `on_error` does before it decides.
    pub(crate) error: Act,
    pub(crate) directive: Directive,
    /// Panics when the instance is dropped.
    pub(crate) drop_panics: bool,
}

impl Default for Hooks {
    fn default() -> Self {
        let (start, restart, stop, error) = Default::default();
        Self { start, restart, stop, error, directive: Directive::Resume, drop_panics: false }
    }
}

/// Notes `start`, `restart: <kind>`, `error: <text>`, `stop: <reason>`, `drop`, and the messages it handles.
#[derive(Debug)]
pub(crate) struct Worker {
    journal: Journal,
    hooks: Hooks,
    handled: u32,
    /// Told to itself in `on_start`.
    early: Vec<u32>,
}

impl Worker {
    pub(crate) fn new(journal: &Journal) -> Self {
        Self::with(journal, Hooks::default())
    }

    pub(crate) fn with(journal: &Journal, hooks: Hooks) -> Self {
        Self { journal: journal.clone(), hooks, handled: 0, early: Vec::new() }
    }

    /// One that tells itself these notes in `on_start`, and notes what it is refused with.
    pub(crate) fn on_start_telling(journal: &Journal, early: Vec<u32>) -> Self {
        let mut worker = Self::new(journal);
        worker.early = early;
        worker
    }

    /// A factory that notes `make`.
    pub(crate) fn factory(journal: &Journal, hooks: Hooks) -> impl FnMut() -> Self + Send + 'static {
        let journal = journal.clone();
        move || {
            journal.note("make");
            Self::with(&journal, hooks.clone())
        }
    }
}

impl Actor for Worker {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        self.journal.note("start");
        for number in std::mem::take(&mut self.early) {
            if let Err(error) = ctx.actor_ref().tell(Note(number)) {
                self.journal.note(format!("{:?}", error.kind()));
            }
        }
        self.hooks.start.perform().await
    }

    async fn on_restart(&mut self, failure: &Error, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("restart: {:?}", failure.kind()));
        self.hooks.restart.perform().await
    }

    async fn on_error(&mut self, failure: &Failure, _ctx: &mut Context<Self>) -> Directive {
        self.journal.note(format!("error: {failure}"));
        let _ = self.hooks.error.perform().await;
        self.hooks.directive
    }

    async fn on_stop(&mut self, reason: &StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(match reason {
            StopReason::Failed(error) => format!("stop: {:?}", error.kind()),
            other => format!("stop: {other}"),
        });
        self.hooks.stop.perform().await
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.journal.note("drop");
        if self.hooks.drop_panics && !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

macro_rules! message {
    ($(#[$doc:meta])* $name:ident($($field:ty),*) -> $reply:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name($(pub(crate) $field),*);

        impl Message for $name {
            type Reply = $reply;
        }
    };
}

message!(
    /// Is noted as its number, which is the reply.
    Note(u32) -> u32
);
message!(
    /// Gives how many messages this instance has handled before.
    Count() -> u32
);
message!(
    /// Notes `hold n`, waits at the gate, notes `held n`.
    Hold(u32, Gate) -> u32
);
message!(
    /// Waits at the gate, then fails with the text.
    HoldAndFail(Gate, &'static str) -> u32
);
message!(
    /// Waits at the gate, then panics with the text.
    HoldAndBoom(Gate, &'static str) -> u32
);
message!(
    /// Fails with the text.
    Fail(&'static str) -> u32
);
message!(
    /// Panics with the text.
    Boom(&'static str) -> u32
);
message!(
    /// Panics with the text before there is a future.
    BoomAtOnce(&'static str) -> u32
);
message!(
    /// Stops the actor from within.
    Quit() -> u32
);
message!(
    /// Asks itself and gives what came of it.
    AskMyself() -> Result<u32, ErrorKind>
);
message!(
    /// Tells itself these notes.
    TellMyself(Vec<u32>) -> ()
);
message!(
    /// Sends itself these notes and gives what came of each.
    SendMyself(Vec<u32>) -> Vec<Option<ErrorKind>>
);
message!(
    /// Needs more memory than fits into the cell, over an await.
    Large(u8) -> usize
);
message!(
    /// Sleeps on tokio's clock and spawns a task.
    UseTokio() -> u32
);

/// Is noted as its number, which is the reply. Of high priority by its type.
#[derive(Debug)]
pub(crate) struct Urgent(pub(crate) u32);

impl Message for Urgent {
    type Reply = u32;
    const PRIORITY: Priority = Priority::High;
}

impl Handler<Urgent> for Worker {
    async fn handle(&mut self, Urgent(number): Urgent, _ctx: &mut Context<Self>) -> Outcome<u32> {
        self.journal.note(number);
        Ok(number)
    }
}

impl Handler<Note> for Worker {
    async fn handle(&mut self, Note(number): Note, _ctx: &mut Context<Self>) -> Outcome<u32> {
        self.journal.note(number);
        self.handled += 1;
        Ok(number)
    }
}

impl Handler<HoldAndFail> for Worker {
    async fn handle(&mut self, HoldAndFail(gate, text): HoldAndFail, _: &mut Context<Self>) -> Outcome<u32> {
        gate.pass().await;
        Err(Failure::new(text))
    }
}

impl Handler<Count> for Worker {
    async fn handle(&mut self, Count(): Count, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Ok(self.handled)
    }
}

impl Handler<Hold> for Worker {
    async fn handle(&mut self, Hold(number, gate): Hold, _ctx: &mut Context<Self>) -> Outcome<u32> {
        self.journal.note(format!("hold {number}"));
        gate.pass().await;
        self.journal.note(format!("held {number}"));
        Ok(number)
    }
}

impl Handler<Fail> for Worker {
    async fn handle(&mut self, Fail(text): Fail, _ctx: &mut Context<Self>) -> Outcome<u32> {
        Err(Failure::new(text))
    }
}

impl Handler<Boom> for Worker {
    async fn handle(&mut self, Boom(text): Boom, _ctx: &mut Context<Self>) -> Outcome<u32> {
        tokio::task::yield_now().await;
        panic!("{text}")
    }
}

impl Handler<BoomAtOnce> for Worker {
    fn handle(
        &mut self,
        BoomAtOnce(text): BoomAtOnce,
        _ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<u32>> + Send {
        if !text.is_empty() {
            panic!("{text}");
        }
        async { Ok(0) }
    }
}

impl Handler<Quit> for Worker {
    async fn handle(&mut self, Quit(): Quit, ctx: &mut Context<Self>) -> Outcome<u32> {
        ctx.stop();
        self.journal.note("quit");
        Ok(1)
    }
}

impl Handler<AskMyself> for Worker {
    async fn handle(
        &mut self,
        AskMyself(): AskMyself,
        ctx: &mut Context<Self>,
    ) -> Outcome<Result<u32, ErrorKind>> {
        let myself: &ActorRef<Self> = ctx.actor_ref();
        Ok(myself.ask(Note(0)).await.map_err(|error| error.kind()))
    }
}

impl Handler<TellMyself> for Worker {
    async fn handle(&mut self, TellMyself(notes): TellMyself, ctx: &mut Context<Self>) -> Outcome<()> {
        for note in notes {
            ctx.actor_ref().tell(Note(note))?;
        }
        Ok(())
    }
}

impl Handler<SendMyself> for Worker {
    async fn handle(
        &mut self,
        SendMyself(notes): SendMyself,
        ctx: &mut Context<Self>,
    ) -> Outcome<Vec<Option<ErrorKind>>> {
        let mut sent = Vec::new();
        for note in notes {
            sent.push(ctx.actor_ref().send(Note(note)).await.err().map(|error| error.kind()));
        }
        Ok(sent)
    }
}

impl Handler<Large> for Worker {
    async fn handle(&mut self, Large(fill): Large, _ctx: &mut Context<Self>) -> Outcome<usize> {
        let buffer = [fill; 4096];
        tokio::task::yield_now().await;
        Ok(buffer.iter().filter(|byte| **byte == fill).count())
    }
}

impl Handler<UseTokio> for Worker {
    async fn handle(&mut self, UseTokio(): UseTokio, _ctx: &mut Context<Self>) -> Outcome<u32> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(tokio::spawn(async { 7 }).await?)
    }
}
