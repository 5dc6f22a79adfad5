/// Odd, so that the median is the figure of one round.
const DEFAULT_ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 1;

/// The benchmarks to run, and the number of rounds.
#[derive(Debug)]
pub struct Options {
    /// The number of counted rounds; a warm-up round runs first and is discarded.
    pub rounds: usize,
    /// The size of each benchmark.
    pub scale: Scale,
    /// Whether `cargo bench` started the process. `cargo test --all-targets` also runs benches, without `--bench`:
    /// these are short smoke runs that write no figures.
    pub under_cargo_bench: bool,
    filter: Vec<String>,
}

/// The size of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Long enough to measure.
    Full,
    /// A smoke test.
    Quick,
}

impl Options {
    /// Parses the arguments. An argument that is not an option must be one of the `known` names.
    ///
    /// # Errors
    ///
    /// Returns a message for the user.
    pub fn from_args(args: impl Iterator<Item = String>, known: &[&str]) -> Result<Self, String> {
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
                name if known.contains(&name) => filter.push(arg),
                name => return Err(unknown(name, known)),
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

    /// Whether the filter selects this name.
    pub fn selects(&self, name: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|wanted| wanted == name)
    }

    /// Whether the figures are complete enough to be published under `docs/`.
    pub fn is_full_run(&self) -> bool {
        self.filter.is_empty() && self.scale == Scale::Full
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    format!("unknown argument `{name}`; expected --quick, --rounds N or one of: {}", known.join(", "))
}
