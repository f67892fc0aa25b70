//! The programs of this machine that a box shows in addition to the system's: the folders of the user's PATH and the
//! homes of toolchains, read-only, with their credentials masked. This module looks at which folders exist, and reads
//! no file. A box never shows the whole home.

#![allow(clippy::disallowed_methods, reason = "folders of the machine, not of a workspace")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use yard_sandbox::Programs;

use crate::user_environment::UserEnvironment;

/// A toolchain: where it is, and which parts of it a box shows.
pub(crate) struct Toolchain {
    pub(crate) name: &'static str,
    /// The variable that says where its home is, if the user set it. The box gets it too.
    pub(crate) variable: Option<&'static str>,
    /// Its default homes: below the user's home, or absolute.
    pub(crate) homes: &'static [&'static str],
    /// The parts of its home that are shown; all of it if this is empty.
    pub(crate) shown: &'static [&'static str],
    /// The files that are masked although their folder is shown; `*` matches any name.
    pub(crate) masked: &'static [&'static str],
}

const fn toolchain(name: &'static str, homes: &'static [&'static str]) -> Toolchain {
    Toolchain { name, variable: None, homes, shown: &[], masked: &[] }
}

impl Toolchain {
    /// The same, where a variable may say where its home is.
    const fn overridden_by(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }

    /// The same, with only these parts of its home shown.
    const fn showing(self, shown: &'static [&'static str]) -> Self {
        Self { shown, ..self }
    }

    /// The same, without these files.
    const fn masking(self, masked: &'static [&'static str]) -> Self {
        Self { masked, ..self }
    }
}

/// Where conda and its kin keep tokens and passwords.
const CONDA: &[&str] = &[
    ".condarc",
    "condarc",
    ".mambarc",
    ".condatokens",
    "etc/conda/.condarc",
    "etc/conda/condarc",
    "etc/npmrc",
    "pip.conf",
    "envs/*/.condarc",
    "envs/*/etc/npmrc",
    "envs/*/pip.conf",
];

/// Where programs that a version manager installed keep tokens and passwords.
const INSTALLS: &[&str] = &[
    "installs/*/*/etc/npmrc",
    "installs/*/*/pip.conf",
    "installs/*/*/conf/settings.xml",
    "installs/gradle/*/gradle.properties",
];

/// What is not shown in any folder, whatever the folder is.
pub(crate) const ALWAYS_MASKED: [&str; 8] = [
    ".env",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".yarnrc.yml",
    "credentials",
    "credentials.toml",
];

