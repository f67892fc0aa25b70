//! Text with its encoding (R5): what makes bytes text, which encoding they are in, and the way
//! back to the very same bytes. Nothing here guesses silently: bytes that are not text say what
//! they are, and bytes that could not be written back as they were do not become a [`Text`].

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, UTF_16BE, UTF_16LE};
use infer::MatcherType;
use memchr::{memchr, memchr_iter, memmem};

/// Magic numbers are near the start; more is not looked at.
const MAGIC_BYTES: usize = 8192;

/// How bytes stand for characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a byte order mark.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-8 without a byte order mark, and with bytes that are none. Only a [`Text`] has it.
    DamagedUtf8,
    /// UTF-16, little end first, with a byte order mark.
    Utf16Le,
    /// UTF-16, big end first, with a byte order mark.
    Utf16Be,
    /// An older encoding, told by its content; never stateful, always a superset of ASCII's `\n`.
    Legacy(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 | Self::DamagedUtf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with BOM",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    /// The byte order mark at the start of a file in this encoding; empty where there is none.
    pub fn byte_order_mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::DamagedUtf8 | Self::Legacy(_) => b"",
            Self::Utf8Bom => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why bytes are no text. Its words go after "the file is".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    /// Not text at all; the words say what it is.
    #[error("{0}")]
    Binary(String),
    /// Readable, but some bytes are invalid and would change when the text is written back.
    #[error("text in {0} with invalid byte sequences, which could not be written back as they are")]
    Lossy(Encoding),
}

/// A character that the text's encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the character {character:?} (U+{:04X}) does not exist in {encoding}",
    u32::from(*.character)
)]
pub struct Unencodable {
    /// The first such character.
    pub character: char,
    /// The encoding that does not have it.
    pub encoding: Encoding,
}

/// Tells text from other bytes, and its encoding.
///
/// `bytes` are a whole file. A prefix will do if it ends after a `\n`: it is then judged as a file
/// that ended there would be.
///
/// A file that is UTF-8 but for a few damaged bytes is UTF-8.
pub fn detect(bytes: &[u8]) -> Result<Encoding, NotText> {
    let encoding = marked(bytes);
    if let Some(wide @ (Encoding::Utf16Le | Encoding::Utf16Be)) = encoding {
        return refuse_wide_nul(bytes).map_or(Ok(wide), Err);
    }
    if let Some(at) = memchr(0, bytes) {
        let what = magic(bytes).unwrap_or(format!("binary data (a NUL byte at byte {at})"));
        return Err(NotText::Binary(what));
    }
    if let Some(encoding) = encoding {
        return Ok(encoding);
    }
    // Magic numbers are asked last: most files look written, and then no magic number counts.
    if let Some(what) = Some(bytes).filter(|_| !looks_written(bytes)).and_then(magic) {
        return Err(NotText::Binary(what));
    }
    if std::str::from_utf8(bytes).is_ok() || is_damaged_utf8(bytes) {
        return Ok(Encoding::Utf8);
    }
    legacy(bytes)
}

/// The encoding that the byte order mark at the start of a file names.
pub fn marked(bytes: &[u8]) -> Option<Encoding> {
    [Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be]
        .into_iter()
        .find(|encoding| bytes.starts_with(encoding.byte_order_mark()))
}

/// The byte order mark at the start of a file; empty where there is none.
pub fn byte_order_mark(bytes: &[u8]) -> &'static [u8] {
    marked(bytes).map_or(b"", Encoding::byte_order_mark)
}

/// A NUL character is as good a sign of binary data in UTF-16 as a NUL byte is elsewhere. UTF-32
/// begins with the mark of UTF-16 and such a character.
fn refuse_wide_nul(bytes: &[u8]) -> Option<NotText> {
    let unit = bytes.chunks_exact(2).position(|unit| unit == [0, 0])?;
    let what = match unit {
        1 if bytes.starts_with(Encoding::Utf16Le.byte_order_mark()) => {
            "UTF-32 text, which is not supported".to_owned()
        }
        _ => format!("binary data (a NUL character at byte {})", unit * 2),
    };
    Some(NotText::Binary(what))
}

