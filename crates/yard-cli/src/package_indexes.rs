//! The package indexes that the user configured in place of the public ones: mirrors, or indexes of their own. Only
//! their addresses go into the box, and none that could contain a secret. This module reads the files that package
//! managers read, and changes nothing.

#![allow(clippy::disallowed_methods, reason = "files of the machine, not of a workspace")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use yard_sandbox::Programs;

use toml::{Table, Value};

use crate::user_environment::UserEnvironment;

/// Variables that are addresses of indexes, or lists of such.
const VARIABLES: [&str; 8] = [
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "npm_config_registry",
    "GOPROXY",
    "GOSUMDB",
];
/// The path of cargo's configuration in a box: above every folder, so that a project's own configuration overrides it.
const CARGO: &str = "/.cargo/config.toml";
/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// A part of a path that is as long as this and has digits may be a token.
const TOKEN_LENGTH: usize = 16;

/// Adds the addresses of the user's indexes to the programs of a box.
pub(crate) fn add_to(programs: &mut Programs, user: &UserEnvironment<'_>) {
    let mut add = |name: &str, value: String| {
        let is_set = programs.environment.iter().any(|(known, _)| known == name);
        if !is_set && value.split([' ', ',', '|']).all(is_public) {
            programs.environment.push((name.into(), value.into()));
        }
    };
    for name in VARIABLES {
        if let Some(value) = (user.variable)(name).and_then(|value| value.into_string().ok()) {
            add(name, value);
        }
    }
    for text in pip_files(user).iter().filter_map(|file| read(file)) {
        for (key, name) in [("index-url", VARIABLES[0]), ("extra-index-url", VARIABLES[1])] {
            if let Some(value) = setting_of_pip(&text, key) {
                add(name, value);
            }
        }
    }
    let npm = user.home.as_ref().and_then(|home| read(&home.join(".npmrc")));
    if let Some(value) = npm.as_deref().and_then(setting_of_npm) {
        add("npm_config_registry", value);
    }
    let cargo = cargo_home(user)
        .and_then(|home| read(&home.join("config.toml")).or_else(|| read(&home.join("config"))));
    if let Some(text) = cargo.as_deref().and_then(sources_of_cargo) {
        programs.files.push((CARGO.to_owned(), text.into_bytes()));
    }
}

fn read(file: &Path) -> Option<String> {
    let about = file.metadata().ok()?;
    let is_plain = about.is_file() && about.len() <= MAX_FILE_BYTES;
    is_plain.then(|| std::fs::read_to_string(file).ok()).flatten()
}

