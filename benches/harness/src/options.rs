/// Odd, so that the median is a round that really happened.
const DEFAULT_ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 1;

/// What to run and how often.
#[derive(Debug)]
pub struct Options {
    /// Counted rounds; one more runs first as a warm-up and is dropped.
    pub rounds: usize,
    /// How much of each.
    pub scale: Scale,
    /// Whether `cargo bench` started us. `cargo test --all-targets` runs a bench too, without `--bench`: that
    /// must stay a short smoke run and leave no figures behind.
    pub under_cargo_bench: bool,
    filter: Vec<String>,
}

/// How much of a benchmark to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Long enough to be timed.
    Full,
    /// Only proves that it runs.
    Quick,
}

impl Options {
    /// Reads the arguments, of which those that are no option must be one of the `known` names.
    ///
    /// # Errors
    ///
    /// A message for the user.
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

    /// Whether the filter lets this name through.
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
