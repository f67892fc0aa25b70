//! A server of its own for one test, and people who talk to it.

mod people;
mod requests;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use ureq::Agent;

pub(crate) use people::{PASSWORD, Someone};
pub(crate) use requests::Answer;

/// A running `toolyard serve`; it is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    temp: TempDir,
    /// Its environment, also when it is started again.
    variables: Vec<(String, String)>,
    /// A script that starts it in other surroundings.
    wrapper: Option<String>,
    agent: Agent,
    people: AtomicUsize,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With these variables in its environment.
    pub(crate) fn start_with(variables: &[(&str, &str)]) -> Self {
        Self::start_on(tempfile::tempdir().unwrap(), variables)
    }

    /// On the folder `data` in a folder that is there already.
    pub(crate) fn start_on(temp: TempDir, variables: &[(&str, &str)]) -> Self {
        Self::start_as(temp, variables, None)
    }

    /// Where the system lets it open no more than so many files.
    pub(crate) fn start_with_files(files: u64) -> Self {
        let wrapper = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        Self::start_as(tempfile::tempdir().unwrap(), &[], Some(wrapper))
    }

    fn start_as(temp: TempDir, variables: &[(&str, &str)], wrapper: Option<String>) -> Self {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let variables: Vec<_> = variables.iter().map(owned).collect();
        let (child, address, log) =
            launch(&temp.path().join("data"), &variables, wrapper.as_deref());
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_secs(60)))
            .max_idle_connections_per_host(64)
            .build();
        let people = AtomicUsize::new(0);
        Self { child, address, temp, variables, wrapper, agent: config.into(), people, log }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    /// What it logged until now, where the test set a level; else nothing is kept.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as a crash would, and starts it again on the same data.
    pub(crate) fn crash_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.launch_again();
    }

    /// Kills it, and starts it again as if the machine had been started again: another boot id is mounted over the
    /// kernel's, in a mount namespace of its own.
    pub(crate) fn restart_under_boot(&mut self, boot: &str) {
        let file = self.temp.path().join("boot_id");
        std::fs::write(&file, format!("{boot}\n")).unwrap();
        self.wrapper = Some(format!(
            "exec unshare -m sh -c 'mount --bind {} /proc/sys/kernel/random/boot_id && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
            file.display()
        ));
        self.crash_and_restart();
    }

    fn launch_again(&mut self) {
        let wrapper = self.wrapper.as_deref();
        (self.child, self.address, self.log) = launch(&self.data(), &self.variables, wrapper);
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> std::process::ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the binary and waits until it says where it listens.
fn launch(
    data: &Path,
    variables: &[(String, String)],
    wrapper: Option<&str>,
) -> (Child, String, Arc<Mutex<Vec<String>>>) {
    let program = env!("CARGO_BIN_EXE_toolyard");
    let mut command = match wrapper {
        None => Command::new(program),
        Some(script) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script, program]);
            shell
        }
    };
    command.env_clear().envs(variables.iter().cloned()).stdin(Stdio::null());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut output = String::new();
    let address = loop {
        let Some(Ok(line)) = lines.next() else { panic!("the server did not start: {output}") };
        if let Some(rest) = line.split("http://").nth(1) {
            break rest.split_whitespace().next().unwrap().to_owned();
        }
        output.push_str(&line);
    };
    // Its log would fill the pipe.
    let log = Arc::<Mutex<Vec<String>>>::default();
    let (kept, is_kept) =
        (Arc::clone(&log), variables.iter().any(|(name, _)| *name == "TOOLYARD__LOG__LEVEL"));
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok).filter(|_| is_kept) {
            kept.lock().unwrap().push(line);
        }
    });
    (child, address, log)
}
