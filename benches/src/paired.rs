//! Interleaved slices and what they say.

use std::time::{Duration, Instant};

/// Something that is timed call by call.
pub type Step<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Latencies of one strategy, by slice, in microseconds.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    slices: Vec<Vec<f64>>,
}

/// Runs the strategies in turn, `rounds` slices of `slice` each.
pub fn run(steps: &mut [Step<'_>], rounds: usize, slice: Duration) -> Vec<Row> {
    let mut rows: Vec<Row> = steps.iter().map(|(name, _)| Row { name, slices: Vec::new() }).collect();
    for _ in 0..rounds {
        for ((_, step), row) in steps.iter_mut().zip(&mut rows) {
            let (start, mut times) = (Instant::now(), Vec::new());
            while start.elapsed() < slice {
                let call = Instant::now();
                step();
                times.push(call.elapsed().as_secs_f64() * 1e6);
            }
            row.slices.push(times);
        }
    }
    rows
}

/// A share of sorted values.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share) as usize).copied().unwrap_or(0.0)
}

impl Row {
    /// A share of all latencies.
    pub fn latency(&self, share: f64) -> f64 {
        quantile(&mut self.slices.concat(), share)
    }

    /// Median over the slices of p99 / p50 within the slice.
    pub fn tail_ratio(&self) -> f64 {
        let ratio = |s: &Vec<f64>| quantile(&mut s.clone(), 0.99) / quantile(&mut s.clone(), 0.5);
        quantile(&mut self.slices.iter().map(ratio).collect::<Vec<_>>(), 0.5)
    }

    /// How many times as fast as `other`: the median over the slices of the paired p50s.
    pub fn speed_against(&self, other: &Self) -> f64 {
        let pairs = self.slices.iter().zip(&other.slices);
        let ratio =
            |(a, b): (&Vec<f64>, &Vec<f64>)| quantile(&mut b.clone(), 0.5) / quantile(&mut a.clone(), 0.5);
        quantile(&mut pairs.map(ratio).collect::<Vec<_>>(), 0.5)
    }
}
