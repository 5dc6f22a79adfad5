use std::time::Duration;

use tokio::time::Instant;

use super::{Header, invalid};
use crate::Result;

/// The deadline of a reply. Encoded as the remaining time in milliseconds, because clocks of different
/// machines differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(pub Instant);

impl Deadline {
    /// A deadline this far from now, capped at a century.
    pub fn after(duration: Duration) -> Self {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        Self(Instant::now() + duration.min(CENTURY))
    }

    /// The remaining time; zero when it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    pub fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }
}

impl Header for Deadline {
    const NAME: &'static str = "deadline";

    fn encode(&self) -> Option<String> {
        Some(self.remaining().as_millis().to_string())
    }

    fn decode(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(left) => Ok(Self::after(Duration::from_millis(left))),
            Err(error) => Err(invalid(Self::NAME, "it is no number of milliseconds").because(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_over_when_nothing_is_left() {
        let deadline = Deadline::after(Duration::from_secs(2));
        assert_eq!((deadline.remaining(), deadline.is_over()), (Duration::from_secs(2), false));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!((deadline.remaining(), deadline.is_over()), (Duration::from_millis(1500), false));
        assert_eq!(deadline.encode().unwrap(), "1500");
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!((deadline.remaining(), deadline.is_over()), (Duration::ZERO, true));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((deadline.remaining(), deadline.is_over()), (Duration::ZERO, true));
    }

    #[tokio::test(start_paused = true)]
    async fn more_than_a_century_is_a_century() {
        let century = Deadline::after(Duration::MAX).remaining();
        assert_eq!(century, Duration::from_secs(3_153_600_000));
    }
}
