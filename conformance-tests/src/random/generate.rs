//! Generates a program from a seed. A program uses only some of the features, because interactions of few features
//! occur more often that way.

use super::program::{
    DirectiveSpec, EndMethod, Finish, Hook, HookEnd, InterceptSpec, Job, Lane, Op, OverflowPolicy, Program,
    SendMethod, SendSpec, Sharing, Spawn, Step, StrategySpec, StreamEnding, StreamShape, StreamSpec,
};
use super::splitmix::SplitMix64;

/// The features that a program may use.
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
    reads: bool,
    streams: bool,
    singles: bool,
}

impl Features {
    fn new(random: &mut SplitMix64) -> Self {
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
            &mut features.reads,
            &mut features.streams,
        ] {
            *feature = random.one_in(2);
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
            &mut features.singles,
        ] {
            *feature = random.one_in(4);
        }
        features
    }
}

struct Generator {
    random: SplitMix64,
    features: Features,
    grace: u64,
    /// The number of actors.
    slots: usize,
}

const MOST_ACTORS: usize = 12;
const HOWS: [SendMethod; 7] = [
    SendMethod::Tell,
    SendMethod::Tell,
    SendMethod::TryTell,
    SendMethod::Send,
    SendMethod::Ask,
    SendMethod::Enqueue,
    SendMethod::Select,
];
const VERDICTS: [InterceptSpec; 5] = [
    InterceptSpec::Continue,
    InterceptSpec::Delay(5),
    InterceptSpec::Drop,
    InterceptSpec::Reject,
    InterceptSpec::Panic,
];

/// The program of a seed.
pub(super) fn generate(seed: u64) -> Program {
    let mut random = SplitMix64(seed);
    // Neighbouring seeds would share their first number.
    random.below(2);
    let features = Features::new(&mut random);
    let grace = random.pick(&[1000, 4000, 10_000]);
    let mut generator = Generator { random, features, grace, slots: 0 };
    let mut ops = Vec::new();
    for _ in 0..=generator.random.below(4) {
        let depth = if generator.features.deep { 2 + generator.random.below(6) } else { 0 };
        let spawn = generator.spawn(depth);
        ops.push(Op { by: 0, step: Step::Spawn(Box::new(spawn)) });
    }
    let clients = if generator.features.clients { 3 } else { 1 };
    for _ in 0..3 + generator.random.below(30) {
        let by = generator.random.below(clients) as usize;
        let step = generator.client_step();
        ops.push(Op { by, step });
    }
    if generator.features.watches && generator.features.lanes {
        ops.extend(generator.watch_then_end().map(|step| Op { by: 0, step }));
    }
    let end = generator.random.pick(&[
        EndMethod::Shutdown,
        EndMethod::Shutdown,
        EndMethod::Drain,
        EndMethod::Stop,
        EndMethod::Kill,
    ]);
    Program { grace, end, ops }
}

impl Generator {
    fn slot(&mut self) -> usize {
        self.random.below(self.slots.max(1) as u64) as usize
    }

    fn client_step(&mut self) -> Step {
        match self.random.below(12) {
            0 => Step::Sleep(self.short()),
            1 => Step::Yield(self.random.below(6)),
            2 if self.features.ends => Step::End(self.ending(), self.slot()),
            3 if self.slots < MOST_ACTORS && self.random.one_in(3) => Step::Spawn(Box::new(self.spawn(0))),
            4 | 5 if self.features.streams => Step::Stream(self.stream()),
            6 if self.features.singles => self.get_or_spawn(),
            _ => Step::Send(Box::new(self.spec(2))),
        }
    }

    fn get_or_spawn(&mut self) -> Step {
        Step::GetOrSpawn(self.random.below(2) as usize, self.random.one_in(2))
    }

