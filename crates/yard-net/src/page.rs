//! Converts responses to text: HTML to Markdown, and other texts from the charset that they are written in. A body
//! that is no text is a fault. Nothing is dialled here.
//!
//! The library that makes Markdown bounds the depth and the number of elements. It runs on a thread with a stack of
//! its own, so that no page can delay a call past its deadline.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use encoding_rs::Encoding;
use html_to_markdown_rs::{ConversionOptions, PreprocessingOptions};
use yard_core::text::{self, NotText};
use yard_core::{Call, Fault, FaultCode, Result};

use crate::dial::{Deadline, run_with_deadline};
use crate::fetch::WebResponse;

/// Bytes of a page in which its charset is looked for.
const SNIFFED: usize = 1_024;
/// The stack of a thread that converts a page.
const STACK_BYTES: usize = 16 << 20;
/// Pages that are converted at a time, including those whose call has ended.
const MAX_AT_ONCE: usize = 8;

static AT_ONCE: AtomicUsize = AtomicUsize::new(0);

/// How HTML is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    /// Its content, as Markdown.
    Markdown,
    /// Its source.
    Source,
}

/// A response that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its text.
    pub text: String,
    /// The text is not the body, but Markdown made from it.
    pub is_markdown: bool,
    /// A message that says what is not in the text.
    pub missing: Option<String>,
}

impl WebResponse {
    /// The body as text; a fault if it is none.
    pub fn page(&self, shape: PageFormat, call: &Call, wall: Duration) -> Result<Page> {
        let (kind, charset) = content_type(self.header("content-type").unwrap_or_default());
        if is_no_text(&kind) && !self.body.is_empty() {
            return Err(self.no_text_fault(&format!("it says that it is {kind}")));
        }
        let body = self.decoded(charset.as_deref())?;
        let missing = self.is_cut.then(|| {
            format!("only the first {} bytes were read: the answer is longer", self.body.len())
        });
        if shape == PageFormat::Source || !is_html(&kind, &body) {
            return Ok(Page { text: body.into_owned(), is_markdown: false, missing });
        }
        let base = self.target.as_str().to_owned();
        let (text, too_deep) = markdown(body.into_owned(), base, &Deadline::new(call, wall))?;
        let too_deep = too_deep.then(|| {
            "what is nested more than a thousand levels deep is left out; `format: \"html\"` has it"
                .to_owned()
        });
        let missing = [missing, too_deep].into_iter().flatten().collect::<Vec<_>>();
        let missing = (!missing.is_empty()).then(|| missing.join("; "));
        Ok(Page { text, is_markdown: true, missing })
    }

    fn decoded(&self, charset: Option<&str>) -> Result<Cow<'_, str>> {
        let by_mark = Encoding::for_bom(&self.body).map(|(encoding, _)| encoding);
        let by_header = || charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        let by_page = || meta_charset(&self.body[..self.body.len().min(SNIFFED)]);
        let declared = by_mark.or_else(by_header).or_else(by_page);
        match (text::detect(&self.body), declared) {
            (Ok(_), Some(encoding)) => Ok(encoding.decode(&self.body).0),
            (Ok(detected), None) => Ok(text::decode(&self.body, detected)),
            (Err(NotText::Lossy(encoding)), None) => Ok(text::decode(&self.body, encoding)),
            (Err(why), None) => Err(self.no_text_fault(&format!("it is {why}"))),
            // The declared charset may be wrong, and it may use bytes that no other charset has.
            (Err(why), Some(encoding)) => match encoding.decode(&self.body) {
                (text, _, false) if !text.contains('\0') => Ok(text),
                _ => Err(self.no_text_fault(&format!("it is {why}"))),
            },
        }
    }

    fn no_text_fault(&self, why: &str) -> Fault {
        let message = format!(
            "{} answered {} with {}{} bytes that are no text: {why}. Web pages, JSON, XML and plain \
             texts can be read",
            self.target.as_str(),
            self.status,
            if self.is_cut { "more than " } else { "" },
            self.body.len(),
        );
        Fault::new(FaultCode::Binary, message)
    }
}

