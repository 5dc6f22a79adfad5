use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::{Config, Parent, Runs, Side, Step, digest};

pub(super) const IDIOM: &str = "`cast`; children are not supervised";

struct Sorter;

type Fragment = super::Fragment<ActorRef<ToSorter>>;

enum ToSorter {
    Sort(Vec<u64>),
    Sorted(Side, Vec<u64>),
}

impl Actor for Sorter {
    type Msg = ToSorter;
    type State = Fragment;
    type Arguments = Fragment;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToSorter>,
        fragment: Fragment,
    ) -> Result<Fragment, ActorProcessingErr> {
        Ok(fragment)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToSorter>,
        message: ToSorter,
        fragment: &mut Fragment,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToSorter::Sort(values) => match fragment.sort(values) {
                Step::Sorted(values) => finish(fragment, values, &myself)?,
                Step::Split(fragments) => {
                    for (side, values) in fragments {
                        let parent = Parent::Sorter(myself.clone(), side);
                        let child = Fragment::new(fragment.threshold, parent);
                        let (child, _) = Actor::spawn(None, Sorter, child).await?;
                        child.cast(ToSorter::Sort(values))?;
                    }
                }
            },
            ToSorter::Sorted(side, values) => {
                if let Some(values) = fragment.merge(side, values) {
                    finish(fragment, values, &myself)?;
                }
            }
        }
        Ok(())
    }
}

fn finish(
    fragment: &mut Fragment,
    values: Vec<u64>,
    myself: &ActorRef<ToSorter>,
) -> Result<(), ActorProcessingErr> {
    match fragment.parent.take() {
        Some(Parent::Sorter(parent, side)) => parent.cast(ToSorter::Sorted(side, values))?,
        Some(Parent::Program(home)) => home.send(values).runs(),
        None => unreachable!("a sorter finishes once"),
    }
    myself.stop(None);
    Ok(())
}

pub(super) async fn run(config: Config) -> u64 {
    let (home, sorted) = oneshot::channel();
    let root = Fragment::new(config.threshold, Parent::Program(home));
    let (root, _) = Actor::spawn(None, Sorter, root).await.runs();
    root.cast(ToSorter::Sort(config.values())).runs();
    digest(&sorted.await.runs())
}
