use std::fmt;
use std::panic::Location;
use std::pin::Pin;

use super::EngineContext;

/// A property that every engine must have, with its test.
#[derive(Clone, Copy)]
pub struct EngineRule {
    /// The stable id: `ENGINE-03`.
    pub id: &'static str,
    /// The text of the rule.
    pub text: &'static str,
    /// The reason for the rule.
    pub intent: &'static str,
    /// The [broken engines](super::broken) that the rule catches.
    pub catches: &'static [&'static str],
    /// The test; it panics if the engine does not conform.
    pub run: RuleTest,
    /// The location of the declaration.
    pub at: &'static Location<'static>,
}

/// The test of a rule.
pub type RuleTest = fn(EngineContext) -> Pin<Box<dyn Future<Output = ()>>>;

impl EngineRule {
    #[track_caller]
    pub(crate) const fn must(
        id: &'static str,
        text: &'static str,
        intent: &'static str,
        catches: &'static [&'static str],
        run: RuleTest,
    ) -> Self {
        Self { id, text, intent, catches, run, at: Location::caller() }
    }
}

impl fmt::Debug for EngineRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineRule").field("id", &self.id).field("text", &self.text).finish_non_exhaustive()
    }
}
