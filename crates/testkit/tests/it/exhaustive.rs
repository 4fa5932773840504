//! The enumerator lists what a hand computation says, and chance finds nothing outside it.

use std::collections::BTreeSet;

use annals_log::disk::Disk;
use annals_testkit::rng::Rng;
use annals_testkit::sim::{SECTOR_BYTES, SimDisk};

use crate::{dir, disk, durable, path, put};

/// Everything that can be seen of a disk.
fn seen(disk: &SimDisk) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut names = disk.list(dir()).unwrap_or_default();
    names.sort();
    names.into_iter().map(|p| (p.clone(), disk.contents(&p))).collect()
}

fn distinct(disk: &SimDisk, limit: u32) -> (usize, usize) {
    let all = disk.all_crashes(limit).unwrap();
    (all.len(), all.iter().map(seen).collect::<BTreeSet<_>>().len())
}

#[test]
fn nothing_unsynced_is_one_state() {
    let disk = disk();
    durable(&disk, "f", b"x");
    assert_eq!(distinct(&disk, 0), (1, 1));
}

#[test]
fn six_overwritten_sectors_are_64_states() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; 6 * SECTOR_BYTES]);
    file.write_at(&[1; 6 * SECTOR_BYTES], 0).unwrap();
    assert_eq!(distinct(&disk, 6), (64, 64));
    assert!(disk.all_crashes(5).is_none(), "more choices than allowed are refused, not cut short");
}

/// Six sectors × cut or not × a name or not: 2^6 × 2 × 2 ways, as the cut is of another file.
#[test]
fn sectors_lengths_and_names_multiply() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; 6 * SECTOR_BYTES]);
    let other = durable(&disk, "g", b"long");
    file.write_at(&[1; 6 * SECTOR_BYTES], 0).unwrap();
    other.set_len(1).unwrap();
    put(&disk, "h", b"").sync().unwrap();
    assert_eq!(distinct(&disk, 8), (256, 256));
}

/// Two sectors appended to an empty file: three choices, eight ways. With the length grown, any of the two sectors: four states.
/// Without it, a sector that lands brings the length up to its end: nothing, the first alone, and two states seen before.
#[test]
fn a_growing_write_has_these_states() {
    let disk = disk();
    let file = durable(&disk, "f", b"");
    file.write_at(&[1; 2 * SECTOR_BYTES], 0).unwrap();
    assert_eq!(distinct(&disk, 3), (8, 6));
}

/// What a choice opens depends on those before: the same bytes written back are a choice only where the change between landed.
#[test]
fn choices_that_depend_on_choices_are_all_walked() {
    let disk = disk();
    let file = durable(&disk, "f", b"A");
    for byte in [b"B", b"A", b"C"] {
        file.write_at(byte, 0).unwrap();
    }
    let other = durable(&disk, "g", b"0");
    other.write_at(b"1", 0).unwrap();
    // f: B lost: C or not. B kept: A or not, then C or not. Six ways, times two of g.
    assert_eq!(distinct(&disk, 4), (12, 6));
}

#[test]
fn chance_finds_all_of_them_and_nothing_else() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; 2 * SECTOR_BYTES]);
    file.write_at(&[1; 3 * SECTOR_BYTES], 0).unwrap();
    file.set_len(700).unwrap();
    put(&disk, "g", b"x");
    disk.rename(&path("g"), &path("h")).unwrap();
    disk.remove(&path("h")).unwrap();
    let all: BTreeSet<_> = disk.all_crashes(16).unwrap().iter().map(seen).collect();
    let mut rng = Rng::new(3);
    let random: BTreeSet<_> = (0..20_000).map(|_| seen(&disk.crash(&mut rng))).collect();
    assert_eq!(random, all);
    assert!(all.len() > 20, "{} states", all.len());
}

#[test]
fn a_runway_is_one_choice() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; 64 * SECTOR_BYTES]);
    file.write_at(&[b'\n'; 64 * SECTOR_BYTES], 0).unwrap();
    let all = disk.all_crashes(10).unwrap();
    // Sectors 0 to 8 each, the 55 others together.
    assert_eq!(all.len(), 1 << 10);
    assert_eq!(all.last().unwrap().contents(&path("f")).unwrap(), [b'\n'; 64 * SECTOR_BYTES]);
}
