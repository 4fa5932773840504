//! The simulated disk and the real one, given the same calls, answer the same.
//!
//! Not compared: opening a directory as a file or a file as a directory (systems allow some of it, the simulation refuses), the times, a directory's length.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, DiskFile, OpenMode, OsDisk};
use annals_testkit::rng::Rng;
use annals_testkit::sim::SimDisk;

const NAMES: [&str; 6] = ["a", "b", "c", "sub/a", "sub/b", "gone/a"];

/// Files and directories, existing or not: any may become either.
const ALL: [&str; 10] =
    ["a", "b", "sub", "sub/a", "sub/b", "sub/deep", "sub/deep/a", "gone", "gone/a", "gone/deep"];

/// A disk, the place on it where the calls go, and the files that are open there.
struct Side<D> {
    disk: D,
    root: PathBuf,
    open: Vec<Box<dyn DiskFile>>,
}

fn said<T: std::fmt::Debug>(answer: io::Result<T>) -> String {
    match answer {
        Ok(value) => format!("{value:?}"),
        Err(e) => format!("{:?}", e.kind()),
    }
}

impl<D: Disk> Side<D> {
    fn step(&mut self, mut rng: Rng) -> String {
        let of = |name: &str| self.root.join(name);
        let name = of(NAMES[usize::try_from(rng.below(6)).unwrap()]);
        if rng.below(16) < 4 {
            return self.rearrange(&mut rng);
        }
        if self.open.is_empty() || rng.below(12) < 2 {
            if self.disk.metadata(&name).is_ok_and(|found| found.is_dir) {
                return "a directory".into();
            }
            let mode = [OpenMode::Read, OpenMode::ReadWrite, OpenMode::CreateNew, OpenMode::CreateOrOpen]
                [usize::try_from(rng.below(4)).unwrap()];
            let opened = self.disk.open(&name, mode);
            return said(opened.map(|file| self.open.push(file)));
        }
        let file = usize::try_from(rng.below(self.open.len() as u64)).unwrap();
        let offset = rng.below(1500);
        let len = usize::try_from(rng.below(900)).unwrap();
        match rng.below(12) {
            // Writing through a handle for reading fails on both, each with an error of its own.
            0 | 1 => {
                let byte = u8::try_from(rng.below(256)).unwrap();
                self.open[file]
                    .write_at(&vec![byte; len], offset)
                    .map_or("refused".into(), |n| format!("{n}"))
            }
            2 => self.open[file].set_len(offset).map_or("refused".into(), |()| "cut".into()),
            3 | 4 => {
                let mut buf = vec![0; len];
                said(self.open[file].read_at(&mut buf, offset).map(|n| buf[..n].to_vec()))
            }
            5 => said(self.open[file].len()),
            6 => said(self.open[file].sync()),
            7 => said(self.open[file].try_lock()),
            8 => {
                drop(self.open.remove(file));
                "closed".into()
            }
            9 | 10 => said(self.disk.remove(&name)),
            _ => {
                match rng.below(4) {
                    0 => said(self.disk.create_dirs(&of(["sub", "sub/deep", "sub/deep/er", "sub/deep"]
                        [usize::try_from(rng.below(4)).unwrap()]))),
                    1 => {
                        let dir = of(["", "sub", "gone"][usize::try_from(rng.below(3)).unwrap()]);
                        if self.disk.metadata(&dir).is_ok_and(|found| !found.is_dir) {
                            return "a file".into();
                        }
                        said(self.disk.sync_dir(&dir))
                    }
                    _ => self.names(&of(["", "sub", "gone"][usize::try_from(rng.below(3)).unwrap()])),
                }
            }
        }
    }

    /// Names moved, made, taken away and asked about; and bytes copied by name.
    fn rearrange(&self, rng: &mut Rng) -> String {
        let mut any = || self.root.join(ALL[usize::try_from(rng.below(10)).unwrap()]);
        let (one, other) = (any(), any());
        match rng.below(7) {
            0 | 1 => format!("move: {}", said(self.disk.rename(&one, &other))),
            2 => format!("link: {}", said(self.disk.hard_link(&one, &other))),
            3 => format!("remove: {}", said(self.disk.remove_dir(&one))),
            4 => said(self.disk.create_dirs(&one)),
            5 => said(
                self.disk.metadata(&one).map(|found| (found.is_dir, (!found.is_dir).then_some(found.len))),
            ),
            _ => {
                let is_dir = |path| self.disk.metadata(path).is_ok_and(|found| found.is_dir);
                // Whether a range may overlap itself is not ours to say.
                if is_dir(&one) || is_dir(&other) || self.same_file(&one, &other) {
                    return "not copied".into();
                }
                let (from, len, to) = (rng.below(900), rng.below(900), rng.below(900));
                said(self.disk.copy_range(&one, from, len, &other, to))
            }
        }
    }

    fn same_file(&self, one: &Path, other: &Path) -> bool {
        let identity = |path| self.disk.metadata(path).map(|found| found.identity).ok();
        identity(one).is_some() && identity(one) == identity(other)
    }

    fn names(&self, dir: &Path) -> String {
        said(self.disk.list(dir).map(|paths| {
            let mut names: Vec<_> =
                paths.iter().map(|p| p.strip_prefix(&self.root).unwrap().to_owned()).collect();
            names.sort();
            names
        }))
    }
}

#[test]
fn without_a_crash_it_behaves_as_the_real_one() {
    let (mut steps, mut refusals, mut second_names) = (0, 0, 0);
    let mut answers = BTreeSet::new();
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let temporary = tempfile::tempdir().unwrap();
        let mut real = Side { disk: OsDisk, root: temporary.path().to_owned(), open: Vec::new() };
        let mut simulated = Side { disk: SimDisk::new(), root: PathBuf::from("/root"), open: Vec::new() };
        simulated.disk.create_dirs(&simulated.root).unwrap();
        for n in 0..250 {
            rng.number();
            let (expected, found) = (real.step(rng.clone()), simulated.step(rng.clone()));
            assert_eq!(expected, found, "seed {seed}, step {n}");
            steps += 1;
            answers.insert(expected.clone());
            refusals += u64::from(expected.starts_with("NotFound") || expected == "AlreadyExists");
        }
        for (one, other) in ALL.iter().flat_map(|one| ALL.map(|other| (*one, other))) {
            let same = |side: &Path, disk: &dyn Disk| {
                let of = |name: &str| disk.metadata(&side.join(name)).map(|found| found.identity).ok();
                of(one).is_some() && of(one) == of(other)
            };
            let (expected, found) = (same(temporary.path(), &OsDisk), same(&simulated.root, &simulated.disk));
            assert_eq!(expected, found, "seed {seed}: {one} and {other} are one file");
            second_names += u64::from(found && one != other);
        }
        for name in NAMES.into_iter().chain(ALL) {
            let bytes = std::fs::read(temporary.path().join(name)).ok();
            assert_eq!(simulated.disk.contents(&simulated.root.join(name)), bytes, "seed {seed}, {name}");
        }
    }
    assert!(steps == 50_000 && refusals > 500, "{steps} steps, {refusals} refusals");
    for seen in [
        "move: ()",
        "move: DirectoryNotEmpty",
        "move: InvalidInput",
        "move: IsADirectory",
        "move: NotADirectory",
        "link: ()",
        "link: AlreadyExists",
        "link: PermissionDenied",
        "remove: ()",
        "remove: DirectoryNotEmpty",
        "remove: NotADirectory",
    ] {
        assert!(answers.contains(seen), "{seen} never came up");
    }
    assert!(second_names > 20, "{second_names} second names");
}
