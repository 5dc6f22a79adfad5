use crate::median;

/// The samples of every subject in every counted round.
#[derive(Debug)]
pub struct Rounds<T> {
    rounds: Vec<Vec<T>>,
}

impl<T> Rounds<T> {
    /// Runs every subject once per round, after one warm-up round. Subjects are interleaved, so that a change of the
    /// machine's speed affects all of them, and the first subject rotates, so that no subject always follows the same
    /// one.
    ///
    /// # Errors
    ///
    /// Returns the first error of a run, which ends the rounds.
    pub fn interleaved<E>(
        subjects: usize,
        rounds: usize,
        mut run: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        let mut counted = Vec::with_capacity(rounds);
        for round in 0..=rounds {
            let mut samples: Vec<_> = (0..subjects)
                .map(|place| (place + round) % subjects)
                .map(|subject| run(subject).map(|sample| (subject, sample)))
                .collect::<Result<_, E>>()?;
            samples.sort_unstable_by_key(|&(subject, _)| subject);
            let is_warm_up = round == 0;
            if !is_warm_up {
                counted.push(samples.into_iter().map(|(_, sample)| sample).collect());
            }
        }
        Ok(Self { rounds: counted })
    }

    /// Whether the predicate holds for a subject's samples in every round.
    pub fn all(&self, subject: usize, holds: impl Fn(&T) -> bool) -> bool {
        self.rounds.iter().all(|round| holds(&round[subject]))
    }

    /// The median over the rounds of a figure, computed from the samples of one round in the order of the subjects.
    /// Compute the ratio of two subjects here, per round, so that slow drift of the machine affects both.
    pub fn median(&self, figure: impl Fn(&[T]) -> Option<f64>) -> f64 {
        median(self.rounds.iter().filter_map(|round| figure(round)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_rotates_and_the_warm_up_is_dropped() {
        let mut order = Vec::new();
        let rounds = Rounds::interleaved(3, 2, |subject| {
            order.push(subject);
            Ok::<_, ()>(10 * order.len() + subject)
        });
        let rounds = rounds.expect("every run succeeds");
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(rounds.rounds, [[60, 41, 52], [80, 91, 72]]);
        assert_eq!(rounds.median(|round| Some(round[0] as f64)), 70.0);
    }

    #[test]
    fn the_first_error_ends_the_rounds() {
        let rounds = Rounds::interleaved(2, 9, |subject| if subject == 0 { Ok(()) } else { Err(subject) });
        assert_eq!(rounds.expect_err("a run fails"), 1);
    }
}
