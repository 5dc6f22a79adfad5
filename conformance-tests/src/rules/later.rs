//! Replies that come later, from somebody else, or from another actor.

use std::future::pending;
use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    ActorRef, Context, Directive, ErrorKind, Failure, Handler, Later, Message, Outcome, PendingReply,
    Supervision,
};
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Desk, Do, End, Guard, give, keep, quick};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "LATER-01",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "A reply that a handler keeps for later is given by a later message or by another task, in any order, and the actor handles messages meanwhile; a failure given later is `Failed`, naming actor and message.",
        "An actor need not stand still while somebody else works on an answer.",
        body!(given),
    ),
    Rule::must(
        "LATER-02",
        Topic::Later,
        &[(Topic::Later, State::Idle), (Topic::Later, State::Handling)],
        "A kept reply that is dropped, and a promise returned by a handler that passed nothing on, are `NoReply` for the asker at once, naming actor and message; the actor goes on.",
        "No asker waits for somebody who forgot it.",
        body!(forgotten),
    ),
    Rule::must(
        "LATER-03",
        Topic::Later,
        &[(Topic::Later, State::Idle)],
        "A kept reply says whether anyone waits: not for a message that was told, nor after the asker gave up or was answered.",
        "Whoever works on an answer can stop when nobody wants it.",
        body!(wanted),
    ),
    Rule::must(
        "LATER-04",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that keeps the reply and then fails or panics answers with that, if nobody else has answered before; the rest of the failure is as for any message.",
        "A promise does not hide what happened.",
        body!(broken),
    ),
    Rule::must(
        "LATER-05",
        Topic::Later,
        &[(Topic::Later, State::Stopping)],
        "A reply that an actor still holds can be given in its `on_stop`.",
        "An actor can settle its debts before it ends.",
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
        "However the actor ends, a reply that it holds is `NoReply` for the asker, one that somebody else holds can still be given, and what it piped to itself is given up.",
        "A promise lives as long as whoever made it.",
        body!(ends),
    ),
    Rule::must(
        "LATER-07",
        Topic::Later,
        &[(Topic::Later, State::NativeStop)],
        "The same holds for a native stop.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "LATER-08",
        Topic::Later,
        &[(Topic::Later, State::NativeKill)],
        "The same holds for a native kill.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "LATER-09",
        Topic::Later,
        &[(Topic::Later, State::RuntimeDropped)],
        "The same holds when the runtime of the actor is dropped.",
        "The native end is an end like any other.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

/// A reply in somebody else's hands.
type Slot = Arc<Mutex<Option<Later<u32>>>>;

/// A handler that gives the reply away.
fn give_away(slot: &Slot) -> Do {
    let slot = slot.clone();
    quick(move |_, ctx| {
        let (later, promised) = ctx.reply_later::<Do>();
        *slot.lock().unwrap() = Some(later);
        promised
    })
}

/// Answers the first that was kept.
pub(super) fn settle(number: u32) -> Do {
    quick(move |desk, _| Ok(u32::from(desk.laters.remove(0).reply(number))))
}

async fn given(lab: Lab) {
    let (slot, system) = (Slot::default(), lab.system());
    let desk = system.spawn(Desk::default()).name("d").await.unwrap();
    let first = desk.ask(keep()).enqueue().unwrap();
    let second = desk.ask(give_away(&slot)).enqueue().unwrap();
    let third = desk.ask(keep()).enqueue().unwrap();
    assert_eq!(lab.soon("the actor goes on", desk.ask(give(9))).await.unwrap(), 9);
    let later = slot.lock().unwrap().take().unwrap();
    assert!(!later.is_cancelled());
    assert!(lab.soon("a task replies", tokio::spawn(async move { later.reply(2) })).await.unwrap());
    assert_eq!(lab.soon("the second is answered", second).await.unwrap(), 2);
    let fails = quick(|desk, _| Ok(u32::from(desk.laters.pop().unwrap().fail(Failure::new("no luck")))));
    assert_eq!(lab.soon("the third is failed", desk.ask(fails)).await.unwrap(), 1);
    let error = lab.soon("the third is answered", third).await.unwrap_err();
    assert_eq!((error.kind(), error.get("actor")), (ErrorKind::Failed, Some("pekko://lab/user/d")));
    assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
    assert!(format!("{error:#}").contains("no luck"), "{error}");
    assert_eq!(lab.soon("the first is settled", desk.ask(settle(1))).await.unwrap(), 1);
    assert_eq!(lab.soon("the first is answered", first).await.unwrap(), 1);
    assert_eq!(system.dead_letters(), 0);
}

async fn forgotten(lab: Lab) {
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default()).name("d").await.unwrap();
    let kept = desk.ask(keep()).enqueue().unwrap();
    desk.tell(quick(|desk, _| {
        desk.laters.clear();
        Ok(0)
    }))
    .unwrap();
    let dropped = quick(|_, ctx| {
        let (later, promised) = ctx.reply_later::<Do>();
        drop(later);
        promised
    });
    // A promise that was made for another message.
    desk.tell(quick(|desk, ctx| {
        let (_, promised) = ctx.reply_later::<Do>();
        desk.promise = promised.err();
        Ok(0)
    }))
    .unwrap();
    let borrowed = quick(|desk, _| Err(desk.promise.take().unwrap()));
    for answer in [
        lab.soon("the asker is told", kept).await,
        lab.soon("the asker is told", desk.ask(dropped)).await,
        lab.soon("the asker is told", desk.ask(borrowed)).await,
    ] {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.get("actor")), (ErrorKind::NoReply, Some("pekko://lab/user/d")));
        assert_eq!(error.get("message"), Some(std::any::type_name::<Do>()));
    }
    assert_eq!(lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap(), 1);
    assert_eq!(events.journal().entries(), [""; 0]);
}