const TOOLCHAINS: [Toolchain; 24] = [
    toolchain("rustup", &[".rustup"]).overridden_by("RUSTUP_HOME").showing(&[
        "toolchains",
        "settings.toml",
        "update-hashes",
    ]),
    toolchain("cargo", &[".cargo"]).showing(&["bin"]),
    toolchain("pyenv", &[".pyenv"])
        .overridden_by("PYENV_ROOT")
        .showing(&["bin", "libexec", "shims", "versions", "version", "plugins"])
        .masking(&["versions/*/pip.conf"]),
    toolchain("uv", &[".local/share/uv"])
        .showing(&["python", "tools"])
        .masking(&["python/*/pip.conf", "tools/*/pip.conf"]),
    toolchain("conda", &["miniconda3", "anaconda3", "miniforge3", "mambaforge"]).masking(CONDA),
    toolchain("mamba", &["micromamba"]).masking(CONDA),
    toolchain("nvm", &[".nvm"])
        .overridden_by("NVM_DIR")
        .showing(&["versions", "alias", "nvm.sh", "nvm-exec"])
        .masking(&["versions/node/*/etc/npmrc"]),
    // What `npm install --global` put there: the programs are links to files of these packages.
    toolchain("npm", &[".local", ".npm-global", ".npm-packages"]).showing(&["lib/node_modules"]),
    toolchain("fnm", &[".local/share/fnm", ".fnm"])
        .overridden_by("FNM_DIR")
        .showing(&["node-versions", "aliases"])
        .masking(&["node-versions/*/installation/etc/npmrc"]),
    toolchain("volta", &[".volta"])
        .overridden_by("VOLTA_HOME")
        .showing(&["bin", "tools"])
        .masking(&["tools/image/node/*/etc/npmrc"]),
    toolchain("asdf", &[".asdf"])
        .overridden_by("ASDF_DATA_DIR")
        .showing(&["bin", "shims", "installs", "plugins", "lib", "libexec", "asdf.sh"])
        .masking(INSTALLS),
    toolchain("mise", &[".local/share/mise"])
        .overridden_by("MISE_DATA_DIR")
        .showing(&["installs", "shims", "plugins"])
        .masking(INSTALLS),
    toolchain("sdkman", &[".sdkman"])
        .overridden_by("SDKMAN_DIR")
        .showing(&["candidates", "bin", "libexec"])
        .masking(&[
            "candidates/*/*/conf/settings.xml",
            "candidates/gradle/*/gradle.properties",
            "candidates/gradle/*/init.d",
        ]),
    toolchain("go", &["sdk", ".go"]).overridden_by("GOROOT"),
    toolchain("go programs", &["go"]).showing(&["bin"]),
    toolchain("deno", &[".deno"]).overridden_by("DENO_INSTALL").showing(&["bin"]),
    toolchain("bun", &[".bun"]).overridden_by("BUN_INSTALL").showing(&["bin"]),
    toolchain("rbenv", &[".rbenv"])
        .overridden_by("RBENV_ROOT")
        .showing(&["bin", "libexec", "shims", "versions", "version", "plugins"]),
    toolchain("ghcup", &[".ghcup"]).showing(&["bin", "ghc", "lib"]),
    toolchain("julia", &[".julia"]).showing(&["juliaup"]),
    toolchain("juliaup", &[".juliaup"]),
    toolchain("nix", &["/nix/store"]),
    toolchain("linuxbrew", &["/home/linuxbrew/.linuxbrew", ".linuxbrew"])
        .showing(&["bin", "sbin", "Cellar", "opt", "lib", "include", "share"]),
    toolchain("pipx", &[".local/share/pipx", ".local/pipx"])
        .showing(&["venvs"])
        .masking(&["venvs/*/pip.conf"]),
];

/// The toolchains.
pub(crate) fn rows() -> &'static [Toolchain] {
    &TOOLCHAINS
}

/// The PATH of every box, after the user's.
const SYSTEM_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Folders that every box shows or makes itself, so that nothing below them is added.
const SYSTEM_FOLDERS: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/dev", "/proc"];

/// The folders of a user's own programs, below the home.
const OWN_FOLDERS: [&str; 2] = [".local/bin", "bin"];

/// The programs of a user that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundPrograms {
    /// The programs for a box.
    pub(crate) programs: Programs,
    /// The names of the toolchains.
    pub(crate) toolchains: Vec<&'static str>,
}

impl FoundPrograms {
    /// Finds the programs of a user.
    pub(crate) fn of(user: &UserEnvironment<'_>) -> Self {
        let mut found = Self::default();
        let mut shown = BTreeSet::new();
        for toolchain in &TOOLCHAINS {
            for home in toolchain.homes_of(user) {
                found.add(toolchain, &home, &mut shown);
            }
        }
        let path = add_path(user, &mut shown);
        found.programs.environment.insert(0, ("PATH".into(), path));
        found.programs.shown = outermost(shown);
        let folders = found.programs.shown.iter().filter(|path| path.is_dir());
        let always = folders.flat_map(|folder| ALWAYS_MASKED.map(|name| folder.join(name)));
        found.programs.masked.extend(always.collect::<Vec<_>>());
        found
    }

    fn add(&mut self, toolchain: &Toolchain, home: &Path, shown: &mut BTreeSet<PathBuf>) {
        let parts = match toolchain.shown {
            [] => vec![home.to_owned()],
            parts => parts.iter().map(|part| home.join(part)).collect(),
        };
        let before = shown.len();
        shown.extend(parts.into_iter().filter(|part| part.exists()));
        if shown.len() == before {
            return;
        }
        self.programs.masked.extend(toolchain.masked.iter().map(|name| home.join(name)));
        if let Some(variable) = toolchain.variable {
            self.programs.environment.push((variable.into(), home.into()));
        }
        if self.toolchains.last() != Some(&toolchain.name) {
            self.toolchains.push(toolchain.name);
        }
    }
}

