//! Answers DNS queries of programs in the box that use no proxy: every name has one address on the box's loopback
//! device, where the proxy accepts connections and reads from the first bytes which host is meant. No query is
//! forwarded.

use std::net::Ipv4Addr;

/// The address of every name, in the box.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 128, 0, 1);
/// Longest query. An answer is longer only by the address in it.
pub(crate) const MAX_BYTES: usize = 512;

const HEADER: usize = 12;
/// Longest name, and longest part of a name.
const NAME_BYTES: usize = 255;
const LABEL_BYTES: usize = 63;
/// How many seconds a program may cache an answer.
const TTL_SECONDS: u32 = 60;
/// Types of queries, and their one class (RFC 1035, 3.2).
const TYPE_A: u16 = 1;
const TYPE_ANY: u16 = 255;
const CLASS_INTERNET: u16 = 1;
/// Response codes (RFC 1035, 4.1.1).
const NO_ERROR: u8 = 0;
const NO_SUCH_NAME: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

/// The answer to a query; `None` for bytes that are no query.
pub(crate) fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let header: &[u8; HEADER] = query.first_chunk()?;
    let is_answer = header[2] & 0x80 != 0;
    let questions = u16::from_be_bytes([header[4], header[5]]);
    if is_answer || query.len() > MAX_BYTES || questions != 1 {
        return None;
    }
    let (labels, end) = name(&query[HEADER..])?;
    let is_local = is_below_localhost(&query[HEADER..HEADER + end]);
    let rest = query.get(HEADER + end..)?;
    let (kind, class): (&[u8; 2], &[u8; 2]) = (rest.first_chunk()?, rest.get(2..)?.first_chunk()?);
    let (kind, class) = (u16::from_be_bytes(*kind), u16::from_be_bytes(*class));
    let is_query = header[2] & 0x78 == 0;
    let is_host = class == CLASS_INTERNET && (labels > 1 || is_local);
    let has_address = is_query && is_host && matches!(kind, TYPE_A | TYPE_ANY);
    let code = match (is_query, is_host) {
        (false, _) => NOT_IMPLEMENTED,
        (true, true) => NO_ERROR,
        (true, false) => NO_SUCH_NAME,
    };
    // Marked as an answer; the query's wish for recursion is repeated, and recursion is available.
    let flags = [header[2] & 0x79 | 0x80, 0x80 | code];
    let mut answer = Vec::with_capacity(MAX_BYTES);
    answer.extend([&header[..2], &flags, &[0, 1], &[0, u8::from(has_address)], &[0; 4]].concat());
    answer.extend(&query[HEADER..HEADER + end + 4]);
    if has_address {
        // A pointer to the name in the query.
        answer.extend([0xc0, HEADER as u8]);
        answer.extend([TYPE_A, CLASS_INTERNET].map(u16::to_be_bytes).concat());
        answer.extend(TTL_SECONDS.to_be_bytes());
        answer.extend([0, 4]);
        let address = if is_local { Ipv4Addr::LOCALHOST } else { ADDRESS };
        answer.extend(address.octets());
    }
    Some(answer)
}

/// Whether a name ends in `localhost` (RFC 6761, 6.3), and so means a program of the box.
fn is_below_localhost(name: &[u8]) -> bool {
    const LAST: &[u8] = b"\x09localhost\0";
    let last = name.len().checked_sub(LAST.len()).map(|at| &name[at..]);
    last.is_some_and(|last| last.eq_ignore_ascii_case(LAST))
}

/// How many parts a name has, and where it ends.
fn name(bytes: &[u8]) -> Option<(usize, usize)> {
    let (mut labels, mut at) = (0, 0);
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        match length {
            0 => return Some((labels, at)),
            1..=LABEL_BYTES if at + length < NAME_BYTES => {}
            _ => return None,
        }
        (labels, at) = (labels + 1, at + length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![0xab, 0xcd, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes.extend([kind, CLASS_INTERNET].map(u16::to_be_bytes).concat());
        bytes
    }

    #[test]
    fn every_host_is_at_the_one_address() {
        for name in ["a.example", "files.packages.example", "x.y.z.w.example"] {
            let asked = question(name, TYPE_A);
            let said = answer(&asked).unwrap();
            assert_eq!(said[..4], [0xab, 0xcd, 0x81, 0x80], "{name}: the same id, no error");
            assert_eq!(said[4..12], [0, 1, 0, 1, 0, 0, 0, 0], "{name}: one answer");
            assert_eq!(said[12..asked.len()], asked[12..], "{name}: the question is repeated");
            assert_eq!(said[said.len() - 4..], ADDRESS.octets(), "{name}");
        }
    }

    #[test]
    fn names_below_localhost_are_the_boxs_own() {
        for name in ["localhost", "app.localhost", "App.LocalHost"] {
            let said = answer(&question(name, TYPE_A)).unwrap();
            assert_eq!(said[said.len() - 4..], [127, 0, 0, 1], "{name}");
        }
        let said = answer(&question("notlocalhost.example", TYPE_A)).unwrap();
        assert_eq!(said[said.len() - 4..], ADDRESS.octets());
    }

    #[test]
    fn other_questions_have_no_address() {
        let addresses = |asked: &[u8]| answer(asked).map(|said| (said[7], said[3] & 0xf));
        assert_eq!(addresses(&question("a.example", 28)), Some((0, NO_ERROR)), "IPv6");
        assert_eq!(addresses(&question("a.example", 16)), Some((0, NO_ERROR)), "TXT");
        assert_eq!(addresses(&question("printer", TYPE_A)), Some((0, NO_SUCH_NAME)));
        assert_eq!(addresses(&question("", TYPE_A)), Some((0, NO_SUCH_NAME)));
        let mut update = question("a.example", TYPE_A);
        update[2] |= 0x28;
        assert_eq!(addresses(&update), Some((0, NOT_IMPLEMENTED)));
        let mut reply = question("a.example", TYPE_A);
        reply[2] |= 0x80;
        assert_eq!(answer(&reply), None, "an answer is not answered");
    }

    #[test]
    fn what_is_no_question_gets_no_answer_and_breaks_nothing() {
        let whole = question("a.example", TYPE_A);
        for cut in 0..whole.len() {
            assert_eq!(answer(&whole[..cut]), None, "cut at {cut}");
        }
        let mut pointed = whole.clone();
        pointed[12] = 0xc0;
        assert_eq!(answer(&pointed), None, "a question has no pointers");
        assert_eq!(answer(&question(&"abcdefg.".repeat(40), TYPE_A)), None, "too long a name");
        // A sequence of numbers that is the same in every run.
        let mut state = 1_u32;
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..4 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = state as usize >> 8;
                let length = bytes.len();
                bytes[at % length] = (state >> 24) as u8;
            }
            if let Some(said) = answer(&bytes) {
                assert!(said.len() <= bytes.len() + 16, "{bytes:?}");
            }
        }
    }
}
