//! Refs to actors that live elsewhere, through a route that stays in the process: what a ref does before, with and after
//! its route.

#[path = "support/tokio_tasks.rs"]
mod tokio_tasks;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dactor_core::path::ActorUid;
use dactor_core::spi::{self, Envelope, FarRefused, FarRoute};
use dactor_core::{
    Actor, ActorPath, ActorRef, Context, End, Error, ErrorKind, Handler, Message, Outcome, Priority, Result,
    StopReason, System, Terminated, WeakRef,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tasks::TokioTasks;

#[derive(Default)]
struct Adder(u64);
impl Actor for Adder {}

struct Add(u64);
impl Message for Add {
    type Reply = u64;
    type Access = dactor_core::Exclusive;
}

impl Handler<Add> for Adder {
    async fn handle(&mut self, Add(more): Add, _: &mut Context<Self>) -> Outcome<u64> {
        self.0 += more;
        Ok(self.0)
    }
}

/// Is never answered.
struct Hang;
impl Message for Hang {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Hang> for Adder {
    async fn handle(&mut self, _: Hang, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.cancelled().await;
        Ok(())
    }
}

/// Leads to an actor of another system in this process.
struct Loopback {
    target: ActorRef<Adder>,
    calls: Mutex<Vec<String>>,
    refuses: AtomicBool,
    /// Messages that stay on their way.
    lost: Mutex<Option<Vec<Envelope<Adder>>>>,
}

impl Loopback {
    fn new(target: &ActorRef<Adder>) -> Arc<Self> {
        let target = target.clone();
        Arc::new(Self {
            target,
            calls: Mutex::default(),
            refuses: AtomicBool::new(false),
            lost: Mutex::default(),
        })
    }

    fn note(&self, call: impl Into<String>) -> Result<()> {
        self.calls.lock().unwrap().push(call.into());
        match self.refuses.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Quarantined)),
            false => Ok(()),
        }
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl FarRoute<Adder> for Loopback {
    fn deliver(&self, envelope: Envelope<Adder>, priority: Priority) -> Result<(), FarRefused<Adder>> {
        if let Some(lost) = &mut *self.lost.lock().unwrap() {
            lost.push(envelope);
            return Ok(());
        }
        match self.note(format!("deliver {priority:?}")) {
            Ok(()) => spi::deliver(&self.target, envelope, priority),
            Err(error) => Err(FarRefused { envelope, error }),
        }
    }

    fn end(&self, how: End) -> Result<()> {
        self.note(how.as_str())?;
        self.target.end(how)
    }

    fn watch(&self) -> Result<()> {
        self.note("watch")
    }

    fn unwatch(&self) {
        let _ = self.note("unwatch");
    }

    fn asker_gone(&self) {
        let _ = self.note("asker gone");
    }
}

struct Bench {
    here: System,
    there: ActorRef<Adder>,
    route: Arc<Loopback>,
    far: ActorRef<Adder>,
}

impl Bench {
    async fn new() -> Self {
        let [here, other] =
            ["here", "there"].map(|name| System::builder(name).backend(TokioTasks).build().unwrap());
        let there = other.spawn(Adder::default()).name("adder 1").await.unwrap();
        let route = Loopback::new(&there);
        let far = spi::far_ref(&here, &there.path(), || route.clone()).unwrap();
        Self { here, there, route, far }
    }

    fn ended(&self, reason: StopReason) -> bool {
        spi::far_ended(&self.here, &self.far.path(), &reason)
    }

    fn again(&self) -> ActorRef<Adder> {
        spi::far_ref(&self.here, &self.there.path(), || unreachable!("the actor is known")).unwrap()
    }
}

#[test]
fn a_ref_does_not_grow() {
    let words = 3 * size_of::<usize>();
    assert_eq!(size_of::<ActorRef<Adder>>(), words);
    assert_eq!(size_of::<Option<ActorRef<Adder>>>(), words);
    assert_eq!(size_of::<WeakRef<Adder>>(), words);
    assert_eq!(size_of::<Option<WeakRef<Adder>>>(), words);
}

#[tokio::test]
async fn messages_take_the_route() {
    let bench = Bench::new().await;
    let far = &bench.far;
    far.tell(Add(1)).unwrap();
    far.try_tell(Add(2)).unwrap();
    far.send(Add(3)).await.unwrap();
    assert_eq!(far.ask(Add(4)).await.unwrap(), 10);
    assert_eq!(far.at(Priority::High).ask(Add(5)).await.unwrap(), 15);
    assert_eq!(far.recipient::<Add>().ask(Add(6)).await.unwrap(), 21);
    assert_eq!(far.downgrade().upgrade().unwrap().ask(Add(7)).await.unwrap(), 28);
    assert_eq!(
        bench.route.calls().join(", "),
        [["deliver Normal"; 4].join(", "), "deliver High".into(), ["deliver Normal"; 2].join(", ")]
            .join(", ")
    );
    assert_eq!(bench.here.dead_letter_count(), 0);
}

#[tokio::test]
async fn a_refused_message_comes_back_whole() {
    let bench = Bench::new().await;
    let (far, mut feed) = (&bench.far, bench.here.dead_letter_feed());
    bench.route.refuses.store(true, Ordering::SeqCst);
    let refused = far.try_tell(Add(7)).unwrap_err();
    assert_eq!((refused.message.0, refused.reason.kind()), (7, ErrorKind::Quarantined));
    assert_eq!(bench.here.dead_letter_count(), 0, "it was handed back");
    assert_eq!(far.tell(Add(1)).unwrap_err().kind(), ErrorKind::Quarantined);
    assert_eq!(far.send(Add(1)).await.unwrap_err().kind(), ErrorKind::Quarantined);
    assert_eq!(far.ask(Add(1)).await.unwrap_err().kind(), ErrorKind::Quarantined);
    assert_eq!(far.ask(Add(1)).enqueue().map(drop).unwrap_err().kind(), ErrorKind::Quarantined);
    assert_eq!(bench.here.dead_letter_count(), 4);
    let letter = feed.next().await.unwrap();
    assert_eq!(letter.target.to_string(), bench.there.path().to_string());
}

#[tokio::test]
async fn a_far_actor_has_one_identity() {
    let bench = Bench::new().await;
    let (far, again) = (&bench.far, bench.again());
    assert!(*far == again && far.id() == again.id(), "decoded twice");
    assert_eq!(*far, bench.there, "the same actor, seen from its own system");
    assert!(far.recipient::<Add>() == again.recipient::<Add>());
    assert!(far.path().is_same_incarnation(&bench.there.path()));
    assert_eq!((far.uid(), far.name()), (bench.there.uid(), Some("adder 1")));
    assert!(!far.is_local() && bench.there.is_local());
    assert_eq!((far.queued(), far.is_alive()), (None, None));
    assert!(far.native().is_none() && far.stop_reason().is_none());
    assert_eq!(far.system().name(), "here");
    let next = bench.there.path().with_uid(ActorUid::new(bench.there.uid().get() + 1));
    let next = spi::far_ref(&bench.here, &next, || bench.route.clone()).unwrap();
    assert!(*far != next && far.id() != next.id(), "another incarnation");
}

#[tokio::test]
async fn virtual_actors_are_told_apart_by_their_paths() {
    let bench = Bench::new().await;
    let path = |key| ActorPath::of_virtual_actor(bench.here.parts(), "Adder", key).unwrap();
    let actor = |key| spi::far_ref::<Adder>(&bench.here, &path(key), || bench.route.clone()).unwrap();
    let (alice, bob) = (actor("alice"), actor("bob"));
    assert_eq!(alice.uid(), ActorUid::ANY);
    assert!(alice == actor("alice") && alice != bob);
    #[expect(clippy::mutable_key_type, reason = "a ref is hashed by its UID or path, which never change")]
    let set: std::collections::HashSet<_> = [alice.clone(), bob, actor("alice")].into();
    assert_eq!(set.len(), 2);
    assert_eq!((alice.name(), alice.path().uid()), (Some("alice"), None));
}

#[tokio::test]
async fn paths_that_lead_to_no_far_actor() {
    let bench = Bench::new().await;
    let local = bench.here.spawn(Adder::default()).await.unwrap().path();
    let guardian: ActorPath = "pekko://there/user#1".parse().unwrap();
    for path in [local, bench.there.path().without_uid(), guardian] {
        let error = spi::far_ref::<Adder>(&bench.here, &path, || bench.route.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath, "{path}");
        assert!(error.get("because").is_some());
    }
}

#[tokio::test]
async fn an_asker_that_gives_up_is_announced_to_the_route() {
    let bench = Bench::new().await;
    let hanging = bench.far.ask(Hang).timeout(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!((hanging.kind(), hanging.may_have_been_handled()), (ErrorKind::Timeout, true));
    assert_eq!(bench.route.calls(), ["deliver Normal"], "the actor that has the message knows");
    // Behind a message that hangs, it is taken back from the mailbox there.
    let first = bench.far.ask(Hang).enqueue().unwrap();
    let error = bench.far.ask(Add(1)).timeout(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Timeout, false));
    drop(first);
    assert_eq!(bench.far.ask(Add(1)).await.unwrap(), 1, "the other message was not handled");

    *bench.route.lost.lock().unwrap() = Some(Vec::new());
    bench.route.calls();
    let error = bench.far.ask(Add(1)).timeout(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Timeout, false), "it never left");
    assert_eq!(bench.route.calls(), ["asker gone"]);
    drop(bench.far.ask(Add(1)).enqueue().unwrap());
    assert_eq!(bench.route.calls(), ["asker gone"]);
}

