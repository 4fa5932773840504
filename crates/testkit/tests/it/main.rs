//! The simulated disk tested: what it may lose, what it must keep, and that it otherwise behaves as the real one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod data;
mod differential;
mod exhaustive;
mod faults;
mod names;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, DiskFile, OpenMode, write_full};
use annals_testkit::rng::Rng;
use annals_testkit::sim::SimDisk;

fn dir() -> &'static Path {
    Path::new("/d")
}

fn path(name: &str) -> PathBuf {
    dir().join(name)
}

/// A disk with a durable, empty directory.
fn disk() -> SimDisk {
    let disk = SimDisk::new();
    disk.create_dirs(dir()).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

fn put(disk: &SimDisk, name: &str, bytes: &[u8]) -> Box<dyn DiskFile> {
    let file = disk.open(&path(name), OpenMode::CreateOrOpen).unwrap();
    write_full(file.as_ref(), bytes, 0).unwrap();
    file
}

/// A file whose bytes and name are durable.
fn durable(disk: &SimDisk, name: &str, bytes: &[u8]) -> Box<dyn DiskFile> {
    let file = put(disk, name, bytes);
    file.sync().unwrap();
    disk.sync_dir(dir()).unwrap();
    file
}

/// The different contents of a file that power cuts left.
fn outcomes(disk: &SimDisk, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    let mut rng = Rng::new(7);
    (0..400).map(|_| disk.crash(&mut rng).contents(&path(name))).collect()
}

/// The different contents of a file over every crash.
fn all_outcomes(disk: &SimDisk, name: &str) -> BTreeSet<Option<Vec<u8>>> {
    disk.all_crashes(12).unwrap().iter().map(|crash| crash.contents(&path(name))).collect()
}

/// What a file may hold, as a set to compare with.
fn set(states: &[Option<&[u8]>]) -> BTreeSet<Option<Vec<u8>>> {
    states.iter().map(|state| state.map(<[u8]>::to_vec)).collect()
}
