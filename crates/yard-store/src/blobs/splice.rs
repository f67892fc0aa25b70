//! The splice: a content as another one with its middle replaced. Most edits are one, and making it costs one comparison.
//!
//! The data is two varints, how many bytes of the base stand at the start and at the end, and the
//! bytes between them. Nothing here touches a file.

use crate::{Result, StoreError};

/// Bytes that are compared at once.
const PIECE: usize = 64;

/// What two contents have in common at their start and at their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    start: usize,
    end: usize,
}

impl Overlap {
    pub(super) fn of(bytes: &[u8], base: &[u8]) -> Self {
        let start = common_start(bytes, base);
        // The bytes of the common start cannot also belong to the common end.
        let (bytes, base) = (&bytes[start..], &base[start..]);
        let end = same(bytes.rchunks(PIECE).zip(base.rchunks(PIECE)), |a, b| {
            a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
        });
        Self { start, end }
    }

    fn middle<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start..bytes.len() - self.end]
    }

    /// Whether at least half of the bytes are those of the base.
    pub(super) fn is_half_of(&self, bytes: &[u8]) -> bool {
        self.middle(bytes).len() * 2 <= bytes.len()
    }

    /// How to make the bytes from the base.
    pub(super) fn splice(&self, bytes: &[u8]) -> Vec<u8> {
        let middle = self.middle(bytes);
        let mut data = Vec::with_capacity(middle.len() + 8);
        push_number(&mut data, self.start);
        push_number(&mut data, self.end);
        data.extend_from_slice(middle);
        data
    }
}

/// How many bytes two contents have in common at their start.
fn common_start(bytes: &[u8], base: &[u8]) -> usize {
    same(bytes.chunks(PIECE).zip(base.chunks(PIECE)), |a, b| {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    })
}

/// How many bytes of two sequences of pieces are the same, counted from where both begin.
fn same<'a>(
    pieces: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    within: impl Fn(&[u8], &[u8]) -> usize,
) -> usize {
    let mut count = 0;
    for (a, b) in pieces {
        if a != b {
            return count + within(a, b);
        }
        count += a.len();
    }
    count
}

/// Undoes [`Overlap::splice`].
pub(crate) fn unsplice(data: &[u8], base: &[u8], size: u64) -> Result<Vec<u8>> {
    let Parts { start, end, middle } = Parts::read(data, base.len(), size)?;
    Ok([&base[..start], middle, &base[base.len() - end..]].concat())
}

/// The same in the base's own place; how many bytes at the start are still the base's.
pub(crate) fn unsplice_in_place(data: &[u8], bytes: &mut Vec<u8>, size: u64) -> Result<usize> {
    let Parts { start, end, middle } = Parts::read(data, bytes.len(), size)?;
    if end == 0 {
        bytes.truncate(start);
        bytes.extend_from_slice(middle);
    } else {
        let until = bytes.len() - end;
        bytes.splice(start..until, middle.iter().copied());
    }
    Ok(start)
}

/// The parts of a splice.
struct Parts<'a> {
    start: usize,
    end: usize,
    middle: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Reads a splice of a base of `base` bytes that makes `size` bytes.
    fn read(mut data: &'a [u8], base: usize, size: u64) -> Result<Self> {
        let damaged = || StoreError::Corrupt("a content does not fit the one before it".to_owned());
        let start = take_number(&mut data).ok_or_else(damaged)?;
        let end = take_number(&mut data).ok_or_else(damaged)?;
        let fits = start
            .checked_add(end)
            .is_some_and(|kept| kept <= base && (kept + data.len()) as u64 == size);
        if fits { Ok(Self { start, end, middle: data }) } else { Err(damaged()) }
    }
}

fn push_number(data: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        data.push(number as u8 | 0x80);
        number >>= 7;
    }
    data.push(number as u8);
}

/// A number of at most 28 bits: no content that has a base is that long.
fn take_number(data: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let (first, rest) = data.split_first()?;
        *data = rest;
        number |= usize::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(bytes: &[u8], base: &[u8]) -> Overlap {
        let overlap = Overlap::of(bytes, base);
        let data = overlap.splice(bytes);
        assert_eq!(unsplice(&data, base, bytes.len() as u64).as_deref(), Ok(bytes));
        overlap
    }

    #[test]
    fn whatever_was_replaced_comes_back() {
        let base: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
        for (at, old, new) in
            [(0, 4, 9), (2000, 1, 0), (3999, 1, 1), (1, 3998, 0), (64, 64, 64), (0, 4000, 0)]
        {
            let mut bytes = base.clone();
            bytes.splice(at..at + old, vec![7; new]);
            round(&bytes, &base);
            round(&base, &bytes);
        }
        assert_eq!(round(&base, &base), Overlap { start: base.len(), end: 0 });
        assert_eq!(round(b"", b""), Overlap { start: 0, end: 0 });
    }

    #[test]
    fn repeats_are_not_counted_twice() {
        assert_eq!(round(b"aaaa", b"aaaaaa"), Overlap { start: 4, end: 0 });
        assert_eq!(round(&[b'x'; 200], &[b'x'; 130]), Overlap { start: 130, end: 0 });
        assert_eq!(round(b"abcabc", b"abc"), Overlap { start: 3, end: 0 });
    }

    #[test]
    fn damaged_data_is_an_error_and_never_a_panic() {
        let base = [1; 300];
        let good = Overlap::of(&base[..200], &base).splice(&base[..200]);
        for size in [0, 199, 201, u64::MAX] {
            assert!(unsplice(&good, &base, size).is_err(), "{size}");
        }
        for data in [&[][..], &[0x80], &[0xff, 0xff, 0xff, 0xff, 1], &[0xff, 0xff, 0xff, 0x7f, 0]] {
            assert!(unsplice(data, &base, 5).is_err(), "{data:?}");
        }
    }
}
