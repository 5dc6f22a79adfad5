//! Messages and supervision decisions that panic.

use dactor_core::testkit::Gate;
use dactor_core::{Actor, Context, Directive, ErrorKind, Handler, Message, Outcome, Overflow, Supervision};

use super::child_of;
use crate::fixtures::panicking::AlwaysPanicOnDrop;
use crate::fixtures::scripted::{ScriptedActor, reply_with, script, wait_at};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "PANIC-13",
        Topic::Panic,
        &[(Topic::Panic, State::Dead), (Topic::Panic, State::Handling)],
        "A message that panics in `describe` or in its destructor becomes one dead letter; the panic reaches neither the sender that is refused nor a sender whose message replaces it in a full mailbox.",
        "A sender does not pay for a faulty message.",
        body!(senders_unharmed),
    ),
    Rule::must(
        "PANIC-14",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Supervision, State::Handling)],
        "A supervision decision that panics, an `Actor::supervision` that panics, and a strategy that panics when it is dropped stop the failed actor with its original failure.",
        "A panic in the supervision strategy must not hide the failure that it decides on.",
        body!(decisions),
    ),
];

/// A message that panics in `describe` and in its destructor.
struct PanickingMessage(#[expect(dead_code, reason = "it is dropped")] AlwaysPanicOnDrop);

impl Message for PanickingMessage {
    type Reply = u32;
    type Access = dactor_core::Exclusive;

    fn describe(&self) -> Option<String> {
        panic!("a description");
    }
}

impl Handler<PanickingMessage> for ScriptedActor {
    async fn handle(&mut self, panicking_message: PanickingMessage, _: &mut Context<Self>) -> Outcome<u32> {
        std::mem::forget(panicking_message);
        Ok(1)
    }
}

async fn senders_unharmed(rule: RuleContext) {
    let panicking_message = || PanickingMessage(AlwaysPanicOnDrop(true));
    let (gate, (system, events)) = (Gate::new(), rule.system_with_events());
    let dead = system.spawn(ScriptedActor::default()).await.unwrap();
    dead.stop();
    rule.soon("the actor ends", dead.wait()).await.unwrap();
    assert_eq!(dead.tell(panicking_message()).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(
        rule.soon("the send returns", dead.send(panicking_message())).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );
    assert_eq!(
        rule.soon("the ask returns", dead.ask(panicking_message())).await.unwrap_err().kind(),
        ErrorKind::Stopped
    );

    let full = system.spawn(ScriptedActor::default()).bounded(1, Overflow::DropOldest).await.unwrap();
    full.tell(wait_at(&gate)).unwrap();
    rule.soon("the handler runs", gate.reached()).await;
    let evicted = full.ask(panicking_message()).enqueue().unwrap();
    full.tell(panicking_message()).unwrap();
    full.tell(reply_with(1)).unwrap();
    assert_eq!(
        rule.soon("the asker gets the error", evicted).await.unwrap_err().kind(),
        ErrorKind::MailboxFull
    );
    gate.open();
    let idle = async {
        while full.queued() > Some(0) {
            tokio::task::yield_now().await;
        }
    };
    rule.soon("the mailbox has room", idle).await;
    assert_eq!(rule.soon("the actor continues", full.ask(panicking_message())).await.unwrap(), 1);
    assert_eq!(events.journal().entries(), ["dead PanickingMessage"; 5]);
    assert_eq!(system.dead_letter_count(), 5);
}

/// A parent whose `Actor::supervision` panics.
struct PanickingSupervision;

impl Actor for PanickingSupervision {
    fn supervision() -> Supervision {
        panic!("undecided");
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(ScriptedActor::default).name("child").await?;
        Ok(())
    }
}

/// A parent whose supervision strategy panics when it is dropped.
struct SupervisionPanicsOnDrop;

impl Actor for SupervisionPanicsOnDrop {
    fn supervision() -> Supervision {
        let panicking = AlwaysPanicOnDrop(true);
        Supervision::one_for_one().decide(move |_| {
            let _decision = &panicking;
            Directive::Stop
        })
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.spawn(ScriptedActor::default).name("child").await?;
        Ok(())
    }
}

async fn decisions(rule: RuleContext) {
    let system = rule.system();
    let second_parent = system.spawn(SupervisionPanicsOnDrop).name("d").await.unwrap();
    let second_child = child_of(&system, "d");
    let parent = system.spawn(PanickingSupervision).name("p").await.unwrap();
    let child = child_of(&system, "p");
    let panics = Supervision::one_for_one().decide(|_| panic!("undecided"));
    let panicking = AlwaysPanicOnDrop(true);
    let drop_panics = Supervision::one_for_one().decide(move |_| {
        let _decision = &panicking;
        Directive::Stop
    });
    let (make, also) = (ScriptedActor::default, ScriptedActor::default);
    let panics = system.spawn(make).supervision(panics).await.unwrap();
    let drop_panics = system.spawn(also).supervision(drop_panics).await.unwrap();
    for actor in [child, second_child, panics, drop_panics] {
        actor.tell(script(|_, _| panic!("the first"))).unwrap();
        let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
        let failure = reason.failure().expect("a failure");
        assert_eq!(failure.kind(), ErrorKind::Panicked);
        assert_eq!(std::error::Error::source(failure).unwrap().to_string(), "the first");
    }
    assert!(parent.is_alive() == Some(true) && second_parent.is_alive() == Some(true));
}
