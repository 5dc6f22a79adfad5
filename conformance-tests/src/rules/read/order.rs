//! Reads beside each other, and in the order of other messages.

use std::time::Duration;

use dactor_core::testkit::Gate;
use dactor_core::{ErrorKind, Priority};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{read, spawn, write};
use crate::fixtures::reading::{HighRead, HighWrite, Read, Reading, change, held, look, reads, writes};
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "READ-01",
        Topic::Reads,
        &[(Topic::Reads, State::Idle), (Topic::Reads, State::Handling)],
        "64 reads that sleep 10 ms each take 10 ms on one actor; 64 writes take 640 ms.",
        "Reads that wait do not wait for each other.",
        body!(beside),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-02",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Order, State::Handling)],
        "A write begins when all reads before it are done, and ends before any read behind it begins.",
        "A read sees a state that no write is changing, in the order in which messages were sent.",
        body!(in_order),
    )
    .spi(&["wakes-once-per-turn"]),
    Rule::must(
        "READ-03",
        Topic::Reads,
        &[(Topic::Reads, State::Handling)],
        "A write that is sent in the middle of a flood of reads is handled before the reads that are sent after it, and a read in the middle of a flood of writes before the writes after it.",
        "Neither reads nor writes starve the other.",
        body!(floods),
    ),
    Rule::must(
        "READ-04",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Priority, State::Handling)],
        "Reads and writes of a higher priority come first, and each lane keeps its order.",
        "Priorities hold for reads as for other messages.",
        body!(priorities),
    ),
    Rule::must(
        "READ-05",
        Topic::Reads,
        &[(Topic::Reads, State::Handling)],
        "At most as many reads run at once as the spawn says, 64 unless it says otherwise; others begin when one is done. A limit of 0 is `InvalidCapacity`.",
        "Reads in progress take a bounded amount of memory.",
        body!(limited),
    ),
    Rule::must(
        "READ-06",
        Topic::Reads,
        &[(Topic::Reads, State::Handling), (Topic::Timers, State::Handling)],
        "A timer that is due while reads run is queued at once, and handled when they are done, before messages that are sent after it. A message that only reads can come from a timer or a pipe.",
        "Timers change the actor, and are not starved by reads.",
        body!(timers),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-07",
        Topic::Reads,
        &[(Topic::Reads, State::Idle), (Topic::Timers, State::Idle)],
        "An idle timeout counts from the end of the last read.",
        "An actor that reads is not idle.",
        body!(idle),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "READ-08",
        Topic::Reads,
        &[(Topic::Reads, State::Handling)],
        "A read that runs longer than the configured time is one event, while it runs, that names the actor and the message.",
        "A slow read holds up writes and restarts, and can be found.",
        body!(slow),
    )
    .runtime(RuntimeMode::DrivenClock),
];

const MOMENT: Duration = Duration::from_millis(10);

async fn beside(mut rule: RuleContext) {
    let (actor, _) = spawn(&rule).await;
    let begun = Instant::now();
    let pause = || {
        reads(|_, _| {
            Box::pin(async {
                sleep(MOMENT).await;
                Ok(0)
            })
        })
    };
    let all: Vec<_> = (0..64).map(|_| tokio::spawn(read(&actor, pause()))).collect();
    rule.clock().advance(MOMENT).await;
    assert!(all.iter().all(|read| read.is_finished()), "all are done after one pause");
    assert_eq!(begun.elapsed(), MOMENT);
    let pause = || {
        writes(|_, _| {
            Box::pin(async {
                sleep(MOMENT).await;
                Ok(0)
            })
        })
    };
    let all: Vec<_> = (0..64).map(|_| tokio::spawn(write(&actor, pause()))).collect();
    for done in 0..64 {
        assert_eq!(all.iter().filter(|write| write.is_finished()).count(), done);
        rule.clock().advance(MOMENT).await;
    }
    assert!(all.iter().all(|write| write.is_finished()));
}

