//! Interceptors where messages are handled.

use std::sync::{Arc, Mutex};

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Delivery, Directive, ErrorKind, Mode, Overflow, Pid, Verdict};

use super::body;
use super::fixture::{Abortable, Busy, Desk, End, Spy, every_way, give, job, keep, pass, quick};
use crate::actors::{Act, Boom, Count, Fail, Hold, Hooks, Note, Worker};
use crate::{Capability, Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "IN-01",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle)],
        "Inbound interceptors see a message in the order of their registration, those of the system first, for every way of sending; their scopes are around the handler in the same order; those behind a refusal do not see the message, nor its end.",
        "Who sees what is decided where interceptors are registered.",
        body!(order),
    ),
    Rule::must(
        "IN-02",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle)],
        "An inbound interceptor sees the actor's name, number and type, the message, its type and how it was sent, and the sender exactly when an actor sends.",
        "A policy needs to know what it decides about.",
        body!(sees),
    ),
    Rule::must(
        "IN-03",
        Topic::Inbound,
        &[(Topic::Inbound, State::Idle), (Topic::Inbound, State::Handling)],
        "`Drop`, `Reject` and `Retry` are the error of an ask at once, with actor, message, interceptor, reason and duration; a told message is a dead letter with the same error. Nothing is handled, and the actor goes on.",
        "Whoever can be told why is told, and nothing is lost in silence.",
        body!(refuses),
    ),
    Rule::must(
        "IN-04",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "Every interceptor that saw a message sees its end, once: a reply, a promise, a failure, a panic, a refusal, an abort; the actor goes on as without interceptors.",
        "What was opened for a message can be closed, always.",
        body!(completes),
    ),
    Rule::must(
        "IN-05",
        Topic::Inbound,
        &[(Topic::Inbound, State::Starting)],
        "What comes during `on_start` is seen by the interceptors after it, when it is handled.",
        "An interceptor meets no actor that is not ready.",
        body!(starting),
    ),
    Rule::must(
        "IN-06",
        Topic::Inbound,
        &[(Topic::Inbound, State::Stopping), (Topic::Inbound, State::Dead), (Topic::Bound, State::Handling)],
        "A message that is not going to be handled, refused by the mailbox, left in the queue, or sent to an actor that stops or has ended, is seen by no inbound interceptor.",
        "Inbound is about what is handled.",
        body!(unseen),
    ),
    Rule::must(
        "IN-07",
        Topic::Inbound,
        &[
            (Topic::Inbound, State::Stopped),
            (Topic::Inbound, State::Drained),
            (Topic::Inbound, State::Killed),
            (Topic::Inbound, State::Failed),
        ],
        "However the actor ends, each message that an interceptor saw ends once for it, with what its asker gets: the handler that a kill drops as `Interrupted`, all that a drain handles as handled.",
        "Counters of what is in hand return to zero.",
        body!(ends),
    ),
    Rule::must(
        "IN-08",
        Topic::Inbound,
        &[(Topic::Inbound, State::NativeStop)],
        "The same holds for a native stop.",
        "The native end is an end like any other.",
        body!(native_stop),
    )
    .needs(Capability::NativeStop)
    .spi(&["ignores-stop"]),
    Rule::must(
        "IN-09",
        Topic::Inbound,
        &[(Topic::Inbound, State::NativeKill)],
        "The same holds for a native kill.",
        "The native end is an end like any other.",
        body!(native_kill),
    )
    .needs(Capability::NativeKill)
    .spi(&["ignores-kill", "keeps-cell-after-kill"]),
    Rule::must(
        "IN-10",
        Topic::Inbound,
        &[(Topic::Inbound, State::RuntimeDropped)],
        "The same holds when the runtime of the actor is dropped.",
        "The native end is an end like any other.",
        body!(runtime_dropped),
    )
    .spi(&["foreign-runtime"]),
    Rule::must(
        "IN-11",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling)],
        "A restarted actor has the interceptors it had, and a failure, an `on_error` and a restart follow a handler with interceptors as one without.",
        "Supervision does not depend on who looks on.",
        body!(restarts),
    ),
];

