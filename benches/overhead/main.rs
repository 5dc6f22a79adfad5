//! The overhead of dactor: the same workloads run natively and through dactor.
//!
//! Six subjects run the workloads. Two are hand-written tokio loops (the floor), two are the
//! native backends, two are dactor over those backends. The key figure is the ratio of
//! a dactor subject to its native backend, computed per round, so that slow drift of the machine
//! affects both.
//!
//! ractor has no bounded mailbox: it has no row in `bounded_64_send`, and there `dactor_ractor` is
//! compared to kameo. Every report says so.
//!
//! Only dactor has interceptors: in `tell_1_icpt1` and `tell_1_icpt5` the others run plain `tell_1`.
//!
//! ```text
//! cargo bench --bench overhead                    # everything; rewrites docs/bench/
//! cargo bench --bench overhead -- wake tell_1     # only these workloads
//! cargo bench --bench overhead -- --quick         # smoke run, figures mean nothing
//! cargo bench --bench overhead -- --rounds 21     # more rounds, steadier medians
//! ```

mod report;
mod rounds;
mod subject;
mod tally;
mod workload;

use bench_harness::Options;
use workload::Workload;

#[global_allocator]
static ALLOCATOR: counting_alloc::Counting = counting_alloc::Counting;

fn main() -> std::io::Result<()> {
    let options = match Options::from_args(std::env::args().skip(1), &Workload::ALL.map(Workload::id)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    let mut rows = Vec::new();
    for workload in Workload::ALL {
        if !options.selects(workload.id()) {
            continue;
        }
        for &threads in workload.threads() {
            rows.extend(rounds::compare(workload, threads, &options));
        }
    }
    print!("{}", report::table(&rows));
    if options.under_cargo_bench {
        report::write_json(&rows)?;
    }
    if options.is_full_run() {
        report::write_docs(&rows, options.rounds)?;
    }
    Ok(())
}
