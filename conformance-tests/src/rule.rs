use std::fmt;
use std::panic::Location;

use crate::{RuleContext, Task};

/// A property that every adapter must have, with its test.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The stable id: `MSG-03`.
    pub id: &'static str,
    /// The requirement level.
    pub level: Level,
    /// The topic.
    pub topic: Topic,
    /// The cells of the coverage table that the rule covers.
    pub covers: &'static [(Topic, State)],
    /// Whether an adapter can violate the rule, with the mutants that do.
    pub tag: Tag,
    /// The native capability that the rule needs.
    pub needs: Option<Capability>,
    /// The runtimes that the rule runs on.
    pub runtime: RuntimeMode,
    /// The text of the rule.
    pub text: &'static str,
    /// The reason for the rule.
    pub intent: &'static str,
    /// The test; it panics if the adapter does not conform.
    pub run: Body,
    /// The location of the declaration.
    pub at: &'static Location<'static>,
}

/// The test of a rule.
pub type Body = fn(RuleContext) -> Task<'static, ()>;

impl Rule {
    #[track_caller]
    pub(crate) const fn must(
        id: &'static str,
        topic: Topic,
        covers: &'static [(Topic, State)],
        text: &'static str,
        intent: &'static str,
        run: Body,
    ) -> Self {
        let (level, tag, needs, runtime) = (Level::Must, Tag::Core, None, RuntimeMode::Any);
        let at = Location::caller();
        Self { id, level, topic, covers, tag, needs, runtime, text, intent, run, at }
    }

    pub(crate) const fn should(mut self) -> Self {
        self.level = Level::Should;
        self
    }

    /// An adapter can violate the rule, and these mutants do.
    pub(crate) const fn spi(mut self, mutants: &'static [&'static str]) -> Self {
        self.tag = Tag::Spi(mutants);
        self
    }

    pub(crate) const fn needs(mut self, capability: Capability) -> Self {
        self.needs = Some(capability);
        self
    }

    pub(crate) const fn runtime(mut self, runtime: RuntimeMode) -> Self {
        self.runtime = runtime;
        self
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).field("text", &self.text).finish_non_exhaustive()
    }
}

/// The requirement level of a rule, as in RFC 2119.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// An absolute requirement.
    Must,
    /// A recommendation; deviating needs a good reason.
    Should,
    /// Optional.
    May,
}

impl Level {
    /// The level as in the specification.
    pub fn text(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
        }
    }
}

/// Which code can violate a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// An adapter: these [mutants](crate::mutants) violate it, and the kit's own tests show that the rule fails on
    /// them.
    Spi(&'static [&'static str]),
    /// Only the core, as mutation testing of the core proves.
    Core,
}

impl Tag {
    /// The tag as in the specification.
    pub fn text(self) -> &'static str {
        match self {
            Self::Spi(_) => "spi",
            Self::Core => "core",
        }
    }
}

/// The runtimes that a rule runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeMode {
    /// The current-thread and the multi-thread runtime.
    Any,
    /// The current-thread runtime only.
    CurrentThread,
    /// The multi-thread runtime only.
    MultiThread,
    /// A current-thread runtime with a driven clock.
    DrivenClock,
}

/// A capability that a native runtime may lack. A rule that needs it is then ignored, with the adapter's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// An actor can be stopped natively.
    NativeStop,
    /// A native stop leaves queued messages unhandled.
    NativeStopNow,
    /// An actor can be drained natively.
    NativeDrain,
    /// An actor can be killed natively.
    NativeKill,
    /// Native code can observe how an actor ended.
    NativeExit,
    /// Native actors can be linked, so that the end of one affects the other.
    NativePeer,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All values, in the order of the coverage table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the specification.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

words! {
    /// The topic of a rule: a row of the coverage table.
    Topic {
        /// `tell`, `try_tell` and `send`.
        Tell = "Tell",
        /// `ask` in all its forms.
        Ask = "Ask",
        /// The order in which messages are handled and refused.
        Order = "Send order",
        /// `stop`.
        Stop = "Stop",
        /// `drain`.
        Drain = "Drain",
        /// `kill`.
        Kill = "Kill",
        /// `wait`, `wait_all` and the number of live actors.
        Wait = "Wait",
        /// Names and lookup.
        Name = "Name, lookup",
        /// Actor paths and selections.
        Paths = "Paths and selections",
        /// Bounded mailboxes, and senders waiting for room.
        Bound = "Bounded mailbox",
        /// The lanes of a mailbox.
        Priority = "Priority",
        /// Load shedding.
        Shed = "Load shedding",
        /// Interceptors of the receiving actor.
        Inbound = "Inbound interceptors",
        /// Interceptors of the sender.
        Outbound = "Outbound interceptors",
        /// Headers of messages and replies.
        Headers = "Headers",
        /// Cancelled asks and deadlines.
        Cancel = "Cancel, deadline",
        /// Deferred and forwarded replies, pipes.
        Later = "Deferred reply",
        /// `Err` from a handler or hook.
        Failure = "Failure (Err)",
        /// Panics and restarts.
        Panic = "Panic, restart",
        /// Parents and children.
        Tree = "Children",
        /// Supervision strategies.
        Supervision = "Supervision",
        /// Death watch.
        Watch = "Watch",
        /// Timers and idle timeouts.
        Timers = "Timers",
        /// Stash and attached streams.
        Inflow = "Stash and streams",
        /// Requests with a stream of items as their answer or content.
        Streams = "Streams of items",
        /// Messages that only read, and run beside each other.
        Reads = "Concurrent reads",
        /// `System::shutdown`.
        Shutdown = "Shutdown",
        /// Native control and observation of an actor.
        Native = "Native end",
    }
}

words! {
    /// The state of the actor: a column of the coverage table.
    State {
        /// In `on_start`.
        Starting = "starting",
        /// Idle.
        Idle = "idle",
        /// In a handler.
        Handling = "handling",
        /// In `on_stop`.
        Stopping = "stopping",
        /// Ended in any way.
        Dead = "dead",
        /// Ended by `stop`.
        Stopped = "by stop",
        /// Ended by `drain`.
        Drained = "by drain",
        /// Ended by `kill`.
        Killed = "by kill",
        /// Ended by a failure.
        Failed = "by failure",
        /// Ended by a native stop or drain.
        NativeStop = "by native stop",
        /// Ended by a native kill.
        NativeKill = "by native kill",
        /// Ended because its runtime was dropped.
        RuntimeDropped = "by runtime drop",
    }
}
