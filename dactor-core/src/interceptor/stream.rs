use std::any::Any;
use std::fmt;
use std::ops::Deref;

use crate::Error;
use crate::interceptor::api::About;

/// Which way the items of a stream go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the caller to the actor: the input of `reduce` and `transform`.
    ToActor,
    /// From the actor to the caller: the output of `expand` and `transform`.
    FromActor,
}

impl Direction {
    /// Its name, for metrics and traces: `to_actor` or `from_actor`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToActor => "to_actor",
            Self::FromActor => "from_actor",
        }
    }
}

/// What an interceptor decides about an item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemVerdict {
    /// Let it pass.
    Continue,
    /// End the stream here, as [`Rejected`](crate::ErrorKind::Rejected) for this reason. An item is never left out of a
    /// stream that goes on: the consumer could not tell that it is missing.
    Reject(String),
}

/// An item on its way through a stream.
///
/// It dereferences to the [description](About) of the request: its actor, its type, its [`Mode`](crate::Mode) and its
/// headers.
pub struct StreamItem<'a> {
    pub(crate) about: About<'a>,
    pub(crate) direction: Direction,
    pub(crate) index: u64,
    pub(crate) item: &'a (dyn Any + Send),
}

impl<'a> StreamItem<'a> {
    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How many items of this stream came before it.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The item itself, if it is a `T`.
    pub fn item<T: 'static>(&self) -> Option<&'a T> {
        self.item.downcast_ref()
    }
}

impl<'a> Deref for StreamItem<'a> {
    type Target = About<'a>;

    fn deref(&self) -> &About<'a> {
        &self.about
    }
}

impl fmt::Debug for StreamItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamItem")
            .field("about", &self.about)
            .field("direction", &self.direction)
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// How a stream ended, on the side of the interceptor.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum StreamOutcome<'a> {
    /// It is whole.
    Finished,
    /// It ended with this error. A producer that was dropped without `finish` ends it with
    /// [`Unfinished`](crate::ErrorKind::Unfinished); if the handler failed, the end of the request says why.
    Failed(&'a Error),
    /// Its consumer was dropped, or wanted no more items, before the end.
    Dropped,
    /// The handler forwarded or stashed the request with its stream.
    PassedOn,
}

impl StreamOutcome<'_> {
    /// Its name, for metrics and traces: `finished`, `failed`, `dropped` or `passed_on`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed(_) => "failed",
            Self::Dropped => "dropped",
            Self::PassedOn => "passed_on",
        }
    }
}

/// The end of a stream. It dereferences to the [description](About) of the request.
#[derive(Debug)]
pub struct StreamEnd<'a> {
    pub(crate) about: About<'a>,
    pub(crate) direction: Direction,
    pub(crate) items: u64,
    pub(crate) outcome: StreamOutcome<'a>,
}

impl<'a> StreamEnd<'a> {
    /// Which way its items went.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// How many items passed the interceptors on this side.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// How it ended.
    pub fn outcome(&self) -> StreamOutcome<'a> {
        self.outcome
    }

    /// The error that it ended with, if it did.
    pub fn error(&self) -> Option<&'a Error> {
        match self.outcome {
            StreamOutcome::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl<'a> Deref for StreamEnd<'a> {
    type Target = About<'a>;

    fn deref(&self) -> &About<'a> {
        &self.about
    }
}
