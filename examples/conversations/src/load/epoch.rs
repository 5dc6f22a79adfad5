//! The current epoch from memory against the query, without HTTP.

use std::time::Instant;

use super::report::Report;
use super::{PATHS, id_on};
use crate::AnyError;
use crate::app::{App, Settings, Store};
use crate::model::random_id;
use crate::service::ServiceError;

pub(super) async fn measure(
    database: Option<&str>,
    quick: bool,
    report: &mut Report,
) -> Result<(), AnyError> {
    let directory = std::env::temp_dir().join(format!("conversations-{}", random_id()));
    let store = match database {
        Some(url) => Store::Postgres(url.to_owned()),
        None => Store::Sqlite(directory.clone()),
    };
    let app = App::start(&Settings::new(store)).await?;
    let calls = if quick { 200 } else { 20_000_u32 };
    for path in PATHS {
        let id = id_on(path, &random_id());
        app.service.create(&id, Vec::new()).await?;
        let service = app.service.clone();
        // In a task, as a request is.
        let calling = tokio::spawn(async move {
            service.epoch(&id).await?;
            let begin = Instant::now();
            for _ in 0..calls {
                service.epoch(&id).await?;
            }
            Ok::<_, ServiceError>(begin.elapsed() / calls)
        });
        report.epoch(path, calling.await??);
    }
    app.shutdown().await?;
    if database.is_none() {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}
