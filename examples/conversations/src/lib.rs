//! A conversation server: epochs, members, messages and unread counts, with one virtual actor per conversation.
//!
//! Each conversation is on one of two paths: on an actor, or on the read-modify-write code that actors replace
//! ([`naive`]). Both use the same tables, so that they can be compared, and conversations can be moved step by step.

pub mod app;
pub mod conversation;
pub mod database;
pub mod http;
pub mod load;
pub mod migrations;
pub mod model;
pub mod naive;
pub mod serve;
pub mod service;
pub mod statements;
pub mod sweeper;

/// Any error, for the command line.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;
