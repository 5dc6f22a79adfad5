//! A server for the load: one that runs, or a process of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::client::Client;
use crate::AnyError;
use crate::model::random_id;

pub(super) struct Server {
    address: String,
    child: Option<Child>,
    directory: PathBuf,
}

impl Server {
    pub(super) async fn start(running: Option<String>, args: &[String]) -> Result<Self, AnyError> {
        let directory = std::env::temp_dir().join(format!("conversations-{}", random_id()));
        if let Some(address) = running {
            return Ok(Self { address, child: None, directory });
        }
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"])
            .arg(&directory)
            .args(args)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(Duration::from_secs(30), lines.next_line()).await??;
        let address = line.as_deref().and_then(|line| line.strip_prefix("http://"));
        let address = address.ok_or("the server did not start")?.to_owned();
        Ok(Self { address, child: Some(child), directory })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// A metric of the server.
    pub(super) async fn metric(&self, name: &str) -> Result<f64, AnyError> {
        let mut client = Client::connect(&self.address).await?;
        let (_, page) = client.raw(hyper::Method::GET, "/metrics", String::new()).await?;
        let page = String::from_utf8_lossy(&page).into_owned();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.ok_or_else(|| format!("there is no metric {name}"))?.parse()?)
    }

    /// Waits until the server has nothing to do: the naive path counts unread messages in the background.
    pub(super) async fn settle(&self) -> Result<(), AnyError> {
        let mut idle = 0;
        while idle < 3 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            idle = if self.metric("conversations_pool_in_use").await? == 0.0 { idle + 1 } else { 0 };
        }
        Ok(())
    }

    /// Ends a server that was started, and removes its data.
    pub(super) async fn stop(mut self) -> Result<(), AnyError> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
            if self.directory.exists() {
                std::fs::remove_dir_all(&self.directory)?;
            }
        }
        Ok(())
    }
}