/// The parts of a `Content-Type` header: the type in lower case, and the charset.
fn content_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';');
    let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    });
    (kind, charset)
}

/// Whether a type holds no text, whatever the bytes look like.
fn is_no_text(kind: &str) -> bool {
    let is_media =
        ["image/", "audio/", "video/", "font/"].iter().any(|media| kind.starts_with(media));
    let is_packed = matches!(
        kind,
        "application/pdf"
            | "application/zip"
            | "application/gzip"
            | "application/wasm"
            | "application/x-tar"
    );
    is_media && !kind.ends_with("+xml") || is_packed
}

fn is_html(kind: &str, body: &str) -> bool {
    let start: String = body.trim_start().chars().take(14).collect::<String>().to_ascii_lowercase();
    let looks = start.starts_with("<!doctype html") || start.starts_with("<html");
    matches!(kind, "text/html" | "application/xhtml+xml")
        || matches!(kind, "" | "text/plain") && looks
}

/// The charset that the `<meta>` tags of a page declare.
fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let found = head.split("<meta").skip(1).find_map(|rest| {
        let tag = rest.split('>').next().unwrap_or_default();
        let (_, value) = tag.split_once("charset")?;
        let value = value.trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(|at: char| at.is_whitespace() || "\"';/".contains(at));
        Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())])
    })?;
    // The tag was readable as ASCII, so the page cannot be UTF-16.
    Some(if found.is_ascii_compatible() { found } else { encoding_rs::UTF_8 })
}

/// The Markdown of a page, and whether parts that are nested too deep are left out.
fn markdown(html: String, base: String, deadline: &Deadline) -> Result<(String, bool)> {
    let slot = ConversionSlot::wait_for(deadline)?;
    let thread = thread::Builder::new().name("toolyard-page".to_owned()).stack_size(STACK_BYTES);
    let converted = run_with_deadline(thread, deadline, move || {
        let _slot = slot;
        convert(&html, base)
    });
    let converted = converted.map_err(|fault| match fault.code() {
        FaultCode::Io => fault,
        code => {
            let advice =
                "it took too long to make Markdown of the page; `format: \"html\"` has its source";
            Fault::new(code, format!("{fault}: {advice}"))
        }
    })?;
    converted.unwrap_or_else(|| Err(unreadable("it could not be taken apart")))
}

fn convert(html: &str, base: String) -> Result<(String, bool)> {
    let options = ConversionOptions {
        base_url: Some(base),
        capture_svg: false,
        extract_images: false,
        // Navigation is left out and nothing else: pages have their content in forms, and titles in headers.
        preprocessing: PreprocessingOptions {
            remove_navigation: false,
            remove_forms: false,
            ..PreprocessingOptions::default()
        },
        exclude_selectors: vec!["nav".to_owned()],
        // Without these signs x² would become x2.
        sup_symbol: "^".to_owned(),
        sub_symbol: "~".to_owned(),
        ..ConversionOptions::default()
    };
    let made = html_to_markdown_rs::convert(html, options);
    let made = made.map_err(|error| unreadable(&error.to_string()))?;
    let too_deep = !made.warnings.is_empty();
    Ok((made.content.unwrap_or_default(), too_deep))
}

fn unreadable(why: &str) -> Fault {
    let message =
        format!("no Markdown can be made of the page ({why}); `format: \"html\"` has its source");
    Fault::new(FaultCode::TooLarge, message)
}

/// One of the [`MAX_AT_ONCE`] slots for conversions; dropping it frees the slot.
struct ConversionSlot;

impl ConversionSlot {
    fn wait_for(deadline: &Deadline) -> Result<Self> {
        loop {
            let taken = AT_ONCE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < MAX_AT_ONCE).then_some(count + 1)
            });
            if taken.is_ok() {
                return Ok(Self);
            }
            deadline.check()?;
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for ConversionSlot {
    fn drop(&mut self) {
        AT_ONCE.fetch_sub(1, Ordering::Relaxed);
    }
}