async fn wanted(lab: Lab) {
    let (slot, system) = (Slot::default(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    desk.tell(give_away(&slot)).unwrap();
    lab.soon("it is handled", desk.ask(give(1))).await.unwrap();
    let told = slot.lock().unwrap().take().unwrap();
    assert!(told.is_cancelled() && !told.reply(1));
    desk.tell(keep()).unwrap();

    let asked = desk.ask(give_away(&slot)).enqueue().unwrap();
    lab.soon("it is handled", desk.ask(give(1))).await.unwrap();
    let later = slot.lock().unwrap().take().unwrap();
    assert!(!later.is_cancelled());
    drop(asked);
    assert!(later.is_cancelled() && !later.reply(1));

    let token = CancellationToken::new();
    let asked = desk.ask(give_away(&slot)).cancel(token.clone()).enqueue().unwrap();
    lab.soon("it is handled", desk.ask(give(1))).await.unwrap();
    let later = slot.lock().unwrap().take().unwrap();
    token.cancel();
    assert!(later.is_cancelled());
    assert_eq!(lab.soon("the asker is free", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!later.fail(Failure::new("no")));

    let twice = quick(|desk, ctx| {
        let (first, promised) = ctx.reply_later::<Do>();
        let (second, _) = ctx.reply_later::<Do>();
        desk.laters.push(first);
        assert!(second.is_cancelled() && !second.reply(8));
        promised
    });
    let asked = desk.ask(twice).enqueue().unwrap();
    lab.soon("the told one is dropped", desk.ask(settle(0))).await.unwrap();
    lab.soon("the first is the one", desk.ask(settle(7))).await.unwrap();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap(), 7);
}

async fn broken(lab: Lab) {
    let (system, events) = lab.observed();
    let desk = system
        .spawn(Desk::default())
        .supervision(Supervision::one_for_one().always(Directive::Resume))
        .await
        .unwrap();
    let fails = |answered: bool| {
        quick(move |desk: &mut Desk, ctx: &mut Context<Desk>| {
            let (later, _) = ctx.reply_later::<Do>();
            if answered {
                assert!(later.reply(3));
            } else {
                desk.laters.push(later);
            }
            Err(Failure::new("no"))
        })
    };
    let error = lab.soon("the asker is told", desk.ask(fails(false))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert_eq!(lab.soon("the promise is too late", desk.ask(settle(1))).await.unwrap(), 0);
    assert_eq!(lab.soon("the asker is answered", desk.ask(fails(true))).await.unwrap(), 3);
    let panics = quick(|desk, ctx| {
        desk.laters.push(ctx.reply_later::<Do>().0);
        panic!("bang")
    });
    let error = lab.soon("the asker is told", desk.ask(panics)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(lab.soon("the promise is too late", desk.ask(settle(1))).await.unwrap(), 0);
    let other = quick(|_, ctx| {
        let _ = ctx.reply_later::<Words>();
        Ok(1)
    });
    let error = lab.soon("the asker is told", desk.ask(other)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked, "it is a reply of another type");
    lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Do"; 3]);
}

/// Has a reply of another type.
pub(super) struct Words;
impl Message for Words {
    type Reply = String;
}

impl Handler<Words> for Desk {
    async fn handle(&mut self, Words: Words, _: &mut Context<Self>) -> Outcome<String> {
        Ok("words".into())
    }
}

async fn stopping(lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default().on_stop(settle(5))).await.unwrap();
    let asked = desk.ask(keep()).enqueue().unwrap();
    lab.soon("it is kept", desk.ask(give(1))).await.unwrap();
    desk.stop();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap(), 5);
}

/// An actor with a reply of its own to give, one in other hands, and one piped to itself.
struct Owing {
    journal: Journal,
    desk: ActorRef<Desk>,
    slot: Slot,
    kept: PendingReply<Do>,
    given_away: PendingReply<Do>,
}

impl Owing {
    async fn new(system: dactor_core::System) -> Self {
        let (journal, slot, begun) = (Journal::new(), Slot::default(), Gate::new());
        let desk = system.spawn(Desk::default()).await.unwrap();
        let kept = desk.ask(keep()).enqueue().unwrap();
        let given_away = desk.ask(give_away(&slot)).enqueue().unwrap();
        let (guard, inner) = (Guard(journal.clone(), "given up"), begun.clone());
        begun.open();
        let pipes = quick(move |_, ctx| {
            ctx.pipe(async move {
                let _guard = guard;
                inner.pass().await;
                pending::<Do>().await
            });
            Ok(0)
        });
        desk.ask(pipes).await.unwrap();
        begun.reached().await;
        Self { journal, desk, slot, kept, given_away }
    }

    async fn assert_settled(self, lab: &Lab) {
        lab.soon("the actor ends", self.desk.wait()).await.unwrap();
        let error = lab.soon("the asker is told", self.kept).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoReply);
        lab.soon("what was piped is given up", self.journal.wait_for("given up")).await;
        let later = self.slot.lock().unwrap().take().unwrap();
        assert!(!later.is_cancelled() && later.reply(6));
        assert_eq!(lab.soon("the asker is answered", self.given_away).await.unwrap(), 6);
    }
}

async fn end(lab: &Lab, end: End) {
    let owing = lab.soon("the actor owes", Owing::new(lab.system())).await;
    end.of(lab, &owing.desk).await;
    owing.assert_settled(lab).await;
}

async fn ends(lab: Lab) {
    for way in End::OWN {
        end(&lab, way).await;
    }
}

async fn native_stop(lab: Lab) {
    end(&lab, End::NativeStop).await;
}

async fn native_kill(lab: Lab) {
    end(&lab, End::NativeKill).await;
}

async fn runtime_dropped(lab: Lab) {
    let system = lab.system();
    let owing = lab.soon("the runtime is dropped", lab.elsewhere(move || Owing::new(system))).await;
    owing.assert_settled(&lab).await;
}
