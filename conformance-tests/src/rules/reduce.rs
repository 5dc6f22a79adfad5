//! Requests that come with a stream of items.

use dactor_core::ErrorKind;
use futures_util::{StreamExt, stream};

use crate::fixtures::producing::{Ping, Producing, Sum};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "REDUCE-01",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Later, State::Handling)],
        "A `reduce` request gives the handler all items in order and the caller one reply, which may come after the handler.",
        "An upload need not fit into one message, nor occupy the actor.",
        body!(one_reply),
    ),
    Rule::must(
        "REDUCE-02",
        Topic::Streams,
        &[(Topic::Streams, State::Handling), (Topic::Cancel, State::Handling)],
        "An input stream that panics is an error for the handler and for the caller. A caller that gives up ends the input with `Cancelled`, and the actor goes on.",
        "The handler can tell an incomplete input from a complete one.",
        body!(broken_input),
    ),
];

async fn one_reply(rule: RuleContext) {
    let actor = rule.system().spawn(Producing::default()).await.unwrap();
    for (count, buffer) in [(0, 1), (1, 1), (100, 1), (100, 7), (100, 1000)] {
        let sum = actor.reduce(Sum, stream::iter(0..count)).buffer(buffer);
        assert_eq!(
            rule.soon("the reply arrives", sum).await.unwrap(),
            (0..count).sum::<u64>(),
            "buffer {buffer}"
        );
    }
}

async fn broken_input(rule: RuleContext) {
    let actor = rule.system().spawn(Producing::default()).await.unwrap();
    let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "the input"));
    let error = rule.soon("the reply arrives", actor.reduce(Sum, numbers)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(format!("{error:#}").contains("input stream"), "{error:#}");
    let mut given_up = actor.reduce(Sum, stream::iter(0..3).chain(stream::pending())).into_future();
    assert!(futures_util::poll!(&mut given_up).is_pending());
    drop(given_up);
    rule.soon("the actor goes on", actor.ask(Ping)).await.unwrap();
}
