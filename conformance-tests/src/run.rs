use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::{Flavor, Record, Settings, Subject, Verdict, check, report, rules};

type Records = Arc<Mutex<Vec<Record>>>;

/// The whole `main` of an adapter's conformance test.
///
/// It understands the arguments of a Rust test: a filter (`STOP-`), `--list`, `--exact`, `--test-threads`. A run
/// without a filter in which no rule ran is a failure.
pub fn run(subject: impl Subject) -> ExitCode {
    let arguments = Arguments::from_args();
    let subject: Arc<dyn Subject> = Arc::new(subject);
    let records = Records::default();
    let conclusion = libtest_mimic::run(&arguments, collect(&subject, &Settings::from_env(), &records));
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
    collect(subject, settings, &Records::default())
}

fn collect(subject: &Arc<dyn Subject>, settings: &Settings, records: &Records) -> Vec<Trial> {
    let pairs = rules().flat_map(|rule| Flavor::of(rule.pace).iter().map(move |flavor| (rule, *flavor)));
    pairs
        .map(|(rule, flavor)| {
            let (subject, settings, records) = (subject.clone(), settings.clone(), records.clone());
            let name = format!("{}::{}::{}", subject.name(), rule.id, flavor.text());
            Trial::ignorable_test(name, move || {
                let verdict = check(rule, subject.clone(), flavor, &settings);
                let record = Record::new(rule, subject.name(), flavor, &verdict);
                records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
                match verdict {
                    Verdict::Passed => Ok(Completion::Completed),
                    Verdict::Ignored(reason) => Ok(Completion::ignored_with(reason)),
                    Verdict::Failed(text) => Err(Failed::from(text)),
                }
            })
        })
        .collect()
}
