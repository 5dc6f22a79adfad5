//! Runs dactor's conformance suite.

fn main() -> std::process::ExitCode {
    dactor_conformance::run(("adapter-template", adapter_template::backend))
}
