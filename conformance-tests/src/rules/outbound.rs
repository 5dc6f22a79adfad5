//! Interceptors where messages are sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{ActorRef, Delivery, ErrorKind, Mode, Overflow, Pid, Verdict};

use super::body;
use super::fixture::{Busy, Desk, End, Spy, every_way, give, job, keep, pass};
use crate::actors::{Act, Boom, Count, Fail, Hold, Hooks, Note, Worker};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "OUT-01",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "Outbound interceptors see a message in the order of their registration, those of the system first, for every way of sending; an ask comes back to them with its reply, and any message that one of them refuses with the error. Those behind a refusal see neither.",
        "Who sees what is decided where interceptors are registered.",
        body!(order),
    ),
    Rule::must(
        "OUT-02",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "The interceptors of a ref are those of its clones, of its recipients and of its weak refs, and of no other ref to the same actor.",
        "A ref can be restricted before it is given away.",
        body!(per_ref),
    ),
    Rule::must(
        "OUT-03",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "An outbound interceptor sees the actor's name, number and type, the message, its type and how it is sent, the sender exactly when an actor sends, and the reply or the error.",
        "A policy needs to know what it decides about.",
        body!(sees),
    ),
    Rule::must(
        "OUT-04",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle)],
        "`Drop`, `Reject` and `Retry` are returned by every way of sending, with actor, message, interceptor, reason and duration; the actor sees nothing. What try_tell hands back is no dead letter, all else is one.",
        "A refused message is the sender's business, and counted.",
        body!(refuses),
    ),
    Rule::must(
        "OUT-05",
        Topic::Outbound,
        &[(Topic::Outbound, State::Idle), (Topic::Outbound, State::Handling)],
        "An outbound interceptor that panics is `InterceptorPanicked` with its text: in `on_send` for every way of sending, and nothing is sent; in `on_reply` for the asker. The sender's task and the actor go on.",
        "A broken policy is neither a broken sender nor a broken actor.",
        body!(panics),
    ),
    Rule::must(
        "OUT-06",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling)],
        "`on_reply` comes once for every ask, with what the asker gets: a reply, a failure, a panic, a dropped promise, a full mailbox; `Cancelled` when the asker gives up.",
        "What was opened for an ask can be closed, always.",
        body!(arrives),
    ),
    Rule::must(
        "OUT-07",
        Topic::Outbound,
        &[(Topic::Outbound, State::Starting)],
        "What is sent to an actor in `on_start` passes the interceptors at once, and its reply when it comes.",
        "Sending is sending, whatever the actor is doing.",
        body!(starting),
    ),
    Rule::must(
        "OUT-08",
        Topic::Outbound,
        &[(Topic::Outbound, State::Stopping), (Topic::Outbound, State::Dead)],
        "What is sent to an actor that stops or has ended passes the interceptors, too; `on_reply` sees the `Stopped` that the sender gets, and a verdict comes before it.",
        "An interceptor sees every attempt.",
        body!(dead),
    ),
    Rule::must(
        "OUT-09",
        Topic::Outbound,
        &[
            (Topic::Outbound, State::Stopped),
            (Topic::Outbound, State::Drained),
            (Topic::Outbound, State::Killed),
            (Topic::Outbound, State::Failed),
        ],
        "However the actor ends, `on_reply` comes once for each ask in flight, with what the asker gets.",
        "Counters of what is in flight return to zero.",
        body!(ends),
    ),
    Rule::must(
        "OUT-10",
        Topic::Outbound,
        &[(Topic::Outbound, State::NativeStop)],
        "The same holds for a native stop.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "OUT-11",
        Topic::Outbound,
        &[(Topic::Outbound, State::NativeKill)],
        "The same holds for a native kill.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "OUT-12",
        Topic::Outbound,
        &[(Topic::Outbound, State::RuntimeDropped)],
        "The same holds when the runtime of the actor is dropped.",
        "The native end is an end like any other.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
];

