//! Shrinks a failing program.

use std::time::Instant;

use super::program::{
    EndMethod, Finish, Hook, HookEnd, Job, Lane, Op, Program, SendSpec, Sharing, Spawn, Step, StreamEnding,
    StreamSpec,
};

/// The smallest program found within the time limit that still fails.
pub(super) fn shrink(program: Program, until: Instant, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program;
    loop {
        let before = best.clone();
        drop_chunks(&mut best, until, &mut fails);
        simplify(&mut best, until, &mut fails);
        if best == before || Instant::now() >= until {
            return best;
        }
    }
}

/// Removes operations, in large chunks first.
fn drop_chunks(best: &mut Program, until: Instant, fails: &mut impl FnMut(&Program) -> bool) {
    let mut size = best.ops.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < best.ops.len() && Instant::now() < until {
            let mut fewer = best.clone();
            fewer.ops.drain(at..(at + size).min(best.ops.len()));
            if fails(&fewer) {
                *best = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}

/// Simplifies operations while that is possible.
fn simplify(best: &mut Program, until: Instant, fails: &mut impl FnMut(&Program) -> bool) {
    for candidate in program_candidates(best) {
        if Instant::now() < until && fails(&candidate) {
            *best = candidate;
        }
    }
    let mut at = 0;
    while at < best.ops.len() {
        let simpler = op(&best.ops[at]).into_iter().find(|simpler| {
            let mut candidate = best.clone();
            candidate.ops[at] = simpler.clone();
            Instant::now() < until && fails(&candidate)
        });
        match simpler {
            Some(simpler) => best.ops[at] = simpler,
            None => at += 1,
        }
    }
}

fn program_candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for end in [EndMethod::Stop, EndMethod::Drain, EndMethod::Shutdown] {
        if end < program.end {
            all.push(Program { end, ..program.clone() });
        }
    }
    if program.grace != 10_000 {
        all.push(Program { grace: 10_000, ..program.clone() });
    }
    if program.ops.iter().any(|op| op.by > 0) {
        let ops = program.ops.iter().map(|op| Op { by: 0, ..op.clone() });
        all.push(Program { ops: ops.collect(), ..program.clone() });
    }
    all
}

fn op(op: &Op) -> Vec<Op> {
    step(&op.step).into_iter().map(|step| Op { by: op.by, step }).collect()
}

/// Simpler forms of a step, the simplest first.
fn step(step: &Step) -> Vec<Step> {
    match step {
        Step::Sleep(ms) => number(*ms).into_iter().map(Step::Sleep).collect(),
        Step::Yield(times) => number(*times).into_iter().map(Step::Yield).collect(),
        Step::Spawn(it) => spawn(it).into_iter().map(|it| Step::Spawn(Box::new(it))).collect(),
        Step::Send(it) => send(it).into_iter().map(|it| Step::Send(Box::new(it))).collect(),
        Step::After(ms, it) => job(it).into_iter().map(|it| Step::After(*ms, it)).collect(),
        Step::Every(ms, it) => job(it).into_iter().map(|it| Step::Every(*ms, it)).collect(),
        Step::Idle(ms, it) => job(it).into_iter().map(|it| Step::Idle(*ms, it)).collect(),
        Step::Pipe(ms, it) => {
            let mut all: Vec<_> = job(it).into_iter().map(|it| Step::Pipe(*ms, it)).collect();
            all.extend(number(*ms).into_iter().map(|ms| Step::Pipe(ms, it.clone())));
            all
        }
        Step::Stream(it) => stream(it).into_iter().map(Step::Stream).collect(),
        Step::Attach(count, it) => job(it).into_iter().map(|it| Step::Attach(*count, it)).collect(),
        _ => Vec::new(),
    }
}

fn number(number: u64) -> Vec<u64> {
    let mut smaller = vec![0, 1, number / 2];
    smaller.retain(|smaller| *smaller < number);
    smaller.dedup();
    smaller
}

/// The list without each of its steps, and with each step simplified.
fn steps(list: &[Step]) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    if list.len() > 1 {
        all.push(Vec::new());
    }
    for at in 0..list.len() {
        let mut fewer = list.to_vec();
        fewer.remove(at);
        all.push(fewer);
    }
    for (at, it) in list.iter().enumerate() {
        for simpler in step(it) {
            let mut other = list.to_vec();
            other[at] = simpler;
            all.push(other);
        }
    }
    all
}

fn job(it: &Job) -> Vec<Job> {
    let mut all: Vec<Job> = steps(&it.steps).into_iter().map(|steps| Job { steps, ..it.clone() }).collect();
    if it.finish != Finish::Reply {
        all.push(Job { finish: Finish::Reply, ..it.clone() });
    }
    all
}

fn hook(it: &Hook) -> Vec<Hook> {
    let mut all: Vec<Hook> = steps(&it.steps).into_iter().map(|steps| Hook { steps, ..it.clone() }).collect();
    if it.finish != HookEnd::Done {
        all.push(Hook { finish: HookEnd::Done, ..it.clone() });
    }
    all
}

fn send(it: &SendSpec) -> Vec<SendSpec> {
    let same = || it.clone();
    let mut all = vec![
        SendSpec { lane: Lane::Normal, ..same() },
        SendSpec { timeout: None, ..same() },
        SendSpec { deadline: None, ..same() },
        SendSpec { outbound: None, ..same() },
        SendSpec { cancel: None, ..same() },
        SendSpec { drop_after: None, ..same() },
        SendSpec { drop_after: it.drop_after.map(|_| 0), ..same() },
        SendSpec { abort: false, ..same() },
        SendSpec { bad_header: false, ..same() },
        SendSpec { sharing: Sharing::Exclusive, ..same() },
    ];
    all.extend(job(&it.job).into_iter().map(|job| SendSpec { job, ..same() }));
    all.retain(|simpler| simpler != it);
    all
}

fn stream(it: &StreamSpec) -> Vec<StreamSpec> {
    let mut all = vec![
        StreamSpec { pause: 0, ..*it },
        StreamSpec { ending: StreamEnding::Finish, ..*it },
        StreamSpec { take: None, ..*it },
        StreamSpec { timeout: None, ..*it },
        StreamSpec { input_panics: false, ..*it },
        StreamSpec { batch: 1, ..*it },
    ];
    all.extend(number(it.count).into_iter().map(|count| StreamSpec { count, ..*it }));
    all.retain(|simpler| simpler != it);
    all
}

fn spawn(it: &Spawn) -> Vec<Spawn> {
    let same = || it.clone();
    let mut all = vec![
        Spawn { slot: it.slot, ..Spawn::default() },
        Spawn { factory: false, ..same() },
        Spawn { service: false, ..same() },
        Spawn { drop_after: None, ..same() },
        Spawn { exposed: false, ..same() },
        Spawn { bounded: None, ..same() },
        Spawn { shed: None, ..same() },
        Spawn { stash: None, ..same() },
        Spawn { supervision: None, ..same() },
        Spawn { on_error: Default::default(), ..same() },
        Spawn { on_error_panics: false, ..same() },
        Spawn { inbound: None, ..same() },
        Spawn { start: Hook::default(), ..same() },
        Spawn { restart: Hook::default(), ..same() },
        Spawn { stop: Hook::default(), ..same() },
    ];
    all.extend(hook(&it.start).into_iter().map(|start| Spawn { start, ..same() }));
    all.extend(hook(&it.restart).into_iter().map(|restart| Spawn { restart, ..same() }));
    all.extend(hook(&it.stop).into_iter().map(|stop| Spawn { stop, ..same() }));
    all.retain(|simpler| simpler != it);
    all
}