/// What a magic number says, unless it says that this is a kind of text.
fn magic(bytes: &[u8]) -> Option<String> {
    let kind = infer::get(&bytes[..bytes.len().min(MAGIC_BYTES)])?;
    let noun = match kind.matcher_type() {
        MatcherType::Text => return None,
        // The crate files these two under archives.
        _ if kind.mime_type() == "application/pdf" => "document",
        _ if kind.mime_type() == "application/vnd.sqlite3" => "database",
        MatcherType::App => "binary",
        MatcherType::Archive => "archive",
        MatcherType::Audio => "audio file",
        MatcherType::Book => "book",
        MatcherType::Doc => "document",
        MatcherType::Font => "font",
        MatcherType::Image => "image",
        MatcherType::Video => "video",
        MatcherType::Custom => "file",
    };
    let name = kind.extension().to_uppercase();
    let article = if name.starts_with(['A', 'E', 'I', 'O', 'M', 'X']) { "an" } else { "a" };
    Some(format!("{article} {name} {noun} ({})", kind.mime_type()))
}

/// Whether someone may have written these bytes in spite of their magic number. Many are short
/// words (`MZ`, `BM`, `ID3`, `OTTO`, `-----BEGIN`) with which a text may begin; a file of that
/// type holds control characters too. PDF and GIF have marks that no text begins with by chance.
fn looks_written(bytes: &[u8]) -> bool {
    let marks: [&[u8]; 3] = [b"%PDF-", b"GIF87a", b"GIF89a"];
    let head = &bytes[..bytes.len().min(4)];
    head.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'))
        && !marks.iter().any(|mark| bytes.starts_with(mark))
        && !bytes.iter().fold(false, |stray, byte| stray | is_stray_byte(*byte))
}

/// Characters that no text has: those for private use, and control characters other than white space,
/// bell, backspace and escape, which logs of terminals hold.
fn is_stray(character: char) -> bool {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => is_stray_byte(byte),
        _ => character.is_control() || matches!(character, '\u{e000}'..='\u{f8ff}'),
    }
}

/// [`is_stray`] for a byte of ASCII. It has no branch, because it looks at every byte of every file.
fn is_stray_byte(byte: u8) -> bool {
    let known = (0x07..=0x0d).contains(&byte) | (byte == 0x1b);
    ((byte < 0x20) & !known) | (byte == 0x7f)
}

/// Whether nearly all of the bytes above ASCII form UTF-8. Text in another encoding forms valid
/// sequences only by rare accident.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid >= 4 * invalid
}

/// The older encoding that the bytes are in. The detector always has an answer; it is believed only
/// if every byte then stands for a character that texts hold.
fn legacy(bytes: &[u8]) -> Result<Encoding, NotText> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes);
    match text {
        Some(text) if !text.chars().any(is_stray) => Ok(Encoding::Legacy(encoding)),
        _ => Err(NotText::Binary("binary data (its bytes are no text in a known encoding)".into())),
    }
}

/// Reads bytes, or a slice of whole characters from the middle of a file, as text without its byte
/// order mark. Invalid sequences become U+FFFD. UTF-8 is borrowed.
pub fn decode(bytes: &[u8], encoding: Encoding) -> Cow<'_, str> {
    let body = bytes.strip_prefix(encoding.byte_order_mark()).unwrap_or(bytes);
    match encoding {
        // Checking first is many times faster than decoding with an eye on damage.
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => {
            match std::str::from_utf8(body) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(body),
            }
        }
        Encoding::Utf16Le => UTF_16LE.decode_without_bom_handling(body).0,
        Encoding::Utf16Be => UTF_16BE.decode_without_bom_handling(body).0,
        Encoding::Legacy(encoding) => encoding.decode_without_bom_handling(body).0,
    }
}

