use std::fmt;
use std::panic::Location;

use crate::{Lab, Task};

/// One thing that every adapter must show.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its name for good: `MSG-03`.
    pub id: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What it is about.
    pub topic: Topic,
    /// The cells of the coverage table that it fills.
    pub covers: &'static [(Topic, State)],
    /// Who could get it wrong, and the proof that the rule would notice.
    pub tag: Tag,
    /// What the native side must be able to do for the rule to apply.
    pub needs: Option<Capability>,
    /// The runtimes it runs on.
    pub pace: Pace,
    /// The rule.
    pub text: &'static str,
    /// Why it is one.
    pub intent: &'static str,
    /// Panics when the rule is broken.
    pub run: Body,
    /// Where it is written.
    pub at: &'static Location<'static>,
}

/// What checks a rule.
pub type Body = fn(Lab) -> Task<'static, ()>;

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
        let (level, tag, needs, pace) = (Level::Must, Tag::Core, None, Pace::Free);
        let at = Location::caller();
        Self { id, level, topic, covers, tag, needs, pace, text, intent, run, at }
    }

    pub(crate) const fn should(mut self) -> Self {
        self.level = Level::Should;
        self
    }

    /// An adapter could get it wrong; these mutants do.
    pub(crate) const fn spi(mut self, mutants: &'static [&'static str]) -> Self {
        self.tag = Tag::Spi(mutants);
        self
    }

    pub(crate) const fn needs(mut self, capability: Capability) -> Self {
        self.needs = Some(capability);
        self
    }

    pub(crate) const fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("id", &self.id).field("text", &self.text).finish_non_exhaustive()
    }
}

/// How binding a rule is, as in RFC 2119.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// An adapter without it is broken.
    Must,
    /// An adapter without it has a good reason.
    Should,
    /// An adapter with it is nicer.
    May,
}

impl Level {
    /// The word of the specification.
    pub fn text(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
        }
    }
}

/// Who could break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// An adapter: these [mutants](crate::mutants) break it, and the kit's own tests show that it notices.
    Spi(&'static [&'static str]),
    /// Only the core: mutation testing of the core is the proof.
    Core,
}

impl Tag {
    /// The word of the specification.
    pub fn text(self) -> &'static str {
        match self {
            Self::Spi(_) => "spi",
            Self::Core => "core",
        }
    }
}

/// Where a rule can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// On every runtime.
    Free,
    /// On one thread only: on two it would show nothing.
    OneThread,
    /// On two threads only: on one it would show nothing.
    TwoThreads,
    /// On one thread whose clock the rule drives.
    Driven,
}

/// Something a native runtime may not have. A rule that needs it is then ignored, with the adapter's reason.
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
    /// Something native sees how an actor ended.
    NativeExit,
    /// Native actors can be linked so that the end of one reaches the other.
    NativePeer,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them, in the order of the coverage table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The words of the specification.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

words! {
    /// What a rule is about: a row of the coverage table.
    Topic {
        /// `tell`, `try_tell` and `send`.
        Tell = "Tell",
        /// `ask` in all its forms.
        Ask = "Ask",
        /// The order in which messages are handled and settled.
        Order = "Send order",
        /// `stop`.
        Stop = "Stop",
        /// `drain`.
        Drain = "Drain",
        /// `kill`.
        Kill = "Kill",
        /// `wait`, `wait_all`, the number of live actors.
        Wait = "Wait",
        /// Names and lookup.
        Name = "Name, lookup",
        /// Actor paths, and expressions that select by them.
        Paths = "Paths and selections",
        /// Bounded mailboxes, and the line for room in one.
        Bound = "Bounded mailbox",
        /// The lanes of a mailbox.
        Priority = "Priority",
        /// Load shedding.
        Shed = "Load shedding",
        /// Interceptors where messages are handled.
        Inbound = "Inbound interceptors",
        /// Interceptors where messages are sent.
        Outbound = "Outbound interceptors",
        /// What travels beside messages and replies.
        Headers = "Headers",
        /// Cancelled asks, and deadlines.
        Cancel = "Cancel, deadline",
        /// Replies that come later, or from another actor.
        Later = "Deferred reply",
        /// `Err` from a handler or hook.
        Failure = "Failure (Err)",
        /// A panic, and what follows it.
        Panic = "Panic, restart",
        /// Parents and children.
        Tree = "Children",
        /// What becomes of a failed actor, and of those who share its fate.
        Supervision = "Supervision",
        /// Death watch.
        Watch = "Watch",
        /// Timers and idle timeouts.
        Timers = "Timers",
        /// Stash and attached streams.
        Inflow = "Stash and streams",
        /// `System::shutdown`.
        Shutdown = "Shutdown",
        /// What native code does to the actor and sees of it.
        Native = "Native end",
    }
}

words! {
    /// Where in its life the actor is: a column of the coverage table.
    State {
        /// In `on_start`.
        Starting = "starting",
        /// Waiting for a message.
        Idle = "idle",
        /// In a handler.
        Handling = "handling",
        /// In `on_stop`.
        Stopping = "stopping",
        /// Ended, no matter how.
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
