//! Where cancellation, delays, forwards and panics meet.

use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{
    About, Around, Context, Directive, ErrorKind, Handler, Inbound, Message, Next, Outcome, Supervision,
    Verdict,
};
use tokio_util::sync::CancellationToken;

use super::body;
use super::fixture::{Abortable, Desk, Do, Guard, Spy, Tag, give, job, keep, pass, quick};
use crate::actors::{Boom, Count, Fail, Hooks, Note, Worker};
use crate::{Lab, Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "EDGE-01",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "A message that is skipped because its ask was cancelled, and whose destructor panics, does no harm to the actor.",
        "What is not handled must not hurt.",
        body!(skipped_drop_panics),
    ),
    Rule::must(
        "EDGE-02",
        Topic::Cancel,
        &[(Topic::Cancel, State::Idle)],
        "The same holds for a forwarded message.",
        "What is not handled must not hurt.",
        body!(forward_skipped_drop_panics),
    ),
    Rule::must(
        "EDGE-03",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that is dropped because its asker gave up, and panics meanwhile, has panicked: what follows a panic follows.",
        "A broken instance does not go on.",
        body!(abort_guard_panics),
    ),
    Rule::must(
        "EDGE-04",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A handler that has panicked counts as such, also when its asker gives up before the scopes around it have ended.",
        "A broken instance does not go on.",
        body!(abort_hides_panic),
    ),
    Rule::must(
        "EDGE-05",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A handler that has panicked counts as such, also when a scope around it panics after it.",
        "A broken instance does not go on.",
        body!(scope_hides_panic),
    ),
    Rule::must(
        "EDGE-06",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A handler that has failed counts as such, also when a scope around it panics after it.",
        "`on_error` sees every failure.",
        body!(scope_hides_failure),
    ),
    Rule::must(
        "EDGE-07",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A panic in `on_complete` over a promised reply is the answer.",
        "An asker is not left waiting.",
        body!(promise_complete_panics),
    ),
    Rule::must(
        "EDGE-08",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A forwarded message is answered after the interceptors of every actor on its way have seen its end.",
        "The reply leaves last, wherever it comes from.",
        body!(forward_hold),
    ),
    Rule::must(
        "EDGE-09",
        Topic::Inbound,
        &[(Topic::Inbound, State::Killed)],
        "A told message that waits for an interceptor's delay when its actor is killed is a dead letter.",
        "Nothing is lost in silence.",
        body!(kill_in_delay),
    )
    .pace(Pace::Driven),
    Rule::must(
        "EDGE-10",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An ask that is cancelled during an inbound delay is not handled.",
        "Nobody works for an asker who gave up.",
        body!(cancel_in_delay),
    )
    .pace(Pace::Driven),
    Rule::must(
        "EDGE-11",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "An ask that expires during an inbound delay is not handled, and is answered with `Timeout`.",
        "Nobody works for an asker whose time is over.",
        body!(expired_in_delay),
    )
    .pace(Pace::Driven),
    Rule::must(
        "EDGE-12",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling)],
        "The outbound interceptors of a ref see what is forwarded through it, and may refuse it.",
        "There is no way around them.",
        body!(forward_outbound),
    ),
    Rule::must(
        "EDGE-13",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "When an enqueued ask fails because an interceptor wants a delay, `on_reply` sees the error that the asker gets.",
        "Both sides know the same.",
        body!(enqueue_on_reply),
    ),
    Rule::must(
        "EDGE-14",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A pending reply that timed out has given up, also while it is kept.",
        "The handler's reply is then seen as undeliverable.",
        body!(by_reference),
    )
    .pace(Pace::Driven),
    Rule::must(
        "EDGE-15",
        Topic::Cancel,
        &[(Topic::Cancel, State::Handling)],
        "A forwarded ask that expires in the queue is not handled, and is answered with `Timeout`.",
        "Nobody works for an asker whose time is over.",
        body!(forward_late),
    )
    .pace(Pace::Driven),
    Rule::must(
        "EDGE-16",
        Topic::Headers,
        &[(Topic::Headers, State::Stopping)],
        "In `on_stop` there is no message in hand: no headers, no deadline.",
        "What belongs to a message ends with it.",
        body!(stop_headers),
    ),
    Rule::must(
        "EDGE-17",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A promise that an actor returns for a forwarded message without having passed the reply on is `NoReply`.",
        "An asker is not left waiting.",
        body!(forward_promise),
    ),
    Rule::must(
        "EDGE-18",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that has promised the reply can still set headers beside it.",
        "Who replies does not change what travels along.",
        body!(late_reply_header),
    ),
    Rule::must(
        "EDGE-19",
        Topic::Later,
        &[(Topic::Later, State::Handling)],
        "A handler that has promised the reply still sees that nobody wants it any more.",
        "Work for nobody can be left.",
        body!(later_cancelled),
    ),
];

