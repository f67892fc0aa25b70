//! A person with a home of their own, in which their toolchains are as people have them: a Python of pyenv's and
//! one of uv's, Rust by rustup, pnpm by npm. It is whoever runs the tests, or an ordinary user whom nobody is.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(crate) const NAME: &str = "Ada Lovelace";
pub(crate) const EMAIL: &str = "ada@example.com";

/// An ordinary user whom nobody is.
const USER: u32 = 61_235;
/// The variables of this machine that a person would have in their terminal, too: they name certificates.
const CERTIFICATES: [&str; 6] = [
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

/// Which user a person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The one that runs the tests; in continuous integration that is root.
    Current,
    /// One without any rights.
    Ordinary,
}

pub(crate) struct Person {
    temp: TempDir,
    user: Option<u32>,
}

impl Person {
    pub(crate) fn new(user: User) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        let user = (user == User::Ordinary && is_root).then_some(USER);
        let person = Self { temp, user };
        fs::set_permissions(person.temp.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for folder in ["", ".local", ".local/bin", ".local/share", ".cargo", ".rustup"] {
            person.make_folder(&person.home().join(folder));
        }
        person.make_folder(&person.data());
        // Its data is nobody else's business.
        fs::set_permissions(person.data(), fs::Permissions::from_mode(0o700)).unwrap();
        link_or_copy(Path::new(env!("CARGO_BIN_EXE_toolyard")), &person.toolyard());
        let git = "git config --global init.defaultBranch main";
        let names = format!("git config --global user.name '{NAME}'");
        let mail = format!("git config --global user.email {EMAIL}");
        person.run(&person.home(), &format!("{git} && {names} && {mail}"));
        person
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.temp.path().join("home")
    }

    /// Where Toolyard keeps the history.
    pub(crate) fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    /// The binary under test, where every user reaches it.
    pub(crate) fn toolyard(&self) -> PathBuf {
        self.temp.path().join("toolyard")
    }

    /// Makes a folder that is the person's.
    pub(crate) fn make_folder(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        self.own(folder);
    }

    /// Writes a file of the person's, and the folders above it within `base`.
    pub(crate) fn put(&self, base: &Path, name: &str, text: &str) {
        let file = base.join(name);
        for folder in Path::new(name).ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            self.make_folder(&base.join(folder));
        }
        fs::write(&file, text).unwrap();
        self.own(&file);
    }

    /// Makes the person the owner of what the test made.
    pub(crate) fn own(&self, entry: &Path) {
        if let Some(user) = self.user {
            chown(entry, Some(user), Some(user)).unwrap();
        }
    }

    /// A program as the person starts it in a terminal.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let own = [".local/bin", ".cargo/bin"].map(|folder| self.home().join(folder));
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = std::env::join_paths(own.into_iter().chain(system)).unwrap();
        command.env_clear().env("HOME", self.home()).env("PATH", path).env("LANG", "C.UTF-8");
        let certificates =
            CERTIFICATES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(certificates).current_dir(self.home()).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// What a shell command says outside of any box, and whether it went well.
    pub(crate) fn try_run(&self, folder: &Path, script: &str) -> (String, bool) {
        let mut shell = self.command("sh");
        let ran = shell.args(["-c", script]).current_dir(folder).output().unwrap();
        let text =
            [ran.stdout, ran.stderr].map(|printed| String::from_utf8_lossy(&printed).into_owned());
        (text.concat(), ran.status.success())
    }

    /// The same for one that must go well.
    #[track_caller]
    pub(crate) fn run(&self, folder: &Path, script: &str) -> String {
        let (printed, is_well) = self.try_run(folder, script);
        assert!(is_well, "{script}: {printed}");
        printed
    }

    /// `toolyard` as the person runs it on a workspace.
    pub(crate) fn toolyard_on(&self, root: &Path, data: &Path) -> Command {
        let mut command = self.command(self.toolyard());
        command.arg("--root").arg(root).arg("--data-dir").arg(data);
        command
    }

    /// Puts a copy of the system's Python into a folder of the home, as pyenv and uv have theirs; the program.
    fn python_in(&self, folder: &str, base: &Path, version: &str) -> PathBuf {
        let home = self.home().join(folder);
        for below in ["bin", "lib"] {
            fs::create_dir_all(home.join(below)).unwrap();
        }
        let program = home.join("bin/python3");
        link_or_copy(&base.join(format!("bin/python{version}")), &program);
        copy_tree(&base.join(format!("lib/python{version}")), &home.join("lib"));
        for library in fs::read_dir(base.join("lib")).unwrap() {
            let library = library.unwrap();
            let name = library.file_name().into_string().unwrap();
            if name.starts_with(&format!("libpython{version}")) {
                link_or_copy(&library.path(), &home.join("lib").join(name));
            }
        }
        program
    }

    /// A Python of pyenv's in the home.
    pub(crate) fn pyenv_python(&self) -> PathBuf {
        let [base, version, full] = system_python();
        self.python_in(&format!(".pyenv/versions/{full}"), Path::new(&base), &version)
    }

    /// uv with a Python of its own in the home.
    pub(crate) fn uv(&self) {
        let [base, version, full] = system_python();
        let machine = std::env::consts::ARCH;
        let name = format!(".local/share/uv/python/cpython-{full}-linux-{machine}-gnu");
        let program = self.python_in(&name, Path::new(&base), &version);
        let alias = program.with_file_name(format!("python{version}"));
        std::os::unix::fs::symlink("python3", alias).unwrap();
        link_or_copy(&installed_uv(), &self.home().join(".local/bin/uv"));
    }

    /// pnpm, as `npm install --global` puts it into a home.
    pub(crate) fn pnpm(&self) {
        copy_tree(&installed_pnpm().join("lib"), &self.home().join(".local"));
        let link = self.home().join(".local/bin/pnpm");
        std::os::unix::fs::symlink("../lib/node_modules/pnpm/bin/pnpm.cjs", link).unwrap();
    }

    /// rustup with the toolchain that builds this.
    pub(crate) fn rust(&self) {
        let ask = |script: &str| {
            let printed = Command::new("sh").args(["-c", script]).output().unwrap();
            assert!(printed.status.success(), "{script}: these tests need Rust by rustup");
            PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim())
        };
        let (rustup, toolchain) = (ask("command -v rustup"), ask("rustc --print sysroot"));
        let programs = self.home().join(".cargo/bin");
        self.make_folder(&programs);
        for name in ["rustup", "cargo", "rustc", "rustdoc"] {
            link_or_copy(&rustup, &programs.join(name));
        }
        let name = toolchain.file_name().unwrap().to_str().unwrap();
        let copy = self.home().join(".rustup/toolchains").join(name);
        fs::create_dir_all(&copy).unwrap();
        for part in ["bin", "lib"] {
            copy_tree(&toolchain.join(part), &copy);
        }
        let settings =
            format!("version = \"12\"\ndefault_toolchain = \"{name}\"\nprofile = \"minimal\"\n");
        self.put(&self.home(), ".rustup/settings.toml", &settings);
    }
}