async fn order(lab: Lab) {
    let journal = Journal::new();
    let system = lab
        .builder()
        .inbound(Spy::new("s", &journal).scoped())
        .inbound(Spy::new("t", &journal))
        .build()
        .unwrap();
    let only_odd = |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
        Some(Note(number)) if number % 2 == 0 => Verdict::Reject("even".into()),
        _ => Verdict::Continue,
    };
    let actor = system
        .spawn(Worker::new(&journal))
        .inbound(Spy::new("a", &journal).scoped().judge(only_odd))
        .inbound(Spy::new("b", &journal).scoped())
        .await
        .unwrap();
    let went = every_way(&lab, &actor).await;
    let refused = Some(ErrorKind::Rejected);
    assert_eq!(went, [None, None, None, None, None, None, None, refused, None, refused]);
    let mut expected = vec!["start".to_owned()];
    for number in 1..=10 {
        let number = number.to_string();
        let odd = [
            "s>", "t>", "a>", "b>", "s(", "a(", "b(", &number, "b)", "a)", "s)", "s< ok", "t< ok", "a< ok",
            "b< ok",
        ];
        let even = ["s>", "t>", "a>", "s< Rejected", "t< Rejected", "a< Rejected"];
        let is_odd = number.parse::<u32>().unwrap() % 2 == 1;
        expected.extend(if is_odd { &odd[..] } else { &even[..] }.iter().map(|entry| (*entry).to_owned()));
    }
    assert_eq!(journal.entries(), expected);
    assert_eq!(system.dead_letters(), 3, "the even ones that were told");
}

async fn sees(lab: Lab) {
    type Seen = (String, Pid, &'static str, &'static str, Mode, Option<Pid>, Option<u32>);
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let (record, journal, system) = (seen.clone(), Journal::new(), lab.system());
    let spy = Spy::new("a", &journal).judge(move |delivery| {
        assert!(delivery.message::<Count>().is_none());
        let number = delivery.message::<Note>().map(|Note(number)| *number);
        record.lock().unwrap().push((
            delivery.actor(),
            delivery.actor_id(),
            delivery.actor_type(),
            delivery.message_type(),
            delivery.mode(),
            delivery.sender(),
            number,
        ));
        Verdict::Continue
    });
    let actor = system.spawn(Worker::new(&journal)).name("w").inbound(spy).await.unwrap();
    every_way(&lab, &actor).await;
    let desk = system.spawn(Desk::default()).await.unwrap();
    let to = actor.clone();
    let sends = job(move |_, _| {
        Box::pin(async move {
            to.tell(Note(11))?;
            to.recipient().try_tell(Note(12))?;
            to.send(Note(13)).await?;
            to.ask(Note(14)).enqueue()?.await?;
            Ok(to.ask(Note(15)).await?)
        })
    });
    assert_eq!(lab.soon("the desk has sent", desk.ask(sends)).await.unwrap(), 15);
    assert_eq!(lab.soon("nobody else is the sender", actor.ask(Note(16))).await.unwrap(), 16);
    let expected: Vec<Seen> = (1..=16)
        .map(|number| {
            let asked = matches!(number, 7..=10 | 14..);
            let sender = (11..=15).contains(&number).then(|| desk.id());
            let mode = if asked { Mode::Ask } else { Mode::Tell };
            let types = (std::any::type_name::<Worker>(), std::any::type_name::<Note>());
            ("pekko://lab/user/w".to_owned(), actor.id(), types.0, types.1, mode, sender, Some(number))
        })
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

async fn refuses(lab: Lab) {
    let after = std::time::Duration::from_millis(1500);
    for (verdict, kind, reason, retry) in [
        (Verdict::Drop, ErrorKind::Dropped, None, None),
        (Verdict::Reject("not today".into()), ErrorKind::Rejected, Some("not today"), None),
        (Verdict::Retry(after), ErrorKind::RetryLater, None, Some(after)),
    ] {
        let (system, events) = lab.observed();
        let (journal, gate) = (Journal::new(), Gate::new());
        let only_notes = move |delivery: &mut Delivery<'_>| match delivery.message::<Note>() {
            Some(_) => verdict.clone(),
            None => Verdict::Continue,
        };
        let spy = Spy::new("a", &journal).judge(only_notes);
        let actor = system.spawn(Worker::new(&journal)).name("w").inbound(spy).await.unwrap();
        let went = every_way(&lab, &actor).await;
        assert_eq!(went[..6], [None; 6], "what is told is accepted");
        assert_eq!(went[6..], [Some(kind); 4]);
        assert_eq!(events.journal().entries(), ["dead Note"; 6]);
        let asked = lab.soon("the asker is told", actor.ask(Note(1))).await.unwrap_err();
        for error in events.errors().iter().chain([&asked]) {
            assert_eq!((error.kind(), error.get("actor")), (kind, Some("pekko://lab/user/w")));
            assert_eq!(error.get("message"), Some(std::any::type_name::<Note>()));
            assert_eq!((error.get("reason"), error.retry_after()), (reason, retry));
            assert_eq!(error.get("interceptor"), Some(std::any::type_name::<Spy>()), "{error}");
        }
        // One whose asker has given up in the meantime is a dead letter, too.
        actor.tell(Hold(0, gate.clone())).unwrap();
        lab.soon("the handler runs", gate.reached()).await;
        drop(actor.ask(Note(2)).enqueue().unwrap());
        gate.open();
        assert_eq!(lab.soon("the actor goes on", actor.ask(Count())).await.unwrap(), 0);
        assert_eq!(system.dead_letters(), 6, "a withdrawn ask is not judged");
    }
}

