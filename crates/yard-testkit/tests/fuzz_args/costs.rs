//! What a call costs: for a megabyte of arguments no tool takes more than two seconds of processor time or
//! 200 MB of memory. Arguments are large in the ways that make careless code slow: very many of one kind,
//! very deep, very long, and patterns that are hard to compile or to match. The plain run sends some of
//! them, of a tenth of the size.
//! It is measured in a process of its own, in which nothing else runs.

use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};
use yard_testkit::Yard;

/// Set in the process that measures.
const MEASURE: &str = "YARD_MEASURE_COSTS";
/// The processor time of one call, of all threads. Tests are not optimized as a release is.
const MOST_TIME: Duration = Duration::from_secs(2);
/// Memory that one call needs beyond what was there.
const MOST_KIB: u64 = 200 << 10;

fn is_soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some()
}

fn size() -> usize {
    if is_soak() { 1 << 20 } else { 100 << 10 }
}

/// The processor time of this process.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = |at: usize| -> u64 { after_name.split(' ').nth(at).unwrap().parse().unwrap() };
    // User and system time, in hundredths of a second.
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A file of about the size, a row for each edit.
fn rows(size: usize) -> String {
    (0..size / 32).map(|row| format!("value_{row:06} = of some length;\n")).collect()
}

/// A value that a property usually has, so that the call gets as far as possible.
fn usual(name: &str, schema: &Value) -> Value {
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("");
    match (name, kind) {
        ("pattern" | "path_pattern" | "name" | "query", _) => json!("value"),
        ("old_string" | "find" | "old_str" | "oldText", _) => json!("value_000001 ="),
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        (name, "string" | "") if name.contains("path") || name.contains("file") => {
            json!("/rows.txt")
        }
        (_, "boolean") => json!(false),
        (_, "integer" | "number") => json!(1),
        (_, "array") => json!([]),
        (_, "object") => json!({}),
        _ => json!("x"),
    }
}

/// An item of a list: each is another one, as far as its schema lets it be.
fn item(schema: &Value, whole: &Value, at: usize) -> Value {
    let schema = match schema["$ref"].as_str() {
        Some(place) => whole.pointer(place.trim_start_matches('#')).unwrap_or(schema),
        None => schema,
    };
    let Some(properties) = schema["properties"].as_object() else {
        return match schema["type"].as_str() {
            Some("integer" | "number") => json!(at),
            _ => json!(format!("value_{at:06} =")),
        };
    };
    let value = |(name, of): (&String, &Value)| {
        let is_text = of["type"].as_str() == Some("string") && !of["enum"].is_array();
        let text = if name.to_lowercase().contains("new") || name == "replace" {
            json!(format!("other_{at:06} ="))
        } else {
            json!(format!("value_{at:06} ="))
        };
        (name.clone(), if is_text { text } else { usual(name, of) })
    };
    Value::Object(properties.iter().map(value).collect())
}

/// Texts that are hard to take.
fn texts(size: usize) -> Vec<String> {
    let times = |part: &str| part.repeat(size / part.len());
    vec![
        times("a"),
        times("line\n"),
        times("\n"),
        times("/a"),
        times("../"),
        times("\u{1b}\\\""),
        times("é"),
        times("**/"),
        times("{a,b}"),
        times("[a-z]*"),
        times("(a|b?)*"),
        times("("),
        times("(?:a{1,9})"),
        format!("({}){{1000}}", "a|".repeat(size / 2)),
        "(?:(?:(?:(?:a{9}){9}){9}){9}){9}".to_owned(),
        r"\p{L}{1000}".to_owned(),
        times("%_"),
        times("*** Update File: rows.txt\n"),
        format!(
            "*** Begin Patch\n*** Update File: rows.txt\n{}*** End Patch\n",
            times("@@ x\n-y\n")
        ),
        format!(
            "*** Begin Patch\n{}*** End Patch\n",
            times("*** Update File: rows.txt\n@@\n-value_000001 = of some length;\n+x\n")
        ),
        format!("--- a/rows.txt\n+++ b/rows.txt\n{}", times("@@ -1 +1 @@\n-a\n+b\n")),
        times("{\"a\":"),
        times("SELECT "),
        format!("http://{}/", "a.".repeat(size / 2)),
    ]
}

