//! Streams of one actor.

use std::time::Duration;

use dactor::prelude::*;
use dactor::spi::Backend;
use futures_util::stream;

use self::numbers::{Count, Double, Numbers, Sum};
use super::{BATCH, CAPACITY, Case, timed};

#[path = "../../tests/common/numbers.rs"]
mod numbers;

/// The sum of the items.
macro_rules! sum {
    ($items:expr) => {{
        let mut items = $items.buffer(CAPACITY).await.expect("it lives");
        let mut sum = 0;
        while let Some(item) = items.next().await {
            sum += item.expect("an item");
        }
        sum
    }};
}

pub(super) async fn run(backend: impl Backend, case: Case, items: u64, sum: u64) -> Duration {
    let system = System::builder("streams").backend(backend).build().expect("a valid name");
    let numbers = system.spawn(Numbers).await.expect("an actor");
    let elapsed = match case {
        Case::Expand => timed(async move { sum!(numbers.expand(Count(items))) }, sum).await,
        Case::ExpandBatch => timed(async move { sum!(numbers.expand(Count(items)).batch(BATCH)) }, sum).await,
        Case::Reduce => {
            let reduce = async move {
                numbers.reduce(Sum, stream::iter(0..items)).buffer(CAPACITY).await.expect("it lives")
            };
            timed(reduce, sum).await
        }
        Case::Transform => {
            timed(async move { sum!(numbers.transform(Double, stream::iter(0..items))) }, 2 * sum).await
        }
        Case::TransformBatch => {
            let transform =
                async move { sum!(numbers.transform(Double, stream::iter(0..items)).batch(BATCH)) };
            timed(transform, 2 * sum).await
        }
        Case::Tell => unreachable!("it is for the native crates"),
    };
    system.shutdown().await.expect("it stops");
    elapsed
}
