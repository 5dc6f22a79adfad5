use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Flavor, Rule, Verdict};

/// One result: a line of a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Record {
    /// The rule's id.
    pub rule: String,
    /// `MUST`, `SHOULD` or `MAY`.
    pub level: String,
    /// `spi` or `core`.
    pub tag: String,
    /// The adapter.
    pub subject: String,
    /// The runtime.
    pub runtime: String,
    /// What came of it.
    pub result: Outcome,
    /// Why it was ignored, or how it failed.
    pub reason: Option<String>,
}

/// What came of a rule, in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is kept.
    Pass,
    /// The adapter declares that it does not apply.
    Ignored,
    /// It is broken.
    Fail,
}

impl Record {
    /// The line for one verdict.
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

/// Writes one adapter's report into the directory, whatever order the rules ran in.
pub(crate) fn write(directory: &Path, subject: &str, mut records: Vec<Record>) -> io::Result<()> {
    records.sort();
    std::fs::create_dir_all(directory)?;
    let mut file = std::fs::File::create(directory.join(format!("{subject}.jsonl")))?;
    for record in records {
        writeln!(file, "{}", serde_json::to_string(&record)?)?;
    }
    Ok(())
}

/// Reads every report in the directory.
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