/// Says what it hears, and forwards what it is asked.
struct Watcher {
    target: ActorRef<Adder>,
    heard: UnboundedSender<String>,
}
impl Actor for Watcher {}

impl Handler<Terminated> for Watcher {
    async fn handle(&mut self, ended: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        assert!(ended.is(&self.target) && ended.path() == self.target.path());
        let _ = self.heard.send(ended.reason().to_string());
        Ok(())
    }
}

struct Watch(bool);
impl Message for Watch {
    type Reply = bool;
    type Access = dactor_core::Exclusive;
}

impl Handler<Watch> for Watcher {
    async fn handle(&mut self, Watch(on): Watch, ctx: &mut Context<Self>) -> Outcome<bool> {
        match on {
            true => ctx.watch(&self.target).map(|()| true).map_err(Into::into),
            false => Ok(ctx.unwatch(&self.target)),
        }
    }
}

impl Handler<Add> for Watcher {
    async fn handle(&mut self, add: Add, ctx: &mut Context<Self>) -> Outcome<u64> {
        ctx.forward(&self.target, add)
    }
}

#[tokio::test]
async fn a_far_actor_is_watched_and_awaited() {
    let bench = Bench::new().await;
    let (heard, mut hears) = unbounded_channel();
    let watcher = bench.here.spawn(Watcher { target: bench.far.clone(), heard }).await.unwrap();
    assert_eq!(watcher.ask(Add(3)).await.unwrap(), 3, "forwarded");
    bench.route.calls();

    assert!(watcher.ask(Watch(true)).await.unwrap() && watcher.ask(Watch(true)).await.unwrap());
    assert!(watcher.ask(Watch(false)).await.unwrap());
    assert_eq!(bench.route.calls(), ["watch", "unwatch"], "one watch, however often it is asked for");

    bench.here.watch(&watcher, &bench.again()).unwrap();
    watcher.ask(Watch(false)).await.unwrap();
    watcher.ask(Watch(true)).await.unwrap();
    let waits = tokio::spawn({
        let far = bench.far.clone();
        async move { far.wait().await.unwrap().to_string() }
    });
    while bench.route.calls.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert!(bench.ended(StopReason::Drained));
    assert!(!bench.ended(StopReason::Killed), "it ends once");
    assert_eq!(hears.recv().await.unwrap(), "drained");
    assert_eq!(waits.await.unwrap(), "drained");
    assert_eq!((bench.far.is_alive(), bench.again().is_alive()), (Some(false), Some(false)));
    bench.route.calls();
    let error = bench.far.tell(Add(1)).unwrap_err();
    assert_eq!((error.kind(), error.get("reason")), (ErrorKind::Stopped, Some("drained")));
    assert_eq!(bench.far.ask(Add(1)).await.unwrap_err().kind(), ErrorKind::Stopped);
    watcher.ask(Watch(true)).await.unwrap();
    assert_eq!(hears.recv().await.unwrap(), "drained", "watched after its end");
    assert_eq!(bench.route.calls(), [""; 0], "the route is not asked about an actor that has ended");
    assert!(!spi::far_ended(&bench.here, &watcher.path(), &StopReason::Killed), "an actor of this process");
}

