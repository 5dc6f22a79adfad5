//! Killing: at the next await, in any state of the actor.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason};

use crate::fixtures::hooks::{HookAction, Hooks};
use crate::fixtures::worker::{Fail, Hold, Note, PanicWith, Worker};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "KILL-01",
        Topic::Kill,
        &[(Topic::Kill, State::Idle)],
        "An idle actor that is killed ends without running `on_stop`.",
        "A kill wakes the actor like a message does.",
        body!(idle),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "KILL-02",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A kill drops a pending handler at its await: its asker gets `Interrupted`, queued askers get `Stopped`, and `on_stop` does not run.",
        "A handler that hangs must be killable, and no asker waits for it any longer.",
        body!(handling),
    ),
    Rule::must(
        "KILL-03",
        Topic::Kill,
        &[(Topic::Kill, State::Stopping)],
        "A kill drops a pending `on_stop`; the reason is `killed`.",
        "An `on_stop` that hangs must be killable.",
        body!(stopping),
    ),
    Rule::must(
        "KILL-04",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Stop, State::Handling), (Topic::Drain, State::Handling)],
        "A kill takes precedence over a stop and a drain, in either order.",
        "The faster end wins.",
        body!(wins),
    ),
    Rule::must(
        "KILL-05",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "An actor that kills itself in a handler ends at the next await; without an await the handler completes and replies.",
        "Rust futures can only be dropped at an await.",
        body!(from_within),
    ),
    Rule::must(
        "KILL-06",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "A kill drops a pending `on_error` or `on_restart`.",
        "Every hook can hang, so every hook must be killable.",
        body!(in_hooks),
    ),
    Rule::must(
        "KILL-07",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A handler that never completes, but awaits, can be killed while it is busy.",
        "A handler that is always ready to run must be killable.",
        body!(busy),
    ),
    Rule::must(
        "KILL-08",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A message taken from the queue is handled at least until its handler's first await, even if a kill came first.",
        "Otherwise the message would be neither handled nor a dead letter.",
        body!(taken),
    ),
];

async fn idle(rule: RuleContext) {
    for native_handle_taken in [false, true] {
        let (journal, system) = (Journal::new(), rule.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        rule.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if native_handle_taken {
            rule.take_native_handle(&actor);
        }
        rule.let_idle().await;
        actor.kill();
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(journal.entries(), ["start", "1", "drop"]);
        assert_eq!(system.actor_count(), 0);
    }
}

async fn handling(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let queued = actor.ask(Note(3)).enqueue().unwrap();
    actor.kill();
    let error = rule.soon("the asker of the dropped handler is answered", held).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Interrupted, Some("pekko://test/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Hold>()));
    assert_eq!(
        rule.soon("the queued asker is answered", queued).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "hold 1", "drop"]);
    assert_eq!(events.journal().entries(), ["dead Note", "dead Note"]);
    assert_eq!(system.actor_count(), 0);
}

async fn stopping(rule: RuleContext) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { stop: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = rule.system().spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.stop();
    rule.soon("on_stop runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
}

async fn wins(rule: RuleContext) {
    for order in [["stop", "kill"], ["drain", "kill"], ["kill", "stop"], ["kill", "drain"], ["kill", "kill"]]
    {
        let (journal, gate) = (Journal::new(), Gate::new());
        let actor = rule.system().spawn(Worker::new(&journal)).await.unwrap();
        actor.tell(Hold(1, gate.clone())).unwrap();
        rule.soon("the handler runs", gate.reached()).await;
        actor.tell(Note(2)).unwrap();
        for end in order {
            match end {
                "stop" => actor.stop(),
                "drain" => actor.drain(),
                _ => actor.kill(),
            }
        }
        assert!(
            matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed),
            "{order:?}"
        );
        assert_eq!(journal.entries(), ["start", "hold 1", "drop"], "{order:?}");
    }
}

async fn from_within(rule: RuleContext) {
    for (awaits, answer) in [(true, Err(ErrorKind::Interrupted)), (false, Ok(()))] {
        let journal = Journal::new();
        let actor = rule.system().spawn(KillsItself(journal.clone())).await.unwrap();
        let asked = rule.soon("the asker is answered", actor.ask(KillSelf { awaits })).await;
        assert_eq!(asked.map_err(|error| error.kind()), answer);
        assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(journal.is_empty(), awaits, "{journal:?}");
        assert_eq!(journal.count("on_stop"), 0);
    }
}

async fn in_hooks(rule: RuleContext) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), rule.system());
    let hooks =
        Hooks { error: HookAction::Hold(gate.clone()), directive: Directive::Resume, ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.tell(Fail("no")).unwrap();
    rule.soon("on_error runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "error: no", "drop"]);

    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { restart: HookAction::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(PanicWith("no")).unwrap();
    rule.soon("on_restart runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["make", "start", "drop", "make", "restart: Panicked", "drop"]);
    assert_eq!(system.actor_count(), 0);
}

async fn busy(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(KillsItself(journal.clone())).await.unwrap();
    let asked = actor.ask(Spin).enqueue().unwrap();
    rule.soon("the handler runs", journal.wait_for("spinning")).await;
    actor.kill();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
}

async fn taken(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(KillsItself(journal.clone())).await.unwrap();
    let asked = rule.soon("the asker is answered", actor.ask(KillSelfBeforeFuture)).await;
    assert!(asked.is_ok(), "{asked:?}");
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["went on"]);
}

/// Kills itself.
struct KillsItself(Journal);

impl Actor for KillsItself {
    async fn on_stop(&mut self, _reason: &StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note("on_stop");
        Ok(())
    }
}

struct KillSelf {
    awaits: bool,
}

impl Message for KillSelf {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

struct Spin;

impl Message for Spin {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<KillSelf> for KillsItself {
    async fn handle(&mut self, KillSelf { awaits }: KillSelf, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.actor_ref().kill();
        if awaits {
            tokio::task::yield_now().await;
        }
        self.0.note("went on");
        Ok(())
    }
}

/// Kills the actor before it returns a future, which does not await.
struct KillSelfBeforeFuture;

impl Message for KillSelfBeforeFuture {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<KillSelfBeforeFuture> for KillsItself {
    fn handle(
        &mut self,
        KillSelfBeforeFuture: KillSelfBeforeFuture,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        ctx.actor_ref().kill();
        async {
            self.0.note("went on");
            Ok(())
        }
    }
}

impl Handler<Spin> for KillsItself {
    async fn handle(&mut self, Spin: Spin, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note("spinning");
        loop {
            tokio::task::yield_now().await;
        }
    }
}
