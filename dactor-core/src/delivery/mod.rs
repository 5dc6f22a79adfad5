//! Delivery: a message on its way through its handler, and the reply on its way back.

pub(crate) mod access;
pub(crate) mod ask_state;
pub(crate) mod channel;
pub(crate) mod completion;
pub(crate) mod current_message;
pub(crate) mod envelope;
pub(crate) mod far;
pub(crate) mod far_codec;
pub(crate) mod far_items;
pub(crate) mod gate;
pub(crate) mod handler;
pub(crate) mod incoming;
pub(crate) mod intercepted;
pub(crate) mod obligation;
pub(crate) mod sent_to;