    fn stream(&mut self) -> StreamSpec {
        let shape = self.random.pick(&[StreamShape::Expand, StreamShape::Reduce, StreamShape::Transform]);
        let ending = match self.random.below(8) {
            0 if self.features.failures => StreamEnding::Fail,
            1 if self.features.panics => StreamEnding::Panic,
            2 => StreamEnding::Leave,
            3..=5 => StreamEnding::Beside,
            _ => StreamEnding::Finish,
        };
        let count = self.random.pick(&[0, 1, 2, 7, 40]);
        let takes = shape != StreamShape::Reduce && self.features.drops && self.random.one_in(3);
        StreamSpec {
            to: self.slot(),
            shape,
            count,
            buffer: self.random.pick(&[1, 2, 32]),
            batch: self.random.pick(&[1, 1, 3]),
            pause: self.random.pick(&[0, 0, 1]),
            ending,
            take: takes.then(|| self.random.below(count + 1)),
            timeout: (self.features.limits && self.random.one_in(4)).then(|| 1 + self.short()),
            input_panics: self.features.panics && self.random.one_in(4),
        }
    }

    fn short(&mut self) -> u64 {
        self.random.pick(&[0, 1, 2, 5, 10, 20, 50])
    }

    fn ending(&mut self) -> EndMethod {
        self.random.pick(&[EndMethod::Drain, EndMethod::Stop, EndMethod::Kill])
    }

    fn spec(&mut self, depth: u64) -> SendSpec {
        let how = self.random.pick(&HOWS);
        let asks = matches!(how, SendMethod::Ask | SendMethod::Enqueue);
        let lane = if self.features.lanes {
            self.random.pick(&[Lane::Low, Lane::Normal, Lane::Normal, Lane::High])
        } else {
            Lane::Normal
        };
        let limited = asks && self.features.limits;
        SendSpec {
            to: self.slot(),
            how,
            lane,
            job: self.job(depth, asks),
            timeout: (limited && self.random.one_in(3)).then(|| 1 + self.short()),
            deadline: (limited && self.random.one_in(6)).then(|| 1 + self.short()),
            outbound: (self.features.outbound && self.random.one_in(4)).then(|| self.random.pick(&VERDICTS)),
            cancel: (limited && self.random.one_in(6)).then(|| self.short()),
            drop_after: (asks && self.features.drops && self.random.one_in(3)).then(|| self.short()),
            abort: asks && self.features.drops && self.random.one_in(6),
            // With an outbound interceptor the asker would have to drop the headers.
            bad_header: self.features.bad_values && !self.features.outbound && self.random.one_in(4),
            sharing: self.sharing(how),
        }
    }

    fn sharing(&mut self, how: SendMethod) -> Sharing {
        // A selection sends the message as it is.
        if !self.features.reads || how == SendMethod::Select {
            return Sharing::Exclusive;
        }
        self.random.pick(&[
            Sharing::Exclusive,
            Sharing::Exclusive,
            Sharing::Read,
            Sharing::Read,
            Sharing::Interleaved,
        ])
    }

    fn job(&mut self, depth: u64, asked: bool) -> Job {
        let steps = match self.random.below(3) {
            0 => Vec::new(),
            1 => vec![self.step(depth)],
            _ => (0..self.random.below(4)).map(|_| self.step(depth)).collect(),
        };
        Job { steps, finish: self.finish(asked) }
    }

