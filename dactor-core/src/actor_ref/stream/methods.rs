//! Stream requests on [`ActorRef`] and [`Recipient`].

use futures_util::Stream;

use crate::{
    Actor, ActorRef, Expand, ExpandRequest, Expanding, Recipient, Reduce, ReduceRequest, Reducing, SentTo,
    Transform, TransformRequest, Transforming,
};

/// Streams.
impl<A: Actor> ActorRef<A> {
    /// Requests a stream of items: 1 → n. Awaiting it returns the [`Items`](crate::Items) as soon as the
    /// request is sent.
    ///
    /// The buffer between actor and caller is [bounded](Expanding::buffer): backpressure from a slow consumer
    /// affects only its own stream. An incomplete stream ends with an error.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Expand, ExpandRequest, Result, SentTo};
    /// # struct Tail { from: usize }
    /// # impl Expand for Tail { type Item = String; }
    /// # async fn follow<Log: Actor>(log: ActorRef<Log>) -> Result<()> where ExpandRequest<Tail>: SentTo<Log> {
    /// let mut lines = log.expand(Tail { from: 0 }).buffer(64).await?;
    /// while let Some(line) = lines.next().await {
    ///     println!("{}", line?);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn expand<M: Expand>(&self, message: M) -> Expanding<'_, M>
    where
        ExpandRequest<M>: SentTo<A>,
    {
        Expanding::new(self, message)
    }

    /// Sends a stream of items and returns a single reply: n → 1. The stream is polled in the caller's task
    /// while the reply is awaited, and only as fast as the actor takes the items.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Reduce, ReduceRequest, Result, SentTo};
    /// # struct Sum;
    /// # impl Reduce for Sum { type Item = u64; type Reply = u64; }
    /// # async fn sum<Sums: Actor>(sums: ActorRef<Sums>) -> Result<()> where ReduceRequest<Sum>: SentTo<Sums> {
    /// let total = sums.reduce(Sum, futures_util::stream::iter([1, 2, 3])).await?;
    /// # Ok(()) }
    /// ```
    pub fn reduce<'a, M: Reduce, S>(&'a self, message: M, items: S) -> Reducing<'a, M, S>
    where
        S: Stream<Item = M::Item> + Send + 'a,
        ReduceRequest<M>: SentTo<A>,
    {
        Reducing::new(self, message, items)
    }

    /// Sends a stream of items and returns a stream of results: n → n. Polling the result also polls the
    /// stream that is sent.
    ///
    /// ```
    /// # use dactor_core::{Actor, ActorRef, Transform, TransformRequest, Result, SentTo};
    /// # struct Double;
    /// # impl Transform for Double { type Input = u64; type Output = u64; }
    /// # async fn double<Codec: Actor>(codec: ActorRef<Codec>) -> Result<()> where TransformRequest<Double>: SentTo<Codec> {
    /// let mut doubled = codec.transform(Double, futures_util::stream::iter([1, 2, 3])).await?;
    /// while let Some(number) = doubled.next().await {
    ///     println!("{}", number?);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn transform<'a, M: Transform, S>(&'a self, message: M, items: S) -> Transforming<'a, M, S>
    where
        S: Stream<Item = M::Input> + Send + 'a,
        TransformRequest<M>: SentTo<A>,
    {
        Transforming::new(self, message, items)
    }
}

impl<M: Expand> Recipient<ExpandRequest<M>> {
    /// See [`ActorRef::expand`].
    pub fn expand(&self, message: M) -> Expanding<'_, M> {
        Expanding::new(&*self.target, message)
    }
}

impl<M: Reduce> Recipient<ReduceRequest<M>> {
    /// See [`ActorRef::reduce`].
    pub fn reduce<'a, S>(&'a self, message: M, items: S) -> Reducing<'a, M, S>
    where
        S: Stream<Item = M::Item> + Send + 'a,
    {
        Reducing::new(&*self.target, message, items)
    }
}

impl<M: Transform> Recipient<TransformRequest<M>> {
    /// See [`ActorRef::transform`].
    pub fn transform<'a, S>(&'a self, message: M, items: S) -> Transforming<'a, M, S>
    where
        S: Stream<Item = M::Input> + Send + 'a,
    {
        Transforming::new(&*self.target, message, items)
    }
}
