//! Shutdown phases: tasks that run before and after the actors end.

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

/// A named phase of a [shutdown](System::shutdown), before or after the actors end.
///
/// Phases run sequentially in the given order; the tasks of one phase run concurrently.
#[derive(Debug, Clone)]
#[must_use]
pub struct Phase {
    name: Cow<'static, str>,
    moment: Moment,
    within: Duration,
}

/// Before or after the actors end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

impl Phase {
    const WITHIN: Duration = Duration::from_secs(5);

    /// While the actors still run: stop listening, leave the load balancer, finish requests.
    pub fn before_actors(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), moment: Moment::Before, within: Self::WITHIN }
    }

    /// After the actors have ended: close pools, flush logs.
    pub fn after_actors(name: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.into(), moment: Moment::After, within: Self::WITHIN }
    }

    /// The timeout of the phase; five seconds by default. Tasks that are not done by then are dropped, and
    /// the shutdown continues.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }
}

/// A named task.
struct Task {
    name: String,
    code: Box<dyn FnOnce() -> TaskFuture + Send>,
}

type TaskFuture = Pin<Box<dyn Future<Output = Outcome<()>> + Send>>;

/// The phases of one system, and their tasks.
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
    /// Checks that the names are unique.
    pub(crate) fn new(phases: Vec<Phase>) -> Result<Self> {
        let mut plans: Vec<Plan> = Vec::with_capacity(phases.len());
        for phase in phases {
            if phase.name.is_empty() || plans.iter().any(|plan| plan.phase.name == phase.name) {
                let why = if phase.name.is_empty() { "its name is empty" } else { "the name is not unique" };
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
            return Err(invalid(phase).with("because", format!("there is no such phase, only: {}", known())));
        };
        let plan = &mut plans[at];
        if plan.begun {
            return Err(Error::new(ErrorKind::SystemShutDown).with("phase", phase).with("task", task.name));
        }
        plan.tasks.push(task);
        Ok(())
    }

    /// Runs the phases of one moment once, and reports unfinished tasks.
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

/// A running phase. Dropped before its end it is reported, because no other shutdown runs the rest.
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

/// Runs one task; the error text when it failed.
async fn perform(Task { name, code }: Task, within: Duration) -> Option<String> {
    let mut done = Box::pin(AssertUnwindSafe(async { code().await }).catch_unwind());
    let end = timeout(within, &mut done).await;
    // A dropped task may panic.
    discard(done);
    match end {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(failure))) => Some(format!("{name} failed: {failure}")),
        Ok(Err(payload)) => Some(format!("{name} panicked: {}", Panic::new(payload))),
        Err(_) => Some(format!("{name} was not done within {within:?}")),
    }
}

impl System {
    /// Adds a task to a [phase](crate::SystemBuilder::phase) of the shutdown.
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
    /// [`SystemShutDown`](ErrorKind::SystemShutDown) when it has already begun.
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