async fn order(lab: Lab) {
    let (journal, handled) = (Journal::new(), Journal::new());
    let builder = lab.builder().outbound(Spy::new("s", &journal)).outbound(Spy::new("t", &journal));
    let system = builder.build().unwrap();
    let only_odd = |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
        Some(Note(number)) if number % 2 == 0 => Verdict::Reject("even".into()),
        _ => Verdict::Continue,
    };
    let actor = system.spawn(Worker::new(&handled)).await.unwrap();
    let actor = actor.outbound(Spy::new("a", &journal).judge(only_odd)).outbound(Spy::new("b", &journal));
    let went = every_way(&lab, &actor).await;
    for (went, number) in went.into_iter().zip(1..) {
        assert_eq!(went, (number % 2 == 0).then_some(ErrorKind::Rejected), "{number}");
    }
    let refused = &["s>", "t>", "a>", "s< Rejected", "t< Rejected", "a< Rejected"][..];
    let told = [&["s>", "t>", "a>", "b>"][..], refused];
    let asked = &["s>", "t>", "a>", "b>", "s< ok", "t< ok", "a< ok", "b< ok"][..];
    // Both enqueued asks leave before the first is awaited.
    let enqueued = [told[0], refused, &asked[4..]].concat();
    let expected = [&told.concat().repeat(3), &enqueued, asked, refused].map(|part| part.to_vec()).concat();
    assert_eq!(journal.entries(), expected);
    assert_eq!(handled.entries(), ["start", "1", "3", "5", "7", "9"]);
}

async fn per_ref(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let actor = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    let seen = actor.outbound(Spy::new("a", &journal));
    let more = seen.outbound(Spy::new("b", &journal));
    assert_eq!(actor, more);
    let refused = actor.outbound(Spy::new("c", &Journal::new()).always(Verdict::Drop));
    assert_eq!(refused.tell(Note(1)).unwrap_err().kind(), ErrorKind::Dropped);
    actor.tell(Note(2)).unwrap();
    system.get::<Worker>("w").unwrap().tell(Note(3)).unwrap();
    actor.recipient().tell(Note(4)).unwrap();
    assert_eq!(journal.entries(), [""; 0]);
    seen.clone().tell(Note(5)).unwrap();
    seen.recipient().clone().tell(Note(6)).unwrap();
    seen.downgrade().upgrade().unwrap().tell(Note(7)).unwrap();
    assert_eq!(journal.entries(), ["a>", "a>", "a>"]);
    assert_eq!(lab.soon("the ask is answered", more.ask(Count())).await.unwrap(), 6);
    assert_eq!(journal.entries()[3..], ["a>", "b>", "a< ok", "b< ok"]);
}

async fn sees(lab: Lab) {
    type Seen = (String, Pid, &'static str, &'static str, Mode, Option<Pid>, Option<u32>);
    let (seen, replies): (Arc<Mutex<Vec<Seen>>>, Arc<Mutex<Vec<_>>>) = Default::default();
    let (record, noted) = (seen.clone(), replies.clone());
    let spy = Spy::new("s", &Journal::new())
        .judge(move |delivery| {
            let Some(Note(number)) = delivery.message::<Note>() else { return Verdict::Continue };
            let about = (delivery.actor(), delivery.actor_id(), delivery.actor_type());
            let rest = (delivery.message_type(), delivery.mode(), delivery.sender(), Some(*number));
            record.lock().unwrap().push((about.0, about.1, about.2, rest.0, rest.1, rest.2, rest.3));
            Verdict::Continue
        })
        .witness(move |completion| {
            let reply = completion.reply::<u32>().copied();
            assert!(completion.reply::<String>().is_none() && completion.mode() == Mode::Ask);
            let kind = completion.error().map(|error| error.kind());
            noted.lock().unwrap().push((completion.actor(), completion.sender(), reply, kind));
        });
    let system = lab.builder().outbound(spy).build().unwrap();
    let actor = system.spawn(Worker::new(&Journal::new())).name("w").await.unwrap();
    every_way(&lab, &actor).await;
    let desk = system.spawn(Desk::default()).name("d").await.unwrap();
    let to = actor.clone();
    let sends = job(move |_, _| {
        Box::pin(async move {
            to.tell(Note(11))?;
            to.recipient().try_tell(Note(12))?;
            to.send(Note(13)).await?;
            to.ask(Note(14)).enqueue()?.await?;
            to.ask(Fail("no")).await.unwrap_err();
            Ok(to.ask(Note(15)).await?)
        })
    });
    lab.soon("the desk has sent", desk.ask(sends)).await.unwrap();
    let expected: Vec<Seen> = (1..=15)
        .map(|number| {
            let mode = if matches!(number, 7..=10 | 14..) { Mode::Ask } else { Mode::Tell };
            let sender = (number > 10).then(|| desk.id());
            let types = (std::any::type_name::<Worker>(), std::any::type_name::<Note>());
            ("pekko://lab/user/w".to_owned(), actor.id(), types.0, types.1, mode, sender, Some(number))
        })
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
    let by = Some(desk.id());
    let replies = replies.lock().unwrap();
    assert!(replies[..4].iter().map(|reply| (reply.1, reply.2)).eq((7..=10).map(|n| (None, Some(n)))));
    let own = |reply, kind| ("pekko://lab/user/w".to_owned(), by, reply, kind);
    let last = ("pekko://lab/user/d".to_owned(), None, Some(15), None);
    assert_eq!(
        replies[4..],
        [own(Some(14), None), own(None, Some(ErrorKind::Failed)), own(Some(15), None), last]
    );
}

