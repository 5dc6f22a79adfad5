use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use dactor_core::testkit::DrivenClock;

use crate::mutants::MUTANTS;
use crate::{Rule, RuleContext, RuntimeMode, Subject, Tag};

/// Prefix of the names of all threads that run rules. Their panics are verdicts or injected, and are not printed.
pub(crate) const THREAD: &str = "dactor-rule";

/// Timeouts and seed of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Wall-clock limit of a whole rule.
    pub watchdog: Duration,
    /// Timeout of a single expected event.
    pub patience: Duration,
    /// How long an unexpected event is waited for.
    pub silence: Duration,
    /// Seed of the rules that race.
    pub seed: u64,
    /// Duration of each search of random programs.
    pub random: Duration,
}

impl Settings {
    /// The defaults, overridden by environment variables.
    pub fn from_env() -> Self {
        let number = |name: &str, default| {
            std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
        };
        let watchdog = number("DACTOR_CONFORMANCE_WATCHDOG_S", 30);
        Self {
            watchdog: Duration::from_secs(watchdog),
            patience: Duration::from_secs(watchdog) / 3,
            silence: Duration::from_millis(number("DACTOR_CONFORMANCE_SILENCE_MS", 50)),
            seed: number("DACTOR_CONFORMANCE_SEED", 0x00da_c708),
            random: Duration::from_secs(number("DACTOR_RANDOM_SECONDS", 10)),
        }
    }

    /// Shorter timeouts, for backends that are known to be broken.
    #[must_use]
    pub fn impatient(mut self) -> Self {
        self.patience = Duration::from_millis(700);
        self.watchdog = Duration::from_secs(5);
        self.random = Duration::from_secs(2);
        self
    }
}

/// The tokio runtime that a rule runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// tokio's current-thread runtime.
    CurrentThread,
    /// tokio's multi-thread runtime with two workers.
    MultiThread,
    /// A current-thread runtime with a driven clock.
    DrivenClock,
}

impl Flavor {
    /// The flavors for a runtime mode.
    pub fn of(mode: RuntimeMode) -> &'static [Self] {
        match mode {
            RuntimeMode::Any => &[Self::CurrentThread, Self::MultiThread],
            RuntimeMode::CurrentThread => &[Self::CurrentThread],
            RuntimeMode::MultiThread => &[Self::MultiThread],
            RuntimeMode::DrivenClock => &[Self::DrivenClock],
        }
    }

    /// The name of the flavor in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::CurrentThread => "current-thread",
            Self::MultiThread => "multi-thread",
            Self::DrivenClock => "driven-clock",
        }
    }
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The adapter conforms.
    Passed,
    /// The rule does not apply to the adapter, for this reason.
    Ignored(String),
    /// The adapter does not conform; the text names the rule and what happened.
    Failed(String),
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs one rule on a new thread.
pub fn check(rule: &Rule, subject: Arc<dyn Subject>, flavor: Flavor, settings: &Settings) -> Verdict {
    if let Some(capability) = rule.needs
        && let Err(reason) = subject.native().and_then(|native| native.supports(capability))
    {
        return Verdict::Ignored(reason.to_owned());
    }
    silence_injected_panics();
    let (rule, settings) = (*rule, settings.clone());
    // A search of random programs has a time limit of its own and needs as much again to shrink a finding.
    let searching = if rule.id.starts_with("RANDOM") { settings.random * 3 } else { Duration::ZERO };
    let watchdog = settings.watchdog + searching;
    let (verdict, received) = mpsc::channel();
    let body = move || {
        let run = |clock| (rule.run)(RuleContext::new(subject, settings, clock));
        let outcome = catch_unwind(AssertUnwindSafe(|| match flavor {
            Flavor::DrivenClock => DrivenClock::run(|clock| run(Some(clock))),
            Flavor::CurrentThread => {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap()
                    .block_on(run(None));
            }
            Flavor::MultiThread => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                let builder = builder.worker_threads(2).thread_name(THREAD).enable_all();
                let runtime = builder.build().unwrap();
                runtime.block_on(run(None));
                // A worker that a broken adapter keeps busy must not block the verdict.
                runtime.shutdown_background();
            }
        }));
        let _ = verdict.send(outcome.map_err(|_| LAST_PANIC.take()));
    };
    if let Err(error) = thread::Builder::new().name(format!("{THREAD} {}", rule.id)).spawn(body) {
        return failed(&rule, flavor, &error);
    }
    match received.recv_timeout(watchdog) {
        Ok(Ok(())) => Verdict::Passed,
        Ok(Err(panic)) => failed(&rule, flavor, &panic.unwrap_or_else(|| "panicked".to_owned())),
        Err(RecvTimeoutError::Timeout) => failed(&rule, flavor, &format!("still running after {watchdog:?}")),
        Err(RecvTimeoutError::Disconnected) => failed(&rule, flavor, &"the thread of the rule panicked"),
    }
}

fn failed(rule: &Rule, flavor: Flavor, what: &dyn Display) -> Verdict {
    let mut text = format!(
        "{} ({}): {}\n  intent: {}\n  declared at: {}:{}\n  on the {} runtime: {what}",
        rule.id,
        rule.level.text(),
        rule.text,
        rule.intent,
        rule.at.file(),
        rule.at.line(),
        flavor.text(),
    );
    // The known ways to break this rule are hints for the author of the adapter.
    if let Tag::Spi(names) = rule.tag {
        text.push_str("\n  known cause: a backend that");
        for (index, mutant) in MUTANTS.iter().filter(|mutant| names.contains(&mutant.name)).enumerate() {
            text.push_str(if index == 0 { " " } else { "; or " });
            text.push_str(mutant.what);
        }
    }
    Verdict::Failed(text)
}

/// Suppresses the output of panics on rule threads; the last panic becomes the verdict.
pub(crate) fn silence_injected_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().name().is_some_and(|name| name.starts_with(THREAD)) {
                LAST_PANIC.replace(Some(info.to_string()));
            } else {
                previous(info);
            }
        }));
    });
}
