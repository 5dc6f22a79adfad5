//! The rules about actors of another system, on every pair of backends.

use std::process::ExitCode;
use std::sync::Arc;

use dactor_conformance::{Subject, run_family};
use dactor_core::spi::Backend;

/// A system on one backend, and one on another.
struct Pair {
    name: &'static str,
    backends: [fn() -> Box<dyn Backend>; 2],
}

impl Subject for Pair {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backend(&self) -> Box<dyn Backend> {
        self.backends[0]()
    }

    fn other_backend(&self) -> Box<dyn Backend> {
        self.backends[1]()
    }
}

fn ractor() -> Box<dyn Backend> {
    Box::new(dactor_ractor::ractor())
}

fn kameo() -> Box<dyn Backend> {
    Box::new(dactor_kameo::kameo())
}

fn main() -> ExitCode {
    let pairs: [Pair; 4] = [
        Pair { name: "ractor-ractor", backends: [ractor, ractor] },
        Pair { name: "ractor-kameo", backends: [ractor, kameo] },
        Pair { name: "kameo-ractor", backends: [kameo, ractor] },
        Pair { name: "kameo-kameo", backends: [kameo, kameo] },
    ];
    run_family(pairs.into_iter().map(|pair| Arc::new(pair) as Arc<dyn Subject>).collect(), "FAR")
}
