use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Flavor, Rule, Verdict};

/// A result: one line of a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Record {
    /// The id of the rule.
    pub rule: String,
    /// `MUST`, `SHOULD` or `MAY`.
    pub level: String,
    /// `spi` or `core`.
    pub tag: String,
    /// The name of the adapter.
    pub subject: String,
    /// The runtime flavor.
    pub runtime: String,
    /// The outcome.
    pub result: Outcome,
    /// Why the rule was ignored, or how it failed.
    pub reason: Option<String>,
}

/// The outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The adapter conforms.
    Pass,
    /// The rule does not apply to the adapter.
    Ignored,
    /// The adapter does not conform.
    Fail,
}

impl Record {
    /// The record of a verdict.
    pub fn new(rule: &Rule, subject: &str, flavor: Flavor, verdict: &Verdict) -> Self {
        let (result, reason) = match verdict {
            Verdict::Passed => (Outcome::Pass, None),
            Verdict::Ignored(reason) => (Outcome::Ignored, Some(reason.clone())),
            Verdict::Failed(reason) => (Outcome::Fail, Some(reason.clone())),
        };
        Self {
            rule: rule.id.to_owned(),
            level: rule.level.text().to_owned(),
            tag: rule.tag.text().to_owned(),
            subject: subject.to_owned(),
            runtime: flavor.text().to_owned(),
            result,
            reason,
        }
    }
}

/// Writes the report of one adapter, sorted by rule.
pub(crate) fn write(directory: &Path, subject: &str, mut records: Vec<Record>) -> io::Result<()> {
    records.sort();
    std::fs::create_dir_all(directory)?;
    let mut file = std::fs::File::create(directory.join(format!("{subject}.jsonl")))?;
    for record in records {
        writeln!(file, "{}", serde_json::to_string(&record)?)?;
    }
    Ok(())
}

/// Reads all reports of a directory.
pub(crate) fn read(directory: &Path) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            for line in std::fs::read_to_string(&path)?.lines() {
                records.push(serde_json::from_str(line)?);
            }
        }
    }
    records.sort();
    Ok(records)
}
