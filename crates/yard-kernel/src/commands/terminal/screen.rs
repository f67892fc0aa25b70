//! The screen of a terminal: a program's output, drawn by an emulator. The emulator never answers queries of the
//! program, so that nothing that a program prints can become its input.

use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use yard_sandbox::Size;

/// The content of a screen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its lines, without trailing white space and trailing empty lines.
    pub text: String,
    /// Where the cursor is: line and column, from 0.
    pub cursor: (u16, u16),
    /// How large it is.
    pub size: Size,
    /// Whether a program uses the alternate screen, as editors and pagers do.
    pub is_full: bool,
}

/// Draws output on a screen.
pub(super) struct ScreenBuffer {
    emulator: vt100::Parser,
    size: Size,
    /// Output since the last [`ScreenBuffer::take_if_drawn`] moved the cursor other than from line to line.
    is_drawn: bool,
    /// The last byte was a carriage return: the next one decides whether that ended a line or moved the cursor.
    after_return: bool,
}

impl ScreenBuffer {
    pub(super) fn new(size: Size) -> Self {
        Self { emulator: emulator_of(size), size, is_drawn: false, after_return: false }
    }

    pub(super) fn add_output(&mut self, bytes: &[u8]) {
        self.is_drawn |= self.moves_cursor(bytes);
        let emulator = &mut self.emulator;
        // If the emulator panics on a sequence, only the content of the screen is lost.
        if catch_unwind(AssertUnwindSafe(|| emulator.process(bytes))).is_err() {
            self.emulator = emulator_of(self.size);
        }
    }

    /// Whether these bytes are more than lines of text one after the other.
    fn moves_cursor(&mut self, bytes: &[u8]) -> bool {
        let mut moves = false;
        for byte in bytes {
            moves |= matches!(byte, 0x08 | 0x1b)
                || (self.after_return && !matches!(byte, b'\n' | b'\r'));
            self.after_return = *byte == b'\r';
        }
        moves
    }

    pub(super) fn resize(&mut self, size: Size) {
        self.size = size;
        let emulator = &mut self.emulator;
        let (rows, columns) = sides(size);
        // The emulator (0.18.1) takes the end of the scrolling region from the size before, so that only a second
        // change of the size puts it in its place.
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

    /// The screen, if the output since the last call of this does not show what is on it.
    pub(super) fn take_if_drawn(&mut self) -> Option<Screen> {
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
        let mut screen = ScreenBuffer::new(Size { rows: 4, columns: 20 });
        screen.add_output(bytes);
        screen.take_if_drawn()
    }

    #[test]
    fn output_that_moves_the_cursor_needs_the_screen() {
        assert_eq!(drawn(b"one\r\ntwo\r\n"), None);
        assert_eq!(drawn(b"one\r"), None);
        assert_eq!(drawn(b" 10%\r 20%\r100%\n").unwrap().text, "100%");
        let screen = drawn(b"\x1b[?1049h\x1b[2;3Hhi").unwrap();
        assert_eq!((screen.text.as_str(), screen.cursor, screen.is_full), ("\n  hi", (1, 4), true));
        let mut split = ScreenBuffer::new(Size::default());
        split.add_output(b"one\r");
        split.add_output(b"\ntwo\r");
        assert_eq!(split.take_if_drawn(), None);
        split.add_output(b"x");
        assert!(split.take_if_drawn().is_some());
    }

    #[test]
    fn a_resized_screen_scrolls_as_a_whole() {
        let mut screen = ScreenBuffer::new(Size { rows: 2, columns: 9 });
        screen.resize(Size { rows: 4, columns: 9 });
        screen.add_output(b"\x1b[Ha\r\nb\r\nc\x1b[H\x1bMnew");
        assert_eq!(screen.screen().text, "new\na\nb\nc");
    }

    #[test]
    fn random_output_never_panics() {
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
        let mut screen = ScreenBuffer::new(Size::default());
        for round in 0..20_000 {
            screen.add_output(parts[next() as usize % parts.len()]);
            screen.add_output(&[next() as u8]);
            if round % 500 == 0 {
                let side = |number: u32| (number % 70) as u16;
                screen.resize(Size { rows: side(next()), columns: side(next()) });
                screen.screen();
            }
        }
    }
}
