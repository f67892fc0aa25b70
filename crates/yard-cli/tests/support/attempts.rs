//! Calls that try to get at files which may not be read: commands, and random arguments for any tool.

use std::path::Path;

use serde_json::{Map, Value, json};

/// Words of files that may not be read, each in another place.
pub(crate) const CANARIES: [&str; 4] =
    ["canary-tree-4711", "canary-name-4712", "canary-deep-4713", "canary-git-4714"];

/// Each tries to get at a file that may not be read, in its own way.
pub(crate) const ATTEMPTS: [&str; 26] = [
    "cat secrets/k.txt",
    "cat ./secrets/../secrets/k.txt link.txt .env app/.env conf/deep/key.pem",
    "mv secrets s2; cat s2/k.txt",
    "mv conf c2; cat c2/deep/key.pem",
    "mv .env e2; cat e2",
    "cp secrets/k.txt pub.txt; cat pub.txt",
    "cp -a secrets s3; cat s3/k.txt",
    "ln secrets/k.txt hard; cat hard",
    "ln -s secrets/k.txt soft; cat soft",
    "ln -s \"$PWD/secrets\" folder; cat folder/k.txt",
    "chmod 777 secrets secrets/k.txt .env; cat secrets/k.txt .env",
    "tar cf - secrets .env conf | strings",
    "grep -r canary . ; grep -c . .env",
    "dd if=secrets/k.txt bs=1 2>&1",
    "head -c 5 .env; tail -1 .env; od -c .env",
    "python3 -c 'print(open(\"secrets/k.txt\").read())'",
    "python3 -c 'import os; fd=os.open(\".env\", os.O_RDWR); print(os.read(fd, 99))'",
    "python3 -c 'import mmap,os; f=open(\"conf/deep/key.pem\"); print(mmap.mmap(f.fileno(),0,prot=1)[:])'",
    "cat /proc/self/cwd/secrets/k.txt /proc/1/root$PWD/.env",
    "find . -type f -exec cat {} +",
    "rm -rf secrets; mkdir -p secrets; cat secrets/k.txt",
    "umount secrets; umount -l .env; cat secrets/k.txt .env",
    "unshare -rm sh -c 'umount -l secrets; umount -l .env; cat secrets/k.txt .env'",
    "mount --bind . /tmp; cat /tmp/secrets/k.txt",
    "cat /proc/self/mountinfo; cat /proc/self/mounts",
    "git init -q . && git add -A; git diff --cached; git stash; cat .git/index | strings",
];

/// A generator of numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

const PATHS: [&str; 12] = [
    "/secrets/k.txt",
    "/secrets",
    "/.env",
    "/app/.env",
    "/conf/deep/key.pem",
    "/conf",
    "/",
    "/link.txt",
    "/src/main.py",
    "/chats",
    "/.toolyard-output",
    "/app",
];
const TEXTS: [&str; 10] = [
    "canary",
    "canary-tree-471",
    "TOKEN=",
    "second line\n",
    ".*",
    "can[a-z]+",
    "x",
    "",
    "plain\n",
    "print",
];

/// A value for an argument, by its name and its schema; sometimes one that does not fit.
fn value_for(dice: &mut Dice, name: &str, schema: &Value, root: &Path) -> Value {
    let place = |dice: &mut Dice| {
        let path = (*dice.pick(&PATHS)).to_owned();
        match dice.roll(3) {
            0 => path.trim_start_matches('/').to_owned(),
            1 => format!("{}{path}", root.display()),
            _ => path,
        }
    };
    let lower = name.to_lowercase();
    if lower.contains("path")
        || lower.contains("dir")
        || lower == "source"
        || lower == "destination"
    {
        return match schema["type"] == "array" {
            true => json!([place(dice), place(dice)]),
            false => json!(place(dice)),
        };
    }
    if lower.contains("cmd") || lower.contains("command") || lower == "code" || lower == "chars" {
        let text = format!("{}\n", dice.pick(&ATTEMPTS));
        return json!(text);
    }
    if lower.contains("patch") && schema["type"] == "string" {
        let (path, text) = (place(dice), dice.pick(&TEXTS));
        return json!(format!(
            "*** Begin Patch\n*** Update File: {path}\n@@\n-{text}\n+changed\n*** End Patch\n"
        ));
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("integer" | "number") => json!(*dice.pick(&[0, 1, 2, 50])),
        Some("boolean") => json!(dice.roll(2) == 0),
        Some("array") => {
            let item = &schema["items"];
            match item["properties"].as_object() {
                Some(members) => {
                    let values = members
                        .iter()
                        .map(|(name, schema)| (name.clone(), value_for(dice, name, schema, root)));
                    json!([values.collect::<Map<String, Value>>()])
                }
                None => json!([*dice.pick(&TEXTS)]),
            }
        }
        Some("object") => json!({}),
        _ => match schema["enum"].as_array() {
            Some(words) => dice.pick(words).clone(),
            None => json!(*dice.pick(&TEXTS)),
        },
    }
}

/// Arguments for a tool with this schema, most of them there. What takes time is given little of it.
pub(crate) fn args_for(dice: &mut Dice, schema: &Value, root: &Path) -> Value {
    let members = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut args = Map::new();
    for (name, member) in &members {
        if dice.roll(4) > 0 {
            args.insert(name.clone(), value_for(dice, name, member, root));
        }
    }
    for (name, time) in [("timeout_ms", 3_000), ("timeout", 3)] {
        if members.contains_key(name) {
            args.insert(name.to_owned(), json!(time));
        }
    }
    Value::Object(args)
}