/// Shows the folders of the PATH. Returns the PATH of the box.
fn add_path(user: &UserEnvironment<'_>, shown: &mut BTreeSet<PathBuf>) -> OsString {
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(&user.path) {
        if all.contains(&folder) || !is_for_programs(&folder, user) {
            continue;
        }
        if !is_in_system_folder(&folder) {
            shown.insert(folder.clone());
            shown.extend(link_targets(&folder, user));
        }
        all.push(folder);
    }
    all.extend(
        SYSTEM_PATH
            .map(PathBuf::from)
            .into_iter()
            .filter(|one| !all.contains(one))
            .collect::<Vec<_>>(),
    );
    std::env::join_paths(all).unwrap_or_else(|_| SYSTEM_PATH.join(":").into())
}

impl Toolchain {
    /// Its homes on this machine.
    fn homes_of(&self, user: &UserEnvironment<'_>) -> Vec<PathBuf> {
        let named = self.variable.and_then(|name| (user.variable)(name)).map(PathBuf::from);
        if let Some(named) =
            named.filter(|named| named.is_absolute() && is_apart_from_home(named, user))
        {
            return vec![named];
        }
        let default_homes = self.homes.iter().filter_map(|home| match home.starts_with('/') {
            true => Some(PathBuf::from(home)),
            false => user.home.as_ref().map(|user_home| user_home.join(home)),
        });
        default_homes.filter(|home| home.is_dir()).collect()
    }
}

/// Whether a folder of the PATH is one: not the home itself, nor one that holds it.
fn is_for_programs(folder: &Path, user: &UserEnvironment<'_>) -> bool {
    folder.is_absolute() && folder.is_dir() && is_apart_from_home(folder, user)
}

fn is_apart_from_home(folder: &Path, user: &UserEnvironment<'_>) -> bool {
    let holds = |home: &PathBuf| home.starts_with(folder);
    folder.parent().is_some() && !user.home.as_ref().is_some_and(holds)
}

