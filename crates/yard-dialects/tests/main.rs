//! The tests of the toolsets that need a workspace. They are one program, which is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answer_sizes;
mod approvals;
mod conformance_assistant_codex;
mod conformance_file_coder;
mod conformance_workspace_files;
mod conformance_workspace_plans;
mod conformance_workspace_searches;
mod embedder;
mod error_texts;
mod judged_reads;
mod plans_and_questions;
mod rulings;
mod spec_examples;
mod support;
mod workspace_answers;
