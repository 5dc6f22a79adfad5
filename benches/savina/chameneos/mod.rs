//! Chameneos: many actors contend for one. Creatures come to a mall, which pairs them.
//!
//! The first creature of a pair waits. The mall tells it which creature came second; it computes the new colour of
//! both, tells the second, and both return to the mall. After the last meeting the mall stops every creature that
//! comes, and collects its result. The pairs depend on timing, but the number of meetings and the sum of the colours
//! do not: see [`Colour::complement`]. These two are the answer.

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

    /// The new colour of two creatures: the colour that they share, or else the third.
    ///
    /// Modulo three, this is the negated sum of both colours. So a meeting does not change the sum of all colours.
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

/// The state of a creature, which it finally reports to the mall.
#[derive(Clone, Copy)]
struct Creature {
    colour: Colour,
    meetings: u64,
}

impl Creature {
    fn new(number: u64) -> Self {
        Self { colour: Colour::of(number), meetings: 0 }
    }

    /// The first of a pair meets the second, and computes the new colour of both.
    fn meet(&mut self, other: Colour) -> Colour {
        let colour = self.colour.complement(other);
        self.change(colour);
        colour
    }

    /// The second of a pair receives its new colour.
    fn change(&mut self, colour: Colour) {
        self.colour = colour;
        self.meetings += 1;
    }
}

/// The state of the mall. `R` is a reference to a creature.
struct Mall<R> {
    meetings_left: u64,
    waiting: Option<R>,
    creatures_left: u64,
    answer: Answer,
    home: Option<oneshot::Sender<Answer>>,
}

/// The result of a creature's visit to the mall.
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

    /// Returns whether this creature was the last one; if so, the answer has been sent.
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

/// The totals over all creatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Two creatures count each meeting.
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
