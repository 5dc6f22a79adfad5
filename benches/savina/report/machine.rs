//! The machine on which the figures were measured.

use std::{env, fs, thread};

use super::ROOT;

/// The processor, the number of usable hardware threads, and the operating system.
pub(crate) fn machine() -> String {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let processor = processor().unwrap_or_else(|| "an unknown processor".to_owned());
    format!("{processor}, {threads} hardware threads, {} on {}", env::consts::OS, env::consts::ARCH)
}

/// The name of the processor, if the operating system provides it in a file.
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The locked version of a dependency.
pub(crate) fn version(package: &str) -> String {
    let lock = fs::read_to_string(format!("{ROOT}/Cargo.lock")).unwrap_or_default();
    let after = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).map(|(_, after)| after);
    after.and_then(|after| after.split('"').next()).unwrap_or("of an unknown version").to_owned()
}
