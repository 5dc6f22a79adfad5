//! Ratios to a baseline as horizontal bars, in SVG.

use std::fmt::Write;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 215.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 92.0;
const BAR: f64 = 14.0;
const GROUP: f64 = 42.0;
const BOTTOM: f64 = 40.0;

/// The charted subjects and their colours.
const SERIES: [(&str, &str); 2] = [("dactor_ractor", "#3b6fb6"), ("dactor_kameo", "#d9822b")];

/// A chart with two bars per group, one for each backend.
#[derive(Debug)]
pub struct Chart {
    /// Its heading.
    pub title: &'static str,
    /// A one-sentence description of the bars.
    pub note: &'static str,
    /// What a ratio of 1 stands for.
    pub baseline: &'static str,
    /// The groups, from top to bottom.
    pub groups: Vec<Group>,
}

/// The bars of one benchmark.
#[derive(Debug)]
pub struct Group {
    /// The label to the left of the bars.
    pub label: String,
    /// The bars; those of subjects other than the two dactor subjects are ignored.
    pub bars: Vec<Bar>,
}

/// One subject's ratio.
#[derive(Debug)]
pub struct Bar {
    /// The subject.
    pub subject: &'static str,
    /// The ratio to the baseline.
    pub ratio: f64,
    /// The label to the right of the bar.
    pub label: String,
}

impl Chart {
    /// Renders the chart as SVG.
    pub fn svg(&self) -> String {
        let ratios = self.groups.iter().flat_map(|group| &group.bars).map(|bar| bar.ratio);
        let axis = Axis::reaching(ratios.fold(1.25, f64::max));
        let bottom = TOP + GROUP * self.groups.len() as f64;
        let height = bottom + BOTTOM;
        let Self { title, note, .. } = self;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" \
             fill=\"#222\">\n\
             <title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fdfdfb\"/>\n"
        );
        svg += &text(20.0, 28.0, "start", 17, title);
        svg += &text(20.0, 48.0, "start", 12, note);
        svg += &legend();
        svg += &axis.grid(bottom);
        for (index, group) in self.groups.iter().enumerate() {
            svg += &bars(&axis, TOP + GROUP * index as f64, group);
        }
        svg += &axis.baseline(bottom, self.baseline);
        svg += "</svg>\n";
        svg
    }
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

    fn baseline(&self, bottom: f64, name: &str) -> String {
        let x = self.x(1.0);
        vertical(x, bottom, "stroke=\"#222\" stroke-width=\"1.5\"") + &text(x, TOP - 8.0, "middle", 12, name)
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

fn bars(axis: &Axis, top: f64, group: &Group) -> String {
    let mut svg = text(LEFT - 10.0, top + GROUP / 2.0 + 4.0, "end", 13, &group.label);
    for (index, (subject, colour)) in SERIES.iter().enumerate() {
        let Some(bar) = group.bars.iter().find(|bar| bar.subject == *subject) else {
            continue;
        };
        let end = axis.x(bar.ratio);
        let y = top + (GROUP - 2.0 * BAR) / 2.0 + BAR * index as f64;
        writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            end - LEFT,
            BAR - 1.0
        )
        .expect("writing to a string");
        svg += &text(end + 5.0, y + BAR - 3.0, "start", 12, &bar.label);
    }
    svg
}

fn vertical(x: f64, bottom: f64, style: &str) -> String {
    format!("<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\" {style}/>\n")
}

/// Labels are identifiers, numbers and fixed sentences, so they need no escaping.
fn text(x: f64, y: f64, anchor: &str, size: u32, label: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{label}</text>\n")
}