/// Arguments that are large in one way each.
fn large(schema: &Value, size: usize) -> Vec<(String, Value)> {
    let nested = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let unknown: Map<_, _> = (0..size / 12).map(|at| (format!("u{at}"), json!(1))).collect();
    let mut all = vec![
        ("unknown arguments".to_owned(), Value::Object(unknown)),
        ("deep lists".to_owned(), json!(vec![nested.clone(); size / 200])),
    ];
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut add = |name: &String, what: &str, value: Value| {
        let mut args: Map<String, Value> =
            properties.iter().map(|(name, of)| (name.clone(), usual(name, of))).collect();
        args.insert(name.clone(), value);
        all.push((format!("{name}: {what}"), Value::Object(args)));
    };
    for (name, of) in properties {
        for text in texts(size) {
            let begin: String = text.chars().take(24).collect();
            add(name, &begin, json!(text));
        }
        add(name, "deep lists", json!(vec![nested.clone(); size / 200]));
        add(name, "numbers", json!((0..size / 8).collect::<Vec<_>>()));
        let items = (0..size / 40).map(|at| item(&of["items"], schema, at));
        add(name, "many", json!(items.collect::<Vec<_>>()));
        let keys: Map<_, _> = (0..size / 12).map(|at| (format!("u{at}"), json!(1))).collect();
        add(name, "keys", Value::Object(keys));
    }
    all
}

/// A call and what it cost.
struct Cost {
    what: String,
    time: Duration,
    kib: u64,
}

fn measured(yard: &Yard, only: &str) -> Vec<Cost> {
    let (session, call) = (yard.session(), yard.surroundings());
    let mut costs = Vec::new();
    for dialect in yard.catalog().dialects() {
        for tool in yard.catalog().list(dialect.name) {
            let name = format!("{} {}", dialect.name, tool.name());
            if !name.contains(only) {
                continue;
            }
            yard.put("/rows.txt", rows(size()));
            let all = large(tool.input_schema(), size()).into_iter().enumerate();
            // Which ones are left out of the plain run differs from tool to tool.
            let chosen = |at: usize| is_soak() || (at + costs.len()).is_multiple_of(4);
            let chosen: Vec<_> = all.filter(|(at, _)| chosen(*at)).map(|(_, one)| one).collect();
            for (kind, args) in chosen {
                std::fs::write("/proc/self/clear_refs", "5").unwrap();
                let (memory, time) = (kib("VmRSS:"), processor_time());
                let answer = yard.catalog().call(dialect.name, tool.name(), args, &session, &call);
                let time = processor_time() - time;
                let kib = kib("VmHWM:").saturating_sub(memory);
                let what = format!("{name}, {kind:?}: {}", answer.status);
                costs.push(Cost { what, time, kib });
            }
        }
    }
    costs
}

/// Runs in the process that the next test starts.
#[test]
fn measured_alone() {
    let Some(only) = std::env::var_os(MEASURE) else { return };
    let mut costs = measured(&super::yard(), only.to_str().unwrap());
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.time));
    let mut most: Vec<&Cost> = costs.iter().take(20).collect();
    let mut by_memory: Vec<&Cost> = costs.iter().collect();
    by_memory.sort_by_key(|cost| std::cmp::Reverse(cost.kib));
    most.extend(by_memory.into_iter().take(20));
    println!("\n{} calls of {} bytes", costs.len(), size());
    for cost in most {
        println!("cost {:?}, {} KiB: {}", cost.time, cost.kib, cost.what);
    }
    let is_too_much = |cost: &&Cost| cost.time > MOST_TIME || cost.kib > MOST_KIB;
    for cost in costs.iter().filter(is_too_much) {
        println!("TOO MUCH {:?}, {} KiB: {}", cost.time, cost.kib, cost.what);
    }
}

#[test]
fn g8_a_megabyte_of_arguments_costs_two_seconds_and_200_mb_at_most() {
    let only = std::env::var("YARD_ONLY").unwrap_or_default();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "costs::measured_alone", "--nocapture"]).env(MEASURE, only);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    eprintln!("{text}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(" calls of ") && !text.contains("TOO MUCH"), "{text}");
}
