//! Plan mode (W16), in which only plan files change. How a chat leaves it is in `questions/leave_plan_mode.rs`.

use yard_core::{Effect, EffectKind, FileType, PathEffect, WsPath};

use crate::Verdict;

/// The extension of plan files.
const PLAN_SUFFIX: &[u8] = b".plan";

/// Judges an effect in plan mode. `how_out` tells the caller how to leave plan mode.
pub(crate) fn judge(how_out: &str, effect: &Effect) -> Verdict {
    let mut changes = effect.paths.iter().filter(|effect| effect.kind.changes());
    if let Some(dial) = effect.dials.iter().find(|dial| dial.kind == EffectKind::Connect) {
        return Verdict::Deny(format!(
            "this chat is in plan mode, where no command reaches another host: {}:{}. {how_out}",
            dial.host, dial.port
        ));
    }
    if let Some(dial) = effect.dials.iter().find(|dial| dial.kind == EffectKind::Send) {
        return Verdict::Deny(format!(
            "this chat is in plan mode, where nothing is sent that may change something elsewhere: {}. \
             GET is allowed. {how_out}",
            dial.asked
        ));
    }
    match changes.find(|change| !may_change(change, effect)) {
        None => Verdict::Allow,
        Some(change) => {
            let path = &change.path;
            let why = match change.file_type {
                Some(FileType::Plan) | None => String::new(),
                Some(file_type) if is_plan_name(path) => format!(
                    " (its name ends in .plan, but its type is {}: only a new file, or one of type plan, \
                     may be written)",
                    file_type.word()
                ),
                Some(_) => String::new(),
            };
            Verdict::Deny(format!(
                "this chat is in plan mode, where only plan files (*.plan) change: {path} may not {}{why}. \
                 {how_out}",
                verb(change.kind),
            ))
        }
    }
}

fn may_change(change: &PathEffect, effect: &Effect) -> bool {
    let has_plan_name = is_plan_name(&change.path);
    match (change.kind, change.file_type) {
        (kind, _) if !kind.changes() => true,
        // A folder is created only as the parent of a plan file.
        (EffectKind::Create, Some(FileType::Folder)) => effect.paths.iter().any(|other| {
            other.file_type != Some(FileType::Folder)
                && is_plan_name(&other.path)
                && other.path.is_within(&change.path)
        }),
        (EffectKind::Create, _) => has_plan_name,
        // A purge cannot be undone: that is no planning.
        (EffectKind::Purge, _) => false,
        (_, file_type) => has_plan_name && file_type == Some(FileType::Plan),
    }
}

fn is_plan_name(path: &WsPath) -> bool {
    path.name().is_some_and(|name| name.as_bytes().ends_with(PLAN_SUFFIX))
}

fn verb(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Read => "be read",
        EffectKind::List => "be listed",
        EffectKind::Create => "be created",
        EffectKind::Modify => "be changed",
        EffectKind::Touch => "be touched",
        EffectKind::MoveFrom => "be moved",
        EffectKind::MoveTo => "be moved to",
        EffectKind::Remove => "be removed",
        EffectKind::Purge => "be purged",
        EffectKind::Run => "be run in",
        EffectKind::Fetch => "be fetched",
        EffectKind::Send => "be sent",
        EffectKind::Connect => "be connected to",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(changes: &[(EffectKind, &str, FileType)]) -> Effect {
        let mut effect = Effect::default();
        for (kind, path, file_type) in changes {
            effect.push(*kind, WsPath::parse(path).unwrap(), *file_type);
        }
        effect
    }

    #[test]
    fn w16_only_plan_files_change_in_plan_mode() {
        use EffectKind::{Create, Modify, MoveFrom, MoveTo, Remove, Touch};
        use FileType::{Document, Folder, Plan};
        let allowed: [&[(EffectKind, &str, FileType)]; 6] = [
            &[(Create, "/plans", Folder), (Create, "/plans/a.plan", Plan)],
            &[(Create, "/a.plan", Document)],
            &[(Modify, "/a.plan", Plan)],
            &[(Touch, "/a.plan", Plan)],
            &[(Remove, "/a.plan", Plan)],
            &[(MoveFrom, "/a.plan", Plan), (MoveTo, "/b.plan", Plan)],
        ];
        let refused: [&[(EffectKind, &str, FileType)]; 9] = [
            &[(Create, "/a.txt", Document)],
            &[(Create, "/a.txt", Plan)],
            &[(Create, "/plans", Folder)],
            &[(Create, "/a.plan", Folder)],
            &[(Modify, "/a.plan", Document)],
            &[(Modify, "/a.txt", Plan)],
            &[(MoveFrom, "/a.plan", Plan), (MoveTo, "/a.txt", Plan)],
            &[(MoveFrom, "/a.txt", Document), (MoveTo, "/a.plan", Document)],
            &[(Modify, "/a.plan", Plan), (Modify, "/a.txt", Document)],
        ];
        for changes in allowed {
            assert_eq!(judge("How out.", &effect(changes)), Verdict::Allow, "{changes:?}");
        }
        for changes in refused {
            assert!(matches!(judge("How out.", &effect(changes)), Verdict::Deny(_)), "{changes:?}");
        }
        let reading = Effect::one(EffectKind::Read, WsPath::root());
        assert_eq!(judge("How out.", &reading), Verdict::Allow);
    }

    #[test]
    fn w16_a_refusal_says_how_to_get_out_and_which_type_is_wrong() {
        let change = [(EffectKind::Modify, "/a.plan", FileType::Document)];
        let Verdict::Deny(reason) = judge("How out.", &effect(&change)) else { panic!("allowed") };
        assert!(reason.contains("ends in .plan, but its type is document"), "{reason}");
        assert!(reason.ends_with(" How out."), "{reason}");
    }
}
