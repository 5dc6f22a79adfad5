//! Streams of items to and from another system.

use dactor_core::ErrorKind;
use futures_util::stream;

use crate::fixtures::far::{Double, Echo, Numbers, Pair, Sum, collected};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAR-16",
        Topic::Streams,
        &[(Topic::Streams, State::Idle), (Topic::Streams, State::Handling)],
        "Streams of items from, to and through an actor of another system are whole and in order, also beyond the buffers; a stream that fails there ends with its error here.",
        "A long answer is a stream, also from afar.",
        body!(streams),
    ),
    Rule::must(
        "FAR-17",
        Topic::Streams,
        &[(Topic::Streams, State::Handling)],
        "A consumer that leaves a stream from another system stops its producer there; a producer is never more than the buffers ahead; a link that is cut ends the stream with `Disconnected`.",
        "A stream must not fill the memory of either side, and must not end quietly when it is not whole.",
        body!(flow),
    ),
];

async fn streams(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    for count in [0, 1, 500] {
        let items =
            rule.soon("the stream", a.far.expand(Numbers { below: count, fail: false })).await.unwrap();
        let items = rule.soon("the stream ends", collected(items)).await.unwrap();
        assert!(items.into_iter().eq(0..count), "{count}");
        let sum = rule.soon("the reply", a.far.reduce(Sum, stream::iter(0..count))).await.unwrap();
        assert_eq!(sum, (0..count).sum::<u64>(), "{count}");
        let doubled = rule.soon("the stream", a.far.transform(Double, stream::iter(0..count))).await.unwrap();
        let doubled = rule.soon("the stream ends", collected(doubled)).await.unwrap();
        assert!(doubled.into_iter().eq((0..count).map(|number| 2 * number)), "{count}");
    }
    let items = rule.soon("the stream", a.far.expand(Numbers { below: 10, fail: true })).await.unwrap();
    let error = rule.soon("the stream ends", collected(items)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(format!("{error:#}").contains("no more"), "{error:#}");
    assert_eq!(rule.soon("the reply", a.far.ask(Echo(1))).await.unwrap(), 2);
}

async fn flow(rule: RuleContext) {
    let pair = Pair::new(&rule).await;
    let a = pair.spawn("a").await;
    let endless = || Numbers { below: u64::MAX, fail: false };
    let mut items = rule.soon("the stream", a.far.expand(endless())).await.unwrap();
    assert_eq!(rule.soon("an item", items.next()).await.unwrap().unwrap(), 0);
    // The producer waits for room: frames stop coming.
    let mut frames = pair.link.frames();
    rule.soon("the producer waits", async {
        loop {
            rule.let_idle().await;
            let now = pair.link.frames();
            if now == frames {
                return;
            }
            frames = now;
        }
    })
    .await;
    assert!(frames < 500, "{frames} frames for a consumer that took one item");
    drop(items);
    rule.soon("the producer learns it", until(|| a.journal.count("consumer gone") == 1)).await;

    let mut items = rule.soon("the stream", a.far.expand(endless())).await.unwrap();
    assert_eq!(rule.soon("an item", items.next()).await.unwrap().unwrap(), 0);
    pair.link.cut();
    let error = rule.soon("the stream ends", async {
        loop {
            match items.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error,
                None => panic!("a stream that is not whole ended quietly"),
            }
        }
    });
    assert_eq!(error.await.kind(), ErrorKind::Disconnected);
    rule.soon("the producer learns it", until(|| a.journal.count("consumer gone") == 2)).await;
}
