use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{Flavor, Record, Rule, Settings, Subject, Tag, Verdict, check, report, rules};

type Records = Arc<Mutex<Vec<Record>>>;

/// The run stops after this many failures, unless the environment says otherwise.
const MOST_FAILURES: usize = 10;

/// Stops a run after too many failures: an early draft of an adapter fails most rules, each after its timeout.
#[derive(Debug)]
struct FailureLimit {
    failures: AtomicUsize,
    most: usize,
}

impl FailureLimit {
    fn from_env() -> Self {
        let keep_going = std::env::var_os("DACTOR_CONFORMANCE_KEEP_GOING").is_some_and(|value| value != "0");
        Self { failures: AtomicUsize::new(0), most: if keep_going { usize::MAX } else { MOST_FAILURES } }
    }

    fn none() -> Self {
        Self { failures: AtomicUsize::new(0), most: usize::MAX }
    }

    fn is_reached(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= self.most
    }

    /// Prints a failure immediately; the harness prints all failures at the end.
    fn failed(&self, text: &str) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if self.most != usize::MAX || failures == 1 {
            eprintln!("\n{text}\n");
        }
        if failures == self.most {
            eprintln!(
                "{failures} failures: the remaining rules are skipped. DACTOR_CONFORMANCE_KEEP_GOING=1 runs all rules.\n"
            );
        }
    }
}

/// The `main` function of an adapter's conformance test.
///
/// It accepts the arguments of a Rust test: a filter (`STOP-`), `--list`, `--exact`, `--test-threads`. A run without
/// a filter in which no rule ran fails. The rules that an adapter can violate run first. A failure is printed
/// immediately, and after ten failures no further rule is run.
pub fn run(subject: impl Subject) -> ExitCode {
    let arguments = Arguments::from_args();
    let subject: Arc<dyn Subject> = Arc::new(subject);
    let records = Records::default();
    let limit = Arc::new(FailureLimit::from_env());
    let trials = collect(&subject, &Settings::from_env(), &records, &limit);
    let conclusion = libtest_mimic::run(&arguments, trials);
    let unfiltered = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    if unfiltered && conclusion.num_passed + conclusion.num_failed == 0 {
        eprintln!("no rule ran on {}", subject.name());
        return ExitCode::FAILURE;
    }
    if let Some(directory) = std::env::var_os("DACTOR_CONFORMANCE_REPORT") {
        let records = std::mem::take(&mut *records.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = report::write(&PathBuf::from(directory), subject.name(), records) {
            eprintln!("the report could not be written: {error}");
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}

/// The `main` function of a test that runs one family of rules, such as `FAR`, on several subjects.
pub fn run_family(subjects: Vec<Arc<dyn Subject>>, family: &str) -> ExitCode {
    let (settings, limit) = (Settings::from_env(), Arc::new(FailureLimit::from_env()));
    let ours = |trial: &Trial| trial.name().contains(&format!("::{family}-"));
    let trials = subjects.iter().flat_map(|subject| collect(subject, &settings, &Records::default(), &limit));
    let trials: Vec<_> = trials.filter(ours).collect();
    if trials.is_empty() {
        eprintln!("there are no rules {family}-..");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// All rules on all their runtimes, for tests that add trials of their own.
pub fn trials(subject: &Arc<dyn Subject>, settings: &Settings) -> Vec<Trial> {
    collect(subject, settings, &Records::default(), &Arc::new(FailureLimit::none()))
}

fn collect(
    subject: &Arc<dyn Subject>,
    settings: &Settings,
    records: &Records,
    limit: &Arc<FailureLimit>,
) -> Vec<Trial> {
    let (spi, core): (Vec<_>, Vec<_>) = rules().partition(|rule| matches!(rule.tag, Tag::Spi(_)));
    let pairs = spi.into_iter().chain(core);
    let pairs = pairs
        .flat_map(|rule: &'static Rule| Flavor::of(rule.runtime).iter().map(move |flavor| (rule, *flavor)));
    pairs.map(|(rule, flavor)| trial(rule, flavor, subject, settings, records, limit)).collect()
}

fn trial(
    rule: &'static Rule,
    flavor: Flavor,
    subject: &Arc<dyn Subject>,
    settings: &Settings,
    records: &Records,
    limit: &Arc<FailureLimit>,
) -> Trial {
    let (subject, settings) = (subject.clone(), settings.clone());
    let (records, limit) = (records.clone(), limit.clone());
    let name = format!("{}::{}::{}", subject.name(), rule.id, flavor.text());
    Trial::ignorable_test(name, move || {
        if limit.is_reached() {
            return Ok(Completion::ignored_with("skipped after too many failures"));
        }
        let verdict = check(rule, subject.clone(), flavor, &settings);
        let record = Record::new(rule, subject.name(), flavor, &verdict);
        records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        match verdict {
            Verdict::Passed => Ok(Completion::Completed),
            Verdict::Ignored(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Failed(text) => {
                limit.failed(&text);
                Err(Failed::from(text))
            }
        }
    })
}
