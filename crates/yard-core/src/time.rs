//! Timestamps, written as RFC 3339 in UTC with milliseconds (R11).

use std::fmt;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `millis` milliseconds after (or, negative, before) the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// The moment a file system names by nanoseconds, cut to the millisecond.
    pub fn from_nanos(nanos: i64) -> Self {
        Self(nanos.div_euclid(1_000_000))
    }

    /// The moment that RFC 3339 writes like this, cut to the millisecond.
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.trim().parse().ok()?;
        Some(Self(moment.as_millisecond()))
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(match self.0 {
            // RFC 3339 cannot write it: the nearest moment that it can.
            ..0 => jiff::Timestamp::MIN,
            _ => jiff::Timestamp::MAX,
        });
        write!(f, "{moment:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_times_are_rfc3339_utc_with_milliseconds() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            Timestamp::from_millis(1_768_473_000_120).to_string(),
            "2026-01-15T10:30:00.120Z"
        );
        let shown = Timestamp::from_millis(1_768_473_000_120);
        assert_eq!(Timestamp::parse(&shown.to_string()), Some(shown));
        assert_eq!(Timestamp::parse("2026-01-15T12:30:00.12+02:00"), Some(shown));
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::from_nanos(-1).to_string(), "1969-12-31T23:59:59.999Z");
        assert!(Timestamp::from_millis(i64::MAX).to_string().starts_with("9999-12-"));
        assert!(Timestamp::from_millis(i64::MIN).to_string().starts_with("-009999-"));
    }
}
