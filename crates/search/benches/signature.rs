//! How fast signatures are built and transposed: `cargo bench -p annals-search --bench signature`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod support;

use annals_search::signature::Signature;
use std::hint::black_box;

const BLOCK_BYTES: usize = 32 << 10;

fn main() {
    let log = support::log(64 << 20);
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < log.len() {
        let end = (start + BLOCK_BYTES).min(log.len());
        let end = end + memchr::memchr(b'\n', &log[end..]).map_or(0, |at| at + 1);
        blocks.push(&log[start..end]);
        start = end;
    }
    let sign = |block: &&[u8]| {
        let mut signature = Signature::new();
        signature.add(block);
        signature
    };
    let time = support::median(|| blocks.iter().for_each(|block| drop(black_box(sign(block)))));
    println!("build: {:.0} MB/s", log.len() as f64 / time / 1e6);
    let signatures: Vec<_> = blocks.iter().map(sign).collect();
    let bits: u32 = signatures.iter().flat_map(|s| s.as_bytes()).map(|b| b.count_ones()).sum();
    println!("fill: {:.3}", f64::from(bits) / (signatures.len() * 32768) as f64);
}