async fn refuses(lab: Lab) {
    let after = Duration::from_millis(1500);
    for (verdict, kind, reason, retry) in [
        (Verdict::Drop, ErrorKind::Dropped, None, None),
        (Verdict::Reject("not today".into()), ErrorKind::Rejected, Some("not today"), None),
        (Verdict::Retry(after), ErrorKind::RetryLater, None, Some(after)),
    ] {
        let (system, events) = lab.observed();
        let (handled, journal) = (Journal::new(), Journal::new());
        let actor = system.spawn(Worker::new(&handled)).name("w").await.unwrap();
        let actor = actor.outbound(Spy::new("a", &journal).always(verdict));
        assert_eq!(every_way(&lab, &actor).await, [Some(kind); 10]);
        assert_eq!(events.journal().entries(), ["dead Note"; 8], "all but what was handed back");
        let back = actor.try_tell(Note(7)).unwrap_err();
        assert_eq!(back.message.0, 7);
        for error in events.errors().iter().chain([&back.reason]) {
            assert_eq!((error.kind(), error.get("actor")), (kind, Some("pekko://lab/user/w")));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
            assert_eq!((error.get("reason"), error.retry_after()), (reason, retry));
        }
        let how = format!("a< {kind:?}");
        assert_eq!((journal.count("a>"), journal.count(&how)), (11, 11), "all come back");
        for error in events.errors().iter().chain([&back.reason]) {
            assert_eq!(error.get("interceptor"), Some(std::any::type_name::<Spy>()), "{error}");
        }
        assert_eq!(handled.entries(), ["start"]);
    }
}

