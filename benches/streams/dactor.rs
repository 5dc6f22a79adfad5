//! Streams of one actor.

use std::time::Duration;

use dactor::prelude::*;
use dactor::spi::Backend;
use dactor::{Expand, ExpandHandler, Input, Producer, Reduce, ReduceHandler, Transform, TransformHandler};
use futures_util::stream;

use super::{BATCH, CAPACITY, Case, timed};

struct Numbers;
impl Actor for Numbers {}

#[derive(Expand)]
#[message(item = u64)]
struct Count(u64);

impl ExpandHandler<Count> for Numbers {
    async fn expand(
        &mut self,
        Count(items): Count,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        for item in 0..items {
            out.send(item).await?;
        }
        Ok(out.finish().await?)
    }
}

#[derive(Reduce)]
#[message(item = u64, reply = u64)]
struct Sum;

impl ReduceHandler<Sum> for Numbers {
    async fn reduce(&mut self, Sum: Sum, mut input: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
        let mut sum = 0;
        while let Some(item) = input.next().await {
            sum += item?;
        }
        Ok(sum)
    }
}

#[derive(Transform)]
#[message(input = u64, output = u64)]
struct Double;

impl TransformHandler<Double> for Numbers {
    async fn transform(
        &mut self,
        Double: Double,
        mut input: Input<u64>,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        while let Some(item) = input.next().await {
            out.send(item? * 2).await?;
        }
        Ok(out.finish().await?)
    }
}

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
