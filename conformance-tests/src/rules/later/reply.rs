//! Deferred replies.

use std::future::pending;
use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Context, Directive, ErrorKind, Failure, Later, PendingReply, Supervision};
use tokio_util::sync::CancellationToken;

use super::{TextRequest, answer_deferred};
use crate::fixtures::drop_note::DropNote;
use crate::fixtures::ending::{End, end_bodies};
use crate::fixtures::scripted::{Script, ScriptedActor, defer_reply, reply_with, script};
use crate::rules::body;
use crate::{Capability, Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-01",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "A deferred reply can be sent by a later message or by another task, in any order, and the actor handles messages meanwhile; a deferred failure is `Failed`, naming the actor and the message.",
        "An actor need not block while another task computes the reply.",
        body!(given),
    ),
    Rule::must(
        "LATER-02",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "Dropping a deferred reply, and returning a promise without having deferred the reply, answers the asker with `NoReply` at once, naming the actor and the message; the actor continues.",
        "No asker waits for a reply that was forgotten.",
        body!(forgotten),
    ),
    Rule::must(
        "LATER-03",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A deferred reply reports whether an asker waits: not for a told message, nor after the asker gave up or was answered.",
        "Work on a reply can stop when it is no longer needed.",
        body!(wanted),
    ),
    Rule::must(
        "LATER-04",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that defers its reply and then panics answers with that error unless the reply was already sent. If the handler returns an `Err`, the deferred reply stands. Either failure is otherwise handled as usual.",
        "A deferred reply does not hide a failure.",
        body!(broken),
    ),
    Rule::must(
        "LATER-05",
        Topic::Later,
        &[(Topic::Later, State::Stopping)],
        "An actor can send its deferred replies in `on_stop`.",
        "An actor can answer its askers before it ends.",
        body!(stopping),
    ),
    Rule::must(
        "LATER-06",
        Topic::Later,
        &[
            (Topic::Later, State::Stopped),
            (Topic::Later, State::Drained),
            (Topic::Later, State::Killed),
            (Topic::Later, State::Failed),
            (Topic::Later, State::Dead),
        ],
        "However the actor ends, a deferred reply that it holds answers with `NoReply`, one held by another task can still be sent, and the actor's piped futures are dropped.",
        "A deferred reply lives as long as its holder.",
        body!(ends),
    ),
    Rule::must(
        "LATER-07",
        Topic::Later,
        &[(Topic::Later, State::NativeStop)],
        "When the actor is stopped natively, its deferred replies and piped futures end as after any other end (LATER-06).",
        "A native stop is an ordinary end of an actor.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "LATER-08",
        Topic::Later,
        &[(Topic::Later, State::NativeKill)],
        "When the actor is killed natively, its deferred replies and piped futures end as after any other end (LATER-06).",
        "A native kill is an ordinary end of an actor.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "LATER-09",
        Topic::Later,
        &[(Topic::Later, State::RuntimeDropped)],
        "When the runtime of the actor is dropped, its deferred replies and piped futures end as after any other end (LATER-06).",
        "A dropped runtime is an ordinary end of an actor.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// A deferred reply held by another task.
type Slot = Arc<Mutex<Option<Later<u32>>>>;

/// A handler that hands its deferred reply out.
fn export_reply(slot: &Slot) -> Script {
    let slot = slot.clone();
    script(move |_, ctx| {
        let (later, promised) = ctx.reply_later::<Script>();
        *slot.lock().unwrap() = Some(later);
        promised
    })
}

async fn given(rule: RuleContext) {
    let (slot, system) = (Slot::default(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).name("d").await.unwrap();
    let first = scripted.ask(defer_reply()).enqueue().unwrap();
    let second = scripted.ask(export_reply(&slot)).enqueue().unwrap();
    let third = scripted.ask(defer_reply()).enqueue().unwrap();
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(9))).await.unwrap(), 9);
    let later = slot.lock().unwrap().take().unwrap();
    assert!(!later.is_cancelled());
    assert!(rule.soon("a task replies", tokio::spawn(async move { later.reply(2) })).await.unwrap());
    assert_eq!(rule.soon("the second ask is answered", second).await.unwrap(), 2);
    let fails =
        script(|scripted, _| Ok(u32::from(scripted.deferred.pop().unwrap().fail(Failure::new("no luck")))));
    assert_eq!(rule.soon("the third reply fails", scripted.ask(fails)).await.unwrap(), 1);
    let error = rule.soon("the third ask is answered", third).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://test/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
    assert!(format!("{error:#}").contains("no luck"), "{error}");
    assert_eq!(rule.soon("the first reply is sent", scripted.ask(answer_deferred(1))).await.unwrap(), 1);
    assert_eq!(rule.soon("the first ask is answered", first).await.unwrap(), 1);
    assert_eq!(system.dead_letter_count(), 0);
}