    fn finish(&mut self, asked: bool) -> Finish {
        match self.random.below(16) {
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

    /// One actor watches another one, which sends it a message and ends: the notice must come last.
    fn watch_then_end(&mut self) -> [Step; 2] {
        let (watcher, watched) = (self.slot(), self.slot());
        let lane = self.random.pick(&[Lane::Low, Lane::Normal, Lane::High]);
        let last = vec![Self::plain_tell(watcher, lane, Vec::new()), Step::EndSelf(self.ending())];
        let first = vec![Step::Watch(watched), Step::Sleep(self.short())];
        [Self::plain_tell(watcher, Lane::Normal, first), Self::plain_tell(watched, Lane::Normal, last)]
    }

    fn plain_tell(to: usize, lane: Lane, steps: Vec<Step>) -> Step {
        Step::Send(Box::new(SendSpec {
            to,
            how: SendMethod::Tell,
            lane,
            job: Job { steps, ..Job::default() },
            timeout: None,
            deadline: None,
            outbound: None,
            cancel: None,
            drop_after: None,
            abort: false,
            bad_header: false,
            sharing: Sharing::Exclusive,
        }))
    }

    /// A step of a handler.
    fn step(&mut self, depth: u64) -> Step {
        match self.random.below(16) {
            0 | 1 => Step::Sleep(self.short()),
            2 => Step::Yield(self.random.below(6)),
            3 if self.features.hangs && self.random.one_in(4) => Step::Hang,
            4 if self.features.children && self.slots < MOST_ACTORS => Step::Spawn(Box::new(self.spawn(0))),
            5 | 6 if self.features.nested && depth > 0 => Step::Send(Box::new(self.spec(depth - 1))),
            7 if self.features.ends => Step::End(self.ending(), self.slot()),
            8 if self.features.ends && self.random.one_in(3) => Step::EndSelf(self.ending()),
            9 | 10 if self.features.watches => Step::Watch(self.slot()),
            11 if self.features.watches => Step::Unwatch(self.slot()),
            12 | 13 if self.features.stash => Step::Unstash,
            14 | 15 if self.features.own_messages && depth > 0 => self.own_message(depth - 1),
            _ if self.features.streams && self.random.one_in(4) => Step::Stream(self.stream()),
            _ if self.features.singles && self.random.one_in(4) => self.get_or_spawn(),
            _ => Step::Sleep(self.short()),
        }
    }

    fn own_message(&mut self, depth: u64) -> Step {
        let job = self.job(depth, false);
        match self.random.below(7) {
            0 | 1 => Step::After(self.short(), job),
            2..=4 => Step::Pipe(self.short(), job),
            5 if self.random.one_in(3) => Step::Every(self.short(), job),
            5 if self.random.one_in(2) => Step::Idle(self.short(), job),
            5 => Step::Attach(1 + self.random.below(3) as usize, job),
            _ if self.features.panics => Step::PipePanic,
            _ => Step::Sleep(1),
        }
    }

    /// A spawn with a chain of descendants, which `on_start` spawns.
    fn spawn(&mut self, descendants: u64) -> Spawn {
        let slot = self.slots;
        self.slots += 1;
        let mut spawn = Spawn { slot, factory: self.random.one_in(2), ..Spawn::default() };
        spawn.exposed = self.random.one_in(6);
        spawn.service = self.features.services && self.random.one_in(3);
        if self.features.lost_spawns && self.random.one_in(3) {
            spawn.drop_after = Some(self.short());
            spawn.start.steps.push(Step::Sleep(self.short()));
        }
        if self.features.bounds && self.random.one_in(2) {
            let full = self.random.pick(&[
                OverflowPolicy::Reject,
                OverflowPolicy::Block,
                OverflowPolicy::DropNewest,
                OverflowPolicy::DropOldest,
            ]);
            spawn.bounded = Some((1 + self.random.below(3) as usize, full));
        } else if self.features.bounds && self.random.one_in(4) {
            spawn.shed = Some(1 + self.random.below(3) as usize);
        }
        if self.features.stash && self.random.one_in(2) {
            spawn.stash = Some(1 + self.random.below(3) as usize);
        }
        if self.features.supervision {
            let scope = self.random.pick(&[StrategySpec::One, StrategySpec::All, StrategySpec::Rest]);
            spawn.supervision = Some((scope, self.choice()));
        }
        if self.features.failures {
            spawn.on_error = self.choice();
        }
        if self.features.slow_stops {
            let slice = self.grace / 5;
            spawn.stop.steps = vec![Step::Sleep(1 + self.random.below(slice))];
        }
        if self.features.inbound && self.random.one_in(2) {
            spawn.inbound = Some(self.random.pick(&VERDICTS));
        }
        if self.features.bad_hooks {
            spawn.on_error_panics = self.random.one_in(4);
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

    fn choice(&mut self) -> DirectiveSpec {
        self.random.pick(&[
            DirectiveSpec::Resume,
            DirectiveSpec::Restart,
            DirectiveSpec::Stop,
            DirectiveSpec::Escalate,
        ])
    }

    fn hook_end(&mut self, is_start: bool) -> HookEnd {
        if self.random.one_in(if is_start { 16 } else { 3 }) {
            self.random.pick(&[HookEnd::Fail, HookEnd::Panic, HookEnd::PanicEarly])
        } else {
            HookEnd::Done
        }
    }
}
