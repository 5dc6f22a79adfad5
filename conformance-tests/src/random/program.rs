//! Programs as data: readable, replayable, small enough to be cut down.

use std::fmt;

use dactor_core::{Directive, Overflow, Priority};
use serde::{Deserialize, Serialize};

/// What a system is built like, what its clients do, and how it is ended. Its text is JSON, one operation a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The grace period of the system, in milliseconds.
    pub grace: u64,
    /// How the actors that are left are ended.
    pub end: Ending,
    /// What the clients do.
    #[serde(skip)]
    pub ops: Vec<Op>,
}

impl Program {
    /// Reads what [`Display`](fmt::Display) wrote.
    ///
    /// # Errors
    ///
    /// The text of the line that is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let wrong = |line: &str, error: serde_json::Error| format!("{line}: {error}");
        let first = lines.next().ok_or("an empty program")?;
        let mut program: Self = serde_json::from_str(first).map_err(|error| wrong(first, error))?;
        for line in lines {
            program.ops.push(serde_json::from_str(line).map_err(|error| wrong(line, error))?);
        }
        Ok(program)
    }

    /// Every spawn in it, also in the jobs of messages.
    pub(super) fn spawns(&self) -> Vec<&Spawn> {
        let mut found = Vec::new();
        self.ops.iter().for_each(|op| collect(&op.step, &mut found));
        found
    }
}

fn collect<'a>(step: &'a Step, found: &mut Vec<&'a Spawn>) {
    let mut all = |steps: &'a [Step]| steps.iter().for_each(|step| collect(step, found));
    match step {
        Step::Spawn(spawn) => {
            for hook in [&spawn.start, &spawn.stop, &spawn.restart] {
                all(&hook.steps);
            }
            found.push(spawn);
        }
        Step::Post(post) => all(&post.job.steps),
        Step::After(_, job) | Step::Every(_, job) | Step::Idle(_, job) => all(&job.steps),
        Step::Pipe(_, job) | Step::Attach(_, job) => all(&job.steps),
        _ => {}
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)?;
        for op in &self.ops {
            write!(f, "\n{}", serde_json::to_string(op).map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    }
}

/// Something that one client does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// Which client. Each does one thing after the other; they run beside each other.
    pub by: usize,
    /// What.
    #[serde(rename = "do")]
    pub step: Step,
}

/// How an actor, or a system, is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// `drain`.
    Drain,
    /// `stop`.
    Stop,
    /// `kill`.
    Kill,
    /// `System::shutdown`.
    Shutdown,
}

/// What a client, a handler or a hook does. Actors go by the number of their spawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Lets so many milliseconds pass.
    Sleep(u64),
    /// Lets others run so many times.
    Yield(u64),
    /// Never goes on.
    Hang,
    /// Spawns an actor: a child where an actor does it.
    Spawn(Box<Spawn>),
    /// Sends a message.
    Post(Box<Post>),
    /// Ends an actor.
    End(Ending, usize),
    /// The actor that does it ends itself.
    EndSelf(Ending),
    /// `Context::watch`.
    Watch(usize),
    /// `Context::unwatch`.
    Unwatch(usize),
    /// `Context::unstash_all`.
    Unstash,
    /// `Context::after` so many milliseconds.
    After(u64, Job),
    /// `Context::every` so many milliseconds.
    Every(u64, Job),
    /// `Context::idle_timeout` of so many milliseconds.
    Idle(u64, Job),
    /// `Context::pipe`, of a future that takes so many milliseconds.
    Pipe(u64, Job),
    /// `Context::pipe` of a future that panics.
    PipePanic,
    /// `Context::attach`, of a stream with so many items.
    Attach(usize, Job),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A message, and how it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// To whom.
    pub to: usize,
    /// By which call.
    pub how: How,
    /// In which lane.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lane: Lane,
    /// What its handler does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub job: Job,
    /// The limit of an ask, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeout: Option<u64>,
    /// Its deadline, in as many milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadline: Option<u64>,
    /// What an outbound interceptor says to it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outbound: Option<Intercept>,
    /// When its token is cancelled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancel: Option<u64>,
    /// When the caller drops the future.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop_after: Option<u64>,
    /// Whether the handler is dropped with its asker.
    #[serde(default, skip_serializing_if = "is_default")]
    pub abort: bool,
    /// Whether it has a header whose destructor panics.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bad_header: bool,
}

