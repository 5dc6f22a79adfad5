//! Every rule of dactor's conformance suite, on tasks that keep their cells running.

mod probe;

fn main() -> std::process::ExitCode {
    dactor_conformance::run(probe::OnTasks { name: "custom-backend", backend: custom_backend::tasks })
}
