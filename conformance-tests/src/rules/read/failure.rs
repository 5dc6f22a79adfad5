//! Reads that fail or panic.

use dactor_core::testkit::{Gate, Journal};
use dactor_core::{Directive, ErrorKind, StopReason};

use super::{read, spawn, write};
use crate::fixtures::header::Tag;
use crate::fixtures::panicking::{AlwaysPanicOnDrop, PanicOnDrop};
use crate::fixtures::reading::{Read, Reading, Write, change, failing, held, look, panicking, reads, writes};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-20",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Failure, State::Handling)],
        "A read that fails answers its asker at once. `on_error` runs when the reads beside it are done, once for each failure, and before any message behind it.",
        "`on_error` has the actor to itself.",
        body!(fails),
    ),
    Rule::must(
        "READ-21",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Panic, State::Handling)],
        "A read that panics answers its asker at once with `Panicked`. The actor restarts when the reads beside it are done, and the new instance handles the queued messages in order, the stash first. A second panic of the same instance is an event and restarts nothing.",
        "A read never sees its instance being dropped.",
        body!(panics),
    ),
    Rule::must(
        "READ-22",
        Topic::Reads,
        &[(Topic::Reads, State::Failed)],
        "When a failure of a read stops the actor, the reads beside it finish, and queued messages are refused with `Stopped`.",
        "The end of an actor interrupts no read that runs.",
        body!(stops),
    ),
    Rule::must(
        "READ-23",
        Topic::Reads,
        &[(Topic::Panic, State::Handling)],
        "A panic in the destructor of what a read holds, of its headers or of its reply harms neither the reads beside it nor another actor.",
        "All code of the user's runs under a guard.",
        body!(destructors),
    ),
    Rule::must(
        "READ-24",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Headers, State::Handling)],
        "`on_error` after a read sees the headers of the read that failed, as after any other message, and they are dropped with it.",
        "What a failure means may depend on the request: its tenant, its trace.",
        body!(headers),
    ),
];

async fn fails(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let (bad, good) = (Gate::new(), Gate::new());
    let failed = [read(&actor, failing(&bad)), read(&actor, failing(&bad))];
    let beside = read(&actor, held("a", &good));
    rule.soon("all run", bad.reached_by(2)).await;
    rule.soon("all run", good.reached()).await;
    bad.open();
    for failed in failed {
        let error = rule.soon("the asker is answered", failed).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
    }
    let behind = read(&actor, look("b"));
    rule.let_idle().await;
    assert_eq!(journal.entries(), ["+a"], "on_error waits for the read beside it");
    good.open();
    assert_eq!(rule.soon("the read is done", beside).await.unwrap(), 0);
    assert_eq!(rule.soon("the next read is done", behind).await.unwrap(), 0);
    assert_eq!(journal.entries(), ["+a", "-a", "on_error refused", "on_error refused", "b"]);
    // Told, it is an event.
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Reading::default()).await.unwrap();
    actor.tell(Read(failing(&bad))).unwrap();
    rule.soon("it is an event", events.journal().wait_for("failed Read")).await;
}

async fn headers(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let (bad, good) = (Gate::new(), Gate::new());
    let beside = read(&actor, held("a", &good));
    let failed = [1, 2].map(|tag| actor.header(Tag(tag)).ask(Read(failing(&bad))).enqueue().unwrap());
    actor.header(Tag(3)).tell(Read(failing(&bad))).unwrap();
    let untagged = read(&actor, failing(&bad));
    rule.soon("all run", bad.reached_by(4)).await;
    rule.soon("all run", good.reached()).await;
    bad.open();
    for failed in failed.into_iter().chain([untagged]) {
        rule.soon("the asker is answered", failed).await.unwrap_err();
    }
    good.open();
    rule.soon("the read is done", beside).await.unwrap();
    let written = writes(|_, ctx| {
        Box::pin(async move { Ok(ctx.headers().get::<Tag>().map_or(0, |tag| tag.0.into())) })
    });
    assert_eq!(rule.soon("the write is done", write(&actor, written)).await.unwrap(), 0);
    let mut entries = journal.entries();
    // The reads fail in any order: a gate wakes them one by one, and another thread may poll them in between.
    entries[2..].sort();
    let refused =
        ["on_error refused", "on_error refused, tag 1", "on_error refused, tag 2", "on_error refused, tag 3"];
    assert_eq!(entries, ["+a", "-a"].into_iter().chain(refused).collect::<Vec<_>>());
}

