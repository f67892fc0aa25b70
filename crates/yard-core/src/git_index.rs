//! The index of a git repository (`.git/index`), as far as needed to tell whether two of them list the same.
//! Commands that only look, such as `git diff` and `git describe --dirty`, write it anew with other times and
//! inode numbers. The format is in git's documentation, `gitformat-index`.

/// The times, device and inode before the mode of an entry, and the user, group and size after it.
const TIMES: usize = 24;
const MODE: usize = 4;
const OWNER_AND_SIZE: usize = 12;
/// Hashes of objects are SHA-1 or SHA-256.
const HASHES: [usize; 2] = [20, 32];
/// Extensions that hold nothing but what git can find out again: trees, untracked files, a file system
/// monitor's state, and offsets in the index itself.
const CACHES: [&[u8]; 5] = [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];
/// Set in the flags of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// What an index lists: entries without times, owners and sizes, and extensions that are no caches.
#[derive(PartialEq, Eq)]
struct Listed<'a> {
    version: u32,
    /// Each with its mode, and with its hash, flags and path.
    entries: Vec<(&'a [u8], &'a [u8])>,
    extensions: Vec<&'a [u8]>,
}

/// Whether two indexes list the same files with the same contents, modes and flags. False where one of them
/// is not read here.
pub fn list_the_same(one: &[u8], other: &[u8]) -> bool {
    HASHES.into_iter().any(|hash| {
        let one = Listed::read(one, hash);
        one.is_some() && one == Listed::read(other, hash)
    })
}

impl<'a> Listed<'a> {
    fn read(bytes: &'a [u8], hash: usize) -> Option<Self> {
        // A checksum of the rest stands at the end.
        let mut rest = bytes.get(..bytes.len().checked_sub(hash)?)?;
        if take(&mut rest, 4)? != b"DIRC" {
            return None;
        }
        let (version, count) = (number(&mut rest)?, number(&mut rest)?);
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut entries = Vec::new();
        for _ in 0..count {
            entries.push(entry(&mut rest, version, hash)?);
        }
        let mut extensions = Vec::new();
        while !rest.is_empty() {
            let whole = rest;
            let name = take(&mut rest, 4)?;
            let length = usize::try_from(number(&mut rest)?).ok()?;
            take(&mut rest, length)?;
            if !CACHES.contains(&name) {
                extensions.push(&whole[..8 + length]);
            }
        }
        Some(Self { version, entries, extensions })
    }
}

/// The next entry: its mode, and its hash, flags and path.
fn entry<'a>(rest: &mut &'a [u8], version: u32, hash: usize) -> Option<(&'a [u8], &'a [u8])> {
    take(rest, TIMES)?;
    let mode = take(rest, MODE)?;
    take(rest, OWNER_AND_SIZE)?;
    let flags = rest.get(hash..hash + 2)?;
    let is_extended = u16::from_be_bytes([flags[0], flags[1]]) & EXTENDED != 0;
    let before_path = hash + if is_extended { 4 } else { 2 };
    // From version 4 on, a path begins with how much of the path before it is left out: a number in bytes
    // of which all but the last have their highest bit set.
    let number = match version {
        4 => rest.get(before_path..)?.iter().position(|byte| byte & 0x80 == 0)? + 1,
        _ => 0,
    };
    let path = rest.get(before_path + number..)?;
    let end = before_path + number + path.iter().position(|byte| *byte == 0)?;
    let what = &rest[..end];
    // Up to version 3, one to eight zero bytes bring an entry to a multiple of eight.
    let length = match version {
        4 => end + 1,
        _ => {
            let before = TIMES + MODE + OWNER_AND_SIZE;
            (before + end) / 8 * 8 + 8 - before
        }
    };
    take(rest, length)?;
    Some((mode, what))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of these files, whose times, owners and sizes are all that byte.
    fn index(version: u32, hash: usize, stat: u8, files: &[(&str, u32, u8)]) -> Vec<u8> {
        let mut all = b"DIRC".to_vec();
        all.extend(version.to_be_bytes());
        all.extend((files.len() as u32).to_be_bytes());
        for (path, mode, content) in files {
            let from = all.len();
            all.extend([stat; TIMES]);
            all.extend(mode.to_be_bytes());
            all.extend([stat; OWNER_AND_SIZE]);
            all.extend(vec![*content; hash]);
            all.extend((path.len() as u16).to_be_bytes());
            if version == 4 {
                all.push(0);
            }
            all.extend(path.as_bytes());
            all.push(0);
            while version < 4 && !(all.len() - from).is_multiple_of(8) {
                all.push(0);
            }
        }
        all
    }

    fn with(mut index: Vec<u8>, extension: &[u8], hash: usize) -> Vec<u8> {
        if !extension.is_empty() {
            index.extend(&extension[..4]);
            index.extend((extension.len() as u32 - 4).to_be_bytes());
            index.extend(&extension[4..]);
        }
        index.extend(vec![7; hash]);
        index
    }

    #[test]
    fn other_times_owners_and_caches_are_no_difference() {
        for (version, hash) in [(2, 20), (3, 20), (4, 20), (2, 32), (4, 32)] {
            let files = [("a", 0o100_644, 1), ("folder/of/b", 0o100_755, 2), ("seventeen", 0, 3)];
            let old = with(index(version, hash, 1, &files), b"TREEone", hash);
            let new = with(index(version, hash, 9, &files), b"", hash);
            assert!(list_the_same(&old, &new), "version {version}, hashes of {hash} bytes");
        }
    }

    #[test]
    fn another_file_mode_content_flag_or_extension_is_a_difference() {
        let files = [("a", 0o100_644, 1), ("b", 0o100_644, 2)];
        let old = with(index(2, 20, 1, &files), b"", 20);
        for (what, other) in [
            ("a file is gone", index(2, 20, 1, &files[..1])),
            ("another name", index(2, 20, 1, &[files[0], ("c", 0o100_644, 2)])),
            ("another mode", index(2, 20, 1, &[files[0], ("b", 0o100_755, 2)])),
            ("another content", index(2, 20, 1, &[files[0], ("b", 0o100_644, 3)])),
            ("another version", index(3, 20, 1, &files)),
        ] {
            assert!(!list_the_same(&old, &with(other, b"", 20)), "{what}");
        }
        let mut flagged = old.clone();
        // The first byte of the flags of the first entry: it is assumed to be unchanged.
        flagged[12 + TIMES + MODE + OWNER_AND_SIZE + 20] |= 0x80;
        assert!(!list_the_same(&old, &flagged));
        let resolved = with(index(2, 20, 1, &files), b"REUCdata", 20);
        assert!(!list_the_same(&old, &resolved));
        assert!(list_the_same(&resolved, &resolved));
    }

    #[test]
    fn what_is_cut_short_or_no_index_is_never_the_same() {
        let whole = with(index(2, 20, 1, &[("a", 0o100_644, 1)]), b"", 20);
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert!(!list_the_same(cut, cut), "{length} bytes");
        }
        assert!(!list_the_same(b"not an index at all, but long enough", b"not an index at all"));
    }
}
