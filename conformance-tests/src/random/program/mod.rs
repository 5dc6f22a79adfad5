//! Programs as data, which can be printed, replayed and shrunk.

use std::fmt;

use dactor_core::Priority;
use serde::{Deserialize, Serialize};
mod spawn;

pub(super) use spawn::{DirectiveSpec, Hook, HookEnd, InterceptSpec, OverflowPolicy, Spawn, StrategySpec};

/// The configuration of a system, the operations of its clients, and how the system ends. Its text is JSON, one
/// operation per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The grace period of the system, in milliseconds.
    pub grace: u64,
    /// How the remaining actors are ended.
    pub end: EndMethod,
    /// The operations of the clients.
    #[serde(skip)]
    pub ops: Vec<Op>,
}

impl Program {
    /// Parses the output of [`Display`](fmt::Display).
    ///
    /// # Errors
    ///
    /// The line that cannot be parsed.
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

    /// All spawns of the program, also those in jobs.
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
        Step::Send(post) => all(&post.job.steps),
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

/// An operation of one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// The client. Each client runs its operations in sequence; clients run concurrently.
    pub by: usize,
    /// The operation.
    #[serde(rename = "do")]
    pub step: Step,
}

/// How an actor or a system is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndMethod {
    /// `drain`.
    Drain,
    /// `stop`.
    Stop,
    /// `kill`.
    Kill,
    /// `System::shutdown`.
    Shutdown,
}

/// A step of a client, a handler or a hook. Actors are identified by the number of their spawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sleeps for this many milliseconds.
    Sleep(u64),
    /// Yields this many times.
    Yield(u64),
    /// Never completes.
    Hang,
    /// Spawns an actor, as a child if an actor runs the step.
    Spawn(Box<Spawn>),
    /// Sends a message.
    Send(Box<SendSpec>),
    /// Ends an actor.
    End(EndMethod, usize),
    /// Ends the actor that runs the step.
    EndSelf(EndMethod),
    /// `Context::watch`.
    Watch(usize),
    /// `Context::unwatch`.
    Unwatch(usize),
    /// `Context::unstash_all`.
    Unstash,
    /// `Context::after`, in milliseconds.
    After(u64, Job),
    /// `Context::every`, in milliseconds.
    Every(u64, Job),
    /// `Context::idle_timeout`, in milliseconds.
    Idle(u64, Job),
    /// `Context::pipe` of a future that takes this many milliseconds.
    Pipe(u64, Job),
    /// `Context::pipe` of a future that panics.
    PipePanic,
    /// `Context::attach` of a stream with this many items.
    Attach(usize, Job),
    /// Sends a stream request, and consumes its items in a task.
    Stream(StreamSpec),
    /// `System::get_or_spawn` of one of a few names, in a task; then whether the actor is stopped.
    GetOrSpawn(usize, bool),
}

/// A stream request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSpec {
    /// The target actor.
    pub to: usize,
    /// The method.
    pub shape: StreamShape,
    /// How many items are produced, or come with the request.
    pub count: u64,
    /// The capacity of the buffers.
    pub buffer: usize,
    /// How many items are sent together.
    pub batch: usize,
    /// How long the handler sleeps after each item, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pause: u64,
    /// How the handler ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ending: StreamEnding,
    /// After how many items the consumer is dropped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub take: Option<u64>,
    /// The timeout of the whole, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeout: Option<u64>,
    /// Whether the caller's stream panics at its last item.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input_panics: bool,
}

/// The methods that send stream requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamShape {
    /// `expand`.
    Expand,
    /// `reduce`.
    Reduce,
    /// `transform`.
    Transform,
}

/// How the handler of a stream request ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEnding {
    /// Finishes the stream, or replies.
    #[default]
    Finish,
    /// Drops the producer, or the input.
    Leave,
    /// Returns an error.
    Fail,
    /// Panics.
    Panic,
    /// Leaves the items to a task.
    Beside,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A message and how it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendSpec {
    /// The target actor.
    pub to: usize,
    /// The method.
    pub how: SendMethod,
    /// The lane.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lane: Lane,
    /// The job of its handler.
    #[serde(default, skip_serializing_if = "is_default")]
    pub job: Job,
    /// The timeout of an ask, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timeout: Option<u64>,
    /// The deadline of an ask, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deadline: Option<u64>,
    /// The verdict of an outbound interceptor.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outbound: Option<InterceptSpec>,
    /// When its token is cancelled, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancel: Option<u64>,
    /// When the caller drops the future, in milliseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop_after: Option<u64>,
    /// Whether the handler is dropped when its asker gives up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub abort: bool,
    /// Whether the message has a header whose destructor panics.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bad_header: bool,
    /// How its handler shares the actor.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharing: Sharing,
}

/// How a handler shares its actor with other messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// It has the actor to itself.
    #[default]
    Exclusive,
    /// It is a read. It skips the steps that need the actor to themselves.
    Read,
    /// It is a read that does not wait behind a write.
    Interleaved,
}

/// The methods that send messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendMethod {
    /// `tell`.
    Tell,
    /// `try_tell`.
    TryTell,
    /// `send`, awaited.
    Send,
    /// `ask`; a handler awaits it, a client spawns a task for it.
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
    /// Not in a program: a stream request.
    Stream,
}

/// A [`Priority`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Low priority.
    Low,
    /// Normal priority.
    #[default]
    Normal,
    /// High priority.
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

/// The job of a handler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The steps.
    #[serde(default, rename = "do", skip_serializing_if = "is_default")]
    pub steps: Vec<Step>,
    /// How the handler ends after the steps.
    #[serde(default, rename = "then", skip_serializing_if = "is_default")]
    pub finish: Finish,
}

/// How a handler ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// Replies.
    #[default]
    Reply,
    /// Returns an error.
    Fail,
    /// Panics.
    Panic,
    /// Stashes the message the first time and replies the second time.
    Stash,
    /// Forwards the message to this actor.
    Forward(usize),
    /// A task replies after this many milliseconds.
    Later(u64),
    /// Defers the reply and drops it.
    LaterDropped,
    /// Replies with a value whose destructor panics if it is not read.
    BadReply,
    /// Returns an error that panics when it is formatted.
    BadError,
    /// Returns an error whose destructor panics; only for told messages.
    DropError,
}