async fn forgotten(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let scripted = system.spawn(ScriptedActor::default()).name("d").await.unwrap();
    let kept = scripted.ask(defer_reply()).enqueue().unwrap();
    scripted
        .tell(script(|scripted, _| {
            scripted.deferred.clear();
            Ok(0)
        }))
        .unwrap();
    let dropped = script(|_, ctx| {
        let (later, promised) = ctx.reply_later::<Script>();
        drop(later);
        promised
    });
    // A promise that belongs to another message.
    scripted
        .tell(script(|scripted, ctx| {
            let (_, promised) = ctx.reply_later::<Script>();
            scripted.promise = promised.err();
            Ok(0)
        }))
        .unwrap();
    let borrowed = script(|scripted, _| Err(scripted.promise.take().unwrap()));
    for answer in [
        rule.soon("the asker gets the error", kept).await,
        rule.soon("the asker gets the error", scripted.ask(dropped)).await,
        rule.soon("the asker gets the error", scripted.ask(borrowed)).await,
    ] {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::NoReply, Some("pekko://test/user/d")));
        assert_eq!(error.get("message"), Some(std::any::type_name::<Script>()));
    }
    assert_eq!(rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap(), 1);
    assert_eq!(events.journal().entries(), [""; 0]);
}

async fn wanted(rule: RuleContext) {
    let (slot, system) = (Slot::default(), rule.system());
    let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
    scripted.tell(export_reply(&slot)).unwrap();
    rule.soon("the message is handled", scripted.ask(reply_with(1))).await.unwrap();
    let told = slot.lock().unwrap().take().unwrap();
    assert!(told.is_cancelled() && !told.reply(1));
    scripted.tell(defer_reply()).unwrap();

    let asked = scripted.ask(export_reply(&slot)).enqueue().unwrap();
    rule.soon("the message is handled", scripted.ask(reply_with(1))).await.unwrap();
    let later = slot.lock().unwrap().take().unwrap();
    assert!(!later.is_cancelled());
    drop(asked);
    assert!(later.is_cancelled() && !later.reply(1));

    let token = CancellationToken::new();
    let asked = scripted.ask(export_reply(&slot)).cancel(token.clone()).enqueue().unwrap();
    rule.soon("the message is handled", scripted.ask(reply_with(1))).await.unwrap();
    let later = slot.lock().unwrap().take().unwrap();
    token.cancel();
    assert!(later.is_cancelled());
    assert_eq!(rule.soon("the ask fails", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!later.fail(Failure::new("no")));

    let twice = script(|scripted, ctx| {
        let (first, promised) = ctx.reply_later::<Script>();
        let (second, _) = ctx.reply_later::<Script>();
        scripted.deferred.push(first);
        assert!(second.is_cancelled() && !second.reply(8));
        promised
    });
    let asked = scripted.ask(twice).enqueue().unwrap();
    rule.soon("the deferred reply of the told message is dropped", scripted.ask(answer_deferred(0)))
        .await
        .unwrap();
    rule.soon("the first deferred reply is sent", scripted.ask(answer_deferred(7))).await.unwrap();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 7);
}

