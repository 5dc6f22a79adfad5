//! The rules about actors of another system, over nodes on every pair of backends.

#[path = "support/nodes.rs"]
mod support;

use std::process::ExitCode;
use std::sync::Arc;

use dactor_conformance::{Subject, run_family};

use support::{Nodes, kameo, ractor};

fn main() -> ExitCode {
    let nodes = |name, backends, tcp| Nodes { name, backends, tcp, fault: None };
    let subjects = [
        nodes("tcp-ractor-ractor", [ractor, ractor], true),
        nodes("tcp-ractor-kameo", [ractor, kameo], true),
        nodes("tcp-kameo-ractor", [kameo, ractor], true),
        nodes("tcp-kameo-kameo", [kameo, kameo], true),
        nodes("memory-ractor-ractor", [ractor, ractor], false),
        nodes("memory-ractor-kameo", [ractor, kameo], false),
        nodes("memory-kameo-ractor", [kameo, ractor], false),
        nodes("memory-kameo-kameo", [kameo, kameo], false),
    ];
    run_family(subjects.into_iter().map(|nodes| Arc::new(nodes) as Arc<dyn Subject>).collect(), "FAR")
}
