//! The command line of the bench.

use crate::workload::{Scale, Workload};

/// Odd, so that the median is a round that really happened.
const DEFAULT_ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 1;

/// What to run and how often.
pub(crate) struct Options {
    /// Counted rounds; one more runs first as a warm-up and is dropped.
    pub(crate) rounds: usize,
    pub(crate) scale: Scale,
    /// Whether `cargo bench` started us. `cargo test --all-targets` runs this binary too, without
    /// `--bench`: that must stay a short smoke run and leave no figures behind.
    pub(crate) under_cargo_bench: bool,
    filter: Vec<Workload>,
}

impl Options {
    /// Reads the arguments; the error is a message for the user.
    pub(crate) fn from_args(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut rounds = None;
        let mut quick = false;
        let mut under_cargo_bench = false;
        let mut filter = Vec::new();
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--bench" => under_cargo_bench = true,
                "--quick" => quick = true,
                "--rounds" => {
                    let number = args.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0);
                    rounds = Some(number.ok_or("--rounds takes a number above 0")?);
                }
                name => filter.push(Workload::from_id(name).ok_or_else(|| unknown(name))?),
            }
        }
        let quick = quick || !under_cargo_bench;
        Ok(Self {
            rounds: rounds.unwrap_or(if quick { QUICK_ROUNDS } else { DEFAULT_ROUNDS }),
            scale: if quick { Scale::Quick } else { Scale::Full },
            under_cargo_bench,
            filter,
        })
    }

    /// Whether the filter lets this workload through.
    pub(crate) fn selects(&self, workload: Workload) -> bool {
        self.filter.is_empty() || self.filter.contains(&workload)
    }

    /// Whether the figures are complete enough to be published under `docs/`.
    pub(crate) fn is_full_run(&self) -> bool {
        self.filter.is_empty() && self.scale == Scale::Full
    }
}

fn unknown(name: &str) -> String {
    let known: Vec<_> = Workload::ALL.iter().map(|w| w.id()).collect();
    format!("unknown argument `{name}`; expected --quick, --rounds N or a workload: {}", known.join(", "))
}