fn cargo_home(user: &UserEnvironment<'_>) -> Option<PathBuf> {
    let named = (user.variable)("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| user.home.as_ref().map(|home| home.join(".cargo")))
}

/// The files that pip reads, the one that counts most first.
fn pip_files(user: &UserEnvironment<'_>) -> Vec<PathBuf> {
    let named = (user.variable)("PIP_CONFIG_FILE").map(PathBuf::from);
    let configuration = (user.variable)("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = user.home.as_ref();
    let configuration = configuration.or_else(|| home.map(|home| home.join(".config")));
    let of_person = configuration.map(|folder| folder.join("pip/pip.conf"));
    let older = home.map(|home| home.join(".pip/pip.conf"));
    let of_all = Some(PathBuf::from("/etc/pip.conf"));
    [named, of_person, older, of_all].into_iter().flatten().collect()
}

/// A setting of pip for every command or for installing. Further values are on lines that begin with white space.
fn setting_of_pip(text: &str, key: &str) -> Option<String> {
    let (mut applies, mut setting) = (false, None::<String>);
    let mut continues = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        if continues && line.starts_with([' ', '\t']) {
            if let Some(setting) = &mut setting {
                let _ = write!(setting, " {}", line.trim());
            }
            continue;
        }
        continues = false;
        if let Some(section) = line.trim().strip_prefix('[') {
            applies = ["global]", "install]"].contains(&section);
        } else if let Some((name, value)) = line.split_once(['=', ':'])
            && applies
            && name.trim().replace('_', "-") == key
        {
            setting = Some(value.trim().to_owned());
            continues = true;
        }
    }
    setting.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn setting_of_npm(text: &str) -> Option<String> {
    let mut settings = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = settings.find(|(name, _)| name.trim() == "registry")?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The part of cargo's configuration that names the sources of crates.
fn sources_of_cargo(text: &str) -> Option<String> {
    let whole: Table = text.parse().ok()?;
    let mut out = String::new();
    for (kind, keys) in
        [("source", ["registry", "replace-with"].as_slice()), ("registries", &["index"])]
    {
        let Some(Value::Table(tables)) = whole.get(kind) else { continue };
        for (name, table) in tables {
            let value = |key: &'static str| Some((key, table.get(key)?.as_str()?));
            let values: Vec<_> = keys.iter().filter_map(|key| value(key)).collect();
            // An entry without one of its parts would name another source than the user configured.
            if !values.is_empty() && values.iter().all(|(_, value)| is_public(value)) {
                let _ = writeln!(out, "[{kind}.{}]", quoted(name));
                for (key, value) in values {
                    let _ = writeln!(out, "{key} = {}", quoted(value));
                }
            }
        }
    }
    Some(out).filter(|out| !out.is_empty())
}

/// A string of TOML; those of JSON are.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether an address has no part that could be a user name, a password or a token.
fn is_public(word: &str) -> bool {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let looks_secret = |part: &str| {
        part.len() >= TOKEN_LENGTH
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    !rest.contains(['@', '?', '#']) && !rest.split('/').any(looks_secret)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn added(home: &Path, variables: &[(&str, &str)]) -> Programs {
        let variable = |name: &str| {
            let value = variables.iter().find(|(known, _)| *known == name);
            // Nothing of who runs this test counts.
            let of_test = (name == "PIP_CONFIG_FILE").then(|| OsString::from("/nowhere"));
            value.map(|(_, value)| OsString::from(value)).or(of_test)
        };
        let mut programs = Programs::default();
        let home = Some(home.to_owned());
        add_to(
            &mut programs,
            &UserEnvironment { path: OsString::new(), home, variable: &variable },
        );
        programs
    }

    fn value(programs: &Programs, name: &str) -> Option<String> {
        let mut all = programs.environment.iter();
        let value = all.find(|(known, _)| known == name)?;
        Some(value.1.to_str().unwrap().to_owned())
    }

    #[test]
    fn addresses_come_from_variables_and_else_from_files() {
        let home = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(
            ".config/pip/pip.conf",
            "[list]\nindex-url = http://no.example\n[global]\n# index-url = http://no.example\n\
             index_url = http://mirror.example/simple\nextra-index-url =\n  http://one.example/simple\n  \
             http://two.example/simple\ntimeout = 60\n",
        );
        put(".npmrc", "//npm.example/:_authToken=secret\nregistry=https://npm.example/\n");
        put(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\n\
             registry = 'sparse+https://mirror.example/index/'\n[registries.own]\n\
             index = 'sparse+https://own.example/'\ntoken = 'secret'\n[env]\nSECRET = 'x'\n",
        );
        let programs = added(home.path(), &[("GOPROXY", "https://go.example,direct")]);
        let of = |name| value(&programs, name).unwrap();
        assert_eq!(of("PIP_INDEX_URL"), "http://mirror.example/simple");
        assert_eq!(
            of("PIP_EXTRA_INDEX_URL"),
            "http://one.example/simple http://two.example/simple"
        );
        assert_eq!(of("npm_config_registry"), "https://npm.example/");
        assert_eq!(of("GOPROXY"), "https://go.example,direct");
        let [(name, text)] = programs.files.as_slice() else { panic!("{:?}", programs.files) };
        let expected = "[source.\"crates-io\"]\nreplace-with = \"mirror\"\n[source.\"mirror\"]\n\
                        registry = \"sparse+https://mirror.example/index/\"\n[registries.\"own\"]\n\
                        index = \"sparse+https://own.example/\"\n";
        assert_eq!((name.as_str(), str::from_utf8(text).unwrap()), (CARGO, expected));
        let programs = added(home.path(), &[("PIP_INDEX_URL", "http://variable.example/simple")]);
        assert_eq!(value(&programs, "PIP_INDEX_URL").unwrap(), "http://variable.example/simple");
    }

    #[test]
    fn an_address_that_may_hold_a_secret_stays_outside() {
        for secret in [
            "https://name:word@index.example/simple",
            "https://token@index.example/simple",
            "https://index.example/simple?token=x",
            "https://index.example/a1b2c3d4e5f6a7b8c9/python/simple",
        ] {
            assert!(!is_public(secret), "{secret}");
            let cargo =
                format!("[source.a]\nregistry = '{secret}'\n[registries.b]\nindex = '{secret}'\n");
            assert_eq!(sources_of_cargo(&cargo), None);
            let home = tempfile::tempdir().unwrap();
            let programs = added(home.path(), &[("PIP_INDEX_URL", secret)]);
            assert_eq!(value(&programs, "PIP_INDEX_URL"), None);
        }
        assert!(is_public("https://index.example:8443/repository/python-all/simple"));
    }
}