async fn in_order(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let (first, second) = (Gate::new(), Gate::new());
    let before = [read(&actor, held("a", &first)), read(&actor, held("b", &second))];
    let writes = [write(&actor, change("w")), write(&actor, change("x"))];
    let behind = [read(&actor, look("c")), read(&actor, look("d"))];
    rule.soon("the first read runs", first.reached()).await;
    rule.soon("the second read runs", second.reached()).await;
    first.open();
    rule.soon("the first read is done", journal.wait_for("-a")).await;
    rule.let_idle().await;
    assert_eq!(journal.entries(), ["+a", "+b", "-a"], "the write waits for both");
    second.open();
    let values = rule.soon("all are done", async {
        let mut values = Vec::new();
        for read in before.into_iter().chain(behind) {
            values.push(read.await.unwrap());
        }
        for write in writes {
            values.push(write.await.unwrap());
        }
        values
    });
    assert_eq!(values.await, [0, 0, 2, 2, 1, 2]);
    assert_eq!(journal.entries(), ["+a", "+b", "-a", "-b", "w", "x", "c", "d"]);
}

async fn floods(rule: RuleContext) {
    const FLOOD: usize = 500;
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let quick = || {
        reads(|reading, _| {
            Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(reading.writes)
            })
        })
    };
    let mut flood: Vec<_> = (0..FLOOD).map(|_| read(&actor, quick())).collect();
    let one = write(&actor, change("w"));
    flood.extend((0..FLOOD).map(|_| read(&actor, quick())));
    assert_eq!(rule.soon("the write is handled", one).await.unwrap(), 1);
    let seen = rule.soon("all reads are done", join_all(flood)).await;
    for (at, value) in seen.into_iter().enumerate() {
        assert_eq!(value.unwrap(), u64::from(at >= FLOOD), "read {at}");
    }
    let mut flood: Vec<_> = (0..FLOOD).map(|_| write(&actor, change("w"))).collect();
    let one = read(&actor, quick());
    flood.extend((0..FLOOD).map(|_| write(&actor, change("w"))));
    assert_eq!(rule.soon("the read is done", one).await.unwrap(), FLOOD as u64 + 1);
    rule.soon("all writes are handled", join_all(flood)).await;
    assert_eq!(journal.entries().len(), 2 * FLOOD + 1);
}

async fn priorities(rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let gate = Gate::new();
    let blocks = gate.clone();
    let first = write(
        &actor,
        writes(move |_, _| {
            Box::pin(async move {
                blocks.pass().await;
                Ok(0)
            })
        }),
    );
    rule.soon("the actor is busy", gate.reached()).await;
    let (two, three) = (Gate::new(), Gate::new());
    let reads = [read(&actor, look("n1")), actor.at(Priority::Low).ask(Read(look("l"))).enqueue().unwrap()];
    let n2 = write(&actor, change("n2"));
    let n3 = read(&actor, look("n3"));
    let h1 = actor.ask(HighRead(held("h1", &two))).enqueue().unwrap();
    let h2 = actor.ask(HighRead(held("h2", &three))).enqueue().unwrap();
    let h3 = actor.ask(HighWrite(change("h3"))).enqueue().unwrap();
    let h4 = actor.ask(HighRead(look("h4"))).enqueue().unwrap();
    gate.open();
    rule.soon("both high reads run", two.reached()).await;
    rule.soon("both high reads run", three.reached()).await;
    three.open();
    rule.soon("one is done", journal.wait_for("-h2")).await;
    two.open();
    rule.soon("all are done", async {
        first.await.unwrap();
        join_all([h1, h2, h4]).await;
        h3.await.unwrap();
        join_all(reads).await;
        n2.await.unwrap();
        n3.await.unwrap();
    })
    .await;
    assert_eq!(journal.entries(), ["+h1", "+h2", "-h2", "-h1", "h3", "h4", "n1", "n2", "n3", "l"]);
}

