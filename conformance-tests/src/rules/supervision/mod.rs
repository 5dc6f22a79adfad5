//! Supervision strategies.

pub(super) mod backoff;
pub(super) mod budget;
pub(super) mod decision;
pub(super) mod escalation;
pub(super) mod group;
pub(super) mod native;
pub(super) mod strategy;

use std::error::Error as _;

use dactor_core::{Directive, Error, Supervision};

const DIRECTIVES: [Directive; 4] =
    [Directive::Resume, Directive::Restart, Directive::Stop, Directive::Escalate];

/// A strategy, and whether it covers `a`, `b` and `c` when `b` fails.
type Strategy = (fn() -> Supervision, [bool; 3]);

const ONE: Strategy = (Supervision::one_for_one, [false, true, false]);
const ALL: Strategy = (Supervision::all_for_one, [true, true, true]);
const REST: Strategy = (Supervision::rest_for_one, [false, true, true]);

fn source(error: &Error) -> &Error {
    error.source().and_then(|source| source.downcast_ref()).unwrap_or_else(|| panic!("no source: {error}"))
}
