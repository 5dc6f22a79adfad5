//! What a program does before and after its actors end.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::base::panic::{Panic, discard};
use crate::system::shutdown_state::ShutdownState;
use crate::{Error, ErrorKind, Outcome, Result, System};

/// A named step of a [shutdown](System::shutdown), before the actors end or after.
///
/// Phases run one after the other in the order in which they are given; the tasks of one phase run together.
#[derive(Debug, Clone)]
#[must_use]
pub struct Phase {
    name: Cow<'static, str>,
    moment: Moment,
    within: Duration,
}

/// On which side of the end of the actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

impl Phase {
    const WITHIN: Duration = Duration::from_secs(5);

    /// While the actors still work: stop listening, leave the load balancer, finish requests.
    pub fn before_actors(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), moment: Moment::Before, within: Self::WITHIN }
    }

    /// When the actors have ended: close pools, flush logs.
    pub fn after_actors(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), moment: Moment::After, within: Self::WITHIN }
    }

    /// How long the phase may take; five seconds if not set. What is not done by then is dropped, and the shutdown
    /// goes on.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }
}

/// Something to do, and its name.
struct Task {
    name: String,
    code: Box<dyn FnOnce() -> TaskFuture + Send>,
}

type TaskFuture = Pin<Box<dyn Future<Output = Outcome<()>> + Send>>;

/// The phases of one system, and what is to be done in them.
#[derive(Default)]
pub(crate) struct Phases {
    plans: Mutex<Vec<Plan>>,
}

struct Plan {
    phase: Phase,
    tasks: Vec<Task>,
    begun: bool,
}

impl Phases {
    /// Phases by their names.
    pub(crate) fn new(phases: Vec<Phase>) -> Result<Self> {
        let mut plans: Vec<Plan> = Vec::with_capacity(phases.len());
        for phase in phases {
            if phase.name.is_empty() || plans.iter().any(|plan| plan.phase.name == phase.name) {
                let why =
                    if phase.name.is_empty() { "its name is empty" } else { "there is one of this name" };
                return Err(invalid(&phase.name).with("because", why));
            }
            plans.push(Plan { phase, tasks: Vec::new(), begun: false });
        }
        Ok(Self { plans: Mutex::new(plans) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Plan>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, phase: &str, task: Task) -> Result<()> {
        let mut plans = self.lock();
        let known = || plans.iter().map(|plan| &*plan.phase.name).collect::<Vec<_>>().join(" ");
        let Some(at) = plans.iter().position(|plan| plan.phase.name == phase) else {
            return Err(
                invalid(phase).with("because", format!("there is none of this name, only: {}", known()))
            );
        };
        let plan = &mut plans[at];
        if plan.begun {
            return Err(Error::new(ErrorKind::SystemShutDown).with("phase", phase).with("task", task.name));
        }
        plan.tasks.push(task);
        Ok(())
    }

    /// Runs the phases of one moment, and reports what was not done. They run once.
    pub(crate) async fn run(&self, moment: Moment, shutdown: &ShutdownState) {
        while let Some((phase, tasks)) = self.begin(moment) {
            tracing::info!(phase = %phase.name, tasks = tasks.len(), "shutdown");
            let within = phase.within;
            let mut guard = PhaseGuard { name: phase.name, shutdown, done: false };
            let ends = join_all(tasks.into_iter().map(|task| perform(task, within))).await;
            guard.done = true;
            let mut report = shutdown.report();
            ends.into_iter().flatten().for_each(|why| report.add("phase", format!("{}: {why}", guard.name)));
        }
    }

    /// The next phase of this moment, with its tasks.
    fn begin(&self, moment: Moment) -> Option<(Phase, Vec<Task>)> {
        let mut plans = self.lock();
        let plan = plans.iter_mut().find(|plan| plan.phase.moment == moment && !plan.begun)?;
        plan.begun = true;
        Some((plan.phase.clone(), mem::take(&mut plan.tasks)))
    }
}

/// A phase that runs. Dropped before its end it is reported, because no other shutdown does the rest of it.
struct PhaseGuard<'a> {
    name: Cow<'static, str>,
    shutdown: &'a ShutdownState,
    done: bool,
}

impl Drop for PhaseGuard<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.shutdown
                .report()
                .add("phase", format!("{}: the runtime ended before it was done", self.name));
        }
    }
}

fn invalid(phase: &str) -> Error {
    Error::new(ErrorKind::InvalidPhase).with("phase", format!("{phase:?}"))
}

/// Does one task; what it says when it was not done.
async fn perform(Task { name, code }: Task, within: Duration) -> Option<String> {
    let mut done = Box::pin(AssertUnwindSafe(async { code().await }).catch_unwind());
    let end = timeout(within, &mut done).await;
    // A task that is given up may panic when it is dropped.
    discard(done);
    match end {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(failure))) => Some(format!("{name} failed: {failure}")),
        Ok(Err(payload)) => Some(format!("{name} panicked: {}", Panic::new(payload))),
        Err(_) => Some(format!("{name} was not done within {within:?}")),
    }
}

impl System {
    /// Has something done in a [phase](crate::SystemBuilder::phase) of the shutdown.
    ///
    /// ```
    /// # use dactor_core::{Phase, System};
    /// # use dactor_core::spi::Backend;
    /// # fn program(backend: impl Backend) -> dactor_core::Result<()> {
    /// let system = System::builder("shop")
    ///     .backend(backend)
    ///     .phase(Phase::before_actors("stop listening"))
    ///     .phase(Phase::after_actors("flush"))
    ///     .build()?;
    /// system.on_shutdown("stop listening", "http", || async {
    ///     // Close the listener, wait for open requests.
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidPhase`](ErrorKind::InvalidPhase) when there is no such phase, and
    /// [`SystemShutDown`](ErrorKind::SystemShutDown) when it has begun.
    pub fn on_shutdown<F: Future<Output = Outcome<()>> + Send + 'static>(
        &self,
        phase: &str,
        task: impl Into<String>,
        code: impl FnOnce() -> F + Send + 'static,
    ) -> Result<()> {
        let code = Box::new(move || -> TaskFuture { Box::pin(code()) });
        self.phases().add(phase, Task { name: task.into(), code })
    }
}

impl fmt::Debug for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lock().iter().map(|plan| &plan.phase.name)).finish()
    }
}
