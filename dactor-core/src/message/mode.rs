/// How a message was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// By `tell`, `try_tell` or `send`: no caller waits for the handler.
    Tell,
    /// By `ask`.
    Ask,
    /// By `expand`: the caller gets a stream of items.
    Expand,
    /// By `reduce`: the caller sends a stream of items and waits for one reply.
    Reduce,
    /// By `transform`: the caller sends a stream of items and gets another one.
    Transform,
}

impl Mode {
    /// Whether a caller waits for a reply or for items: all modes but [`Tell`](Self::Tell).
    pub fn has_caller(self) -> bool {
        self != Self::Tell
    }

    /// Whether items come with it or are its answer: `Expand`, `Reduce` and `Transform`.
    pub const fn is_stream(self) -> bool {
        matches!(self, Self::Expand | Self::Reduce | Self::Transform)
    }

    /// The name for metrics and traces: `tell`, `ask`, `expand`, `reduce` or `transform`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tell => "tell",
            Self::Ask => "ask",
            Self::Expand => "expand",
            Self::Reduce => "reduce",
            Self::Transform => "transform",
        }
    }
}