#[tokio::test]
async fn a_watch_that_the_route_refuses_is_an_error() {
    let bench = Bench::new().await;
    let (heard, _hears) = unbounded_channel();
    let watcher = bench.here.spawn(Watcher { target: bench.far.clone(), heard }).await.unwrap();
    bench.route.refuses.store(true, Ordering::SeqCst);
    assert_eq!(watcher.ask(Watch(true)).await.unwrap_err().kind(), ErrorKind::Failed);
    assert_eq!(bench.here.watch(&watcher, &bench.far).unwrap_err().kind(), ErrorKind::Quarantined);
    assert_eq!(bench.far.wait().await.unwrap_err().kind(), ErrorKind::Quarantined);
    bench.route.refuses.store(false, Ordering::SeqCst);
    bench.route.calls();
    assert!(watcher.ask(Watch(true)).await.unwrap());
    assert_eq!(bench.route.calls(), ["watch"], "a failed watch counts for nothing");
}

#[tokio::test]
async fn a_far_actor_is_asked_to_end() {
    for (how, reason) in [(End::Stop, "stopped"), (End::Drain, "drained"), (End::Kill, "killed")] {
        let bench = Bench::new().await;
        bench.far.end(how).unwrap();
        assert_eq!(bench.there.wait().await.unwrap().to_string(), reason);
        bench.route.refuses.store(true, Ordering::SeqCst);
        assert_eq!(bench.far.end(how).unwrap_err().kind(), ErrorKind::Quarantined);
        match how {
            End::Stop => bench.far.stop(),
            End::Drain => bench.far.drain(),
            End::Kill => bench.far.kill(),
        }
        assert_eq!(
            bench.here.dead_letter_count(),
            2,
            "requests that could not be sent are not lost in silence"
        );
    }
}

#[tokio::test]
async fn a_far_actor_that_has_ended_is_not_asked_to_end() {
    let bench = Bench::new().await;
    let waiting = tokio::spawn({
        let far = bench.far.clone();
        async move { far.wait().await }
    });
    while bench.route.calls() != ["watch"] {
        tokio::task::yield_now().await;
    }
    assert!(bench.ended(StopReason::Stopped));
    waiting.await.unwrap().unwrap();
    bench.route.calls();
    bench.route.refuses.store(true, Ordering::SeqCst);
    for how in [End::Stop, End::Drain, End::Kill] {
        bench.far.end(how).unwrap();
    }
    assert!(bench.route.calls().is_empty());
    assert_eq!(bench.here.dead_letter_count(), 0);
}
