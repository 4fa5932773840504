//! Recovery: whatever bytes stand in a log's file, reading, verifying and opening end, and an opened log is sound.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use annals_log::disk::{Disk, OpenMode};
use annals_log::{Log, Options, verify};
use annals_testkit::clock::FixedClock;
use annals_testkit::sim::SimDisk;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (disk, dir) = (SimDisk::new(), Path::new("/h/sessions/s"));
    disk.create_dirs(dir).unwrap();
    drop(disk.open(&dir.join(annals_log::LOG_FILE), OpenMode::CreateNew).unwrap());
    disk.damage(&dir.join(annals_log::LOG_FILE), bytes);
    let _ = verify(&disk, dir, None, &[]).unwrap();
    let options = Options::new(Arc::new(FixedClock::default()));
    if let Ok((log, _)) = Log::open(&disk, dir, options.clone(), None) {
        log.close().unwrap();
        assert!(verify(&disk, dir, None, &[]).unwrap().damages.iter().all(|d| d.kind.name().starts_with("seal")));
    } else {
        let _ = annals_log::salvage(&disk, dir, &options);
    }
});
