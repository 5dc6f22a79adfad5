//! Requests that make one stream of items of another.

use dactor_core::ErrorKind;
use futures_util::{StreamExt, stream};

use crate::fixtures::producing::{Double, Producing};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "TRANSFORM-01",
    Topic::Streams,
    &[(Topic::Streams, State::Handling)],
    "A `transform` request streams items in both directions at once, in order and through buffers of any size; an input stream that panics ends the output with one error.",
    "A codec works on a stream that fits into no memory.",
    body!(both_ways),
)];

async fn both_ways(rule: RuleContext) {
    let actor = rule.system().spawn(Producing::default()).await.unwrap();
    for buffer in [1, 3, 1000] {
        let doubled = actor.transform(Double, stream::iter(0..100)).buffer(buffer).await.unwrap();
        let doubled: Vec<_> = rule.soon("the stream ends", doubled.map(Result::unwrap).collect()).await;
        assert!(doubled.into_iter().eq((0..100).map(|number| number * 2)), "buffer {buffer}");
    }
    let numbers = stream::iter(0..10).inspect(|number| assert!(*number < 5, "the input"));
    let doubled = actor.transform(Double, numbers).await.unwrap();
    let doubled: Vec<_> = rule.soon("the stream ends", doubled.collect()).await;
    let (last, items) = doubled.split_last().unwrap();
    assert_eq!(items.len(), 5);
    assert_eq!(last.as_ref().unwrap_err().kind(), ErrorKind::Failed);
}
