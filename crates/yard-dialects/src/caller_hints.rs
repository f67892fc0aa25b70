//! The parts of the gate's messages that name tools, commands, routes or arguments, which the gate does not know. The
//! code that opens a workspace passes them in.

use yard_core::{Fault, Remedy};
use yard_gate::{CallerHints, LoggedMembers};

/// The hints for Toolyard's own dialects and doors.
pub const CALLER_HINTS: CallerHints = CallerHints {
    leaving_plan_mode,
    opening_build_mode: " (ask_user with Accept and Reject), then call exit_plan_mode",
    asking_again: " with ask_user",
    asking_to_accept: "Call ask_user with one question, schema \
        {\"type\":\"string\",\"enum\":[\"Accept\",\"Reject\"]}, and wait for a click on Accept",
    opening_terminal: ": open one with exec_command",
    deciding: ", with `toolyard approve` or over HTTP",
    answering: ", with `toolyard answer` or over HTTP",
    setting_policy: ", with `toolyard policy` or over HTTP",
    writing_rule: " (PUT .../policy, `toolyard policy set`)",
    no_person: " (--no-person)",
    remedy: remedy_in_words,
    members: LoggedMembers {
        shown: &SHOWN,
        opened: &["entries", "files", "matches", "plans", "result"],
        // The input of a terminal may be a password.
        secret: &["chars"],
    },
};

/// A fault with its remedy in words.
pub fn with_remedy_in_words(fault: Fault) -> Fault {
    fault.describing_remedy(remedy_in_words)
}

/// What helps against a fault, with the names of Toolyard's commands, settings and routes.
fn remedy_in_words(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::AdoptFolder => {
            ". `toolyard adopt` goes on with the folder as it is now, and keeps the history"
        }
        Remedy::SetHistoryAside => {
            ". Restore it from a backup, or go on without its history: `toolyard adopt` keeps it aside"
        }
        Remedy::DiagnoseBox => {
            ". Ask the person to run `toolyard doctor`, which says what is missing and how to get it"
        }
        Remedy::MoveDataFolder => "; choose another with --data-dir",
        Remedy::ShowFolder => ", name that folder in `show` of `[commands]`",
        Remedy::WriteMore => ", or have the operator raise `written_mib` of `[commands]`",
        Remedy::ExemptAddress => " in `[web] exempt`, or for commands alone in `[commands] reach`",
        Remedy::ManageChats => {
            "; chats are made, renamed and removed by the chats API (/api/v1/workspaces/{id}/chats)"
        }
    }
}

/// How a caller of a toolset leaves plan mode, with the tools of the toolset.
fn leaving_plan_mode(toolset: &str) -> &'static str {
    match toolset {
        "workspace" => {
            "Write the plan (plan_write), ask a person with ask_user, in one question with the schema \
             {\"type\":\"string\",\"enum\":[\"Accept\",\"Reject\"]}, and once it is accepted call exit_plan_mode"
        }
        _ => {
            "Write the plan into a file whose name ends in .plan, and tell the person that it is ready: only \
             they can let this chat go on to change other files"
        }
    }
}

/// Paths, ids, enumerations and limits: their values may be logged.
const SHOWN: [&str; 33] = [
    "base_path",
    "byte_limit",
    "byte_offset",
    "code",
    "cursor",
    "cut_at_byte",
    "destination",
    "file_id",
    "file_type",
    "from_path",
    "hash",
    "id",
    "insert_line",
    "last_read_hash",
    "limit",
    "line_count",
    "line_number",
    "mode",
    "next",
    "next_offset",
    "offset",
    "path",
    "paths",
    "plan_file",
    "plan_file_path",
    "question_id",
    "size",
    "source",
    "status",
    "to_path",
    "total_lines",
    "trash_id",
    "version_id",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalog;

    #[test]
    fn w16_the_way_out_of_plan_mode_names_tools_that_the_caller_has() {
        let catalog = Catalog::standard();
        for toolset in Catalog::toolset_names() {
            let hint = leaving_plan_mode(toolset);
            for tool in ["plan_write", "ask_user", "exit_plan_mode"] {
                let has_it = catalog.get(toolset, tool).is_some();
                assert!(has_it || !hint.contains(tool), "{toolset} {tool}");
            }
        }
        assert!(leaving_plan_mode("workspace").contains("call exit_plan_mode"));
    }
}
