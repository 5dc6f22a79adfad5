use std::future::Future;

use crate::{Actor, Context, Expand, Input, Outcome, Producer, Reduce, Transform};

/// Answers a request with a stream of items.
///
/// ```
/// use dactor_core::{Actor, Context, Expand, ExpandHandler, Outcome, Producer};
///
/// struct Log { lines: Vec<String> }
/// impl Actor for Log {}
///
/// struct Tail { from: usize }
/// impl Expand for Tail {
///     type Item = String;
/// }
///
/// impl ExpandHandler<Tail> for Log {
///     async fn expand(&mut self, tail: Tail, mut out: Producer<String>, _: &mut Context<Self>) -> Outcome<()> {
///         for line in &self.lines[tail.from..] {
///             out.send(line.clone()).await?;
///         }
///         Ok(out.finish().await?)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the actor `{Self}` does not answer `{M}` with a stream",
    label = "no `ExpandHandler<{M}>` for `{Self}`",
    note = "write `impl ExpandHandler<{M}> for {Self} {{ async fn expand(&mut self, message: {M}, out: Producer<..>, ctx: &mut Context<Self>) -> Outcome<()> {{ .. }} }}`"
)]
pub trait ExpandHandler<M: Expand>: Actor {
    /// Sends the items, or hands the producer to a task that does.
    ///
    /// An error or a panic ends the stream with an error, unless the producer has already finished it.
    /// Returning the error of a send to a consumer that is gone is not a failure of the actor.
    fn expand(
        &mut self,
        message: M,
        out: Producer<M::Item>,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send;
}

/// Answers a request that comes with a stream of items.
///
/// ```
/// use dactor_core::{Actor, Context, Input, Outcome, Reduce, ReduceHandler};
///
/// struct Sums;
/// impl Actor for Sums {}
///
/// struct Sum;
/// impl Reduce for Sum {
///     type Item = u64;
///     type Reply = u64;
/// }
///
/// impl ReduceHandler<Sum> for Sums {
///     async fn reduce(&mut self, _: Sum, mut numbers: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
///         let mut sum = 0;
///         while let Some(number) = numbers.next().await {
///             sum += number?;
///         }
///         Ok(sum)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the actor `{Self}` does not reduce `{M}`",
    label = "no `ReduceHandler<{M}>` for `{Self}`",
    note = "write `impl ReduceHandler<{M}> for {Self} {{ async fn reduce(&mut self, message: {M}, input: Input<..>, ctx: &mut Context<Self>) -> Outcome<..> {{ .. }} }}`"
)]
pub trait ReduceHandler<M: Reduce>: Actor {
    /// Takes the items and replies. It may reply before the last item, or [later](Context::reply_later).
    fn reduce(
        &mut self,
        message: M,
        input: Input<M::Item>,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<M::Reply>> + Send;
}

/// Answers a stream of items with a stream of items.
///
/// ```
/// use dactor_core::{Actor, Context, Input, Outcome, Producer, Transform, TransformHandler};
///
/// struct Codec;
/// impl Actor for Codec {}
///
/// struct Double;
/// impl Transform for Double {
///     type Input = u64;
///     type Output = u64;
/// }
///
/// impl TransformHandler<Double> for Codec {
///     async fn transform(
///         &mut self,
///         _: Double,
///         mut numbers: Input<u64>,
///         mut out: Producer<u64>,
///         _: &mut Context<Self>,
///     ) -> Outcome<()> {
///         // In a task: the actor is free for its next message.
///         tokio::spawn(async move {
///             while let Some(Ok(number)) = numbers.next().await {
///                 if out.send(number * 2).await.is_err() {
///                     return;
///                 }
///             }
///             let _ = out.finish().await;
///         });
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the actor `{Self}` does not transform `{M}`",
    label = "no `TransformHandler<{M}>` for `{Self}`",
    note = "write `impl TransformHandler<{M}> for {Self} {{ async fn transform(&mut self, message: {M}, input: Input<..>, out: Producer<..>, ctx: &mut Context<Self>) -> Outcome<()> {{ .. }} }}`"
)]
pub trait TransformHandler<M: Transform>: Actor {
    /// Takes items and sends items, or hands input and producer to a task that does.
    fn transform(
        &mut self,
        message: M,
        input: Input<M::Input>,
        out: Producer<M::Output>,
        ctx: &mut Context<Self>,
    ) -> impl Future<Output = Outcome<()>> + Send;
}
