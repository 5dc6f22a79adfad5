//! The actors that a program spawns.

use dactor_core::{Directive, Overflow};
use serde::{Deserialize, Serialize};

use super::{Step, is_default};

/// A spawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// The number that identifies the actor; its name is `a` and the number.
    pub slot: usize,
    /// Whether it is spawned from a factory and can be restarted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub factory: bool,
    /// Whether it is a service under `/system`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub service: bool,
    /// When a client drops the future of the spawn, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop_after: Option<u64>,
    /// Whether its native handle is taken.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exposed: bool,
    /// The capacity and overflow policy of the mailbox.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounded: Option<(usize, OverflowPolicy)>,
    /// The load-shedding length.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shed: Option<usize>,
    /// The capacity of the stash.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stash: Option<usize>,
    /// The supervision strategy and its directive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub supervision: Option<(StrategySpec, DirectiveSpec)>,
    /// The directive of `on_error`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error: DirectiveSpec,
    /// Whether `on_error` panics before it returns a future.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error_panics: bool,
    /// `on_start`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: Hook,
    /// `on_restart`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restart: Hook,
    /// `on_stop`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop: Hook,
    /// An inbound interceptor that sees every message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inbound: Option<InterceptSpec>,
}

/// The verdict of an interceptor; an inbound one applies it to every third message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterceptSpec {
    /// Accepts the message.
    Continue,
    /// Delays the message, in milliseconds.
    Delay(u64),
    /// Drops the message.
    Drop,
    /// Rejects the message.
    Reject,
    /// Panics.
    Panic,
}

/// A hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// The steps.
    #[serde(default, rename = "do", skip_serializing_if = "is_default")]
    pub steps: Vec<Step>,
    /// How the hook ends after the steps.
    #[serde(default, rename = "then", skip_serializing_if = "is_default")]
    pub finish: HookEnd,
}

/// How a hook ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// Succeeds.
    #[default]
    Done,
    /// Returns an error.
    Fail,
    /// Panics.
    Panic,
    /// Panics before it returns a future.
    PanicEarly,
}

/// An [`Overflow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverflowPolicy {
    /// `Overflow::Reject`.
    Reject,
    /// `Overflow::Block`.
    Block,
    /// `Overflow::DropNewest`.
    DropNewest,
    /// `Overflow::DropOldest`.
    DropOldest,
}

impl OverflowPolicy {
    pub(crate) fn overflow(self) -> Overflow {
        match self {
            Self::Reject => Overflow::Reject,
            Self::Block => Overflow::Block,
            Self::DropNewest => Overflow::DropNewest,
            Self::DropOldest => Overflow::DropOldest,
        }
    }
}

/// A supervision strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StrategySpec {
    /// One for one.
    One,
    /// All for one.
    All,
    /// Rest for one.
    Rest,
}

/// A [`Directive`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectiveSpec {
    /// `Directive::Resume`.
    #[default]
    Resume,
    /// `Directive::Restart`.
    Restart,
    /// `Directive::Stop`.
    Stop,
    /// `Directive::Escalate`.
    Escalate,
}

impl DirectiveSpec {
    pub(crate) fn directive(self) -> Directive {
        match self {
            Self::Resume => Directive::Resume,
            Self::Restart => Directive::Restart,
            Self::Stop => Directive::Stop,
            Self::Escalate => Directive::Escalate,
        }
    }
}
