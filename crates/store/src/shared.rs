//! What a store and the writers of its sessions share.

use annals_log::Durability;
use annals_log::Options;
use annals_log::disk::Disk;

use crate::home::Home;
use crate::index::Indexer;
use crate::options::StoreOptions;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) home: Home,
    pub(crate) options: StoreOptions,
    pub(crate) indexer: Indexer,
}

impl Shared {
    pub(crate) fn disk(&self) -> &dyn Disk {
        self.options.disk.as_ref()
    }

    pub(crate) fn log_options(&self, durability: Durability) -> Options {
        let mut options = Options::new(self.options.clock.clone()).durability(durability);
        options.program.clone_from(&self.options.program);
        options
    }
}
