use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use super::broken::{BROKEN_SQL, BrokenSql};
use super::{EngineContext, EngineRule, EngineSubject, rules, sql_rules};

/// The name of the threads whose panics are expected.
const QUIET: &str = "dactor-broken-engine";

/// The `main` function of an engine's conformance test.
///
/// It accepts the arguments of a Rust test: a filter (`ENGINE-03`), `--list`, `--exact`, `--test-threads`.
pub fn run(subject: impl EngineSubject) -> ExitCode {
    let subject: Arc<dyn EngineSubject> = Arc::new(subject);
    libtest_mimic::run(&Arguments::from_args(), trials(&subject)).exit_code()
}

/// All rules, for tests that add trials of their own.
pub fn trials(subject: &Arc<dyn EngineSubject>) -> Vec<Trial> {
    let trial = |rule: &'static EngineRule| {
        let subject = subject.clone();
        Trial::test(format!("{}::{}", subject.name(), rule.id), move || {
            check(rule, &*subject, number("DACTOR_CONFORMANCE_WATCHDOG_S", 30), false).map_err(Failed::from)
        })
    };
    let mut trials: Vec<Trial> = rules().map(trial).collect();
    if subject.has_sql() {
        trials.extend(sql_rules().map(trial));
        trials.extend(sql_flaws(subject));
    }
    trials
}

/// Tests of the rules for SQL: each must fail on this engine with the flaws that it names.
pub fn sql_flaws(subject: &Arc<dyn EngineSubject>) -> Vec<Trial> {
    let catches = |rule: &'static EngineRule, flaw: &'static str| {
        let subject = subject.clone();
        Trial::test(format!("{} that {flaw}::{}", subject.name(), rule.id), move || {
            if !BROKEN_SQL.iter().any(|broken| broken.name == flaw) {
                return Err(Failed::from("no such flaw"));
            }
            match check(rule, &BrokenSql { flaw, subject }, 10, true) {
                Err(_) => Ok(()),
                Ok(()) => Err(Failed::from(format!("{flaw} was not detected"))),
            }
        })
    };
    sql_rules().flat_map(|rule| rule.catches.iter().map(move |flaw| catches(rule, flaw))).collect()
}

/// Runs one rule on a store of its own, within this many seconds. The error names the rule and what happened.
///
/// `quiet` keeps an expected panic from being printed.
pub fn check(
    rule: &'static EngineRule,
    subject: &dyn EngineSubject,
    seconds: u64,
    quiet: bool,
) -> Result<(), String> {
    silence_expected_panics();
    let seed = number("DACTOR_CONFORMANCE_SEED", 0x00da_c708);
    let context = EngineContext::new(subject.store(), seed);
    let (verdict, received) = mpsc::channel();
    let name = if quiet { QUIET } else { "dactor-engine-rule" };
    let body = move || {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(2).enable_all().thread_name(name).build();
            runtime.expect("a runtime").block_on((rule.run)(context));
        }));
        let result = result.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        });
        // The watchdog may have given up.
        let _ = verdict.send(result);
    };
    thread::Builder::new().name(name.into()).spawn(body).expect("a thread for the rule");
    let problem = match received.recv_timeout(Duration::from_secs(seconds)) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(panic)) => panic,
        Err(RecvTimeoutError::Timeout) => format!("not finished after {seconds} s"),
        Err(RecvTimeoutError::Disconnected) => "the thread of the rule ended".to_owned(),
    };
    let EngineRule { id, text, intent, at, .. } = rule;
    let name = subject.name();
    Err(format!(
        "{name} violates {id}: {text}\n  what happened: {problem}\n  why: {intent}\n  rule: {at}, seed {seed}"
    ))
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn silence_expected_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(QUIET) {
                hook(panic);
            }
        }));
    });
}
