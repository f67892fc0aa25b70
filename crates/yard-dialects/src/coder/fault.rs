//! This dialect's word for every fault. Its specification names none: they are those of `assistant`,
//! in the shape of `file`.

use yard_core::FaultCode;

use crate::catalog::Answer;
use crate::tool::Stop;
use crate::{assistant, envelope};

/// The word of `assistant`, whose match is exhaustive.
pub(super) fn word(_tool: &str, code: FaultCode) -> &'static str {
    assistant::word(code)
}

/// The answer of a tool that has no reply.
pub(super) fn stopped(tool: &str, stop: &Stop) -> Answer {
    envelope::stopped(stop, |failure| {
        envelope::error_and_message(word(tool, failure.code), failure)
    })
}