/// Where the system's Python is, which works wherever it is copied to, its version as in the names of its files, and its whole version.
fn system_python() -> [String; 3] {
    let ask = "import sys; v = sys.version_info; \
        print(sys.base_prefix, f'{v[0]}.{v[1]}', f'{v[0]}.{v[1]}.{v[2]}', sep='\\n')";
    let printed = Command::new("/usr/bin/python3").args(["-c", ask]).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    lines.try_into().unwrap_or_else(|_| panic!("python3 said {printed:?}"))
}

fn link_or_copy(from: &Path, to: &Path) {
    let from = fs::canonicalize(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    if fs::hard_link(&from, to).is_err() {
        fs::copy(&from, to).unwrap();
    }
}

/// Copies a folder into another one: by hard links where that can be, since nothing is written into the files.
fn copy_tree(from: &Path, into: &Path) {
    let copy = |how: &str| {
        let mut copy = Command::new("cp");
        copy.arg(how).arg("--no-preserve=ownership").arg(from).arg(into).stderr(Stdio::null());
        copy.status().unwrap().success()
    };
    assert!(copy("-rlPf") || copy("-rPf"), "{} could not be copied", from.display());
}

/// Where what these tests install stays between runs, and a lock on it: tests run beside each other.
fn kept(name: &str) -> (PathBuf, File) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(home.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    (home.join(name), lock)
}

#[track_caller]
fn install(command: &mut Command) {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// uv, as pip installs it.
fn installed_uv() -> PathBuf {
    let (home, _lock) = kept("projects-uv");
    let program = home.join("bin/uv");
    if !program.exists() {
        install(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        let mut pip = Command::new(home.join("bin/pip"));
        install(pip.args(["install", "--quiet", "--disable-pip-version-check", "uv==0.13.8"]));
    }
    program
}

/// A folder into which npm installed pnpm.
fn installed_pnpm() -> PathBuf {
    let (home, _lock) = kept("projects-pnpm");
    if !home.join("bin/pnpm").exists() {
        let mut npm = Command::new("npm");
        install(
            npm.args(["install", "--global", "--no-audit", "--no-fund", "pnpm@10", "--prefix"])
                .arg(&home),
        );
    }
    home
}
