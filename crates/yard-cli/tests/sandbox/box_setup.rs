//! A workspace to run boxes on, and the way to do all of a test as root and as an ordinary user.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use yard_core::{Call, Timestamp, World};
use yard_sandbox::{
    CommandEnd, CommandLimits, CommandListener, CommandSpec, Exit, Layer, Sandbox, SandboxConfig,
    empty_scratch,
};

/// Where the helper is: set for the copy of a test that runs as the ordinary user, and by hand to
/// measure another build.
const AS_USER: &str = "TOOLYARD_TEST_HELPER";
/// An ordinary user whom nobody is.
const USER: u32 = 61_234;

/// Runs the test's body as whoever this is and, if that is root, once more as an ordinary user: in a
/// copy of this test binary that the user can reach.
pub(crate) fn as_root_and_user(name: &str, body: impl Fn()) {
    body();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let reach = TempDir::new().unwrap();
    fs::set_permissions(reach.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copies = [std::env::current_exe().unwrap(), helper()];
    let [test, helper] = copies.map(|from| {
        let to = reach.path().join(from.file_name().unwrap());
        fs::copy(from, &to).unwrap();
        to
    });
    let ran = Command::new(test)
        .args(["--exact", name, "--nocapture", "--include-ignored"])
        .env_clear()
        .env("SECRET_CANARY", "server-secret")
        .env(AS_USER, helper)
        .current_dir("/")
        .uid(USER)
        .gid(USER)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "as an ordinary user:\n{words}\n{errors}");
    assert!(words.contains("1 passed"), "no test ran as an ordinary user: {words}");
    print!("{words}");
}

pub(crate) fn helper() -> PathBuf {
    match std::env::var_os(AS_USER) {
        Some(helper) => helper.into(),
        None => PathBuf::from(env!("CARGO_BIN_EXE_toolyard")),
    }
}

pub(crate) fn sandbox() -> Sandbox {
    sandbox_with(SandboxConfig::default())
}

pub(crate) fn sandbox_with(wish: SandboxConfig) -> Sandbox {
    Sandbox::probe(helper(), wish)
}

/// A workspace and a place for layers.
pub(crate) struct BoxSetup {
    temp: TempDir,
    pub(crate) limits: CommandLimits,
    pub(crate) stdin: Vec<u8>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) scripts: Vec<(String, Vec<u8>)>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ended: CommandEnd,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn code(&self) -> Option<i32> {
        match self.ended.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) => None,
        }
    }
}

impl BoxSetup {
    pub(crate) fn new() -> Self {
        let temp = TempDir::new().unwrap();
        for name in ["workspace", "layers", "outside"] {
            fs::create_dir(temp.path().join(name)).unwrap();
        }
        fs::write(temp.path().join("workspace/file"), "lower\n").unwrap();
        fs::write(temp.path().join("outside/secret"), "host-secret\n").unwrap();
        let secret = temp.path().join("outside/secret");
        fs::set_permissions(secret, fs::Permissions::from_mode(0o644)).unwrap();
        let limits = CommandLimits {
            wall: Duration::from_secs(20),
            grace: Duration::from_millis(300),
            ..CommandLimits::default()
        };
        let env = vec![];
        Self { temp, limits, stdin: Vec::new(), env, hidden: Vec::new(), scripts: Vec::new() }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.temp.path().join("workspace")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    pub(crate) fn upper(&self) -> PathBuf {
        self.temp.path().join("layers/upper")
    }

    /// On a fresh layer, the workspace at its real path.
    pub(crate) fn run(&self, sandbox: &Sandbox, argv: &[&str]) -> io::Result<Ran> {
        let (upper, work) = (self.upper(), self.temp.path().join("layers/work"));
        for folder in [&upper, &work] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).unwrap();
        }
        let layer = Layer::Overlay { upper: &upper, work: &work };
        let ran = self.run_on(sandbox, layer, &self.workspace(), argv);
        empty_scratch(&work).unwrap();
        ran
    }

    pub(crate) fn sh(&self, sandbox: &Sandbox, script: &str) -> Ran {
        self.run(sandbox, &["sh", "-c", script]).unwrap()
    }

    pub(crate) fn run_on(
        &self,
        sandbox: &Sandbox,
        layer: Layer<'_>,
        shown_at: &Path,
        argv: &[&str],
    ) -> io::Result<Ran> {
        self.run_in(sandbox, layer, shown_at, argv, &call())
    }

    pub(crate) fn run_in(
        &self,
        sandbox: &Sandbox,
        layer: Layer<'_>,
        shown_at: &Path,
        argv: &[&str],
        call: &Call,
    ) -> io::Result<Ran> {
        let workspace = self.workspace();
        let mut ears = Ears::default();
        let root = File::open(&workspace)?;
        let order = self.order(&root, &workspace, layer, shown_at, argv);
        let ended = sandbox.run(&order, call, &mut ears)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ran { ended, stdout: text(&ears.0), stderr: text(&ears.1) })
    }

    /// Read-only, with ears of one's own.
    pub(crate) fn run_heard(
        &self,
        sandbox: &Sandbox,
        argv: &[&str],
        ears: &mut dyn CommandListener,
    ) -> io::Result<CommandEnd> {
        self.run_heard_on(sandbox, Layer::ReadOnly, argv, ears)
    }

    pub(crate) fn run_heard_on(
        &self,
        sandbox: &Sandbox,
        layer: Layer<'_>,
        argv: &[&str],
        ears: &mut dyn CommandListener,
    ) -> io::Result<CommandEnd> {
        let workspace = self.workspace();
        let root = File::open(&workspace)?;
        sandbox.run(&self.order(&root, &workspace, layer, &workspace, argv), &call(), ears)
    }

    fn order<'a>(
        &self,
        root: &'a File,
        workspace: &'a Path,
        layer: Layer<'a>,
        shown_at: &'a Path,
        argv: &[&str],
    ) -> CommandSpec<'a> {
        CommandSpec {
            argv: argv.iter().map(OsString::from).collect(),
            env: [vec![("GREETING".into(), "hello".into())], self.env.clone()].concat(),
            stdin: self.stdin.clone(),
            terminal: None,
            sockets: Vec::new(),
            scripts: self.scripts.clone(),
            root: root.as_fd(),
            workspace,
            shown_at,
            folder: PathBuf::new(),
            layer,
            scratch: None,
            lasting: None,
            hidden: self.hidden.clone(),
            masked: Vec::new(),
            limits: self.limits,
        }
    }
}

#[derive(Default)]
struct Ears(Vec<u8>, Vec<u8>);

impl CommandListener for Ears {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend(bytes);
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.extend(bytes);
        Ok(())
    }
}

pub(crate) fn call() -> Call {
    Call::new(Arc::new(Real))
}

struct Real;

impl World for Real {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
    }

    fn random(&self) -> u128 {
        4
    }

    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    fn boot_id(&self) -> u128 {
        1
    }
}
