//! The tables and the chart.

use std::fmt::Write;
use std::time::Duration;

use super::PATHS;
use super::races::{Race, Unread};
use crate::AnyError;
use crate::service::Path;

/// The requests per second of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    /// Sorted.
    pub(super) times: Vec<Duration>,
    /// Messages with a number that another message has, too.
    pub(super) duplicates: usize,
    /// Answers with 503.
    pub(super) refused: usize,
}

/// The figures of one path.
#[derive(Debug, Default)]
struct Figures {
    races: Vec<Race>,
    unread: Vec<Unread>,
    bursts: Vec<Race>,
    rates: Vec<(usize, Rate)>,
    epoch: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    naive: Figures,
    actors: Figures,
    /// The number of conversations in memory, and the bytes of each.
    pub(super) memory: Option<(usize, f64)>,
}

impl Report {
    fn of(&mut self, path: Path) -> &mut Figures {
        if path == Path::Actors { &mut self.actors } else { &mut self.naive }
    }

    fn at(&self, path: Path) -> &Figures {
        if path == Path::Actors { &self.actors } else { &self.naive }
    }

    pub(super) fn race(&mut self, path: Path, race: Race) {
        self.of(path).races.push(race);
    }

    pub(super) fn unread(&mut self, path: Path, unread: Unread) {
        self.of(path).unread.push(unread);
    }

    pub(super) fn burst(&mut self, path: Path, race: Race) {
        self.of(path).bursts.push(race);
    }

    pub(super) fn rate(&mut self, size: usize, path: Path, rate: Rate) {
        self.of(path).rates.push((size, rate));
    }

    pub(super) fn epoch(&mut self, path: Path, time: Duration) {
        self.of(path).epoch = time;
    }

    pub(super) fn print(&self) {
        self.print_races("10 concurrent AddMembers to one conversation", |figures| &figures.races);
        self.print_unread();
        self.print_races("100 concurrent requests to one conversation", |figures| &figures.bursts);
        self.print_rates();
        let (naive, actors) = (self.naive.epoch, self.actors.epoch);
        let ratio = naive.as_secs_f64() / actors.as_secs_f64();
        println!(
            "\nGetEpoch without HTTP: naive {naive:?} (a query), actors {actors:?} (from memory), {ratio:.1} times as fast"
        );
        if let Some((count, bytes)) = self.memory {
            println!(
                "memory: {bytes:.0} bytes per conversation on an actor, with 10 members ({count} in memory)"
            );
        }
    }

    fn print_races(&self, title: &str, races: impl Fn(&Figures) -> &Vec<Race>) {
        let rounds = races(&self.actors).len();
        println!("\n{title}, {rounds} rounds");
        let row = |name: &str, value: &dyn Fn(&[Race]) -> String| {
            let cell = |path| value(races(self.at(path)));
            println!("| {name:<22} | {:>14} | {:>14} |", cell(PATHS[0]), cell(PATHS[1]));
        };
        header("");
        let sum = |races: &[Race], of: &dyn Fn(&Race) -> usize| races.iter().map(of).sum::<usize>();
        row("answered", &|races| {
            format!("{}/{}", sum(races, &|r| r.epochs.len()), sum(races, &|r| r.requests))
        });
        row("duplicate epochs", &|races| sum(races, &Race::duplicates).to_string());
        row("lost updates", &|races| sum(races, &Race::lost).to_string());
        row("retries", &|races| sum(races, &|race| race.retries).to_string());
        row("rounds without fault", &|races| races.iter().filter(|race| race.is_clean()).count().to_string());
        row("time, median", &|races| {
            let mut times: Vec<_> = races.iter().map(|race| race.time).collect();
            times.sort_unstable();
            format!("{:.1} ms", milliseconds(percentile(&times, 50)))
        });
    }

    fn print_unread(&self) {
        println!("\n50 concurrent send + read, {} rounds", self.actors.unread.len());
        header("");
        let row = |name: &str, value: &dyn Fn(&[Unread]) -> String| {
            let cell = |path| value(&self.at(path).unread);
            println!("| {name:<22} | {:>14} | {:>14} |", cell(PATHS[0]), cell(PATHS[1]));
        };
        row("final unread count", &|all| {
            let counts = || all.iter().map(|one| one.unread);
            format!("{} to {}", counts().min().unwrap_or(0), counts().max().unwrap_or(0))
        });
        row("wrong counts", &|all| all.iter().filter(|one| one.unread != 0).count().to_string());
        row("duplicate numbers", &|all| all.iter().map(|one| one.duplicates).sum::<usize>().to_string());
    }

    fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<_> = self.actors.rates.iter().map(|(size, _)| *size).collect();
        sizes.dedup();
        sizes
    }

    /// The runs of one size, the median by requests per second first.
    fn median(&self, path: Path, size: usize) -> Rate {
        let runs = self.at(path).rates.iter().filter(|(of, _)| *of == size);
        let mut runs: Vec<_> = runs.map(|(_, rate)| rate.clone()).collect();
        runs.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
        let (duplicates, refused) =
            (runs.iter().map(|run| run.duplicates).sum(), runs.iter().map(|run| run.refused).sum());
        let median = runs.get(runs.len() / 2).cloned().unwrap_or_default();
        Rate { duplicates, refused, ..median }
    }

    /// Requests per second of the actors to those of the naive path, in the median run.
    fn ratio(&self, size: usize) -> f64 {
        self.median(Path::Actors, size).per_second / self.median(Path::Naive, size).per_second
    }

    fn print_rates(&self) {
        println!("\nSendMessage on 64 connections, median of the runs");
        println!(
            "| conversations | path   | requests/s |  p50 ms |  p95 ms |  p99 ms | duplicates | refused | ratio |"
        );
        println!(
            "| ------------: | ------ | ---------: | ------: | ------: | ------: | ---------: | ------: | ----: |"
        );
        for size in self.sizes() {
            for path in PATHS {
                let rate = self.median(path, size);
                let time = |percent| milliseconds(percentile(&rate.times, percent));
                let ratio =
                    if path == Path::Actors { format!("{:.1}", self.ratio(size)) } else { "1".to_owned() };
                println!(
                    "| {size:>13} | {:<6} | {:>10.0} | {:>7.2} | {:>7.2} | {:>7.2} | {:>10} | {:>7} | {ratio:>5} |",
                    path.name(),
                    rate.per_second,
                    time(50),
                    time(95),
                    time(99),
                    rate.duplicates,
                    rate.refused
                );
            }
        }
    }

    /// The actors must be without fault.
    pub(super) fn verdict(&self) -> Result<(), AnyError> {
        let Figures { races, unread, bursts, rates, .. } = &self.actors;
        if !races.iter().chain(bursts).all(Race::is_clean) {
            return Err("epochs of actors have gaps or duplicates".into());
        }
        if unread.iter().any(|one| one.unread != 0 || one.duplicates != 0) {
            return Err("unread counts or numbers of actors are wrong".into());
        }
        if rates.iter().any(|(_, rate)| rate.duplicates != 0) {
            return Err("two messages of an actor have the same number".into());
        }
        Ok(())
    }

    /// Requests per second as bars.
    pub(super) fn svg(&self) -> String {
        let sizes = self.sizes();
        let all = sizes.iter().flat_map(|size| PATHS.map(|path| self.median(path, *size).per_second));
        let most = all.fold(1.0, f64::max);
        let height = 110 + 64 * sizes.len();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 {height}\" width=\"860\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <title>Messages per second on both paths</title>\n\
             <rect width=\"860\" height=\"{height}\" fill=\"#fdfdfb\"/>\n"
        );
        let _ = writeln!(svg, "{}", text(20, 28, 17, "Messages per second on both paths"));
        let note = "64 connections, SQLite, each message durable before it is answered; the ratio is actors to naive.";
        let _ = writeln!(svg, "{}", text(20, 48, 12, note));
        for (index, path) in PATHS.into_iter().enumerate() {
            let x = 20 + index * 110;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"62\" width=\"12\" height=\"12\" fill=\"{}\"/>",
                colour(path)
            );
            let _ = writeln!(svg, "{}", text(x + 18, 73, 13, path.name()));
        }
        for (group, size) in sizes.iter().enumerate() {
            let top = 92 + 64 * group;
            let label = if *size == 1 { "1 conversation".into() } else { format!("{size} conversations") };
            let _ = writeln!(svg, "{}", text(20, top + 24, 13, &label));
            for (index, path) in PATHS.into_iter().enumerate() {
                let rate = self.median(path, *size);
                let (y, width) = (top + 20 * index, 440.0 * rate.per_second / most);
                let fill = colour(path);
                let _ = writeln!(
                    svg,
                    "<rect x=\"190\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" fill=\"{fill}\"/>"
                );
                let mut label = format!("{:.0}/s, {} duplicate numbers", rate.per_second, rate.duplicates);
                if path == Path::Actors {
                    let _ = write!(label, ", ratio {:.1}", self.ratio(*size));
                }
                let _ = writeln!(svg, "{}", text(198 + width as usize, y + 13, 12, &label));
            }
        }
        svg += "</svg>\n";
        svg
    }
}

fn header(name: &str) {
    println!("| {name:<22} | {:>14} | {:>14} |", PATHS[0].name(), PATHS[1].name());
    println!("| {:-<22} | {:->14} | {:->14} |", "", ":", ":");
}

fn colour(path: Path) -> &'static str {
    if path == Path::Actors { "#2f6f4f" } else { "#b4541a" }
}

fn text(x: usize, y: usize, size: usize, text: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{text}</text>")
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