async fn limited(rule: RuleContext) {
    let system = rule.system();
    for (limit, spawn) in [
        (64, system.spawn(Reading::default())),
        (2, system.spawn(Reading::default()).max_reads(2)),
        (200, system.spawn(Reading::default()).max_reads(200)),
    ] {
        let actor = spawn.await.unwrap();
        let gate = Gate::new();
        let all: Vec<_> = (0..limit + 5).map(|_| read(&actor, held("r", &gate))).collect();
        rule.soon("as many run as may", gate.reached_by(limit)).await;
        rule.let_idle().await;
        assert_eq!(gate.arrivals(), limit);
        gate.open();
        rule.soon("all are done", join_all(all)).await;
    }
    for spawn in
        [system.spawn(Reading::default()).max_reads(0), system.spawn(Reading::default()).max_interleaved(0)]
    {
        assert_eq!(spawn.await.unwrap_err().kind(), ErrorKind::InvalidCapacity);
    }
}

async fn timers(mut rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let set = writes(|_, ctx| {
        Box::pin(async move {
            ctx.after(MOMENT, crate::fixtures::reading::Write(change("tick")))?;
            ctx.after(2 * MOMENT, Read(look("read tick")))?;
            ctx.pipe(async { Read(look("piped")) });
            Ok(0)
        })
    });
    write(&actor, set).await.unwrap();
    rule.soon("the pipe brings a read", journal.wait_for("piped")).await;
    let gate = Gate::new();
    let before = read(&actor, held("a", &gate));
    rule.soon("the read runs", gate.reached()).await;
    rule.clock().advance(MOMENT).await;
    let behind = read(&actor, look("b"));
    rule.let_idle().await;
    gate.open();
    rule.soon("the reads are done", async { (before.await.unwrap(), behind.await.unwrap()) }).await;
    rule.clock().advance(MOMENT).await;
    rule.soon("a timer brings a read", journal.wait_for("read tick")).await;
    assert_eq!(journal.entries(), ["piped", "+a", "-a", "tick", "b", "read tick"]);
}

async fn idle(mut rule: RuleContext) {
    let (actor, Reading { journal, .. }) = spawn(&rule).await;
    let set = writes(|_, ctx| {
        Box::pin(async move {
            ctx.idle_timeout(10 * MOMENT, || crate::fixtures::reading::Write(change("idle")))?;
            Ok(0)
        })
    });
    write(&actor, set).await.unwrap();
    let gate = Gate::new();
    let running = read(&actor, held("a", &gate));
    rule.soon("the read runs", gate.reached()).await;
    rule.clock().advance(20 * MOMENT).await;
    gate.open();
    running.await.unwrap();
    rule.clock().advance(9 * MOMENT).await;
    assert_eq!(journal.entries(), ["+a", "-a"]);
    rule.clock().advance(MOMENT).await;
    assert_eq!(journal.entries(), ["+a", "-a", "idle"]);
}

async fn slow(mut rule: RuleContext) {
    let (system, events) = rule.system_with_events();
    let actor = system.spawn(Reading::default()).slow_read(2 * MOMENT).name("slow").await.unwrap();
    let gate = Gate::new();
    let first = read(&actor, held("a", &gate));
    rule.soon("the read runs", gate.reached()).await;
    rule.clock().advance(MOMENT).await;
    let second = actor.ask(HighRead(held("b", &gate))).enqueue().unwrap();
    rule.soon("the other read runs", gate.reached_by(2)).await;
    assert_eq!(events.journal().entries(), [""; 0]);
    rule.clock().advance(MOMENT).await;
    assert_eq!(events.journal().entries(), ["slow Read"]);
    for _ in 0..5 {
        rule.clock().advance(MOMENT).await;
        assert_eq!(events.journal().entries(), ["slow Read", "slow HighRead"]);
    }
    gate.open();
    first.await.unwrap();
    second.await.unwrap();
}