async fn panics(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let journal = Journal::new();
    let reading = Reading { journal: journal.clone(), ..Reading::default() };
    let actor = system.spawn(move || reading.clone()).await.unwrap();
    assert_eq!(write(&actor, change("w")).await.unwrap(), 1);
    let (bad, good) = (Gate::new(), Gate::new());
    let failed = [read(&actor, panicking(&bad)), read(&actor, panicking(&bad))];
    let beside = read(&actor, held("a", &good));
    rule.soon("all run", bad.reached_by(2)).await;
    rule.soon("all run", good.reached()).await;
    let stashed =
        write(&actor, writes(|_, ctx| Box::pin(async move { ctx.stash(Write(change("stashed"))) })));
    bad.open();
    for failed in failed {
        let error = rule.soon("the asker is answered", failed).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
    }
    rule.let_idle().await;
    assert_eq!(events.journal().entries(), [""; 0], "the restart waits for the read beside it");
    good.open();
    assert_eq!(rule.soon("the read is done", beside).await.unwrap(), 1, "of the old instance");
    rule.soon("it is restarted", events.journal().wait_for("restarted")).await;
    let behind = rule.soon("the new instance reads", actor.ask(Read(look("b")))).await.unwrap();
    assert_eq!(behind, 0);
    // A restart puts the stash back.
    assert_eq!(actor.ask(Read(look("c"))).await.unwrap(), 0);
    let again = Gate::new();
    again.open();
    assert!(actor.ask(Read(panicking(&again))).await.is_err());
    assert_eq!(rule.soon("the stash is handled", stashed).await.unwrap(), 1);
    let seen = events.journal().entries();
    assert_eq!(seen, ["failed Read", "restarted", "failed Read", "failed Read", "restarted"]);
    // The stash precedes a write that waits for the failing read.
    let journal = Journal::new();
    let reading = Reading { journal: journal.clone(), ..Reading::default() };
    let actor = system.spawn(move || reading.clone()).await.unwrap();
    let stashed =
        write(&actor, writes(|_, ctx| Box::pin(async move { ctx.stash(Write(change("stashed"))) })));
    let bad = Gate::new();
    let failed = read(&actor, panicking(&bad));
    rule.soon("the read runs", bad.reached()).await;
    let waiting = write(&actor, change("waiting"));
    rule.let_idle().await;
    bad.open();
    let error = rule.soon("the asker is answered", failed).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panicked);
    assert_eq!(rule.soon("the stash is handled", stashed).await.unwrap(), 1);
    assert_eq!(rule.soon("the write is handled", waiting).await.unwrap(), 2);
    assert_eq!(journal.entries(), ["stashed", "waiting"]);
}

async fn stops(rule: RuleContext) {
    for directive in [None, Some(Directive::Stop)] {
        let reading = Reading { directive, ..Reading::default() };
        // Spawned from a value, it cannot be restarted.
        let actor = rule.system().spawn(reading).await.unwrap();
        let (bad, good) = (Gate::new(), Gate::new());
        let failed = match directive {
            None => read(&actor, panicking(&bad)),
            Some(_) => read(&actor, failing(&bad)),
        };
        let beside = read(&actor, held("a", &good));
        rule.soon("all run", bad.reached()).await;
        rule.soon("all run", good.reached()).await;
        bad.open();
        rule.soon("the asker is answered", failed).await.unwrap_err();
        let queued = write(&actor, change("w"));
        good.open();
        assert_eq!(rule.soon("the read is done", beside).await.unwrap(), 0);
        let error = rule.soon("it is refused", queued).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stopped);
        let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
        assert!(matches!(reason, StopReason::Failed(_)));
    }
}

async fn destructors(rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Reading::default).await.unwrap();
    let good = Gate::new();
    let beside = read(&actor, held("a", &good));
    rule.soon("it runs", good.reached()).await;
    // Two of them, each dropped under its own guard, after the read.
    let ok = || reads(|reading, _| Box::pin(async move { Ok(reading.writes) }));
    let header = actor.header(PanicOnDrop(true)).ask(Read(ok())).await;
    assert_eq!(header.unwrap(), 0, "the asker is answered before the header is dropped");
    good.open();
    assert_eq!(rule.soon("the read is done", beside).await.unwrap(), 0);
    rule.soon("it is restarted", events.journal().wait_for("restarted")).await;
    // Dropped by a kill.
    let gate = Gate::new();
    let holds = |gate: &Gate| {
        let gate = gate.clone();
        reads(move |_, _| {
            Box::pin(async move {
                let _holds = AlwaysPanicOnDrop(true);
                gate.pass().await;
                Ok(0)
            })
        })
    };
    let asks: Vec<_> = (0..3)
        .map(|_| actor.header(AlwaysPanicOnDrop(true)).ask(Read(holds(&gate))).enqueue().unwrap())
        .collect();
    rule.soon("all run", gate.reached_by(3)).await;
    actor.kill();
    for ask in asks {
        let error = rule.soon("the asker is answered", ask).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
    assert!(matches!(rule.soon("the actor ends", actor.wait()).await.unwrap(), StopReason::Killed));
}
