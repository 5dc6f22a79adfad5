//! The figures for the documentation, as a chart: ratios to native as horizontal bars.

use std::fmt::Write;

use crate::rounds::Row;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 215.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 92.0;
const BAR: f64 = 14.0;
const GROUP: f64 = 42.0;
const BOTTOM: f64 = 40.0;

/// The charted subjects and their colours.
const SERIES: [(&str, &str); 2] = [("dactor_ractor", "#3b6fb6"), ("dactor_kameo", "#d9822b")];

/// Draws the dactor rows; the rest has no ratio to native.
pub(crate) fn chart(rows: &[Row]) -> String {
    let groups: Vec<_> = rows.chunk_by(|a, b| a.workload == b.workload && a.threads == b.threads).collect();
    let highest = rows.iter().filter_map(|row| row.ratio_to_native).fold(1.25, f64::max);
    let axis = Axis::reaching(highest);
    let bottom = TOP + GROUP * groups.len() as f64;
    let height = bottom + BOTTOM;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" \
         fill=\"#222\">\n\
         <title>Overhead of dactor over its backends</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fdfdfb\"/>\n"
    );
    svg += &text(20.0, 28.0, "start", 17, "Overhead of dactor over its backends");
    let note = "Cost as a multiple of the native library: 1.0 is native, shorter is better";
    svg += &text(20.0, 48.0, "start", 12, note);
    svg += &legend();
    svg += &axis.grid(bottom);
    for (index, group) in groups.iter().enumerate() {
        svg += &bars(&axis, TOP + GROUP * index as f64, group);
    }
    svg += &axis.native_line(bottom);
    svg += "</svg>\n";
    svg
}

/// The horizontal scale, from 0 to a round number.
struct Axis {
    end: f64,
    step: f64,
}

impl Axis {
    fn reaching(highest: f64) -> Self {
        let step = match highest {
            h if h <= 2.5 => 0.25,
            h if h <= 5.0 => 0.5,
            h if h <= 10.0 => 1.0,
            h => (h / 10.0).ceil(),
        };
        Self { end: (highest / step).ceil() * step, step }
    }

    fn x(&self, ratio: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * ratio / self.end
    }

    fn grid(&self, bottom: f64) -> String {
        let ticks = (self.end / self.step).round() as usize;
        (0..=ticks)
            .map(|tick| {
                let ratio = tick as f64 * self.step;
                let x = self.x(ratio);
                vertical(x, bottom, "stroke=\"#dcdcd6\"")
                    + &text(x, bottom + 20.0, "middle", 12, &format!("{ratio}"))
            })
            .collect()
    }

    fn native_line(&self, bottom: f64) -> String {
        let x = self.x(1.0);
        vertical(x, bottom, "stroke=\"#222\" stroke-width=\"1.5\"")
            + &text(x, TOP - 8.0, "middle", 12, "native")
    }
}

fn legend() -> String {
    SERIES
        .iter()
        .enumerate()
        .map(|(index, (subject, colour))| {
            let x = WIDTH - 280.0 + 140.0 * index as f64;
            format!(
                "<rect x=\"{x}\" y=\"17\" width=\"14\" height=\"14\" fill=\"{colour}\"/>\n{}",
                text(x + 20.0, 28.0, "start", 13, subject)
            )
        })
        .collect()
}

fn bars(axis: &Axis, top: f64, group: &[Row]) -> String {
    let threads = group[0].threads.count();
    let plural = if threads == 1 { "" } else { "s" };
    let label = format!("{}, {threads} thread{plural}", group[0].workload.id());
    let mut svg = text(LEFT - 10.0, top + GROUP / 2.0 + 4.0, "end", 13, &label);
    for (index, (subject, colour)) in SERIES.iter().enumerate() {
        let Some(row) = group.iter().find(|row| row.subject == *subject) else {
            continue;
        };
        let (Some(ratio), Some(native)) = (row.ratio_to_native, row.native) else {
            continue;
        };
        let y = top + (GROUP - 2.0 * BAR) / 2.0 + BAR * index as f64;
        writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            axis.x(ratio) - LEFT,
            BAR - 1.0
        )
        .expect("writing to a string");
        let value = if row.is_stand_in { format!("{ratio:.2} of {native}") } else { format!("{ratio:.2}") };
        svg += &text(axis.x(ratio) + 5.0, y + BAR - 3.0, "start", 12, &value);
    }
    svg
}

fn vertical(x: f64, bottom: f64, style: &str) -> String {
    format!("<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\" {style}/>\n")
}

/// No label of ours needs escaping: identifiers, numbers and the fixed sentences above.
fn text(x: f64, y: f64, anchor: &str, size: u32, label: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{label}</text>\n")
}
