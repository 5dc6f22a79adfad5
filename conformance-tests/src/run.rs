use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{Flavor, Record, Rule, Settings, Subject, Tag, Verdict, check, report, rules};

type Records = Arc<Mutex<Vec<Record>>>;

/// After so many failures no more rules are begun, unless the environment says so.
const ENOUGH: usize = 10;

/// Stops a run in which too much fails. A broken draft fails most rules, each after all its patience.
#[derive(Debug)]
struct Brake {
    failures: AtomicUsize,
    enough: usize,
}

impl Brake {
    fn from_env() -> Self {
        let keep_going = std::env::var_os("DACTOR_CONFORMANCE_KEEP_GOING").is_some_and(|value| value != "0");
        Self { failures: AtomicUsize::new(0), enough: if keep_going { usize::MAX } else { ENOUGH } }
    }

    fn off() -> Self {
        Self { failures: AtomicUsize::new(0), enough: usize::MAX }
    }

    fn is_on(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= self.enough
    }

    /// Shows a failure when it happens: the harness prints them all at the end.
    fn failed(&self, text: &str) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if self.enough != usize::MAX || failures == 1 {
            eprintln!("\n{text}\n");
        }
        if failures == self.enough {
            eprintln!(
                "{failures} failures: no more rules are begun. DACTOR_CONFORMANCE_KEEP_GOING=1 runs them all.\n"
            );
        }
    }
}

/// The whole `main` of an adapter's conformance test.
///
/// It understands the arguments of a Rust test: a filter (`STOP-`), `--list`, `--exact`, `--test-threads`. A run
/// without a filter in which no rule ran is a failure. The rules that an adapter can break come first; a failure is shown
/// when it happens, and after ten of them no more rules are begun.
pub fn run(subject: impl Subject) -> ExitCode {
    let arguments = Arguments::from_args();
    let subject: Arc<dyn Subject> = Arc::new(subject);
    let records = Records::default();
    let brake = Arc::new(Brake::from_env());
    let trials = collect(&subject, &Settings::from_env(), &records, &brake);
    let conclusion = libtest_mimic::run(&arguments, trials);
    let unfiltered = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    if unfiltered && conclusion.num_passed + conclusion.num_failed == 0 {
        eprintln!("no rule was run on {}", subject.name());
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

/// Every rule on every runtime, for a test that has more to run than these.
pub fn trials(subject: &Arc<dyn Subject>, settings: &Settings) -> Vec<Trial> {
    collect(subject, settings, &Records::default(), &Arc::new(Brake::off()))
}

fn collect(
    subject: &Arc<dyn Subject>,
    settings: &Settings,
    records: &Records,
    brake: &Arc<Brake>,
) -> Vec<Trial> {
    let (spi, core): (Vec<_>, Vec<_>) = rules().partition(|rule| matches!(rule.tag, Tag::Spi(_)));
    let pairs = spi.into_iter().chain(core);
    let pairs =
        pairs.flat_map(|rule: &'static Rule| Flavor::of(rule.pace).iter().map(move |flavor| (rule, *flavor)));
    pairs.map(|(rule, flavor)| trial(rule, flavor, subject, settings, records, brake)).collect()
}

fn trial(
    rule: &'static Rule,
    flavor: Flavor,
    subject: &Arc<dyn Subject>,
    settings: &Settings,
    records: &Records,
    brake: &Arc<Brake>,
) -> Trial {
    let (subject, settings) = (subject.clone(), settings.clone());
    let (records, brake) = (records.clone(), brake.clone());
    let name = format!("{}::{}::{}", subject.name(), rule.id, flavor.text());
    Trial::ignorable_test(name, move || {
        if brake.is_on() {
            return Ok(Completion::ignored_with("too many failures before it"));
        }
        let verdict = check(rule, subject.clone(), flavor, &settings);
        let record = Record::new(rule, subject.name(), flavor, &verdict);
        records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        match verdict {
            Verdict::Passed => Ok(Completion::Completed),
            Verdict::Ignored(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Failed(text) => {
                brake.failed(&text);
                Err(Failed::from(text))
            }
        }
    })
}