struct Fragile;
impl Message for Fragile {
    type Reply = u32;
}
impl Drop for Fragile {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("fragile");
        }
    }
}
impl Handler<Fragile> for Desk {
    async fn handle(&mut self, message: Fragile, _: &mut Context<Self>) -> Outcome<u32> {
        std::mem::forget(message);
        Ok(0)
    }
}

async fn skipped_drop_panics(lab: Lab) {
    let (gate, system, token) = (Gate::new(), lab.system(), CancellationToken::new());
    let desk = system.spawn(Desk::default()).await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    lab.soon("runs", gate.reached()).await;
    let asked = desk.ask(Fragile).cancel(token.clone()).enqueue().unwrap();
    token.cancel();
    gate.open();
    assert_eq!(lab.soon("goes on", desk.ask(give(1))).await.unwrap(), 1);
    assert_eq!(lab.soon("told", asked).await.unwrap_err().kind(), ErrorKind::Cancelled);
}

async fn forward_skipped_drop_panics(lab: Lab) {
    let (gate, system) = (Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let other = system.spawn(Desk::default()).await.unwrap();
    other.tell(pass(&gate)).unwrap();
    lab.soon("runs", gate.reached()).await;
    let to = other.clone();
    let asked = desk.ask(quick(move |_, ctx| ctx.forward(&to, Fragile))).enqueue().unwrap();
    lab.soon("forwarded", desk.ask(give(1))).await.unwrap();
    drop(asked);
    gate.open();
    assert_eq!(lab.soon("goes on", other.ask(give(1))).await.unwrap(), 1);
}

async fn forward_hold(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).inbound(Spy::new("a", &journal)).await.unwrap();
    let other = system.spawn(Desk::default()).inbound(Spy::new("b", &journal)).await.unwrap();
    let (to, inner) = (other.clone(), gate.clone());
    let forwards = job(move |_, ctx| {
        Box::pin(async move {
            let promised = ctx.forward(&to, give(1));
            inner.pass().await;
            promised
        })
    });
    let mut asked = desk.ask(forwards).enqueue().unwrap();
    lab.soon("b done", journal.wait_for("b< ok")).await;
    lab.never("left early", &mut asked).await;
    gate.open();
    lab.soon("answer", asked).await.unwrap();
}

async fn forward_promise(lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default()).await.unwrap();
    let other = system.spawn(Desk::default()).await.unwrap();
    other
        .tell(quick(|desk, ctx| {
            desk.promise = ctx.reply_later::<Do>().1.err();
            Ok(0)
        }))
        .unwrap();
    let to = other.clone();
    let borrowed = quick(|desk, _| Err(desk.promise.take().unwrap()));
    let asked = desk.ask(quick(move |_, ctx| ctx.forward(&to, borrowed)));
    assert_eq!(lab.soon("told", asked).await.unwrap_err().kind(), ErrorKind::NoReply);
}

async fn forward_outbound(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let other = system.spawn(Desk::default()).await.unwrap();
    let to = other.outbound(Spy::new("a", &journal).always(Verdict::Reject("no".into())));
    let again = to.clone();
    desk.tell(quick(move |_, ctx| ctx.forward(&to, give(1)))).unwrap();
    lab.soon("goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(journal.count("a>"), 1, "told");
    let asked = lab.soon("told", desk.ask(quick(move |_, ctx| ctx.forward(&again, give(1))))).await;
    assert_eq!(journal.count("a>"), 2, "asked");
    asked.unwrap_err();
}

struct After;
impl Inbound for After {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for After {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let message = about.message_type();
        Box::pin(async move {
            next.await;
            assert!(message.ends_with("Note") || message.ends_with("Count"), "broken");
        })
    }
}

async fn scope_hides_panic(lab: Lab) {
    let journal = Journal::new();
    let system = lab.system();
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).inbound(After).await.unwrap();
    lab.soon("noted", actor.ask(Note(1))).await.unwrap();
    lab.soon("told", actor.ask(Boom("bang"))).await.unwrap_err();
    assert_eq!(lab.soon("restarted", actor.ask(Count())).await.unwrap(), 0, "{journal:?}");
}

