//! The figures: lines on stdout, JSON, and a chart for the docs.

use std::fmt;
use std::io;

use bench_harness::{Bar, Chart, Files, Group, Options, rounded};
use serde_json::{Map, Value};

/// The figures of one measurement on one backend with one engine.
pub(crate) struct Row {
    case: String,
    backend: &'static str,
    engine: &'static str,
    values: Vec<(&'static str, f64)>,
    ratios: Vec<(&'static str, f64)>,
}

impl Row {
    pub(crate) fn new(case: impl Into<String>, backend: &'static str, engine: &'static str) -> Self {
        Self { case: case.into(), backend, engine, values: Vec::new(), ratios: Vec::new() }
    }

    pub(crate) fn value(mut self, name: &'static str, value: f64) -> Self {
        self.values.push((name, value));
        self
    }

    pub(crate) fn ratio(mut self, of: &'static str, ratio: f64) -> Self {
        self.ratios.push((of, ratio));
        self
    }

    fn json(&self) -> Value {
        let mut object = Map::new();
        for (name, text) in [("case", self.case.as_str()), ("backend", self.backend), ("engine", self.engine)]
        {
            object.insert(name.into(), text.into());
        }
        for (name, value) in &self.values {
            object.insert((*name).into(), rounded(*value, 1000.0).into());
        }
        for (name, ratio) in &self.ratios {
            object.insert(format!("ratio {name}"), rounded(*ratio, 1000.0).into());
        }
        Value::Object(object)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<16} {:<7} {:<7}", self.case, self.backend, self.engine)?;
        for (name, value) in &self.values {
            write!(f, " {name} {value:.0}")?;
        }
        for (name, ratio) in &self.ratios {
            write!(f, "  {ratio:.2} {name}")?;
        }
        Ok(())
    }
}

/// Writes `bench/virtual.json` under the target directory, and the chart if everything was measured.
pub(crate) fn write(rows: &[Row], options: &Options) -> io::Result<()> {
    let files = Files::of(env!("CARGO_MANIFEST_DIR"), "virtual");
    if options.under_cargo_bench {
        let rows = rows.iter().map(Row::json).collect();
        files.write_json(&format!("{:#}\n", Value::Array(rows)))?;
    }
    if options.is_full_run() {
        files.write_docs("svg", &chart(rows))?;
    }
    Ok(())
}

/// Costs as multiples of their baselines, and saves as multiples of what one transaction per save reaches.
fn chart(rows: &[Row]) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let subject = if row.backend == "ractor" { "dactor_ractor" } else { "dactor_kameo" };
        for (of, ratio) in &row.ratios {
            let label = format!("{}, {}", row.case, row.engine);
            let label =
                if *of == "of claim + open + plain spawn" { format!("{label}, + spawn") } else { label };
            let bar = Bar { subject, ratio: *ratio, label: format!("{ratio:.2}") };
            match groups.iter_mut().find(|group| group.label == label) {
                Some(group) => group.bars.push(bar),
                None => groups.push(Group { label, bars: vec![bar] }),
            }
        }
    }
    let chart = Chart {
        title: "Virtual actors",
        note: "Costs as multiples of a plain ask, claim + open, a plain actor: shorter is better. Saves against one by one: longer is better",
        baseline: "1",
        groups,
    };
    chart.svg()
}
