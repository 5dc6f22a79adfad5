//! Runs dactor's conformance suite on cells that run by turns.

mod probe;

fn main() -> std::process::ExitCode {
    let backend = custom_backend::tasks_by_turns;
    dactor_conformance::run(probe::OnTasks { name: "custom-backend-by-turns", backend })
}
