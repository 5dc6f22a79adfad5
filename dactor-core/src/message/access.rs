/// How a message shares its actor with other messages while it is handled, and so which handler trait it goes to:
/// [`Exclusive`](crate::Exclusive), [`Shared`](crate::Shared), [`Interleaved`](crate::Interleaved) or, for stream
/// requests, [`Streaming`](crate::Streaming). The derive writes it.
pub trait Access: 'static {
    /// The message runs beside other reads of its actor.
    const READS: bool = false;

    /// It also joins reads that a waiting message holds up others behind.
    const INTERLEAVES: bool = false;
}
