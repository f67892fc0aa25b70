//! What a command did with the hosts that it asked for, and the lines in which the folder of its run stores that.

/// The outcome of the last connection of a command to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The connection was allowed, whether or not the host answered.
    Through,
    /// The connection was refused, for this reason.
    Refused(String),
    /// The connection was not made, because no person has decided about this request yet.
    Waits(String),
}

/// What one command did with one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTraffic {
    /// Host and port.
    pub host_port: String,
    /// How often the command tried to connect.
    pub tries: u64,
    /// Bytes that went to the host.
    pub up: u64,
    /// Bytes that came from it.
    pub down: u64,
    /// The outcome of the last try.
    pub access: Access,
}

/// Separates the fields of a line of [`HostTraffic`].
const SEPARATOR: char = '\t';

impl HostTraffic {
    /// As a line of text.
    pub fn to_line(&self) -> String {
        let (access, text) = match &self.access {
            Access::Through => ("through", ""),
            Access::Refused(why) => ("refused", why.as_str()),
            Access::Waits(request) => ("waits", request.as_str()),
        };
        let text = text.replace(char::is_control, " ");
        let Self { host_port, tries, up, down, .. } = self;
        format!("{host_port}\t{tries}\t{up}\t{down}\t{access}\t{text}\n")
    }

    /// Reads such a line.
    pub fn from_line(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.splitn(6, SEPARATOR).collect();
        let [host_port, tries, up, down, access, text] = fields[..] else { return None };
        let access = match access {
            "through" => Access::Through,
            "refused" => Access::Refused(text.to_owned()),
            "waits" => Access::Waits(text.to_owned()),
            _ => return None,
        };
        let number = |text: &str| text.parse().ok();
        let (tries, up, down) = (number(tries)?, number(up)?, number(down)?);
        Some(Self { host_port: host_port.to_owned(), tries, up, down, access })
    }
}
