//! Caches which files the configurations of repositories refer to. Nothing here reads a configuration.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use yard_core::{Signature, WsPath};

/// Most repositories in the cache.
const MAX_CACHED: usize = 64;

/// The files that configurations refer to, valid as long as the files of the configuration are unchanged.
#[derive(Debug, Default)]
pub(crate) struct GitConfigCache(Mutex<HashMap<WsPath, (ConfigSignatures, Arc<ConfigTargets>)>>);

/// The files of a configuration, with their signatures when git read them.
pub(crate) type ConfigSignatures = Vec<(WsPath, Option<Signature>)>;

/// The files that one configuration refers to.
#[derive(Debug, Default)]
pub(crate) struct ConfigTargets {
    /// Files, and folders with everything below them.
    pub(crate) paths: Vec<WsPath>,
    /// Git could not run, so that every path may be a target.
    pub(crate) is_unknown: bool,
}

impl GitConfigCache {
    /// The cached targets of a repository, and the files of its configuration as they were then.
    pub(crate) fn get(
        &self,
        repository: &WsPath,
    ) -> Option<(ConfigSignatures, Arc<ConfigTargets>)> {
        let cache = self.0.lock();
        cache.get(repository).cloned()
    }

    pub(crate) fn insert(
        &self,
        repository: WsPath,
        seen: ConfigSignatures,
        targets: Arc<ConfigTargets>,
    ) {
        let mut cache = self.0.lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(repository, (seen, targets));
    }
}