/// The calls that send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// `tell`.
    Tell,
    /// `try_tell`.
    TryTell,
    /// `send`, awaited.
    Send,
    /// `ask`: a handler awaits it, a client lets a task do so.
    Ask,
    /// `ask(…).enqueue()`, awaited by a task.
    Enqueue,
    /// `Selection::tell`, by the actor's path.
    Select,
    /// Not in a program: `Context::forward`.
    Forward,
    /// Not in a program: a timer.
    Timer,
    /// Not in a program: `Context::pipe`.
    Pipe,
    /// Not in a program: an item of a stream.
    Item,
}

/// A [`Priority`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Behind everything.
    Low,
    /// As usual.
    #[default]
    Normal,
    /// Before everything.
    High,
}

impl Lane {
    pub(super) fn priority(self) -> Priority {
        match self {
            Self::Low => Priority::Low,
            Self::Normal => Priority::Normal,
            Self::High => Priority::High,
        }
    }
}

/// What a handler does with its message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// First these.
    #[serde(default, rename = "do", skip_serializing_if = "is_default")]
    pub steps: Vec<Step>,
    /// Then this.
    #[serde(default, rename = "then", skip_serializing_if = "is_default")]
    pub finish: Finish,
}

/// How a handler ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It replies.
    #[default]
    Reply,
    /// It returns an error.
    Fail,
    /// It panics.
    Panic,
    /// It stashes the message the first time, and replies the second.
    Stash,
    /// It forwards to this actor, which replies.
    Forward(usize),
    /// A task replies after so many milliseconds.
    Later(u64),
    /// It promises a reply and drops the promise.
    LaterDropped,
    /// It replies with a value whose destructor panics where nobody asked for it.
    BadReply,
    /// It returns an error whose text panics.
    BadError,
    /// It returns an error whose destructor panics: for messages that are told.
    DropError,
}

/// A spawn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// The number by which others know it; its name is `a` and the number.
    pub slot: usize,
    /// From a factory, which restarts it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub factory: bool,
    /// Under `/system`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub service: bool,
    /// When a client drops the future of the spawn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop_after: Option<u64>,
    /// Whether its native handle is taken.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exposed: bool,
    /// The bound of the mailbox.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounded: Option<(usize, Full)>,
    /// Sheds at this length.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shed: Option<usize>,
    /// How much it can stash.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stash: Option<usize>,
    /// What its supervision says: for whom and what.
    #[serde(default, skip_serializing_if = "is_default")]
    pub supervision: Option<(Scope, Choice)>,
    /// What `on_error` says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error: Choice,
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
    pub inbound: Option<Intercept>,
}

/// What an interceptor says: an inbound one to every third message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intercept {
    /// Lets it pass.
    Continue,
    /// Lets it wait for so many milliseconds.
    Delay(u64),
    /// Drops it.
    Drop,
    /// Refuses it.
    Reject,
    /// Panics.
    Panic,
}

/// A hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// First these.
    #[serde(default, rename = "do", skip_serializing_if = "is_default")]
    pub steps: Vec<Step>,
    /// Then this.
    #[serde(default, rename = "then", skip_serializing_if = "is_default")]
    pub finish: HookEnd,
}

/// How a hook ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// Well.
    #[default]
    Done,
    /// With an error.
    Fail,
    /// With a panic.
    Panic,
    /// With a panic before there is a future: the hook is a plain `fn`.
    PanicEarly,
}

/// An [`Overflow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Full {
    /// `Overflow::Reject`.
    Reject,
    /// `Overflow::Block`.
    Block,
    /// `Overflow::DropNewest`.
    DropNewest,
    /// `Overflow::DropOldest`.
    DropOldest,
}

impl Full {
    pub(super) fn overflow(self) -> Overflow {
        match self {
            Self::Reject => Overflow::Reject,
            Self::Block => Overflow::Block,
            Self::DropNewest => Overflow::DropNewest,
            Self::DropOldest => Overflow::DropOldest,
        }
    }
}

/// Whom a supervision concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
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
pub enum Choice {
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

impl Choice {
    pub(super) fn directive(self) -> Directive {
        match self {
            Self::Resume => Directive::Resume,
            Self::Restart => Directive::Restart,
            Self::Stop => Directive::Stop,
            Self::Escalate => Directive::Escalate,
        }
    }
}
