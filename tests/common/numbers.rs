//! An actor that streams numbers, for tests and benchmarks.

use dactor::{
    Actor, Context, Expand, ExpandHandler, Input, Outcome, Producer, Reduce, ReduceHandler, Transform,
    TransformHandler,
};

pub(crate) struct Numbers;
impl Actor for Numbers {}

/// The numbers below this one.
#[derive(Expand)]
#[message(item = u64)]
pub(crate) struct Count(pub(crate) u64);

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

/// The sum of the items.
#[derive(Reduce)]
#[message(item = u64, reply = u64)]
pub(crate) struct Sum;

impl ReduceHandler<Sum> for Numbers {
    async fn reduce(&mut self, Sum: Sum, mut input: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
        let mut sum = 0;
        while let Some(item) = input.next().await {
            sum += item?;
        }
        Ok(sum)
    }
}

/// Twice each item.
#[derive(Transform)]
#[message(input = u64, output = u64)]
pub(crate) struct Double;

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
