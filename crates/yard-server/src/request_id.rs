//! The id of a request. The span of the request carries it, so that each line of the log can name it.

use std::sync::Arc;

use uuid::Uuid;
use yard_core::World;

/// The id of a request: the caller's, or one that was made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    /// The id that the caller gave.
    pub(crate) fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// A new UUID of version 7, for a request whose caller gave no id.
    pub(crate) fn generate(world: &dyn World) -> Self {
        let millis = u64::try_from(world.now().as_millis()).unwrap_or(0);
        let [tail @ .., _, _, _, _, _, _] = world.random().to_le_bytes();
        let id: Uuid = uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid();
        Self(id.to_string().into())
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_id_is_a_uuid_of_version_7() {
        let world = yard_testkit::FakeWorld::new(1);
        let id: Uuid = RequestId::generate(&world).as_str().parse().unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert_ne!(RequestId::generate(&world), RequestId::generate(&world));
    }
}
