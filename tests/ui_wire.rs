//! What the compiler says about mistakes in messages that leave the process. The expected texts are in `ui_wire/*.stderr`.

use std::process::Command;

/// As for the other texts of the compiler.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn compiler_errors() {
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc is on the path");
    let rustc = String::from_utf8_lossy(&rustc.stdout);
    if !rustc.starts_with(RECORDED_WITH) {
        eprintln!("skipped: the texts were recorded with {RECORDED_WITH}x, this is {rustc}");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui_wire/*.rs");
}