/// A text that is written back as the bytes that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// How it is written.
    pub encoding: Encoding,
    /// Its characters, without the byte order mark; line endings as they are. Where a text in UTF-8 has bytes that
    /// are none, [`stand_in`] has a character for each.
    pub body: String,
}

/// The character that stands for a byte which is no UTF-8. They are the last ones for private use: a text that
/// has one of them, and such bytes too, is not parsed.
fn stand_in(byte: u8) -> char {
    char::from_u32(STAND_INS + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// What [`stand_in`] adds bytes to; those of ASCII need none.
const STAND_INS: u32 = 0x0010_ff00;

/// The byte that a character stands for.
fn stood_for(character: char) -> Option<u8> {
    let byte = u32::from(character).checked_sub(STAND_INS)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

/// A text in UTF-8 with a character in place of each byte that is none.
fn with_stand_ins(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().copied().map(stand_in));
    }
    text
}

/// The bytes of a text in UTF-8, with those that characters stand for.
fn without_stand_ins(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match stood_for(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

impl Text {
    /// Reads a whole file. What [`Text::to_bytes`] gives for it is `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Text, NotText> {
        let encoding = detect(bytes)?;
        let text = match std::str::from_utf8(bytes) {
            Err(_) if encoding == Encoding::Utf8 => {
                Text { encoding: Encoding::DamagedUtf8, body: with_stand_ins(bytes) }
            }
            _ => Text { encoding, body: decode(bytes, encoding).into_owned() },
        };
        match text.to_bytes() {
            Ok(same) if same == bytes => Ok(text),
            _ => Err(NotText::Lossy(encoding)),
        }
    }

    /// Writes it in its encoding, byte order mark first.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Unencodable> {
        let mut bytes = self.encoding.byte_order_mark().to_vec();
        let units = self.body.encode_utf16();
        match self.encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => bytes.extend_from_slice(self.body.as_bytes()),
            Encoding::DamagedUtf8 => bytes = without_stand_ins(&self.body),
            Encoding::Utf16Le => bytes.extend(units.flat_map(u16::to_le_bytes)),
            Encoding::Utf16Be => bytes.extend(units.flat_map(u16::to_be_bytes)),
            Encoding::Legacy(legacy) => bytes = self.encode_legacy(legacy)?,
        }
        Ok(bytes)
    }

    fn encode_legacy(
        &self,
        legacy: &'static encoding_rs::Encoding,
    ) -> Result<Vec<u8>, Unencodable> {
        let mut encoder = legacy.new_encoder();
        let room = encoder.max_buffer_length_from_utf8_without_replacement(self.body.len());
        let mut bytes = Vec::with_capacity(room.unwrap_or_default());
        let (result, _) =
            encoder.encode_from_utf8_to_vec_without_replacement(&self.body, &mut bytes, true);
        match result {
            EncoderResult::InputEmpty => Ok(bytes),
            EncoderResult::Unmappable(character) => {
                Err(Unencodable { character, encoding: self.encoding })
            }
            // Only a length whose bound overflows ends here: more than can be in memory.
            EncoderResult::OutputFull => {
                Err(Unencodable { character: char::REPLACEMENT_CHARACTER, encoding: self.encoding })
            }
        }
    }
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl LineEnding {
    /// Its characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// The ending that most lines have; `\n` when none has any, or as many have one as the other.
pub fn dominant_ending(text: &[u8]) -> LineEnding {
    ending_of_most(text).unwrap_or(LineEnding::Lf)
}

/// The ending that most lines have; none when no line has any, or as many have one as the other.
pub(crate) fn ending_of_most(text: &[u8]) -> Option<LineEnding> {
    let all = memchr_iter(b'\n', text).count();
    let crlf = memmem::find_iter(text, b"\r\n").count();
    match crlf.cmp(&(all - crlf)) {
        Ordering::Less => Some(LineEnding::Lf),
        Ordering::Equal => None,
        Ordering::Greater => Some(LineEnding::CrLf),
    }
}

/// The [`dominant_ending`] of a text that has a line ending.
pub(crate) fn ending_of(text: &[u8]) -> Option<LineEnding> {
    memchr(b'\n', text).map(|_| dominant_ending(text))
}

/// What people type for a typographic quote, dash or ellipsis, which editors and models put in its place.
pub(crate) fn typed(character: char) -> Option<&'static str> {
    match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => Some("'"),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{2026}' => Some("..."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
    use proptest::prelude::*;

    use super::*;

    fn wide(text: &str, encoding: Encoding) -> Vec<u8> {
        Text { encoding, body: text.to_owned() }.to_bytes().unwrap()
    }

    fn what(bytes: &[u8]) -> String {
        detect(bytes).unwrap_err().to_string()
    }

    #[test]
    fn r5_unicode_is_told() {
        assert_eq!(detect(b""), Ok(Encoding::Utf8));
        assert_eq!(detect("naïve ☃".as_bytes()), Ok(Encoding::Utf8));
        assert_eq!(detect(b"\xef\xbb\xbfx"), Ok(Encoding::Utf8Bom));
        assert_eq!(detect(&wide("a\n", Encoding::Utf16Le)), Ok(Encoding::Utf16Le));
        assert_eq!(detect(&wide("a\n", Encoding::Utf16Be)), Ok(Encoding::Utf16Be));
        assert_eq!(detect(b"\x1b[31mred\x1b[0m\x07\n"), Ok(Encoding::Utf8));
    }

    #[test]
    fn r5_legacy_is_told_with_confidence() {
        let samples = [
            (WINDOWS_1252, "café crème\n"),
            (WINDOWS_1252, "Die Größe der Straße überrascht.\r\n"),
            (WINDOWS_1251, "Съешь же ещё этих мягких французских булок, да выпей чаю\n"),
            (SHIFT_JIS, "これは日本語の文章です。ファイルを読みます。\n"),
            (GBK, "这是一个中文文本文件，用来测试编码。\n"),
            (EUC_KR, "이것은 한국어 문장입니다. 파일을 읽습니다.\n"),
        ];
        for (encoding, text) in samples {
            let bytes = encoding.encode(text).0;
            assert_eq!(detect(&bytes), Ok(Encoding::Legacy(encoding)), "{text}");
            assert_eq!(decode(&bytes, Encoding::Legacy(encoding)), text);
            let parsed = Text::parse(&bytes).unwrap();
            assert_eq!(parsed.to_bytes().unwrap(), bytes.as_ref());
        }
        assert_eq!(detect(b"caf\xe9"), Ok(Encoding::Legacy(WINDOWS_1252)));
    }

    #[test]
    fn r5_binary_says_what_it_is() {
        assert_eq!(what(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "a PNG image (image/png)");
        assert_eq!(what(b"seventeen bytes..\0"), "binary data (a NUL byte at byte 17)");
        assert_eq!(what(b"%PDF-1.7\nplain\n"), "a PDF document (application/pdf)");
        assert_eq!(what(b"PK\x03\x04\x14\x01\x01\x01"), "a ZIP archive (application/zip)");
        assert_eq!(what(b"\xef\xbb\xbfa\0"), "binary data (a NUL byte at byte 4)");
        assert_eq!(what(b"\xff\xfe\0\0a\0\0\0"), "UTF-32 text, which is not supported");
        assert_eq!(what(b"\xff\xfea\0\0\0"), "binary data (a NUL character at byte 4)");
        assert_eq!(
            what(b"\x9d\x02\xfe\xff\x81"),
            "binary data (its bytes are no text in a known encoding)"
        );
    }

    #[test]
    fn r5_texts_with_a_magic_start_are_text() {
        for text in [
            "<!DOCTYPE html><html></html>",
            "<?xml version=\"1.0\"?><a/>",
            "#!/bin/sh\necho\n",
            "MZ are my initials\n",
            "BM is short for bench mark\n",
            "ID3 tags explained\n",
            "OTTO likes text\n",
            "-----BEGIN CERTIFICATE-----\nMIIB\n",
            "{\\rtf1 hello}",
            "%!PS-Adobe-3.0\n",
        ] {
            assert_eq!(detect(text.as_bytes()), Ok(Encoding::Utf8), "{text}");
        }
    }

    #[test]
    fn r5_what_cannot_be_kept_is_read_but_not_parsed() {
        let lone_surrogate = b"\xff\xfea\0\0\xd8b\0";
        assert_eq!(Text::parse(lone_surrogate), Err(NotText::Lossy(Encoding::Utf16Le)));
        assert_eq!(decode(lone_surrogate, Encoding::Utf16Le), "a\u{fffd}b");
        assert_eq!(Text::parse(b"\xff\xfea\0b"), Err(NotText::Lossy(Encoding::Utf16Le)));
        let damaged = [&b"\xff"[..], "äöüß".as_bytes()].concat();
        assert_eq!(detect(&damaged), Ok(Encoding::Utf8));
        let parsed = Text::parse(&damaged).unwrap();
        assert_eq!((parsed.encoding, parsed.body.chars().count()), (Encoding::DamagedUtf8, 5));
        assert_eq!(parsed.to_bytes().unwrap(), damaged);
        // The very characters that stand for bytes are none of theirs in a text that has both.
        let private = "äöüß\u{10ffff}\u{10ff80}".as_bytes();
        assert_eq!(Text::parse(private).unwrap().to_bytes().unwrap(), private);
        let both = [private, b"\xff"].concat();
        assert_eq!(Text::parse(&both), Err(NotText::Lossy(Encoding::Utf8)));
    }

    #[test]
    fn r5_a_slice_from_the_middle_decodes() {
        assert_eq!(decode(b"b\0\n\0", Encoding::Utf16Le), "b\n");
        assert_eq!(decode("é".as_bytes(), Encoding::Utf8Bom), "é");
        assert!(matches!(decode(b"abc", Encoding::Utf8), Cow::Borrowed("abc")));
    }

    #[test]
    fn r5_a_missing_character_is_named() {
        let text = Text { encoding: Encoding::Legacy(WINDOWS_1252), body: "a☃".to_owned() };
        assert_eq!(
            text.to_bytes().unwrap_err().to_string(),
            "the character '☃' (U+2603) does not exist in windows-1252"
        );
    }

    #[test]
    fn the_dominant_ending() {
        for (text, ending) in [
            ("", LineEnding::Lf),
            ("a\r\nb\n", LineEnding::Lf),
            ("a\r\nb\r\nc\n", LineEnding::CrLf),
            ("a\rb", LineEnding::Lf),
        ] {
            assert_eq!(dominant_ending(text.as_bytes()), ending, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn r5_parsed_text_is_kept(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for marked in [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be] {
                let bytes = [marked.byte_order_mark(), &bytes].concat();
                if let Ok(text) = Text::parse(&bytes) {
                    prop_assert_eq!(text.to_bytes(), Ok(bytes));
                }
            }
        }

        #[test]
        fn r5_western_bytes_are_kept(
            bytes in proptest::collection::vec(prop_oneof![32u8..127, 192u8..=255], 0..80),
        ) {
            if let Ok(text) = Text::parse(&bytes) {
                prop_assert_eq!(text.to_bytes(), Ok(bytes));
            }
        }

        #[test]
        fn r5_unicode_text_is_read_back(body in "[^\0\u{feff}]{0,40}") {
            use Encoding::{Utf8, Utf8Bom, Utf16Be, Utf16Le};
            for encoding in [Utf8, Utf8Bom, Utf16Le, Utf16Be] {
                let text = Text { encoding, body: body.clone() };
                let bytes = text.to_bytes().unwrap();
                if encoding == Encoding::Utf8 && detect(&bytes).is_err() {
                    continue; // A magic number by chance.
                }
                prop_assert_eq!(Text::parse(&bytes), Ok(text));
            }
        }
    }
}
