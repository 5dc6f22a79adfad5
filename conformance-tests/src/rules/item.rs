//! Interceptors see the items of streams.

use std::time::Duration;

use dactor_core::testkit::Journal;
use dactor_core::{
    ActorRef, Completion, Direction, ErrorKind, Inbound, ItemVerdict, Outbound, StreamEnd, StreamItem,
};
use futures_util::{StreamExt, stream};

use crate::fixtures::producing::{Crash, Double, Numbers, Ping, Producing, Sum, Then, Upload};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "ITEM-01",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Streams, State::Handling)],
        "An inbound interceptor sees each item that its actor takes or produces, in order, also one of a batch, and then the end of the stream, once for each direction.",
        "What an actor streams can be measured and checked like what it is told.",
        body!(inbound),
    ),
    Rule::must(
        "ITEM-02",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling), (Topic::Streams, State::Handling)],
        "An outbound interceptor sees each item that the caller sends or gets, in order, and then the end of the stream, once for each direction.",
        "What a caller streams can be measured and checked like what it tells.",
        body!(outbound),
    ),
    Rule::must(
        "ITEM-03",
        Topic::Inbound,
        &[(Topic::Inbound, State::Handling), (Topic::Failure, State::Handling)],
        "When an inbound interceptor refuses an item, the stream ends with `Rejected` after the items before it, and with `InterceptorPanicked` when it panics; the error names the interceptor. A producer's send gets the same error, and a handler that returns it has not failed.",
        "A refused item is never left out of a stream that goes on.",
        body!(inbound_refuses),
    ),
    Rule::must(
        "ITEM-04",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling), (Topic::Cancel, State::Handling)],
        "When an outbound interceptor refuses an item that the caller gets, its stream ends with `Rejected` and the producer's consumer is gone; when it refuses an item that the caller sends, the input of the handler ends with `Rejected`.",
        "A refused item is never left out of a stream that goes on.",
        body!(outbound_refuses),
    ),
    Rule::must(
        "ITEM-05",
        Topic::Inbound,
        &[
            (Topic::Inbound, State::Handling),
            (Topic::Inbound, State::Killed),
            (Topic::Panic, State::Handling),
        ],
        "The end of a stream that an interceptor sees is `Failed` with `Unfinished`, `Failed` or `Interrupted`, `Dropped` when the consumer left, and `PassedOn` when the request was forwarded: once, whatever happens.",
        "What an interceptor opened for a stream it can close.",
        body!(ends),
    ),
    Rule::must(
        "ITEM-06",
        Topic::Outbound,
        &[(Topic::Outbound, State::Handling), (Topic::Streams, State::Handling)],
        "`on_reply` of an `expand` or `transform` request sees how the stream ends for its consumer, once: not when the handler returns. A consumer that is dropped is `Cancelled`.",
        "A circuit breaker learns from streams what it learns from asks.",
        body!(on_reply),
    ),
];

/// Notes items (`> 0:7`, with its index; `<` for those from the actor), ends (`> finished 3`) and replies (`ok`). Refuses
/// items of this value, and panics at those.
#[derive(Clone)]
struct Watching {
    journal: Journal,
    refuses: Option<u64>,
    panics: bool,
}

impl Watching {
    fn new(journal: &Journal) -> Self {
        Self { journal: journal.clone(), refuses: None, panics: false }
    }

    fn item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        let value = *item.item::<u64>().expect("all items are numbers");
        if self.refuses == Some(value) {
            assert!(!self.panics, "an item that panics");
            return ItemVerdict::Reject("not this one".to_owned());
        }
        self.journal.note(format!("{} {}:{value}", arrow(item.direction()), item.index()));
        ItemVerdict::Continue
    }

    fn end(&self, end: &StreamEnd<'_>) {
        let how = match end.error() {
            Some(error) => format!("{:?}", error.kind()),
            None => end.outcome().name().to_owned(),
        };
        self.journal.note(format!("{} {how} {}", arrow(end.direction()), end.items()));
    }
}

fn arrow(direction: Direction) -> &'static str {
    match direction {
        Direction::ToActor => ">",
        Direction::FromActor => "<",
    }
}

impl Inbound for Watching {
    fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        self.item(item)
    }

    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        self.end(end);
    }
}

impl Outbound for Watching {
    fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        self.item(item)
    }

    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        self.end(end);
    }

    fn on_reply(&self, completion: &mut Completion<'_>) {
        let how = completion.error().map_or("ok".to_owned(), |error| format!("{:?}", error.kind()));
        self.journal.note(how);
    }
}