async fn scope_hides_failure(lab: Lab) {
    let journal = Journal::new();
    let system = lab.system();
    let actor = system.spawn(Worker::factory(&journal, Hooks::default())).inbound(After).await.unwrap();
    lab.soon("told", actor.ask(Fail("no"))).await.unwrap_err();
    lab.soon("on", actor.ask(Count())).await.unwrap();
    assert_eq!(journal.count("error: no"), 1, "{journal:?}");
}

async fn late_reply_header(lab: Lab) {
    let system = lab.system();
    let desk = system.spawn(Desk::default()).await.unwrap();
    let sets = quick(|_, ctx| {
        let (later, promised) = ctx.reply_later::<Do>();
        ctx.set_reply_header(Tag(1));
        later.reply(1);
        promised
    });
    let (_, headers) = lab.soon("reply", desk.ask(sets).with_headers()).await.unwrap();
    assert_eq!(headers.get::<Tag>(), Some(&Tag(1)));
}

async fn later_cancelled(lab: Lab) {
    let system = lab.system();
    let (gate, journal, token) = (Gate::new(), Journal::new(), CancellationToken::new());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let (inner, seen) = (gate.clone(), journal.clone());
    let keeps = job(move |desk, ctx| {
        Box::pin(async move {
            let (later, promised) = ctx.reply_later::<Do>();
            desk.laters.push(later);
            inner.pass().await;
            seen.note(ctx.is_cancelled());
            promised
        })
    });
    let asked = desk.ask(keeps).cancel(token.clone()).enqueue().unwrap();
    lab.soon("runs", gate.reached()).await;
    token.cancel();
    gate.open();
    lab.soon("told", asked).await.unwrap_err();
    lab.soon("seen", journal.wait_for("true")).await;
}

async fn enqueue_on_reply(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let desk = desk.outbound(Spy::new("a", &journal).always(Verdict::Delay(Duration::from_secs(1))));
    assert_eq!(desk.ask(give(1)).enqueue().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(journal.entries(), ["a>", "a< Unsupported"]);
}

const FIVE: Duration = Duration::from_secs(5);

async fn kill_in_delay(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default());
    let desk = desk.inbound(Spy::new("a", &journal).always(Verdict::Delay(FIVE))).await.unwrap();
    desk.tell(give(1)).unwrap();
    journal.wait_for("a>").await;
    desk.kill();
    desk.wait().await.unwrap();
    assert_eq!(system.dead_letters(), 1, "the told message was never handled");
}

async fn cancel_in_delay(mut lab: Lab) {
    let (journal, system, token) = (Journal::new(), lab.system(), CancellationToken::new());
    let ran = Journal::new();
    let desk = system.spawn(Desk::default());
    let desk = desk.inbound(Spy::new("a", &journal).always(Verdict::Delay(FIVE))).await.unwrap();
    let noted = ran.clone();
    let asked = desk.ask(quick(move |_, _| {
        noted.note("ran");
        Ok(1)
    }));
    let asked = asked.cancel(token.clone()).enqueue().unwrap();
    journal.wait_for("a>").await;
    token.cancel();
    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Cancelled);
    lab.clock().advance(FIVE).await;
    assert_eq!(ran.entries(), [""; 0], "it was handled for nobody");
}

async fn expired_in_delay(mut lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let ran = Journal::new();
    let desk = system.spawn(Desk::default());
    let desk = desk.inbound(Spy::new("a", &journal).always(Verdict::Delay(FIVE))).await.unwrap();
    let noted = ran.clone();
    let asked = desk.ask(quick(move |_, _| {
        noted.note("ran");
        Ok(1)
    }));
    let asked = asked.timeout(FIVE / 2).enqueue().unwrap();
    journal.wait_for("a>").await;
    lab.clock().advance(FIVE).await;
    let answer = asked.await.map_err(|error| error.kind());
    assert_eq!(
        (answer, ran.entries()),
        (Err(ErrorKind::Timeout), vec![]),
        "it was handled after its deadline"
    );
}

async fn by_reference(mut lab: Lab) {
    let (gate, system) = (Gate::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    desk.tell(pass(&gate)).unwrap();
    gate.reached().await;
    let inner = Gate::new();
    let mut asked = desk.ask(pass(&inner)).timeout(FIVE).enqueue().unwrap();
    let mut feed = system.dead_letter_feed();
    let waits = async { (&mut asked).await };
    let (answer, ()) = tokio::join!(waits, async { lab.clock().advance(FIVE).await });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout);
    gate.open();
    desk.ask(give(1)).await.unwrap();
    assert_eq!(inner.arrivals(), 0, "skipped although the pending reply is kept");
    let _ = &mut feed;
    drop(asked);

    let inner = Gate::new();
    let mut asked = desk.ask(pass(&inner)).timeout(FIVE).enqueue().unwrap();
    inner.reached().await;
    let waits = async { (&mut asked).await };
    let (answer, ()) = tokio::join!(waits, async { lab.clock().advance(FIVE).await });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout);
    inner.open();
    desk.ask(give(1)).await.unwrap();
    assert_eq!(system.dead_letters(), 1, "the reply that nobody got");
}

