//! A connection: packet framing, the send queue, and the reader and writer tasks.

pub(crate) mod framing;
pub(crate) mod inbound;
pub(crate) mod lanes;
pub(crate) mod outbox;
pub(crate) mod reader;
pub(crate) mod writer;
