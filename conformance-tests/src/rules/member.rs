//! The actor of which the trees in these rules are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    Actor, ActorRef, Context, Directive, Error, ErrorKind, Failure, Handler, Message, Outcome, StopReason,
    Supervision, System, Terminated,
};

use crate::actors::{Act, Boom, Count, Fail, Hold, HoldAndBoom, HoldAndFail, Hooks, Note};

/// A member of a tree, to be spawned.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) hooks: Hooks,
    pub(super) supervision: Option<Supervision>,
    /// What it bears in `on_start` and `on_restart`.
    pub(super) children: Vec<Plan>,
    /// Whether it watches them.
    pub(super) watches: bool,
    /// Shown to whoever waits for it when `on_start` runs.
    pub(super) leak: Option<tokio::sync::mpsc::UnboundedSender<ActorRef<Member>>>,
    /// Counts how often the factory was called: the second call panics.
    pub(super) flawed: Option<Arc<AtomicUsize>>,
}

impl Plan {
    pub(super) fn new(name: &'static str) -> Self {
        let (hooks, children) = Default::default();
        Self { name, hooks, supervision: None, children, watches: false, leak: None, flawed: None }
    }

    pub(super) fn start(mut self, act: Act) -> Self {
        self.hooks.start = act;
        self
    }

    pub(super) fn restart(mut self, act: Act) -> Self {
        self.hooks.restart = act;
        self
    }

    pub(super) fn stop(mut self, act: Act) -> Self {
        self.hooks.stop = act;
        self
    }

    pub(super) fn on_error(mut self, directive: Directive) -> Self {
        self.hooks.directive = directive;
        self
    }

    pub(super) fn supervision(mut self, supervision: Supervision) -> Self {
        self.supervision = Some(supervision);
        self
    }

    pub(super) fn child(mut self, child: Plan) -> Self {
        self.children.push(child);
        self
    }

    pub(super) fn watching(mut self) -> Self {
        self.watches = true;
        self
    }

    /// Spawns it at the top, from a factory.
    pub(super) async fn spawn(self, system: &System, journal: &Journal) -> ActorRef<Member> {
        let (name, supervision) = (self.name, self.supervision.clone());
        let mut spawn = system.spawn(Member::factory(journal, self)).name(name);
        if let Some(supervision) = supervision {
            spawn = spawn.supervision(supervision);
        }
        spawn.await.unwrap()
    }
}

/// Notes, each after its name: `start`, `restart: <kind>`, `error: <text>`, `stop: <reason>`, `drop`, the numbers of its
/// notes, and `terminated <name>: <reason>`.
#[derive(Debug)]
pub(super) struct Member {
    journal: Journal,
    plan: Plan,
    handled: u32,
}

impl Member {
    pub(super) fn new(journal: &Journal, plan: Plan) -> Self {
        Self { journal: journal.clone(), plan, handled: 0 }
    }

    pub(super) fn factory(journal: &Journal, plan: Plan) -> impl FnMut() -> Self + Send + 'static {
        let journal = journal.clone();
        move || {
            if let Some(made) = &plan.flawed
                && made.fetch_add(1, Ordering::SeqCst) == 1
            {
                panic!("no material");
            }
            Self::new(&journal, plan.clone())
        }
    }

    fn note(&self, what: impl std::fmt::Display) {
        self.journal.note(format!("{} {what}", self.plan.name));
    }

    async fn bear_all(&self, ctx: &mut Context<Self>) -> Outcome<()> {
        for child in self.plan.children.clone() {
            let child = bear(ctx, &self.journal, child).await?;
            if self.plan.watches {
                ctx.watch(&child)?;
            }
        }
        Ok(())
    }
}

pub(super) async fn bear(
    ctx: &Context<Member>,
    journal: &Journal,
    plan: Plan,
) -> dactor_core::Result<ActorRef<Member>> {
    let (name, supervision) = (plan.name, plan.supervision.clone());
    let mut spawn = ctx.spawn(Member::factory(journal, plan)).name(name);
    if let Some(supervision) = supervision {
        spawn = spawn.supervision(supervision);
    }
    spawn.await
}

/// The end of an actor in one word, or two.
pub(super) fn ending(reason: &StopReason) -> String {
    match reason {
        StopReason::Failed(error) => format!("{:?}", error.kind()),
        other => other.to_string(),
    }
}

impl Actor for Member {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        self.note("start");
        if let Some(leak) = &self.plan.leak {
            let _ = leak.send(ctx.actor_ref().clone());
        }
        self.bear_all(ctx).await?;
        self.plan.hooks.start.perform().await
    }

    async fn on_restart(&mut self, failure: &Error, ctx: &mut Context<Self>) -> Outcome<()> {
        self.note(format!("restart: {:?}", failure.kind()));
        self.bear_all(ctx).await?;
        self.plan.hooks.restart.perform().await
    }

    async fn on_error(&mut self, failure: &Failure, _ctx: &mut Context<Self>) -> Directive {
        self.note(format!("error: {failure}"));
        let _ = self.plan.hooks.error.perform().await;
        self.plan.hooks.directive
    }

    async fn on_stop(&mut self, reason: &StopReason, ctx: &mut Context<Self>) -> Outcome<()> {
        self.note(format!("stop: {}, {} children", ending(reason), ctx.children()));
        self.plan.hooks.stop.perform().await
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.note("drop");
    }
}

macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident($($field:ty),*) -> $reply:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(super) struct $name($(pub(super) $field),*);

        impl Message for $name {
            type Reply = $reply;
        }
    )*};
}