async fn stop_headers(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let seen = journal.clone();
    let desk = Desk::default().on_stop(quick(move |_, ctx| {
        seen.note(format!("{:?} {}", ctx.headers(), ctx.deadline().is_some()));
        Ok(0)
    }));
    let desk = system.spawn(desk).await.unwrap();
    lab.soon("handled", desk.ask(give(1)).header(Tag(1)).timeout(FIVE)).await.unwrap();
    desk.stop();
    lab.soon("ends", desk.wait()).await.unwrap();
    assert_eq!(journal.entries(), ["[] false"]);
}

struct Bad;
impl Drop for Bad {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bad guard");
        }
    }
}

async fn abort_guard_panics(lab: Lab) {
    for spied in [false, true] {
        let (gate, system, token) = (Gate::new(), lab.system(), CancellationToken::new());
        let spawn =
            system.spawn(Desk::default).supervision(Supervision::one_for_one().always(Directive::Restart));
        let spawn = if spied { spawn.inbound(Spy::new("a", &Journal::new())) } else { spawn };
        let desk = spawn.await.unwrap();
        let inner = gate.clone();
        let bad = Abortable(job(move |_, _| {
            Box::pin(async move {
                let _bad = Bad;
                inner.pass().await;
                Ok(1)
            })
        }));
        let asked = desk.ask(bad).cancel(token.clone()).enqueue().unwrap();
        lab.soon("runs", gate.reached()).await;
        token.cancel();
        lab.soon("told", asked).await.unwrap_err();
        assert_eq!(lab.soon("goes on", desk.ask(give(1))).await.map_err(|e| e.to_string()), Ok(1), "{spied}");
    }
}

async fn forward_late(mut lab: Lab) {
    let (gate, journal, system) = (Gate::new(), Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).await.unwrap();
    let other = system.spawn(Desk::default()).await.unwrap();
    other.tell(pass(&gate)).unwrap();
    gate.reached().await;
    let (to, noted) = (other.clone(), journal.clone());
    let inner = quick(move |_, _| {
        noted.note("ran");
        Ok(1)
    });
    let unread = desk.ask(quick(move |_, ctx| ctx.forward(&to, inner))).timeout(FIVE).enqueue().unwrap();
    desk.ask(give(1)).await.unwrap();
    lab.clock().advance(FIVE).await;
    gate.open();
    other.ask(give(1)).await.unwrap();
    assert_eq!(journal.entries(), [""; 0], "late in the queue and not skipped");
    assert_eq!(unread.await.unwrap_err().kind(), ErrorKind::Timeout);
}

async fn promise_complete_panics(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let spy = Spy::new("a", &journal).witness(|completion| assert!(completion.reply::<u32>().is_some()));
    let desk = system.spawn(Desk::default()).inbound(spy).await.unwrap();
    let asked = desk.ask(keep()).enqueue().unwrap();
    lab.soon("goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(lab.soon("told", asked).await.unwrap_err().kind(), ErrorKind::InterceptorPanicked);
}

struct Waits(Gate);
impl Inbound for Waits {
    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for Waits {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let message = about.message_type();
        Box::pin(async move {
            next.await;
            if message.ends_with("Abortable") {
                self.0.pass().await;
            }
        })
    }
}

async fn abort_hides_panic(lab: Lab) {
    let (gate, journal, token) = (Gate::new(), Journal::new(), CancellationToken::new());
    let (system, events) = lab.observed();
    let desk = system.spawn(Desk::default).inbound(Waits(gate.clone())).await.unwrap();
    let guard = Guard(journal.clone(), "x");
    let panics = Abortable(quick(move |_, _| {
        drop(guard);
        panic!("bang")
    }));
    let asked = desk.ask(panics).cancel(token.clone()).enqueue().unwrap();
    lab.soon("the scope waits", gate.reached()).await;
    token.cancel();
    lab.soon("told", asked).await.unwrap_err();
    lab.soon("goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(events.journal().entries(), ["failed Abortable", "restarted"], "the handler had panicked");
}
