//! Runs dactor's conformance suite on resident cells.

mod probe;

fn main() -> std::process::ExitCode {
    dactor_conformance::run(probe::OnTasks { name: "custom-backend", backend: custom_backend::tasks })
}
