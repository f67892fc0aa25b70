//! What a command did with the hosts that it asked for, and how its run's folder keeps that.

/// What came of the last connection of a command to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It was let through, whether or not the host answered.
    Through,
    /// It was refused, for this reason.
    Refused(String),
    /// It was not let through, because nobody has answered this request yet.
    Waits(String),
}

/// What one command did with one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTraffic {
    /// Host and port.
    pub place: String,
    /// How often it was tried.
    pub tries: u64,
    /// Bytes that went to the host.
    pub up: u64,
    /// Bytes that came from it.
    pub down: u64,
    /// What came of the last try.
    pub access: Access,
}

/// Between the words of a line of [`HostTraffic`].
const BETWEEN: char = '\t';

impl HostTraffic {
    /// As a line of text.
    pub fn to_line(&self) -> String {
        let (word, text) = match &self.access {
            Access::Through => ("through", ""),
            Access::Refused(why) => ("refused", why.as_str()),
            Access::Waits(request) => ("waits", request.as_str()),
        };
        let text = text.replace(char::is_control, " ");
        let Self { place, tries, up, down, .. } = self;
        format!("{place}\t{tries}\t{up}\t{down}\t{word}\t{text}\n")
    }

    /// Reads such a line.
    pub fn from_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.splitn(6, BETWEEN).collect();
        let [place, tries, up, down, word, text] = words[..] else { return None };
        let access = match word {
            "through" => Access::Through,
            "refused" => Access::Refused(text.to_owned()),
            "waits" => Access::Waits(text.to_owned()),
            _ => return None,
        };
        let number = |text: &str| text.parse().ok();
        let (tries, up, down) = (number(tries)?, number(up)?, number(down)?);
        Some(Self { place: place.to_owned(), tries, up, down, access })
    }
}
