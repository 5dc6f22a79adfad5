use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// Correlates a reply with its request. Unique among the requests of one node, not across nodes.
///
/// ```
/// use dactor_core::CorrelationId;
///
/// let id: CorrelationId = "42".parse().unwrap();
/// assert_eq!(id, CorrelationId::new(42));
/// assert_eq!(id.to_string(), "42");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CorrelationId(u64);

impl CorrelationId {
    /// The identity with this number.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The id as a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for CorrelationId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for CorrelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
