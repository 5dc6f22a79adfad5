//! The bytes of frames.

mod frames;
mod golden;
