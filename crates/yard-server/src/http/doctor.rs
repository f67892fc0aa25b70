//! What the box around commands can do on this machine, over HTTP. Paths of the host are left out (R13).

use schemars::JsonSchema;
use serde::Serialize;
use yard_gate::{Finding, Level};

use super::box_report::BoxReport;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;

/// What stands in the place of a path of the host.
const LEFT_OUT: &str = "…";
/// A folder of the kernel, which every machine has.
const PROC: &str = "/proc";

/// What was found about one part of the box.
#[derive(Serialize, JsonSchema)]
struct FindingRow {
    name: &'static str,
    /// Whether it works.
    ok: bool,
    /// Whether commands are confined less strictly without it.
    needed: bool,
    /// What was found.
    found: String,
    /// How to make it work; empty if nothing is missing.
    remedy: String,
}

/// What the box can do.
#[derive(Serialize, JsonSchema)]
struct Report {
    /// Commands run in a full box.
    ok: bool,
    /// `full`, `walls`, `refuse` or `unconfined`.
    level: &'static str,
    findings: Vec<FindingRow>,
}

/// What the box can do, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneReport {
    doctor: Report,
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let settings = &request.app.settings;
    let report = match &settings.doctor {
        Some(doctor) => doctor.report(),
        None => BoxReport { level: settings.commands, findings: Vec::new() },
    };
    let row = |finding: &Finding| FindingRow {
        name: finding.name,
        ok: finding.ok,
        needed: finding.needed,
        found: without_host_paths(&finding.found),
        remedy: without_host_paths(&finding.remedy),
    };
    let findings = report.findings.iter().map(row).collect();
    let ok = report.level == Level::Full;
    Reply::ok(&OneReport { doctor: Report { ok, level: report.level.word(), findings } })
}

/// The text without paths of the host.
fn without_host_paths(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_start = true;
    while let Some(character) = rest.chars().next() {
        let is_path = character == '/'
            && is_start
            && rest[1..].starts_with(|next: char| next.is_alphanumeric() || next == '.');
        if is_path {
            let end = rest.find(|one: char| one.is_whitespace() || ",;()\"'`".contains(one));
            let (path, after) = rest.split_at(end.unwrap_or(rest.len()));
            shown.push_str(if path == PROC { PROC } else { LEFT_OUT });
            (rest, is_start) = (after, false);
            continue;
        }
        shown.push(character);
        rest = &rest[character.len_utf8()..];
        is_start = !character.is_alphanumeric() && !"./_-".contains(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r13_paths_of_the_host_are_left_out() {
        for (text, shown) in [
            ("a command ran on /home/ada/x (ext4)", "a command ran on … (ext4)"),
            ("path=/srv/data: denied", "path=… denied"),
            ("a new one in /proc, of the box", "a new one in /proc, of the box"),
            ("/proc/self", "…"),
            ("\"/a b\" and `/c`", "\"… b\" and `…`"),
            ("and/or 1/2 or / alone", "and/or 1/2 or / alone"),
            ("", ""),
        ] {
            assert_eq!(without_host_paths(text), shown);
        }
    }
}
