//! Every rule of dactor's conformance suite, on tasks that run their cells by turns.

mod probe;

fn main() -> std::process::ExitCode {
    let backend = custom_backend::tasks_by_turns;
    dactor_conformance::run(probe::OnTasks { name: "custom-backend-by-turns", backend })
}