/// The entries of one direction, and the entries of both.
fn of(journal: &Journal, arrow: &str) -> Vec<String> {
    let entries = journal.entries().into_iter();
    entries.filter_map(|entry| entry.strip_prefix(arrow).map(|rest| rest.trim().to_owned())).collect()
}

async fn seen(rule: &RuleContext, actor: &ActorRef<Producing>, journal: &Journal, replies: usize) {
    let numbers = ["0:0", "1:1", "2:2", "finished 3"];
    let doubled = ["0:0", "1:2", "2:4", "finished 3"];
    for batch in [1, 2] {
        let before = journal.len();
        let items = actor.expand(Numbers(3, Then::Finish)).batch(batch).await.unwrap();
        let items: Vec<_> = rule.soon("the stream ends", items.collect()).await;
        assert_eq!(items.len(), 3);
        rule.soon("the end is seen", journal.wait_len(before + 4 + replies)).await;
    }
    assert_eq!(of(journal, "<"), [numbers, numbers].concat());
    let before = journal.len();
    let sum = rule.soon("the reply", actor.reduce(Sum(Then::Finish), stream::iter(0..3))).await.unwrap();
    assert_eq!(sum, 3);
    rule.soon("the end is seen", journal.wait_len(before + 4 + replies)).await;
    assert_eq!(of(journal, ">"), numbers);
    let before = journal.len();
    let items = actor.transform(Double(Then::Finish), stream::iter(0..3)).await.unwrap();
    let items: Vec<_> = rule.soon("the stream ends", items.collect()).await;
    assert_eq!(items.len(), 3);
    rule.soon("the ends are seen", journal.wait_len(before + 8 + replies)).await;
    assert_eq!(of(journal, "<"), [numbers, numbers, doubled].concat());
    assert_eq!(of(journal, ">"), [numbers, numbers].concat());
    assert_eq!(journal.count("ok"), 4 * replies);
}

async fn inbound(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Producing::default()).inbound(Watching::new(&journal)).await.unwrap();
    seen(&rule, &actor, &journal, 0).await;
}

async fn outbound(rule: RuleContext) {
    let journal = Journal::new();
    let actor = rule.system().spawn(Producing::default()).await.unwrap().outbound(Watching::new(&journal));
    seen(&rule, &actor, &journal, 1).await;
}

async fn inbound_refuses(rule: RuleContext) {
    for panics in [false, true] {
        let kind = if panics { ErrorKind::InterceptorPanicked } else { ErrorKind::Rejected };
        let (journal, noted) = (Journal::new(), Journal::new());
        let watching = Watching { refuses: Some(2), panics, ..Watching::new(&journal) };
        let actor = Producing { journal: noted.clone(), ..Producing::default() };
        let actor = rule.system().spawn(actor).inbound(watching).await.unwrap();
        for (batch, then) in [(1, Then::Finish), (5, Then::Finish), (1, Then::Hang)] {
            let mut items = actor.expand(Numbers(9, then)).batch(batch).await.unwrap();
            for number in 0..2 {
                let next = rule.soon("an item arrives", items.next()).await;
                assert_eq!(next.unwrap().unwrap(), number);
            }
            let error = rule.soon("the stream ends", items.next()).await.unwrap().unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.get("interceptor").is_some_and(|name| name.ends_with("Watching")), "{error}");
            assert!(items.next().await.is_none());
        }
        rule.soon("the actor has not failed", actor.ask(Ping)).await.unwrap();
        assert_eq!(noted.entries(), vec![format!("output {kind:?}"); 3]);
        assert_eq!(of(&journal, "<"), [["0:0", "1:1", &format!("{kind:?} 2")]; 3].concat());

        let (upload, _) = Upload::new(9);
        let error = rule.soon("the reply", actor.reduce(Sum(Then::Beside), upload)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert_eq!(noted.entries()[3..], ["taken".to_owned(), format!("input {kind:?}")]);
        assert_eq!(of(&journal, ">"), ["0:0", "1:1", &format!("{kind:?} 2")]);
    }
}

