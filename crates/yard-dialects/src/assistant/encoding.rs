//! How a file's content is written as a string.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::Stop;

/// How content is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(super) enum Encoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As bytes, in base64.
    #[serde(rename = "base64")]
    Base64,
}

/// Bytes in base64.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

impl Encoding {
    /// Decodes `content`.
    pub(super) fn decode(self, content: String) -> Result<Vec<u8>, Stop> {
        match self {
            Self::Utf8 => Ok(content.into_bytes()),
            Self::Base64 => {
                // Encoders break lines.
                let packed: String = content.split_ascii_whitespace().collect();
                STANDARD.decode(packed).map_err(|_| {
                    let wrong = "expected base64 (standard alphabet, padded), as `encoding` says; for text send \
                                 `encoding`: \"utf-8\"";
                    Stop::argument("content", wrong)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_base64() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut text = to_base64(&bytes);
        text.insert(76, '\n');
        assert_eq!(Encoding::Base64.decode(text), Ok(bytes));
        assert!(Encoding::Base64.decode("no base64!".to_owned()).is_err());
        assert_eq!(Encoding::Utf8.decode("é".to_owned()), Ok(vec![0xc3, 0xa9]));
    }
}
