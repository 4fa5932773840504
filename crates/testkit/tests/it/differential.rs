//! The simulated disk and the real one, given the same calls, answer the same.
//!
//! Not compared: a directory where a file is expected. Systems open one for reading; the simulation refuses.

use std::io;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, DiskFile, OpenMode, OsDisk};
use annals_testkit::rng::Rng;
use annals_testkit::sim::SimDisk;

const NAMES: [&str; 6] = ["a", "b", "c", "sub/a", "sub/b", "gone/a"];

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
        if self.open.is_empty() || rng.below(12) < 2 {
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
            9 => {
                // Within one directory; others are refused by the simulation.
                let to = name.with_file_name(["a", "b", "c"][usize::try_from(rng.below(3)).unwrap()]);
                said(self.disk.rename(&name, &to))
            }
            10 => said(self.disk.remove(&name)),
            _ => {
                match rng.below(4) {
                    0 => said(self.disk.create_dirs(&of(["sub", "sub/deep", "sub/deep/er", "sub/deep"]
                        [usize::try_from(rng.below(4)).unwrap()]))),
                    1 => said(
                        self.disk.sync_dir(&of(["", "sub", "gone"][usize::try_from(rng.below(3)).unwrap()])),
                    ),
                    _ => self.names(&of(["", "sub", "gone"][usize::try_from(rng.below(3)).unwrap()])),
                }
            }
        }
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
    let (mut steps, mut refusals) = (0, 0);
    for seed in 0..60 {
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
            refusals += u64::from(expected.starts_with("NotFound") || expected == "AlreadyExists");
        }
        for name in NAMES {
            let bytes = std::fs::read(temporary.path().join(name)).ok();
            assert_eq!(simulated.disk.contents(&simulated.root.join(name)), bytes, "seed {seed}, {name}");
        }
    }
    assert!(steps == 15_000 && refusals > 500, "{steps} steps, {refusals} refusals");
}