async fn broken(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let scripted = system
        .spawn(ScriptedActor::default())
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    let fails = |answered: bool| {
        script(move |scripted: &mut ScriptedActor, ctx: &mut Context<ScriptedActor>| {
            let (later, _) = ctx.reply_later::<Script>();
            if answered {
                assert!(later.reply(3));
            } else {
                scripted.deferred.push(later);
            }
            Err(Failure::new("no"))
        })
    };
    let asked = scripted.ask(fails(false)).enqueue().unwrap();
    assert_eq!(rule.soon("the deferred reply is sent", scripted.ask(answer_deferred(1))).await.unwrap(), 1);
    assert_eq!(rule.soon("the deferred reply stands", asked).await.unwrap(), 1);
    assert_eq!(rule.soon("the asker is answered", scripted.ask(fails(true))).await.unwrap(), 3);
    let panics = script(|scripted, ctx| {
        scripted.deferred.push(ctx.reply_later::<Script>().0);
        panic!("bang")
    });
    let error = rule.soon("the asker gets the error", scripted.ask(panics)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(
        rule.soon("the deferred reply is too late", scripted.ask(answer_deferred(1))).await.unwrap(),
        0
    );
    let other = script(|_, ctx| {
        let _ = ctx.reply_later::<TextRequest>();
        Ok(1)
    });
    let error = rule.soon("the asker gets the error", scripted.ask(other)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked, "the reply has another type");
    rule.soon("the actor continues", scripted.ask(reply_with(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Script"; 4]);
}

async fn stopping(rule: RuleContext) {
    let system = rule.system();
    let scripted = system.spawn(ScriptedActor::default().on_stop(answer_deferred(5))).await.unwrap();
    let asked = scripted.ask(defer_reply()).enqueue().unwrap();
    rule.soon("the reply is deferred", scripted.ask(reply_with(1))).await.unwrap();
    scripted.stop();
    assert_eq!(rule.soon("the asker is answered", asked).await.unwrap(), 5);
}

/// An actor with a deferred reply of its own, one held by another task, and a piped future.
struct OpenReplies {
    journal: Journal,
    scripted: ActorRef<ScriptedActor>,
    slot: Slot,
    kept: PendingReply<Script>,
    given_away: PendingReply<Script>,
}

impl OpenReplies {
    async fn new(system: dactor_core::System) -> Self {
        let (journal, slot, begun) = (Journal::new(), Slot::default(), Gate::new());
        let scripted = system.spawn(ScriptedActor::default()).await.unwrap();
        let kept = scripted.ask(defer_reply()).enqueue().unwrap();
        let given_away = scripted.ask(export_reply(&slot)).enqueue().unwrap();
        let (guard, inner) = (DropNote(journal.clone(), "given up"), begun.clone());
        begun.open();
        let pipes = script(move |_, ctx| {
            ctx.pipe(async move {
                let _guard = guard;
                inner.pass().await;
                pending::<Script>().await
            });
            Ok(0)
        });
        scripted.ask(pipes).await.unwrap();
        begun.reached().await;
        Self { journal, scripted, slot, kept, given_away }
    }

    async fn assert_settled(self, rule: &RuleContext) {
        rule.soon("the actor ends", self.scripted.wait()).await.unwrap();
        let error = rule.soon("the asker gets the error", self.kept).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoReply);
        rule.soon("the piped future is dropped", self.journal.wait_for("given up")).await;
        let later = self.slot.lock().unwrap().take().unwrap();
        assert!(!later.is_cancelled() && later.reply(6));
        assert_eq!(rule.soon("the asker is answered", self.given_away).await.unwrap(), 6);
    }
}

async fn end(rule: &RuleContext, end: End) {
    let open_replies = rule.soon("the replies are deferred", OpenReplies::new(rule.system())).await;
    end.apply(rule, &open_replies.scripted).await;
    open_replies.assert_settled(rule).await;
}

end_bodies!();

async fn runtime_dropped(rule: RuleContext) {
    let system = rule.system();
    let open_replies =
        rule.soon("the runtime is dropped", rule.on_dropped_runtime(move || OpenReplies::new(system))).await;
    open_replies.assert_settled(&rule).await;
}