async fn outbound_refuses(rule: RuleContext) {
    let (journal, noted) = (Journal::new(), Journal::new());
    let actor = Producing { journal: noted.clone(), ..Producing::default() };
    let plain = rule.system().spawn(actor).await.unwrap();
    let actor = plain.outbound(Watching { refuses: Some(2), ..Watching::new(&journal) });
    let mut items = actor.expand(Numbers(u64::MAX, Then::Finish)).await.unwrap();
    for number in 0..2 {
        assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), number);
    }
    let error = rule.soon("the stream ends", items.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(items.next().await.is_none());
    rule.soon("the producer learns it", noted.wait_for("output ConsumerGone")).await;
    assert_eq!(journal.entries(), ["< 0:0", "< 1:1", "< Rejected 2", "Rejected"]);

    let (upload, _) = Upload::new(9);
    let error = rule.soon("the reply", actor.reduce(Sum(Then::Beside), upload)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert_eq!(noted.entries()[1..], ["taken", "input Rejected"]);
    assert_eq!(of(&journal, ">"), ["0:0", "1:1", "Rejected 2"]);
}

async fn ends(rule: RuleContext) {
    let journal = Journal::new();
    let spawn = |actor: Producing| {
        let spawn = rule.system().spawn(move || actor.clone()).inbound(Watching::new(&journal));
        spawn.into_future()
    };
    let actor = spawn(Producing::default()).await.unwrap();
    let ended = |how: &'static str| {
        let (journal, rule) = (journal.clone(), &rule);
        async move {
            rule.soon("the end is seen", journal.wait_for(how)).await;
            assert_eq!(journal.count(how), 1, "{how}");
        }
    };
    for (count, then, how) in [
        (1, Then::Leave, "< Unfinished 1"),
        // The end of the request says that the handler failed.
        (2, Then::Fail, "< Unfinished 2"),
        (3, Then::Panic, "< Unfinished 3"),
    ] {
        let items = actor.expand(Numbers(count, then)).await.unwrap();
        let items: Vec<_> = rule.soon("the stream ends", items.collect()).await;
        assert_eq!(items.len() as u64, count + 1);
        ended(how).await;
    }
    let (upload, _) = Upload::new(5);
    let mut doubled = actor.transform(Double(Then::Beside), upload).await.unwrap();
    for number in 0..5 {
        assert_eq!(rule.soon("an item arrives", doubled.next()).await.unwrap().unwrap(), 2 * number);
    }
    actor.tell(Crash).unwrap();
    ended("> Interrupted 5").await;
    ended("< Interrupted 5").await;
    drop(doubled);
    let (upload, _) = Upload::new(6);
    let mut doubled = actor.transform(Double(Then::Beside), upload).await.unwrap();
    for number in 0..6 {
        assert_eq!(rule.soon("an item arrives", doubled.next()).await.unwrap().unwrap(), 2 * number);
    }
    drop(doubled);
    ended("> Cancelled 6").await;
    ended("< dropped 6").await;
    let sum = actor.reduce(Sum(Then::Leave), stream::iter(0..7));
    rule.soon("the reply", sum).await.unwrap();
    ended("> dropped 1").await;
    let router = spawn(Producing { router_to: Some(actor.clone()), ..Producing::default() }).await.unwrap();
    let items = router.expand(Numbers(8, Then::Finish)).await.unwrap();
    let items: Vec<_> = rule.soon("the stream ends", items.collect()).await;
    assert_eq!(items.len(), 8);
    ended("< passed_on 0").await;
    ended("< finished 8").await;
    let mut items = actor.expand(Numbers(9, Then::Hang)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    actor.kill();
    ended("< Unfinished 9").await;
}

async fn on_reply(rule: RuleContext) {
    let journal = Journal::new();
    let plain = rule.system().spawn(Producing::default).await.unwrap();
    let actor = plain.outbound(Watching::new(&journal));
    let replies = || {
        let entries = journal.entries().into_iter();
        entries.filter(|entry| !entry.starts_with(['<', '>'])).collect::<Vec<_>>()
    };
    let mut items = actor.expand(Numbers(1, Then::Beside)).await.unwrap();
    assert_eq!(rule.soon("an item arrives", items.next()).await.unwrap().unwrap(), 0);
    rule.soon("the handler has returned", actor.ask(Ping)).await.unwrap();
    let pending = tokio::time::timeout(Duration::from_millis(1), items.next()).await;
    assert!(pending.is_err());
    assert_eq!(replies(), ["ok"], "of the ping alone");
    actor.tell(Crash).unwrap();
    let error = rule.soon("the stream ends", items.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert_eq!(replies(), ["ok", "Interrupted"]);
    drop(items);
    let (upload, _) = Upload::new(1);
    let mut doubled = actor.transform(Double(Then::Finish), upload).await.unwrap();
    assert_eq!(rule.soon("an item arrives", doubled.next()).await.unwrap().unwrap(), 0);
    drop(doubled);
    assert_eq!(replies(), ["ok", "Interrupted", "Cancelled"]);
    let ends = ["< Interrupted 1", "< dropped 1", "> dropped 1"].map(|end| journal.count(end));
    assert_eq!(ends, [1, 1, 1], "{:?}", journal.entries());
}
