//! A connection: what lies in the stream, what is written, what is read.

pub(crate) mod framing;
pub(crate) mod inbound;
pub(crate) mod lanes;
pub(crate) mod outbox;
pub(crate) mod reader;
pub(crate) mod writer;