fn is_in_system_folder(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Where links to programs lead, in the person's own folders of programs. A folder of the PATH may lie in a
/// project, where an agent makes links as it likes: those are not followed.
fn link_targets(folder: &Path, user: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let is_own = |home: &PathBuf| OWN_FOLDERS.iter().any(|own| folder == home.join(own));
    if !user.home.as_ref().is_some_and(is_own) {
        return Vec::new();
    }
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let links =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    let ends = links.filter_map(|link| link.path().canonicalize().ok());
    ends.filter(|end| is_program(end) && !is_in_system_folder(end) && is_apart_from_home(end, user))
        .collect()
}

/// Whether a file can be run.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The paths that do not lie in another one.
fn outermost(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !all.last().is_some_and(|last| path.starts_with(last)) {
            all.push(path);
        }
    }
    all
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[&str]) -> Self {
            // Not below /tmp: a box has its own.
            let home = Self(tempfile::tempdir_in("/var/tmp").unwrap());
            for file in files {
                let path = home.at(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            home
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn programs(&self, path: &[&str], variables: &[(&str, PathBuf)]) -> Programs {
            self.found(path, variables).programs
        }

        fn found(&self, path: &[&str], variables: &[(&str, PathBuf)]) -> FoundPrograms {
            let path = path.iter().map(|one| match one.starts_with('/') {
                true => PathBuf::from(one),
                false => self.at(one),
            });
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.clone().into())
            };
            FoundPrograms::of(&UserEnvironment {
                path: std::env::join_paths(path).unwrap(),
                home: Some(self.0.path().to_owned()),
                variable: &variable,
            })
        }
    }

    #[test]
    fn rust_is_shown_without_what_cargo_knows_of_the_person() {
        let home = Home::with(&[
            ".cargo/bin/cargo",
            ".cargo/credentials.toml",
            ".rustup/toolchains/stable/bin/cargo",
            ".rustup/settings.toml",
            ".ssh/id_ed25519",
        ]);
        let FoundPrograms { programs, toolchains } = home.found(&[".cargo/bin", "/usr/bin"], &[]);
        let shown = [".cargo/bin", ".rustup/settings.toml", ".rustup/toolchains"];
        assert_eq!(programs.shown, shown.map(|path| home.at(path)));
        assert_eq!(toolchains, ["rustup", "cargo"]);
        let rustup = ("RUSTUP_HOME".into(), home.at(".rustup").into());
        assert!(programs.environment.contains(&rustup), "{programs:?}");
        let path = programs.environment[0].1.to_string_lossy().into_owned();
        assert!(
            path.starts_with(&format!("{}:/usr/bin:", home.at(".cargo/bin").display())),
            "{path}"
        );
        assert!(path.ends_with(":/sbin:/bin"), "{path}");
    }

    #[test]
    fn neither_the_home_nor_a_folder_above_it_is_shown_for_being_on_the_path() {
        let home = Home::with(&["bin/tool", ".ssh/key"]);
        let above = home.0.path().parent().unwrap().to_str().unwrap().to_owned();
        let own = home.0.path().to_str().unwrap().to_owned();
        let programs = home.programs(&["/", &above, &own, "bin"], &[]);
        assert_eq!(programs.shown, [home.at("bin")]);
        let homeless = home.programs(&[], &[("RUSTUP_HOME", home.0.path().to_owned())]);
        assert_eq!(
            homeless.shown,
            [] as [PathBuf; 0],
            "a variable that names the home shows nothing"
        );
    }

    #[test]
    fn where_links_on_the_path_lead_is_shown_too_and_a_file_alone() {
        let home = Home::with(&["bin/own", "work/tool/run", "work/tool/secret"]);
        symlink(home.at("work/tool/run"), home.at("bin/run")).unwrap();
        symlink("/usr/bin/env", home.at("bin/env")).unwrap();
        symlink(home.at("nowhere"), home.at("bin/broken")).unwrap();
        symlink(home.0.path(), home.at("bin/home")).unwrap();
        symlink(home.at("work/tool/secret"), home.at("bin/secret")).unwrap();
        fs::set_permissions(home.at("work/tool/run"), fs::Permissions::from_mode(0o755)).unwrap();
        let programs = home.programs(&["bin"], &[]);
        assert_eq!(programs.shown, [home.at("bin"), home.at("work/tool/run")]);
    }

    #[test]
    fn what_npm_installed_for_the_person_is_shown_with_its_packages() {
        let home = Home::with(&[
            ".local/bin/own",
            ".local/lib/node_modules/tool/bin/tool.js",
            ".local/lib/node_modules/tool/dist/code.js",
            ".local/share/notes",
        ]);
        let found = home.found(&[".local/bin"], &[]);
        let shown = [".local/bin", ".local/lib/node_modules"].map(|path| home.at(path));
        assert_eq!((found.programs.shown, found.toolchains), (shown.to_vec(), vec!["npm"]));
        let without = Home::with(&[".local/share/notes"]).found(&[], &[]);
        assert_eq!((without.programs.shown, without.toolchains), (vec![], vec![]));
    }

    #[test]
    fn links_of_a_project_on_the_path_are_not_followed() {
        let home = Home::with(&["project/.bin/own", "other/run"]);
        fs::set_permissions(home.at("other/run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(home.at("other/run"), home.at("project/.bin/run")).unwrap();
        assert_eq!(home.programs(&["project/.bin"], &[]).shown, [home.at("project/.bin")]);
    }

    #[test]
    fn a_toolchain_elsewhere_is_found_by_its_variable() {
        let home = Home::with(&["tools/py/versions/3.13/bin/python", "tools/py/bin/pyenv"]);
        let programs = home.programs(&[], &[("PYENV_ROOT", home.at("tools/py"))]);
        assert_eq!(programs.shown, ["tools/py/bin", "tools/py/versions"].map(|path| home.at(path)));
    }
}
