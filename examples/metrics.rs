//! Metrics of a system as a Prometheus page. Run it with `cargo run --example metrics --features metrics`.

use dactor::interceptors::Metrics;
use std::time::Duration;

use dactor::prelude::*;
use metrics_exporter_prometheus::PrometheusBuilder;

struct Cashier;
impl Actor for Cashier {}

#[derive(Message)]
#[message(reply = u64)]
struct Pay(u64);

#[derive(Message)]
struct Count;

impl Handler<Pay> for Cashier {
    async fn handle(&mut self, Pay(cents): Pay, _ctx: &mut Context<Self>) -> Outcome<u64> {
        if cents == 0 {
            return Err(Failure::new("nothing to pay"));
        }
        Ok(cents)
    }
}

impl Handler<Count> for Cashier {
    async fn handle(&mut self, _: Count, _ctx: &mut Context<Self>) -> Outcome<()> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Install the recorder first: metrics from before are lost. A real program serves the page over HTTP.
    let buckets = [0.000_1, 0.001, 0.01, 0.1, 1.0];
    let page = PrometheusBuilder::new().set_buckets(&buckets)?.install_recorder()?;
    let system = System::builder("market").backend(dactor::ractor()).with(Metrics::install).build()?;

    let cashiers = [system.spawn(Cashier).await?, system.spawn(Cashier).await?, system.spawn(Cashier).await?];
    for round in 0..20 {
        for cashier in &cashiers {
            cashier.tell(Count)?;
            let _ = cashier.ask(Pay(round)).await; // the first ask to each cashier fails
        }
    }
    cashiers[0].stop();
    cashiers[1].drain();
    cashiers[0].wait().await?;
    cashiers[1].wait().await?;

    let page = page.render();
    println!("{page}");
    for line in [
        r#"dactor_messages_handled_total{actor_type="metrics::Cashier",message="metrics::Pay"} 57"#,
        r#"dactor_messages_failed_total{actor_type="metrics::Cashier",message="metrics::Pay",kind="Failed"} 3"#,
        r#"dactor_actors_live{actor_type="metrics::Cashier"} 1"#,
        r#"dactor_actors_spawned_total{actor_type="metrics::Cashier"} 3"#,
    ] {
        assert!(page.lines().any(|found| found == line), "the page has no line {line}");
    }
    Ok(system.shutdown().await?)
}
