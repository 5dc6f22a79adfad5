//! Chameneos: many actors and one that all of them need. Creatures come to a mall, which brings them together two by
//! two.
//!
//! The first of a pair waits. The mall tells it who came second, it tells the second what both turn into, and both go
//! back to the mall. After the last meeting the mall sends home whoever comes, and hears from each what has become of
//! it. Who meets whom is a matter of luck, but not how many meetings there are in all, nor the colours' sum: see
//! [`Colour::complement`]. These two are the answer.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    creatures: u64,
    meetings: u64,
}

#[derive(Clone, Copy)]
enum Colour {
    Blue,
    Red,
    Yellow,
}

impl Colour {
    fn of(creature: u64) -> Self {
        match creature % 3 {
            0 => Self::Blue,
            1 => Self::Red,
            _ => Self::Yellow,
        }
    }

    /// What two creatures turn into: both keep the colour that they share, or take the one that neither has.
    ///
    /// In numbers modulo three it is minus their sum, for both. So a meeting leaves the sum of all colours as it is.
    fn complement(self, other: Self) -> Self {
        match (self, other) {
            (Self::Blue, Self::Blue) | (Self::Red, Self::Yellow) | (Self::Yellow, Self::Red) => Self::Blue,
            (Self::Red, Self::Red) | (Self::Blue, Self::Yellow) | (Self::Yellow, Self::Blue) => Self::Red,
            (Self::Yellow, Self::Yellow) | (Self::Blue, Self::Red) | (Self::Red, Self::Blue) => Self::Yellow,
        }
    }

    fn number(self) -> u64 {
        match self {
            Self::Blue => 0,
            Self::Red => 1,
            Self::Yellow => 2,
        }
    }
}

/// What a creature is, and what it tells the mall in the end.
#[derive(Clone, Copy)]
struct Creature {
    colour: Colour,
    meetings: u64,
}

impl Creature {
    fn new(number: u64) -> Self {
        Self { colour: Colour::of(number), meetings: 0 }
    }

    /// The first of a pair learns who came second, and finds what both turn into.
    fn meet(&mut self, other: Colour) -> Colour {
        let colour = self.colour.complement(other);
        self.change(colour);
        colour
    }

    /// The second of a pair learns what it turns into.
    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.meetings += 1;
    }
}

/// What the mall knows. `R` is a reference to a creature.
struct Mall<R> {
    meetings_left: u64,
    waiting: Option<R>,
    creatures_left: u64,
    answer: Answer,
    home: Option<oneshot::Sender<Answer>>,
}

/// What comes of a creature's visit to the mall.
enum Visit<R> {
    Waits,
    Meets { first: R, second: R },
    Closed(R),
}

impl<R> Mall<R> {
    fn new(config: Config, home: oneshot::Sender<Answer>) -> Self {
        Self {
            meetings_left: config.meetings,
            waiting: None,
            creatures_left: config.creatures,
            answer: Answer { meetings: 0, colours: 0 },
            home: Some(home),
        }
    }

    fn visit(&mut self, creature: R) -> Visit<R> {
        if self.meetings_left == 0 {
            return Visit::Closed(creature);
        }
        match self.waiting.take() {
            Some(first) => {
                self.meetings_left -= 1;
                Visit::Meets { first, second: creature }
            }
            None => {
                self.waiting = Some(creature);
                Visit::Waits
            }
        }
    }

    /// Whether this creature was the last one. The answer is sent then.
    fn leave(&mut self, creature: Creature) -> bool {
        self.answer.add(creature);
        self.creatures_left -= 1;
        let last = self.creatures_left == 0;
        if let Some(home) = self.home.take_if(|_| last) {
            home.send(self.answer).runs();
        }
        last
    }
}

/// What the creatures come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Each is counted by two creatures.
    meetings: u64,
    /// Modulo three.
    colours: u64,
}

impl Answer {
    fn add(&mut self, creature: Creature) {
        self.meetings += creature.meetings;
        self.colours = (self.colours + creature.colour.number()) % 3;
    }
}

pub(crate) struct Chameneos;

impl Benchmark for Chameneos {
    const NAME: &'static str = "chameneos";
    const ABOUT: &'static str = "A mall brings creatures together two by two.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Answer;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { creatures: 100, meetings: 100_000 },
            Scale::Quick => Config { creatures: 10, meetings: 1_000 },
        }
    }

    fn expected(config: Config) -> Answer {
        let mut answer = Answer { meetings: 2 * config.meetings, colours: 0 };
        for number in 0..config.creatures {
            answer.add(Creature::new(number));
        }
        answer
    }

    async fn dactor(system: &System, config: Config) -> Answer {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Answer {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Answer {
        kameo::run(config).await
    }
}
