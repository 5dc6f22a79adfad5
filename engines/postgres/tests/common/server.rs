//! Servers for tests: the one of `DATABASE_URL`, or a private one that ends with the test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Whether to run without a server. CI never does.
pub fn skipped() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| value == "1" || value == "true");
    let skipped = set("DACTOR_SKIP_POSTGRES") && !set("CI");
    if skipped {
        println!("skipped: DACTOR_SKIP_POSTGRES is set");
    }
    skipped
}

/// The URL of the server that all tests of this process share.
pub fn shared() -> &'static str {
    static SHARED: OnceLock<(String, Option<Server>)> = OnceLock::new();
    let start = || match std::env::var("DATABASE_URL") {
        Ok(url) if !url.is_empty() => (url, None),
        _ => {
            let server = Server::start();
            (server.url.clone(), Some(server))
        }
    };
    &SHARED.get_or_init(start).0
}

/// A private server. It ends when this is dropped, or with the process, however that ends.
pub struct Server {
    pub url: String,
    home: PathBuf,
    binaries: PathBuf,
    account: String,
    script: Child,
}

impl Server {
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/services");
        assert!(script.exists(), "set DATABASE_URL: there is no {} to start a server", script.display());
        let mut command = Command::new(&script);
        let mut script = command
            .arg("run")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/services");
        let mut lines = BufReader::new(script.stdout.take().expect("its output")).lines();
        let mut next = |name: &str| {
            let line = lines.next().unwrap_or_else(|| panic!("no server; see above")).expect("a line");
            line.strip_prefix(name).unwrap_or_else(|| panic!("{line} instead of {name}")).to_owned()
        };
        let (url, home) = (next("DATABASE_URL="), next("HOME=").into());
        Self { url, home, binaries: next("BINARIES=").into(), account: next("ACCOUNT="), script }
    }

    /// A file or directory beside the data.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Runs a program as the account of the server.
    fn run(&self, program: &Path, arguments: &[&str]) {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
            use std::os::unix::fs::MetadataExt;
            own.uid() == 0
        });
        let mut command = if is_root {
            let mut command = Command::new("runuser");
            command.args(["-u", &self.account, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        let command = command.args(arguments).current_dir("/").stdout(Stdio::null()).stdin(Stdio::null());
        assert!(command.status().expect("the program starts").success(), "{program:?} {arguments:?}");
    }

    /// Stops the server: `fast` asks the sessions to end, `immediate` is a crash.
    pub fn stop(&self, mode: &str) {
        let (data, mode) = (format!("--pgdata={}", self.path("data").display()), format!("--mode={mode}"));
        self.run(&self.binaries.join("pg_ctl"), &[&data, &mode, "--wait", "stop"]);
    }

    /// Starts the server again, with these settings.
    pub fn restart(&self, settings: &[&str]) {
        let port = self.url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
        let mut options = format!(
            "-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories= -c max_connections=200"
        );
        for setting in settings {
            options.push_str(&format!(" -c {setting}"));
        }
        let (data, log) = (
            format!("--pgdata={}", self.path("data").display()),
            format!("--log={}", self.path("log").display()),
        );
        self.run(
            &self.binaries.join("pg_ctl"),
            &[&data, &log, "--wait", &format!("--options={options}"), "start"],
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the script, which stops the server.
        drop(self.script.stdin.take());
        let _ = self.script.wait();
    }
}
