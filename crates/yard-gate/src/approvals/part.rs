//! The part of a request that a person approves, with the rest, which is refused. A part is for one call: it gives no
//! permission for others. The stored form is JSON.

use serde::{Deserialize, Serialize};
use yard_core::{ChangePart, Fault, FaultCode, Result, WsPath};
use yard_store::{Approval, Scope};

use super::{DecisionInput, is_for_host};

/// How many parts a decision may name.
const MAX_PARTS: usize = 5_000;
/// How many parts an audit row names.
const MAX_AUDITED: usize = 8;

/// A decision about a part of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedPart {
    /// What may happen, as the person chose it.
    pub approved: Vec<ChangePart>,
    /// The rest. `None` if the files had changed since the request was shown: then nothing happens, and the person is asked
    /// again.
    pub refused: Option<Vec<ChangePart>>,
}

#[derive(Serialize, Deserialize)]
struct StoredParts {
    approved: Vec<StoredPart>,
    refused: Option<Vec<StoredPart>>,
}

#[derive(Serialize, Deserialize)]
struct StoredPart {
    path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hunks: Option<Vec<usize>>,
}

impl From<&ChangePart> for StoredPart {
    fn from(part: &ChangePart) -> Self {
        Self { path: part.path.to_string(), hunks: part.hunks.clone() }
    }
}

impl StoredPart {
    fn read(self) -> Option<ChangePart> {
        let path = WsPath::parse_shown(&self.path).ok()?;
        Some(ChangePart { path, hunks: self.hunks })
    }
}

impl DecidedPart {
    /// The part that a decided request was approved for; `None` if the decision is about all of it. One that cannot be read
    /// permits nothing.
    pub fn of(approval: &Approval) -> Option<Self> {
        let text = approval.decision.as_ref()?.parts.as_deref()?;
        Some(Self::read(text).unwrap_or(Self { approved: Vec::new(), refused: None }))
    }

    fn read(text: &str) -> Option<Self> {
        let stored: StoredParts = serde_json::from_str(text).ok()?;
        let read = |parts: Vec<StoredPart>| parts.into_iter().map(StoredPart::read).collect();
        let approved: Option<Vec<ChangePart>> = read(stored.approved);
        let refused: Option<Vec<ChangePart>> = match stored.refused {
            Some(refused) => Some(read(refused)?),
            None => None,
        };
        Some(Self { approved: approved?, refused })
    }

    pub(super) fn to_json(&self) -> String {
        let stored = |parts: &Vec<ChangePart>| parts.iter().map(StoredPart::from).collect();
        let refused = self.refused.as_ref().map(stored);
        let stored = StoredParts { approved: stored(&self.approved), refused };
        // Strings, numbers and lists: there is nothing that cannot be written.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// Whether it permits anything.
    pub(super) fn permits(&self) -> bool {
        self.refused.is_some()
    }
}

/// A fault if a decision names parts and cannot.
pub(super) fn check_input(decision: &DecisionInput, approval: &Approval) -> Result<()> {
    let Some(parts) = &decision.parts else { return Ok(()) };
    let wrong = if !decision.approves {
        "a denial is of all of it: leave `parts` out, or approve and name what may happen"
    } else if decision.scope != Scope::Once {
        "a part is approved for this call alone: leave the scope out"
    } else if decision.args.is_some() {
        "give other arguments or choose parts: after other arguments, parts of the new diff can be chosen"
    } else if is_for_host(approval) {
        "a command asks for this host: say yes or no to it, without `parts`"
    } else if parts.is_empty() {
        "`parts` is empty: name what may happen, or deny the request"
    } else if parts.len() > MAX_PARTS {
        "that are more parts than one decision may name (5,000): approve all of it or deny it"
    } else {
        return Ok(());
    };
    Err(Fault::new(FaultCode::BadArgument, wrong))
}

/// The parts of a decision for its audit row.
pub(super) fn in_short(parts: &[ChangePart]) -> String {
    let mut named: Vec<String> = parts.iter().take(MAX_AUDITED).map(in_words).collect();
    let more = parts.len().saturating_sub(MAX_AUDITED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    format!(" in part ({})", named.join(", "))
}

fn in_words(part: &ChangePart) -> String {
    match &part.hunks {
        None => part.path.to_string(),
        Some(hunks) => {
            let hunks: Vec<String> = hunks.iter().take(MAX_AUDITED).map(usize::to_string).collect();
            format!("{} hunks {}", part.path, hunks.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again_and_what_cannot_be_read_permits_nothing() {
        let path = |text| WsPath::parse(text).unwrap();
        let part = DecidedPart {
            approved: vec![ChangePart { path: path("/a b"), hunks: Some(vec![0, 2]) }],
            refused: Some(vec![ChangePart::whole(path("/c"))]),
        };
        assert_eq!(DecidedPart::read(&part.to_json()), Some(part));
        for text in ["", "{}", r#"{"approved": [{"path": "/.."}], "refused": []}"#] {
            assert_eq!(DecidedPart::read(text), None, "{text}");
        }
    }
}
