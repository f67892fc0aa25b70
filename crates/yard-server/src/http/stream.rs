//! Bodies of answers, whole or in pieces.

use std::io;

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::Frame;

/// The body of an answer: whole, or in pieces as they come.
pub(crate) type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, io::Error>>;

/// A whole body.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Either::Left(Full::new(bytes.into()))
}

/// A body that comes in pieces.
pub(super) fn pieces(
    pieces: impl Stream<Item = io::Result<Frame<Bytes>>> + Send + 'static,
) -> Body {
    Either::Right(StreamBody::new(pieces).boxed_unsync())
}
