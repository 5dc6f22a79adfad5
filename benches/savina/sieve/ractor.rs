use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::{Config, Finish, Primes, Runs};

pub(super) const IDIOM: &str = "`cast`; a filter spawns the next in its handler";

struct Source {
    config: Config,
    filter: ActorRef<ToFilter>,
}

struct Flow(oneshot::Sender<usize>);

impl Actor for Source {
    type Msg = Flow;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Flow>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Flow>,
        Flow(home): Flow,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        for candidate in self.config.candidates() {
            self.filter.cast(ToFilter::Candidate(candidate))?;
        }
        self.filter.cast(ToFilter::Last(Finish { primes: 0, home }))?;
        myself.stop(None);
        Ok(())
    }
}

struct Filter;

struct FilterState {
    primes: Primes,
    next: Option<ActorRef<ToFilter>>,
}

enum ToFilter {
    Candidate(u64),
    Last(Finish),
}

impl Actor for Filter {
    type Msg = ToFilter;
    type State = FilterState;
    type Arguments = Primes;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToFilter>,
        primes: Primes,
    ) -> Result<FilterState, ActorProcessingErr> {
        Ok(FilterState { primes, next: None })
    }

    async fn handle(
        &self,
        myself: ActorRef<ToFilter>,
        message: ToFilter,
        state: &mut FilterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToFilter::Candidate(candidate) => match (state.primes.sift(candidate), &state.next) {
                (None, _) => {}
                (Some(candidate), Some(next)) => next.cast(ToFilter::Candidate(candidate))?,
                (Some(prime), None) => {
                    let primes = Primes::starting_with(prime, state.primes.at_most);
                    let (next, _) = Actor::spawn(None, Filter, primes).await?;
                    state.next = Some(next);
                }
            },
            ToFilter::Last(finish) => {
                let finish = finish.add(&state.primes);
                match &state.next {
                    Some(next) => next.cast(ToFilter::Last(finish))?,
                    None => finish.report(),
                }
                myself.stop(None);
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> usize {
    let primes = Primes::starting_with(2, config.primes_per_filter);
    let (filter, _) = Actor::spawn(None, Filter, primes).await.runs();
    let (source, _) = Actor::spawn(None, Source { config, filter }, ()).await.runs();
    let (home, primes) = oneshot::channel();
    source.cast(Flow(home)).runs();
    primes.await.runs()
}
