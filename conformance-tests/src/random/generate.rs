//! A seed becomes a program. Each program uses some of the features only: what few features do together is seen more
//! often than what all do.

use super::program::{
    Choice, Ending, Finish, Full, Hook, HookEnd, How, Intercept, Job, Lane, Op, Post, Program, Scope, Spawn,
    Step,
};

/// SplitMix64: small, and the same everywhere.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize]
    }
}

/// What a program may use.
#[derive(Debug, Default)]
struct Features {
    children: bool,
    deep: bool,
    bounds: bool,
    lanes: bool,
    stash: bool,
    failures: bool,
    panics: bool,
    bad_values: bool,
    bad_hooks: bool,
    limits: bool,
    drops: bool,
    nested: bool,
    watches: bool,
    ends: bool,
    later: bool,
    own_messages: bool,
    slow_stops: bool,
    hangs: bool,
    inbound: bool,
    outbound: bool,
    services: bool,
    lost_spawns: bool,
    supervision: bool,
    clients: bool,
}

impl Features {
    fn new(dice: &mut Dice) -> Self {
        let mut features = Self::default();
        for feature in [
            &mut features.children,
            &mut features.bounds,
            &mut features.lanes,
            &mut features.stash,
            &mut features.failures,
            &mut features.limits,
            &mut features.drops,
            &mut features.nested,
            &mut features.watches,
            &mut features.ends,
            &mut features.later,
            &mut features.own_messages,
            &mut features.slow_stops,
            &mut features.supervision,
            &mut features.clients,
        ] {
            *feature = dice.one_in(2);
        }
        for feature in [
            &mut features.deep,
            &mut features.panics,
            &mut features.bad_values,
            &mut features.bad_hooks,
            &mut features.hangs,
            &mut features.inbound,
            &mut features.outbound,
            &mut features.services,
            &mut features.lost_spawns,
        ] {
            *feature = dice.one_in(4);
        }
        features
    }
}

struct Author {
    dice: Dice,
    features: Features,
    grace: u64,
    /// How many actors there are.
    slots: usize,
}

const MOST_ACTORS: usize = 12;
const HOWS: [How; 7] = [How::Tell, How::Tell, How::TryTell, How::Send, How::Ask, How::Enqueue, How::Select];
const VERDICTS: [Intercept; 5] =
    [Intercept::Continue, Intercept::Delay(5), Intercept::Drop, Intercept::Reject, Intercept::Panic];

/// The program of a seed.
pub(super) fn generate(seed: u64) -> Program {
    let mut dice = Dice(seed);
    // The first rolls of neighbouring seeds are alike in nothing.
    dice.roll(2);
    let features = Features::new(&mut dice);
    let grace = dice.pick(&[1000, 4000, 10_000]);
    let mut author = Author { dice, features, grace, slots: 0 };
    let mut ops = Vec::new();
    for _ in 0..=author.dice.roll(4) {
        let depth = if author.features.deep { 2 + author.dice.roll(6) } else { 0 };
        let spawn = author.spawn(depth);
        ops.push(Op { by: 0, step: Step::Spawn(Box::new(spawn)) });
    }
    let clients = if author.features.clients { 3 } else { 1 };
    for _ in 0..3 + author.dice.roll(30) {
        let by = author.dice.roll(clients) as usize;
        let step = author.client_step();
        ops.push(Op { by, step });
    }
    if author.features.watches && author.features.lanes {
        ops.extend(author.farewell().map(|step| Op { by: 0, step }));
    }
    let end =
        author.dice.pick(&[Ending::Shutdown, Ending::Shutdown, Ending::Drain, Ending::Stop, Ending::Kill]);
    Program { grace, end, ops }
}

impl Author {
    fn slot(&mut self) -> usize {
        self.dice.roll(self.slots.max(1) as u64) as usize
    }

