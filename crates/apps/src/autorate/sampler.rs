//! The sampler of the achieved rates.

use super::settings::Settings;

/// The sampler of the achieved rates (`monitor_achieved_rates`).
///
/// The program forks it at the start, so its interval follows from the base rates. The interval is
/// at least ten times the transmission time of a full packet in both directions. The sampler
/// divides by the interval, but sleeps for tenths of a second. If the interval is not a whole
/// number of tenths, its rates are too low or too high.
///
/// Difference: the sampler takes no time, so it reads the counters exactly once per
/// [`period`](Self::period). The program sleeps after it has read them.
#[derive(Debug)]
pub struct Sampler {
    /// The divisor of the next sample. The first sample has the interval of the settings.
    divisor: i64,
    interval: i64,
    last: [u64; 2],
}

impl Sampler {
    /// Returns a sampler that starts when the counters have the values `bytes`.
    pub fn new(settings: &Settings, bytes: [u64; 2]) -> Self {
        let packets = [0, 1].map(|at| 1_000 * settings.packet_bits[at] / settings.range(at).base);
        let interval = settings.sample_interval.max(10 * (packets[0] + packets[1]));
        Self { divisor: settings.sample_interval, interval, last: bytes }
    }

    /// Returns the rates in kbit/s since the last sample. `bytes` are the values of the counters.
    pub fn sample(&mut self, bytes: [u64; 2]) -> [i64; 2] {
        let grown = [0, 1].map(|at| bytes[at] as i64 - self.last[at] as i64);
        let rates = grown.map(|bytes| (8_000 * bytes / self.divisor).max(0));
        (self.last, self.divisor) = (bytes, self.interval);
        rates
    }

    /// Returns the time between two samples in microseconds. The program prints the rest of the
    /// interval in tenths of a second. The sample itself takes some time, so a value halfway
    /// between two tenths is rounded down.
    pub const fn period(&self) -> i64 {
        (self.interval + 49_999) / 100_000 * 100_000
    }
}
