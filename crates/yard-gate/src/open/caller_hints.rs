//! Hints for refusals that name tools, commands, routes or arguments. The gate knows none of these: each workspace is
//! opened with them (`OpenWorkspace::new`), so that a refusal can say what to do next. They decide nothing.

use yard_core::Remedy;

/// The hints of the dialects and doors above the gate. Most of them end a sentence, and may be empty.
#[derive(Clone, Copy, Debug)]
pub struct CallerHints {
    /// By toolset: how its caller gets out of plan mode.
    pub leaving_plan_mode: fn(&str) -> &'static str,
    /// How an agent that may not open build mode gets there.
    pub opening_build_mode: &'static str,
    /// How a person is asked to accept a plan again.
    pub asking_again: &'static str,
    /// How a person is asked to accept a plan.
    pub asking_to_accept: &'static str,
    /// How a terminal is opened.
    pub opening_terminal: &'static str,
    /// How a person decides requests.
    pub deciding: &'static str,
    /// How a person answers questions.
    pub answering: &'static str,
    /// How a person sets the policy.
    pub setting_policy: &'static str,
    /// How a person writes one rule.
    pub writing_rule: &'static str,
    /// Why nobody can be asked.
    pub no_person: &'static str,
    /// What helps against a fault.
    pub remedy: fn(Remedy) -> &'static str,
    /// Which members of arguments and answers are logged.
    pub members: LoggedMembers,
}

/// Members of arguments and answers by their names, as logs and transcripts treat them.
#[derive(Clone, Copy, Debug)]
pub struct LoggedMembers {
    /// A log shows their values: paths, ids, words of a fixed choice, and limits. Every other member may hold content, so
    /// that a log shows its size alone.
    pub shown: &'static [&'static str],
    /// A log shows the members of these objects, which are the parts of an answer.
    pub opened: &'static [&'static str],
    /// Neither a log nor a transcript shows their values.
    pub secret: &'static [&'static str],
}

impl CallerHints {
    /// The hints of a gate without dialects and doors, for tests.
    pub const NONE: Self = Self {
        leaving_plan_mode: |_| "Only a person can let this chat go on to change other files",
        opening_build_mode: "",
        asking_again: "",
        asking_to_accept: "Ask one",
        opening_terminal: "",
        deciding: "",
        answering: "",
        setting_policy: "",
        writing_rule: "",
        no_person: "",
        remedy: |_| "",
        members: LoggedMembers { shown: &[], opened: &[], secret: &[] },
    };

    pub(crate) fn leaving_plan_mode(&self, toolset: &str) -> &'static str {
        (self.leaving_plan_mode)(toolset)
    }
}
