//! Native control and observation of an actor.

pub(super) mod control;
pub(super) mod observation;