    fn client_step(&mut self) -> Step {
        match self.dice.roll(12) {
            0 => Step::Sleep(self.short()),
            1 => Step::Yield(self.dice.roll(6)),
            2 if self.features.ends => Step::End(self.ending(), self.slot()),
            3 if self.slots < MOST_ACTORS && self.dice.one_in(3) => Step::Spawn(Box::new(self.spawn(0))),
            _ => Step::Post(Box::new(self.post(2))),
        }
    }

    fn short(&mut self) -> u64 {
        self.dice.pick(&[0, 1, 2, 5, 10, 20, 50])
    }

    fn ending(&mut self) -> Ending {
        self.dice.pick(&[Ending::Drain, Ending::Stop, Ending::Kill])
    }

    fn post(&mut self, depth: u64) -> Post {
        let how = self.dice.pick(&HOWS);
        let asks = matches!(how, How::Ask | How::Enqueue);
        let lane = if self.features.lanes {
            self.dice.pick(&[Lane::Low, Lane::Normal, Lane::Normal, Lane::High])
        } else {
            Lane::Normal
        };
        let limited = asks && self.features.limits;
        Post {
            to: self.slot(),
            how,
            lane,
            job: self.job(depth, asks),
            timeout: (limited && self.dice.one_in(3)).then(|| 1 + self.short()),
            deadline: (limited && self.dice.one_in(6)).then(|| 1 + self.short()),
            outbound: (self.features.outbound && self.dice.one_in(4)).then(|| self.dice.pick(&VERDICTS)),
            cancel: (limited && self.dice.one_in(6)).then(|| self.short()),
            drop_after: (asks && self.features.drops && self.dice.one_in(3)).then(|| self.short()),
            abort: asks && self.features.drops && self.dice.one_in(6),
            // An interceptor keeps the headers for the asker, who would have to drop them.
            bad_header: self.features.bad_values && !self.features.outbound && self.dice.one_in(4),
        }
    }

    fn job(&mut self, depth: u64, asked: bool) -> Job {
        let steps = match self.dice.roll(3) {
            0 => Vec::new(),
            1 => vec![self.step(depth)],
            _ => (0..self.dice.roll(4)).map(|_| self.step(depth)).collect(),
        };
        Job { steps, finish: self.finish(asked) }
    }

    fn finish(&mut self, asked: bool) -> Finish {
        match self.dice.roll(16) {
            0 | 1 if self.features.failures => Finish::Fail,
            2 if self.features.panics => Finish::Panic,
            3..=5 if self.features.stash => Finish::Stash,
            6 if self.features.nested => Finish::Forward(self.slot()),
            7 if self.features.later => Finish::Later(self.short()),
            8 if self.features.later => Finish::LaterDropped,
            9 if self.features.bad_values => Finish::BadReply,
            10 if self.features.bad_values => Finish::BadError,
            11 if self.features.bad_values && !asked => Finish::DropError,
            _ => Finish::Reply,
        }
    }

    /// One actor watches another, which tells it something and ends: the notice comes last.
    fn farewell(&mut self) -> [Step; 2] {
        let (watcher, watched) = (self.slot(), self.slot());
        let lane = self.dice.pick(&[Lane::Low, Lane::Normal, Lane::High]);
        let last = vec![Self::plain_tell(watcher, lane, Vec::new()), Step::EndSelf(self.ending())];
        let first = vec![Step::Watch(watched), Step::Sleep(self.short())];
        [Self::plain_tell(watcher, Lane::Normal, first), Self::plain_tell(watched, Lane::Normal, last)]
    }

    fn plain_tell(to: usize, lane: Lane, steps: Vec<Step>) -> Step {
        Step::Post(Box::new(Post {
            to,
            how: How::Tell,
            lane,
            job: Job { steps, ..Job::default() },
            timeout: None,
            deadline: None,
            outbound: None,
            cancel: None,
            drop_after: None,
            abort: false,
            bad_header: false,
        }))
    }