async fn panics(lab: Lab) {
    let system = lab.system();
    let (handled, journal) = (Journal::new(), Journal::new());
    let actor = system.spawn(Worker::new(&handled)).await.unwrap();
    let broken = actor.outbound(Spy::new("a", &journal).judge(|_| panic!("broken")));
    let broken = broken.outbound(Spy::new("b", &journal));
    assert_eq!(every_way(&lab, &broken).await, [Some(ErrorKind::InterceptorPanicked); 10]);
    let error = broken.tell(Note(1)).unwrap_err();
    assert!(format!("{error:#}").contains("broken"), "{error}");
    assert_eq!(error.get("interceptor"), Some(std::any::type_name::<Spy>()), "{error}");
    assert_eq!((journal.count("b>"), journal.count("a< InterceptorPanicked")), (0, 11));
    assert_eq!(handled.entries(), ["start"], "nothing was sent");

    let journal = Journal::new();
    let broken = actor.outbound(Spy::new("a", &journal).witness(|_| panic!("broken")));
    let broken = broken.outbound(Spy::new("b", &journal));
    let went = every_way(&lab, &broken).await;
    assert_eq!(went[..6], [None; 6]);
    assert_eq!(went[6..], [Some(ErrorKind::InterceptorPanicked); 4]);
    let error = lab.soon("the asker is told", broken.ask(Fail("no"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed, "an error stays what it was");
    assert_eq!(journal.count("b< ok"), 4, "the next one sees it, too");
    assert_eq!(lab.soon("the actor goes on", actor.ask(Count())).await.unwrap(), 10);
}

async fn arrives(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let spy = Spy::new("a", &journal);
    let worker = system.spawn(|| Worker::new(&Journal::new())).bounded(1, Overflow::Reject).await.unwrap();
    let worker = worker.outbound(spy.clone());
    lab.soon("a reply", worker.ask(Note(1))).await.unwrap();
    lab.soon("a failure", worker.ask(Fail("no"))).await.unwrap_err();
    lab.soon("a panic", worker.ask(Boom("bang"))).await.unwrap_err();
    let held = worker.ask(Hold(1, gate.clone())).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    let waiting = worker.ask(Note(2)).enqueue().unwrap();
    assert_eq!(worker.ask(Note(3)).enqueue().unwrap_err().kind(), ErrorKind::MailboxFull);
    drop(waiting);
    drop(held);
    gate.open();
    let desk = system.spawn(Desk::default()).await.unwrap().outbound(spy);
    let kept = desk.ask(keep()).enqueue().unwrap();
    let dropping = super::fixture::quick(|desk, _| {
        desk.laters.clear();
        Ok(0)
    });
    lab.soon("the promise is dropped", desk.ask(dropping)).await.unwrap();
    assert_eq!(lab.soon("the asker is told", kept).await.unwrap_err().kind(), ErrorKind::NoReply);
    drop(desk.ask(give(1)));
    let expected = "a> a<_ok a> a<_Failed a> a<_Panicked a> a> a> a<_MailboxFull a<_Cancelled a<_Cancelled \
                    a> a> a<_ok a<_NoReply";
    let expected: Vec<_> = expected.split_whitespace().map(|entry| entry.replace('_', " ")).collect();
    assert_eq!(journal.entries(), expected, "an ask that was never sent is not seen");
}

async fn starting(lab: Lab) {
    let (journal, gate) = (Journal::new(), Gate::new());
    let system = lab.builder().outbound(Spy::new("s", &journal)).build().unwrap();
    let desk = Desk::default().on_start(pass(&gate));
    let spawned = tokio::spawn(system.spawn(desk).name("d").into_future());
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let desk = system.get::<Desk>("d").unwrap();
    let asked = desk.ask(give(1)).enqueue().unwrap();
    desk.tell(give(2)).unwrap();
    assert_eq!(journal.entries(), ["s>", "s>"]);
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap(), 1);
    assert_eq!(journal.entries(), ["s>", "s>", "s< ok"]);
}

async fn dead(lab: Lab) {
    let (journal, stopping, system) = (Journal::new(), Gate::new(), lab.system());
    let hooks = Hooks { stop: Act::Hold(stopping.clone()), ..Hooks::default() };
    let actor = system.spawn(Worker::with(&Journal::new(), hooks)).await.unwrap();
    let refused = actor.outbound(Spy::new("b", &Journal::new()).always(Verdict::Drop));
    let actor = actor.outbound(Spy::new("a", &journal));
    actor.stop();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(every_way(&lab, &actor).await, [Some(ErrorKind::Stopped); 10]);
    stopping.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert_eq!(every_way(&lab, &actor).await, [Some(ErrorKind::Stopped); 10]);
    assert_eq!((journal.count("a>"), journal.count("a< Stopped"), journal.len()), (20, 20, 40));
    assert_eq!(every_way(&lab, &refused).await, [Some(ErrorKind::Dropped); 10]);
}

async fn assert_ended(lab: &Lab, journal: &Journal, busy: Busy) {
    let answers = busy.answers(lab).await;
    let how =
        |answer: Result<u32, ErrorKind>| answer.map_or_else(|kind| format!("{kind:?}"), |_| "ok".into());
    let arrived = answers.into_iter().map(|answer| format!("a< {}", how(answer)));
    assert_eq!(
        journal.entries(),
        ["a>".to_owned(), "a>".into(), "a>".into()].into_iter().chain(arrived).collect::<Vec<_>>()
    );
}

async fn end(lab: &Lab, end: End) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk: ActorRef<Desk> = system.spawn(Desk::default()).await.unwrap();
    let mut busy =
        Busy::new(desk.outbound(Spy::new("a", &journal)), lab.settings().patience, |ask| ask).await;
    // What ends it is sent past the interceptor.
    busy.desk = desk;
    busy.end(lab, end).await;
    assert_ended(lab, &journal, busy).await;
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
    let (journal, system, patience) = (Journal::new(), lab.system(), lab.settings().patience);
    let spy = Spy::new("a", &journal);
    let busy = lab.elsewhere(move || async move {
        Busy::new(system.spawn(Desk::default()).await.unwrap().outbound(spy), patience, |ask| ask).await
    });
    let busy = lab.soon("the runtime is dropped", busy).await;
    assert_ended(&lab, &journal, busy).await;
}
