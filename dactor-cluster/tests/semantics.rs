//! What holds for the code of a virtual actor as for that of any other: deferred replies, asks of itself, cycles of asks,
//! priorities and idle times.

mod support;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dactor_cluster::{Activation, ActivationState, Cluster, TypeOptions, VirtualActor, VirtualContext};
use dactor_core::wire::Remote;
use dactor_core::{
    Actor, ActorRef, Context, Error, ErrorKind, Exclusive, Handler, Later, Message, Outcome, Priority,
    Recipient,
};
use dactor_engine::ManualClock;
use support::*;
use tokio::sync::Mutex;

/// Keys say what the hooks do: `asks-itself-in-activate`, `asks-itself-in-start`, `keeps-its-activation`.
struct Scripted {
    seen: Vec<u64>,
}

static ACTIVATIONS: Mutex<Vec<Activation<Scripted>>> = Mutex::const_new(Vec::new());

impl Remote for Scripted {
    const TYPE: &'static str = "Scripted";
}

impl Actor for Scripted {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        if ctx.actor_id().key() == "asks-itself-in-start" {
            ctx.virtual_ref().ask(Note(1)).await?;
        }
        Ok(())
    }
}

impl VirtualActor for Scripted {
    type State = ();

    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        if activation.key() == "asks-itself-in-activate" {
            activation.virtual_ref().ask(Note(1)).await?;
        }
        if activation.key() == "keeps-its-activation" {
            ACTIVATIONS.lock().await.push(activation);
        }
        Ok(Self { seen: Vec::new() })
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Outcome<u64>> + Send + 'a>>;
type Body = Box<dyn for<'a> FnOnce(&'a mut Scripted, &'a mut Context<Scripted>) -> Running<'a> + Send>;

/// Runs this in the handler.
struct Run(Body);

impl Run {
    fn new(
        body: impl for<'a> FnOnce(&'a mut Scripted, &'a mut Context<Scripted>) -> Running<'a> + Send + 'static,
    ) -> Self {
        Self(Box::new(body))
    }
}

impl Message for Run {
    type Reply = u64;
    type Access = Exclusive;
}

impl Handler<Run> for Scripted {
    async fn handle(&mut self, Run(body): Run, ctx: &mut Context<Self>) -> Outcome<u64> {
        body(self, ctx).await
    }
}

/// Notes a number; the reply is how many there are.
struct Note(u64);

impl Message for Note {
    type Reply = u64;
    type Access = Exclusive;
}

impl Handler<Note> for Scripted {
    async fn handle(&mut self, Note(number): Note, _: &mut Context<Self>) -> Outcome<u64> {
        self.seen.push(number);
        Ok(self.seen.len() as u64)
    }
}

/// The same, as a message that does not count as activity.
struct Quiet;

impl Message for Quiet {
    type Reply = u64;
    type Access = Exclusive;
    const KEEP_ALIVE: bool = false;
}

impl Handler<Quiet> for Scripted {
    async fn handle(&mut self, _: Quiet, _: &mut Context<Self>) -> Outcome<u64> {
        self.seen.push(0);
        Ok(self.seen.len() as u64)
    }
}

async fn start(case: &Case, options: TypeOptions) -> Cluster {
    let builder = Cluster::builder(&case.system).engine(case.engine.clone());
    builder.register_with::<Scripted>(options).start().await.unwrap()
}

/// The error of an ask, which must come long before its timeout.
async fn soon(ask: impl Future<Output = Result<u64, Error>>) -> Error {
    tokio::time::timeout(Duration::from_secs(10), ask).await.expect("it comes by the timeout").unwrap_err()
}

/// The kinds of an error and its sources.
fn kinds(error: &Error) -> Vec<ErrorKind> {
    let first: &(dyn std::error::Error + 'static) = error;
    let chain = std::iter::successors(Some(first), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<Error>()).map(Error::kind).collect()
}

#[test]
fn an_ask_of_itself_fails_at_once() {
    table("itself", |case| async move {
        let cluster = start(&case, TypeOptions::default()).await;
        for key in ["asks-itself-in-activate", "asks-itself-in-start"] {
            let error = soon(async { cluster.actor::<Scripted>(key)?.ask(Note(1)).await }).await;
            assert!(kinds(&error).contains(&ErrorKind::AskedItself), "{key}: {error:#}");
        }
        let alice = cluster.actor::<Scripted>("alice").unwrap();
        let plain = Run::new(|_, ctx| Box::pin(async move { Ok(ctx.virtual_ref().ask(Note(1)).await?) }));
        let limited = Run::new(|_, ctx| {
            Box::pin(
                async move { Ok(ctx.virtual_ref().ask(Note(1)).timeout(Duration::from_secs(60)).await?) },
            )
        });
        let enqueued = Run::new(|_, ctx| {
            Box::pin(async move { Ok(ctx.virtual_ref().ask(Note(1)).enqueue().unwrap().await?) })
        });
        for (name, run) in [("plain", plain), ("limited", limited), ("enqueued", enqueued)] {
            let error = soon(alice.ask(run)).await;
            assert!(kinds(&error).contains(&ErrorKind::AskedItself), "{name}: {error:#}");
        }
        // A task of the actor may ask it, and so may its handler by a tell.
        let task = Run::new(|_, ctx| {
            let myself = ctx.virtual_ref();
            Box::pin(async move {
                myself.tell(Note(2)).unwrap();
                tokio::spawn(async move { myself.ask(Note(3)).await });
                Ok(0)
            })
        });
        alice.ask(task).await.unwrap();
        assert!(alice.ask(Note(4)).await.unwrap() >= 2);
    });
}

/// A handler that asks another virtual actor.
fn asks(to: &ActorRef<Scripted>, run: Run) -> Run {
    let to = to.clone();
    Run::new(move |_, _| Box::pin(async move { Ok(to.ask(run).await?) }))
}

fn answers() -> Run {
    Run::new(|_, _| Box::pin(async { Ok(7) }))
}

#[test]
fn a_cycle_of_asks_is_found() {
    table("cycle", |case| async move {
        let system = case.system.clone();
        let cluster = start(&case, TypeOptions::default()).await;
        for round in 0..20 {
            // Cold in the first round, active in the second, and so on.
            let [a, b, c] = ["a", "b", "c"]
                .map(|key| cluster.actor::<Scripted>(&format!("{key}-{}", round / 2)).unwrap());
            let two = soon(a.ask(asks(&b, asks(&a, answers())))).await;
            assert!(kinds(&two).contains(&ErrorKind::AskCycle), "{two:#}");
            let three = soon(a.ask(asks(&b, asks(&c, asks(&a, answers()))))).await;
            assert!(kinds(&three).contains(&ErrorKind::AskCycle), "{three:#}");
            // Not a cycle.
            assert_eq!(a.ask(asks(&b, asks(&c, answers()))).await.unwrap(), 7);
            // A limit that the asker sets is no deadlock: it ends by itself.
            let to = a.clone();
            let limited = Run::new(move |_, _| {
                Box::pin(async move { Ok(to.ask(answers()).timeout(Duration::from_millis(20)).await?) })
            });
            let late = soon(a.ask(asks(&b, limited))).await;
            assert!(kinds(&late).contains(&ErrorKind::Timeout), "{late:#}");
        }
        drop(system);
    });
}

#[test]
fn asks_wait_for_thirty_seconds_by_default() {
    table("default", |case| async move {
        let cluster = start(&case, TypeOptions::default()).await;
        let alice = cluster.actor::<Scripted>("alice").unwrap();
        let remaining = || {
            Run::new(|_, ctx| {
                let left = ctx.deadline().map(|at| at.saturating_duration_since(tokio::time::Instant::now()));
                Box::pin(async move { Ok(left.map_or(0, |left| left.as_millis() as u64)) })
            })
        };
        alice.ask(Note(1)).await.unwrap();
        let left = alice.ask(remaining()).await.unwrap();
        assert!((25_000..=30_000).contains(&left), "{left} ms");
        let recipient: Recipient<Run> = alice.recipient();
        let left = recipient.ask(remaining()).await.unwrap();
        assert!((25_000..=30_000).contains(&left), "{left} ms");
        let left = alice.at(Priority::High).ask(remaining()).await.unwrap();
        assert!((25_000..=30_000).contains(&left), "{left} ms");
        let left = alice.ask(remaining()).timeout(Duration::from_secs(90)).await.unwrap();
        assert!((80_000..=90_000).contains(&left), "{left} ms");
        // Told messages have none.
        let told = Arc::new(Mutex::new(None));
        let seen = told.clone();
        let tell = Run::new(move |_, ctx| {
            let deadline = ctx.deadline();
            Box::pin(async move {
                *seen.lock().await = Some(deadline);
                Ok(0)
            })
        });
        alice.tell(tell).unwrap();
        alice.ask(Note(1)).await.unwrap();
        assert_eq!(*told.lock().await, Some(None));
    });
}

#[test]
fn a_message_given_back_keeps_its_priority() {
    for bounded in [false, true] {
        table(&format!("priority-{bounded}"), |case| async move {
            let mut options = TypeOptions::default();
            if bounded {
                options = options.bounded(100, dactor_core::Overflow::Block);
            }
            let cluster = start(&case, options).await;
            let alice = cluster.actor::<Scripted>("alice").unwrap();
            let waits = Run::new({
                let journal = case.journal.clone();
                move |_, _| {
                    Box::pin(async move {
                        journal.note("waits");
                        journal.gate.0.acquire().await?.forget();
                        Ok(0)
                    })
                }
            });
            let waits = alice.ask(waits).enqueue().unwrap();
            until("the handler", || case.journal.notes().contains(&"waits".to_owned())).await;
            for (number, priority) in [
                (5, Priority::Low),
                (3, Priority::Normal),
                (1, Priority::High),
                (4, Priority::Normal),
                (6, Priority::Low),
                (2, Priority::High),
            ] {
                alice.at(priority).tell(Note(number)).unwrap();
            }
            alice.stop();
            case.journal.gate.0.add_permits(1);
            waits.await.unwrap();
            let seen = Arc::new(Mutex::new(Vec::<u64>::new()));
            let all = seen.clone();
            let look = Run::new(move |actor, _| {
                Box::pin(async move {
                    all.lock().await.extend(&actor.seen);
                    Ok(0)
                })
            });
            // Behind all others.
            alice.at(Priority::Low).ask(look).await.unwrap();
            assert_eq!(*seen.lock().await, [1, 2, 3, 4, 5, 6]);
        });
    }
}

#[test]
fn a_message_that_does_not_keep_alive_is_no_activity() {
    table("quiet", |case| async move {
        let clock = Arc::new(ManualClock::new());
        let engine = case.engine_with(clock.clone());
        let idle = Duration::from_secs(600);
        let cluster = Cluster::builder(&case.system).engine(engine).clock(clock.clone());
        let cluster = cluster.lease(Duration::from_secs(1_000_000), Duration::from_secs(1));
        let options = TypeOptions::default().idle_after(idle);
        let cluster = cluster.register_with::<Scripted>(options).start().await.unwrap();
        let [active, quiet, ticking] =
            ["active", "quiet", "ticking"].map(|key| cluster.actor::<Scripted>(key).unwrap());
        for actor in [&active, &quiet] {
            actor.ask(Note(1)).await.unwrap();
        }
        // The messages of a timer are no activity, either.
        let ticks = Arc::new(AtomicU32::new(0));
        let count = ticks.clone();
        let every = Run::new(move |_, ctx| {
            Box::pin(async move {
                ctx.every(Duration::from_millis(1), move || {
                    count.fetch_add(1, Ordering::SeqCst);
                    Note(2)
                })?;
                Ok(0)
            })
        });
        ticking.ask(every).await.unwrap();
        clock.advance(idle / 2);
        active.ask(Note(1)).await.unwrap();
        quiet.ask(Quiet).await.unwrap();
        let before = ticks.load(Ordering::SeqCst);
        until("a tick", || ticks.load(Ordering::SeqCst) > before + 2).await;
        clock.advance(idle / 2 + Duration::from_secs(1));
        let state = |key| cluster.state_of::<Scripted>(key).unwrap();
        until("the idle ones are gone", || {
            state("quiet") == ActivationState::Invalid && state("ticking") == ActivationState::Invalid
        })
        .await;
        assert_eq!(state("active"), ActivationState::Valid);
    });
}

type Kept = Arc<std::sync::Mutex<Vec<Later<u64>>>>;

/// The handler returns, and the answers are given later.
fn defers(kept: &Kept) -> Run {
    let kept = kept.clone();
    Run::new(move |_, ctx| {
        let (later, promise) = ctx.reply_later::<Run>();
        kept.lock().unwrap().push(later);
        Box::pin(async move { promise })
    })
}

#[test]
fn a_deferred_reply_passes_the_lease() {
    table("deferred", |case| async move {
        let clock = Arc::new(ManualClock::new());
        let (partition, engine) = Partition::of(case.engine_with(clock.clone()));
        let cluster = Cluster::builder(&case.system).engine(engine).clock(clock.clone());
        let cluster = cluster.lease(Duration::from_secs(10), Duration::from_secs(1));
        let cluster = cluster.register::<Scripted>().start().await.unwrap();
        let [alice, other] = ["alice", "other"].map(|key| cluster.actor::<Scripted>(key).unwrap());
        let kept = Kept::default();
        let pending: Vec<_> = (0..3).map(|_| alice.ask(defers(&kept)).enqueue().unwrap()).collect();
        other.ask(Note(1)).await.unwrap();
        until("the handlers", || kept.lock().unwrap().len() == 3).await;
        let mut answers = std::mem::take(&mut *kept.lock().unwrap()).into_iter();
        let mut pending = pending.into_iter();
        assert!(answers.next().unwrap().reply(5), "the node has its lease");
        assert_eq!(pending.next().unwrap().await.unwrap(), 5);
        // A handler that began before, and forwards after the lease has ended.
        let forwards = Run::new({
            let (journal, other) = (case.journal.clone(), other.clone());
            move |_, ctx| {
                Box::pin(async move {
                    journal.note("waits");
                    journal.gate.0.acquire().await?.forget();
                    ctx.forward(&other, Note(2))
                })
            }
        });
        let forwarded = alice.ask(forwards).enqueue().unwrap();
        until("the handler", || case.journal.notes().contains(&"waits".to_owned())).await;
        partition.cut.store(true, Ordering::SeqCst);
        clock.advance(Duration::from_secs(9));
        case.journal.gate.0.add_permits(1);
        assert!(!answers.next().unwrap().reply(6), "the lease has ended");
        answers.next().unwrap().fail(dactor_core::Failure::new("too late"));
        for late in pending.chain([forwarded]) {
            let error = late.await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Interrupted, "{error:#}");
            assert!(error.may_have_been_handled());
        }
    });
}

#[test]
fn an_old_activation_leads_to_the_actor() {
    table("old", |case| async move {
        let cluster = start(&case, TypeOptions::default()).await;
        let actor = || cluster.actor::<Scripted>("keeps-its-activation").unwrap();
        assert_eq!(actor().ask(Note(1)).await.unwrap(), 1);
        let old = ACTIVATIONS.lock().await.remove(0);
        actor().stop();
        until("the deactivation", || cluster.active() == 0).await;
        // Another one is active, and no ref is kept.
        assert_eq!(actor().ask(Note(2)).await.unwrap(), 1);
        assert_eq!(old.virtual_ref().ask(Note(3)).await.unwrap(), 2);
        assert_eq!(*old.virtual_ref(), actor());
        drop(ACTIVATIONS.lock().await.drain(..));
    });
}