async fn completes(lab: Lab) {
    let (journal, system) = (Journal::new(), lab.system());
    let spies = [Spy::new("a", &journal), Spy::new("b", &journal)];
    let [first, second] = spies.clone();
    let worker = system.spawn(|| Worker::new(&Journal::new())).inbound(first).inbound(second).await.unwrap();
    lab.soon("a reply", worker.ask(Note(1))).await.unwrap();
    lab.soon("a failure", worker.ask(Fail("no"))).await.unwrap_err();
    lab.soon("a panic", worker.ask(Boom("bang"))).await.unwrap_err();
    worker.tell(Note(2)).unwrap();
    worker.tell(Fail("no")).unwrap();
    worker.tell(Boom("bang")).unwrap();
    lab.soon("the actor goes on", worker.ask(Note(3))).await.unwrap();
    let hows = ["ok", "Failed", "Panicked", "ok", "Failed", "Panicked", "ok"];
    let ended = |how: &&str| ["a>".into(), "b>".into(), format!("a< {how}"), format!("b< {how}")];
    assert_eq!(journal.entries(), hows.iter().flat_map(ended).collect::<Vec<_>>());

    let (journal, gate) = (Journal::new(), Gate::new());
    let refuse = Spy::new("b", &journal).judge(|delivery| match delivery.message::<Abortable>() {
        Some(_) => Verdict::Continue,
        None => Verdict::Drop,
    });
    let desk = system.spawn(Desk::default()).inbound(Spy::new("a", &journal)).inbound(refuse).await.unwrap();
    lab.soon("a refusal", desk.ask(give(1))).await.unwrap_err();
    let asked = desk.ask(Abortable(pass(&gate))).enqueue().unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    drop(asked);
    lab.soon("the abort is seen", journal.wait_for("b< Cancelled")).await;
    assert_eq!(
        journal.entries(),
        ["a>", "b>", "a< Dropped", "b< Dropped", "a>", "b>", "a< Cancelled", "b< Cancelled"]
    );

    let journal = Journal::new();
    let desk = system.spawn(Desk::default()).inbound(Spy::new("a", &journal)).await.unwrap();
    let asked = desk.ask(keep()).enqueue().unwrap();
    lab.soon("a promise", journal.wait_len(2)).await;
    desk.tell(quick(|desk, _| Ok(u32::from(desk.laters.remove(0).reply(5))))).unwrap();
    assert_eq!(lab.soon("the promise is kept", asked).await.unwrap(), 5);
    lab.soon("the actor goes on", desk.ask(give(1))).await.unwrap();
    assert_eq!(journal.entries(), ["a>", "a< ok", "a>", "a< ok", "a>", "a< ok"]);
}

async fn starting(lab: Lab) {
    let (journal, gate, system) = (Journal::new(), Gate::new(), lab.system());
    let worker = Worker::with(&journal, Hooks { start: Act::Hold(gate.clone()), ..Hooks::default() });
    let spawn = system.spawn(worker).name("a").inbound(Spy::new("a", &journal));
    let spawned = tokio::spawn(spawn.into_future());
    lab.soon("the actor is in `on_start`", gate.reached()).await;
    let actor = system.get::<Worker>("a").unwrap();
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(journal.entries(), ["start"]);
    gate.open();
    lab.soon("the actor starts", spawned).await.unwrap().unwrap();
    assert_eq!(lab.soon("the asker is answered", asked).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["start", "a>", "1", "a< ok", "a>", "2", "a< ok"]);
}