    /// What a handler does.
    fn step(&mut self, depth: u64) -> Step {
        match self.dice.roll(16) {
            0 | 1 => Step::Sleep(self.short()),
            2 => Step::Yield(self.dice.roll(6)),
            3 if self.features.hangs && self.dice.one_in(4) => Step::Hang,
            4 if self.features.children && self.slots < MOST_ACTORS => Step::Spawn(Box::new(self.spawn(0))),
            5 | 6 if self.features.nested && depth > 0 => Step::Post(Box::new(self.post(depth - 1))),
            7 if self.features.ends => Step::End(self.ending(), self.slot()),
            8 if self.features.ends && self.dice.one_in(3) => Step::EndSelf(self.ending()),
            9 | 10 if self.features.watches => Step::Watch(self.slot()),
            11 if self.features.watches => Step::Unwatch(self.slot()),
            12 | 13 if self.features.stash => Step::Unstash,
            14 | 15 if self.features.own_messages && depth > 0 => self.own_message(depth - 1),
            _ => Step::Sleep(self.short()),
        }
    }

    fn own_message(&mut self, depth: u64) -> Step {
        let job = self.job(depth, false);
        match self.dice.roll(7) {
            0 | 1 => Step::After(self.short(), job),
            2..=4 => Step::Pipe(self.short(), job),
            5 if self.dice.one_in(3) => Step::Every(self.short(), job),
            5 if self.dice.one_in(2) => Step::Idle(self.short(), job),
            5 => Step::Attach(1 + self.dice.roll(3) as usize, job),
            _ if self.features.panics => Step::PipePanic,
            _ => Step::Sleep(1),
        }
    }

    /// A spawn, with a line of descendants that `on_start` spawns.
    fn spawn(&mut self, descendants: u64) -> Spawn {
        let slot = self.slots;
        self.slots += 1;
        let mut spawn = Spawn { slot, factory: self.dice.one_in(2), ..Spawn::default() };
        spawn.exposed = self.dice.one_in(6);
        spawn.service = self.features.services && self.dice.one_in(3);
        if self.features.lost_spawns && self.dice.one_in(3) {
            spawn.drop_after = Some(self.short());
            spawn.start.steps.push(Step::Sleep(self.short()));
        }
        if self.features.bounds && self.dice.one_in(2) {
            let full = self.dice.pick(&[Full::Reject, Full::Block, Full::DropNewest, Full::DropOldest]);
            spawn.bounded = Some((1 + self.dice.roll(3) as usize, full));
        } else if self.features.bounds && self.dice.one_in(4) {
            spawn.shed = Some(1 + self.dice.roll(3) as usize);
        }
        if self.features.stash && self.dice.one_in(2) {
            spawn.stash = Some(1 + self.dice.roll(3) as usize);
        }
        if self.features.supervision {
            let scope = self.dice.pick(&[Scope::One, Scope::All, Scope::Rest]);
            spawn.supervision = Some((scope, self.choice()));
        }
        if self.features.failures {
            spawn.on_error = self.choice();
        }
        if self.features.slow_stops {
            let slice = self.grace / 5;
            spawn.stop.steps = vec![Step::Sleep(1 + self.dice.roll(slice))];
        }
        if self.features.inbound && self.dice.one_in(2) {
            spawn.inbound = Some(self.dice.pick(&VERDICTS));
        }
        if self.features.bad_hooks {
            spawn.on_error_panics = self.dice.one_in(4);
            for at in 0..3 {
                let finish = self.hook_end(at == 0);
                let hook: &mut Hook = [&mut spawn.start, &mut spawn.restart, &mut spawn.stop][at];
                hook.finish = finish;
            }
        }
        if descendants > 0 && self.slots < MOST_ACTORS {
            let child = self.spawn(descendants - 1);
            spawn.start.steps.push(Step::Spawn(Box::new(child)));
        }
        spawn
    }

    fn choice(&mut self) -> Choice {
        self.dice.pick(&[Choice::Resume, Choice::Restart, Choice::Stop, Choice::Escalate])
    }

    fn hook_end(&mut self, is_start: bool) -> HookEnd {
        if self.dice.one_in(if is_start { 16 } else { 3 }) {
            self.dice.pick(&[HookEnd::Fail, HookEnd::Panic, HookEnd::PanicEarly])
        } else {
            HookEnd::Done
        }
    }
}
