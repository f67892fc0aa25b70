//! What a terminal would show: the words of a program, drawn by an emulator that answers nothing. A
//! program that asks the terminal something gets no reply, so that nothing it prints can ever be typed.

use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use yard_sandbox::Size;

/// A screen as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its lines, without the white space at their ends and without empty ones at its end.
    pub text: String,
    /// Where the cursor is: line and column, from 0.
    pub cursor: (u16, u16),
    /// How large it is.
    pub size: Size,
    /// Whether a program has taken all of it, as editors and pagers do.
    pub is_full: bool,
}

/// Draws.
pub(super) struct Drawing {
    emulator: vt100::Parser,
    size: Size,
    /// Something was said since the last look that is more than lines.
    is_drawn: bool,
    /// The last byte was a carriage return: what comes next says whether it begins a line.
    returns: bool,
}

impl Drawing {
    pub(super) fn new(size: Size) -> Self {
        Self { emulator: emulator_of(size), size, is_drawn: false, returns: false }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.is_drawn |= self.draws(bytes);
        let emulator = &mut self.emulator;
        // A sequence that the emulator cannot bear costs the screen, and nothing else.
        if catch_unwind(AssertUnwindSafe(|| emulator.process(bytes))).is_err() {
            self.emulator = emulator_of(self.size);
        }
    }

    /// Whether there is more to it than lines of text one after the other.
    fn draws(&mut self, bytes: &[u8]) -> bool {
        let mut draws = false;
        for byte in bytes {
            draws |=
                matches!(byte, 0x08 | 0x1b) || (self.returns && !matches!(byte, b'\n' | b'\r'));
            self.returns = *byte == b'\r';
        }
        draws
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.size = size;
        let emulator = &mut self.emulator;
        let (rows, columns) = sides(size);
        // In between, a column more: the emulator (0.18.1) takes the end of the region that scrolls from the
        // size before, and so only a second change brings it where it belongs.
        let twice = || {
            emulator.set_size(rows, columns.saturating_add(1));
            emulator.set_size(rows, columns);
        };
        if catch_unwind(AssertUnwindSafe(twice)).is_err() {
            self.emulator = emulator_of(size);
        }
    }

    /// The screen as it is now.
    pub(super) fn screen(&self) -> Screen {
        let screen = self.emulator.screen();
        let lines: Vec<String> =
            screen.contents().lines().map(|line| line.trim_end().to_owned()).collect();
        let text = lines.join("\n").trim_end_matches('\n').to_owned();
        let (cursor, is_full) = (screen.cursor_position(), screen.alternate_screen());
        Screen { text, cursor, size: self.size, is_full }
    }

    /// The same, if it shows what the words said since the last look do not.
    pub(super) fn look(&mut self) -> Option<Screen> {
        let is_drawn = std::mem::take(&mut self.is_drawn);
        (is_drawn || self.emulator.screen().alternate_screen()).then(|| self.screen())
    }
}

fn emulator_of(size: Size) -> vt100::Parser {
    let (rows, columns) = sides(size);
    vt100::Parser::new(rows, columns, 0)
}

fn sides(size: Size) -> (NonZeroU16, NonZeroU16) {
    let least_one = |side: u16| NonZeroU16::new(side).unwrap_or(NonZeroU16::MIN);
    (least_one(size.rows), least_one(size.columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(bytes: &[u8]) -> Option<Screen> {
        let mut drawing = Drawing::new(Size { rows: 4, columns: 20 });
        drawing.take(bytes);
        drawing.look()
    }

    #[test]
    fn lines_need_no_screen_and_drawings_do() {
        assert_eq!(drawn(b"one\r\ntwo\r\n"), None);
        assert_eq!(drawn(b"one\r"), None);
        assert_eq!(drawn(b" 10%\r 20%\r100%\n").unwrap().text, "100%");
        let screen = drawn(b"\x1b[?1049h\x1b[2;3Hhi").unwrap();
        assert_eq!((screen.text.as_str(), screen.cursor, screen.is_full), ("\n  hi", (1, 4), true));
        let mut split = Drawing::new(Size::default());
        split.take(b"one\r");
        split.take(b"\ntwo\r");
        assert_eq!(split.look(), None);
        split.take(b"x");
        assert!(split.look().is_some());
    }

    #[test]
    fn all_of_a_larger_screen_scrolls() {
        let mut drawing = Drawing::new(Size { rows: 2, columns: 9 });
        drawing.resize(Size { rows: 4, columns: 9 });
        drawing.take(b"\x1b[Ha\r\nb\r\nc\x1b[H\x1bMnew");
        assert_eq!(drawing.screen().text, "new\na\nb\nc");
    }

    #[test]
    fn nothing_that_is_drawn_breaks_it() {
        let mut dice: u64 = 7;
        let mut next = || {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) as u32
        };
        let parts: [&[u8]; 12] = [
            b"\x1b[",
            b"H",
            b"J",
            b"K",
            b"99999",
            b";",
            b"\x1b[?1049h",
            b"\xe4\xbd\xa0",
            b"\x1b]0;t\x07",
            b"\r\n",
            b"r",
            b"L",
        ];
        let mut drawing = Drawing::new(Size::default());
        for round in 0..20_000 {
            drawing.take(parts[next() as usize % parts.len()]);
            drawing.take(&[next() as u8]);
            if round % 500 == 0 {
                let side = |number: u32| (number % 70) as u16;
                drawing.resize(Size { rows: side(next()), columns: side(next()) });
                drawing.screen();
            }
        }
    }
}