orders! {
    /// Bears a child.
    Bear(Plan) -> dactor_core::Result<ActorRef<Member>>;
    /// Bears a child that is not made by a factory.
    BearValue(Plan) -> ActorRef<Member>;
    /// The child of this name.
    Child(&'static str) -> Option<ActorRef<Member>>;
    /// How many children there are.
    Children() -> usize;
    /// Watches, and gives what came of it.
    Watch(ActorRef<Member>) -> Option<ErrorKind>;
    /// Gives up a watch.
    Unwatch(ActorRef<Member>) -> bool;
    /// Tells the other one these notes, then stops itself.
    TellAndQuit(ActorRef<Member>, Vec<u32>) -> ();
    /// Passes the gate, then asks the other one for a note, and notes what came of it.
    HoldAndAsk(Gate, ActorRef<Member>) -> ();
    /// Lets somebody else bear a child: gives the spawn.
    Delegate(Plan) -> dactor_core::Spawn<Member>;
}

impl Handler<Bear> for Member {
    async fn handle(
        &mut self,
        Bear(plan): Bear,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Result<ActorRef<Member>>> {
        Ok(bear(ctx, &self.journal, plan).await)
    }
}

impl Handler<BearValue> for Member {
    async fn handle(
        &mut self,
        BearValue(plan): BearValue,
        ctx: &mut Context<Self>,
    ) -> Outcome<ActorRef<Member>> {
        let (name, supervision) = (plan.name, plan.supervision.clone());
        let mut spawn = ctx.spawn(Member::new(&self.journal, plan)).name(name);
        if let Some(supervision) = supervision {
            spawn = spawn.supervision(supervision);
        }
        Ok(spawn.await?)
    }
}

impl Handler<Delegate> for Member {
    async fn handle(
        &mut self,
        Delegate(plan): Delegate,
        ctx: &mut Context<Self>,
    ) -> Outcome<dactor_core::Spawn<Member>> {
        let name = plan.name;
        Ok(ctx.spawn(Member::factory(&self.journal, plan)).name(name))
    }
}

impl Handler<Child> for Member {
    async fn handle(
        &mut self,
        Child(name): Child,
        ctx: &mut Context<Self>,
    ) -> Outcome<Option<ActorRef<Member>>> {
        Ok(ctx.child(name))
    }
}

impl Handler<Children> for Member {
    async fn handle(&mut self, _: Children, ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(ctx.children())
    }
}

impl Handler<Watch> for Member {
    async fn handle(&mut self, Watch(other): Watch, ctx: &mut Context<Self>) -> Outcome<Option<ErrorKind>> {
        Ok(ctx.watch(&other).err().map(|error| error.kind()))
    }
}

impl Handler<Unwatch> for Member {
    async fn handle(&mut self, Unwatch(other): Unwatch, ctx: &mut Context<Self>) -> Outcome<bool> {
        Ok(ctx.unwatch(&other))
    }
}

impl Handler<TellAndQuit> for Member {
    async fn handle(&mut self, order: TellAndQuit, ctx: &mut Context<Self>) -> Outcome<()> {
        let TellAndQuit(other, notes) = order;
        ctx.stop();
        for note in notes {
            other.send(Note(note)).await?;
        }
        Ok(())
    }
}

impl Handler<HoldAndAsk> for Member {
    async fn handle(&mut self, HoldAndAsk(gate, other): HoldAndAsk, _: &mut Context<Self>) -> Outcome<()> {
        gate.pass().await;
        let asked = other.ask(Note(0)).await;
        self.note(match asked {
            Ok(number) => format!("asked: {number}"),
            Err(error) => format!("asked: {:?}", error.kind()),
        });
        Ok(())
    }
}

impl Handler<Note> for Member {
    async fn handle(&mut self, Note(number): Note, _: &mut Context<Self>) -> Outcome<u32> {
        self.note(number);
        self.handled += 1;
        Ok(number)
    }
}

impl Handler<Count> for Member {
    async fn handle(&mut self, _: Count, _: &mut Context<Self>) -> Outcome<u32> {
        Ok(self.handled)
    }
}

impl Handler<Hold> for Member {
    async fn handle(&mut self, Hold(number, gate): Hold, _: &mut Context<Self>) -> Outcome<u32> {
        gate.pass().await;
        self.note(format!("held {number}"));
        Ok(number)
    }
}

impl Handler<HoldAndBoom> for Member {
    async fn handle(&mut self, HoldAndBoom(gate, text): HoldAndBoom, _: &mut Context<Self>) -> Outcome<u32> {
        gate.pass().await;
        panic!("{text}")
    }
}

impl Handler<HoldAndFail> for Member {
    async fn handle(&mut self, HoldAndFail(gate, text): HoldAndFail, _: &mut Context<Self>) -> Outcome<u32> {
        gate.pass().await;
        Err(Failure::new(text))
    }
}

impl Handler<Boom> for Member {
    async fn handle(&mut self, Boom(text): Boom, _: &mut Context<Self>) -> Outcome<u32> {
        panic!("{text}")
    }
}

impl Handler<Fail> for Member {
    async fn handle(&mut self, Fail(text): Fail, _: &mut Context<Self>) -> Outcome<u32> {
        Err(Failure::new(text))
    }
}

impl Handler<Terminated> for Member {
    async fn handle(&mut self, other: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.note(format!("terminated {}: {}", last_name(&other.label()), ending(other.reason())));
        Ok(())
    }
}

/// The last name in a path.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The last name in a path that an error gives.
pub(super) fn named<'a>(error: &'a dactor_core::Error, key: &str) -> Option<&'a str> {
    error.get(key).map(last_name)
}