async fn unseen(lab: Lab) {
    let (journal, gate, stopping, system) = (Journal::new(), Gate::new(), Gate::new(), lab.system());
    let hooks = Hooks { stop: Act::Hold(stopping.clone()), ..Hooks::default() };
    let spawn = system.spawn(Worker::with(&Journal::new(), hooks)).bounded(2, Overflow::Reject);
    let actor = spawn.inbound(Spy::new("a", &journal)).await.unwrap();
    actor.tell(Hold(0, gate.clone())).unwrap();
    lab.soon("the handler runs", gate.reached()).await;
    actor.tell(Note(1)).unwrap();
    let asked = actor.ask(Note(2)).enqueue().unwrap();
    assert_eq!(actor.tell(Note(3)).unwrap_err().kind(), ErrorKind::MailboxFull);
    actor.stop();
    gate.open();
    lab.soon("the actor is in `on_stop`", stopping.reached()).await;
    assert_eq!(lab.soon("the ask is answered", asked).await.unwrap_err().kind(), ErrorKind::Stopped);
    assert!(every_way(&lab, &actor).await.iter().all(|went| *went == Some(ErrorKind::Stopped)));
    stopping.open();
    lab.soon("the actor ends", actor.wait()).await.unwrap();
    assert!(every_way(&lab, &actor).await.iter().all(|went| *went == Some(ErrorKind::Stopped)));
    assert_eq!(journal.entries(), ["a>", "a< ok"]);
}

/// What the interceptor saw is what the askers got: of a handled message its end, of another one nothing.
async fn assert_ended(lab: &Lab, end: Option<End>, journal: &Journal, busy: Busy) {
    let mut expected = Vec::new();
    for (index, answer) in busy.answers(lab).await.into_iter().enumerate() {
        match answer {
            Ok(_) => expected.extend(["a>", "a< ok"]),
            Err(ErrorKind::Interrupted) if index == 0 => expected.extend(["a>", "a< Interrupted"]),
            Err(kind) => assert_eq!(kind, ErrorKind::Stopped),
        }
    }
    match end {
        Some(End::Drain) => assert_eq!(expected.len(), 6),
        Some(End::Failure) => expected.extend(["a>", "a< Panicked"]),
        _ => {}
    }
    assert_eq!(journal.entries(), expected, "{end:?}");
}

async fn end(lab: &Lab, end: End) {
    let (journal, system) = (Journal::new(), lab.system());
    let desk = system.spawn(Desk::default()).inbound(Spy::new("a", &journal)).await.unwrap();
    let busy = Busy::new(desk, lab.settings().patience, |ask| ask).await;
    busy.end(lab, end).await;
    assert_ended(lab, Some(end), &journal, busy).await;
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
        Busy::new(system.spawn(Desk::default()).inbound(spy).await.unwrap(), patience, |ask| ask).await
    });
    let busy = lab.soon("the runtime is dropped", busy).await;
    assert_ended(&lab, None, &journal, busy).await;
}

async fn restarts(lab: Lab) {
    let (system, events) = lab.observed();
    let journal = Journal::new();
    let hooks = Hooks { directive: Directive::Restart, ..Hooks::default() };
    let spawn = system.spawn(Worker::factory(&journal, hooks)).inbound(Spy::new("a", &journal));
    let actor = spawn.await.unwrap();
    actor.tell(Fail("no")).unwrap();
    actor.tell(Boom("bang")).unwrap();
    assert_eq!(lab.soon("the actor goes on", actor.ask(Note(1))).await.unwrap(), 1);
    let expected = "make start a> a<_Failed error:_no drop make restart:_Failed \
                    a> a<_Panicked drop make restart:_Panicked a> 1 a<_ok";
    let expected: Vec<_> = expected.split_whitespace().map(|entry| entry.replace('_', " ")).collect();
    assert_eq!(journal.entries(), expected);
    assert_eq!(events.journal().entries(), ["failed Fail", "restarted", "failed Boom", "restarted"]);
}
