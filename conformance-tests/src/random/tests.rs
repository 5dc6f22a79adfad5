use super::execute::execute;
use super::generate::generate;
use super::program::Program;
use super::run::Runtime;
use crate::{Reference, Style};

#[test]
fn a_program_is_read_from_its_text() {
    for seed in 0..200 {
        let program = generate(seed);
        assert_eq!(Program::parse(&program.to_string()), Ok(program), "seed {seed}");
    }
}

/// Runs the test on a thread whose panics are not printed.
fn quietly(test: impl FnOnce() -> Result<(), String> + Send + 'static) {
    crate::check::silence_injected_panics();
    let thread = std::thread::Builder::new().name(format!("{} replay", crate::check::THREAD));
    assert_eq!(thread.spawn(test).unwrap().join().unwrap(), Ok(()));
}

#[test]
fn a_seed_gives_the_same_history_each_time() {
    quietly(|| {
        for style in [Style::Resident, Style::Turns] {
            for seed in 0..150 {
                let program = generate(seed);
                let texts = [(); 2].map(|()| {
                    let entries = execute(&program, &Reference::new(style), Runtime::Simulated);
                    entries.iter().map(|entry| format!("{entry}\n")).collect::<String>()
                });
                let [first, second] = &texts;
                let differ = first.lines().zip(second.lines()).find(|(first, second)| first != second);
                if first != second {
                    return Err(format!("seed {seed}, {style:?}: {differ:?}\n{program}"));
                }
            }
        }
        Ok(())
    });
}
