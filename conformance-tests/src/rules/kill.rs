//! Killing: at the next await, whatever the actor is doing.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Actor, Context, Directive, ErrorKind, Handler, Message, Outcome, StopReason};

use super::body;
use crate::actors::{Act, Boom, Fail, Hold, Hooks, Note, Worker};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "KILL-01",
        Topic::Kill,
        &[(Topic::Kill, State::Idle)],
        "An idle actor that is killed ends; `on_stop` does not run.",
        "A kill must wake the actor like a message does.",
        body!(idle),
    )
    .spi(&["loses-wakes"]),
    Rule::must(
        "KILL-02",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A kill drops a pending handler where it waits: its asker gets `Interrupted`, the queued ones get `Stopped`, `on_stop` does not run.",
        "A handler that hangs must be killable, and nobody may wait for it any more.",
        body!(handling),
    ),
    Rule::must(
        "KILL-03",
        Topic::Kill,
        &[(Topic::Kill, State::Stopping)],
        "A kill drops a pending `on_stop`; the reason is `killed`.",
        "A last hook that hangs must be killable, too.",
        body!(stopping),
    ),
    Rule::must(
        "KILL-04",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Stop, State::Handling), (Topic::Drain, State::Handling)],
        "A kill is stronger than a stop and a drain, whichever comes first.",
        "Whoever asks for the quicker end gets it.",
        body!(wins),
    ),
    Rule::must(
        "KILL-05",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "An actor that kills itself in a handler is gone at the next await; without one, the handler completes and answers.",
        "Rust code can only be left at an await.",
        body!(from_within),
    ),
    Rule::must(
        "KILL-06",
        Topic::Kill,
        &[(Topic::Kill, State::Handling), (Topic::Failure, State::Handling), (Topic::Panic, State::Handling)],
        "A kill drops a pending `on_error` or `on_restart`.",
        "Every hook can hang, so every hook can be killed.",
        body!(in_hooks),
    ),
    Rule::must(
        "KILL-07",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A handler that never completes, but awaits, can be killed while it is busy.",
        "Being woken all the time is no protection.",
        body!(busy),
    ),
    Rule::must(
        "KILL-08",
        Topic::Kill,
        &[(Topic::Kill, State::Handling)],
        "A message that was taken from the queue is handled at least to its handler's first await, even if the kill comes first.",
        "Otherwise it would be neither handled nor a dead letter: lost in silence.",
        body!(taken),
    ),
];

async fn idle(lab: Lab) {
    for exposed in [false, true] {
        let (journal, system) = (Journal::new(), lab.system());
        let actor = system.spawn(Worker::new(&journal)).await.unwrap();
        lab.soon("the actor answers", actor.ask(Note(1))).await.unwrap();
        if exposed {
            lab.expose(&actor);
        }
        lab.rest().await;
        actor.kill();
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(journal.entries(), ["start", "1", "drop"]);
        assert_eq!(system.live(), 0);
    }
}

async fn handling(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let (system, events) = lab.observed();
    let actor = system.spawn(Worker::new(&journal)).name("a").await.unwrap();
    let held = actor.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(2)).unwrap();
    let queued = actor.ask(Note(3)).enqueue().unwrap();
    actor.kill();
    let error = lab.soon("the asker of the dropped handler is answered", held).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Interrupted, Some("pekko://lab/user/a")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Hold>()));
    assert_eq!(
        lab.soon("the queued asker is answered", queued).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "hold 1", "drop"]);
    assert_eq!(events.journal().entries(), ["dead Note", "dead Note"]);
    assert_eq!(system.live(), 0);
}

async fn stopping(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { stop: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = lab.system().spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.stop();
    lab.soon("on_stop runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "stop: stopped", "drop"]);
}

async fn wins(lab: Lab) {
    for order in [["stop", "kill"], ["drain", "kill"], ["kill", "stop"], ["kill", "drain"], ["kill", "kill"]]
    {
        let (journal, gate) = (Journal::new(), Gate::new());
        let actor = lab.system().spawn(Worker::new(&journal)).await.unwrap();
        actor.tell(Hold(1, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        actor.tell(Note(2)).unwrap();
        for end in order {
            match end {
                "stop" => actor.stop(),
                "drain" => actor.drain(),
                _ => actor.kill(),
            }
        }
        assert!(
            matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed),
            "{order:?}"
        );
        assert_eq!(journal.entries(), ["start", "hold 1", "drop"], "{order:?}");
    }
}

async fn from_within(lab: Lab) {
    for (awaits, answer) in [(true, Err(ErrorKind::Interrupted)), (false, Ok(()))] {
        let journal = Journal::new();
        let actor = lab.system().spawn(Suicide(journal.clone())).await.unwrap();
        let asked = lab.soon("the asker is answered", actor.ask(End { awaits })).await;
        assert_eq!(asked.map_err(|error| error.kind()), answer);
        assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
        assert_eq!(journal.is_empty(), awaits, "{journal:?}");
        assert_eq!(journal.count("on_stop"), 0);
    }
}

async fn in_hooks(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { error: Act::Hold(gate.clone()), directive: Directive::Resume, ..Hooks::default() };
    let actor = system.spawn(Worker::with(&journal, hooks)).await.unwrap();
    actor.tell(Fail("no")).unwrap();
    lab.soon("on_error runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["start", "error: no", "drop"]);

    let (journal, gate) = (Journal::new(), Gate::new());
    let hooks = Hooks { restart: Act::Hold(gate.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::factory(&journal, hooks)).await.unwrap();
    actor.tell(Boom("no")).unwrap();
    lab.soon("on_restart runs", gate.reached()).await;
    actor.kill();
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["make", "start", "drop", "make", "restart: Panicked", "drop"]);
    assert_eq!(system.live(), 0);
}

async fn busy(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Suicide(journal.clone())).await.unwrap();
    let asked = actor.ask(Spin).enqueue().unwrap();
    lab.soon("the handler runs", journal.wait_for("spinning")).await;
    actor.kill();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
}

async fn taken(lab: Lab) {
    let journal = Journal::new();
    let actor = lab.system().spawn(Suicide(journal.clone())).await.unwrap();
    let asked = lab.soon("the asker is answered", actor.ask(EndEarly)).await;
    assert!(asked.is_ok(), "{asked:?}");
    assert!(matches!(lab.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
    assert_eq!(journal.entries(), ["went on"]);
}

/// Kills itself.
struct Suicide(Journal);

impl Actor for Suicide {
    async fn on_stop(&mut self, _reason: &StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note("on_stop");
        Ok(())
    }
}

struct End {
    awaits: bool,
}
impl Message for End {
    type Reply = ();
}

struct Spin;
impl Message for Spin {
    type Reply = ();
}

impl Handler<End> for Suicide {
    async fn handle(&mut self, End { awaits }: End, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.actor_ref().kill();
        if awaits {
            tokio::task::yield_now().await;
        }
        self.0.note("went on");
        Ok(())
    }
}

/// Kills before there is a future; the future does not await.
struct EndEarly;
impl Message for EndEarly {
    type Reply = ();
}

impl Handler<EndEarly> for Suicide {
    fn handle(
        &mut self,
        EndEarly: EndEarly,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send {
        ctx.actor_ref().kill();
        async {
            self.0.note("went on");
            Ok(())
        }
    }
}

impl Handler<Spin> for Suicide {
    async fn handle(&mut self, Spin: Spin, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.note("spinning");
        loop {
            tokio::task::yield_now().await;
        }
    }
}
