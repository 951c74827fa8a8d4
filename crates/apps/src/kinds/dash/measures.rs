//! The quality as a viewer experiences it: rates, switches, stalls, and a single number for all of
//! them.
//!
//! Source: the achieved rate (AR) and representation rate (RR) of Kua, Nguyen, Armitage and Branch
//! (2017). The linear quality of experience follows Yin et al. (2015), in the form of Pensieve
//! (2017). This quality is a mean over segments: the rate, minus the absolute change of the rate,
//! minus μ times the duration of stalls and startup. The rate is in Mbit/s, and μ is the highest
//! rate of the Big Buck Bunny ladder.

use aqmlab_core::Duration;

use super::MOST_STARTUP_MS;
use super::player::Player;
use crate::quantiles::{Quantiles, Summary};

const STALL_WEIGHT: f64 = 4.22;

/// The metrics over the segments of a session.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    achieved: Quantiles,
    represented: Quantiles,
    lines: Quantiles,
    switches: u64,
    /// The sum of |R(k + 1) − R(k)|, in Mbit/s.
    amplitude: f64,
    last: Option<f64>,
    pub(crate) abandoned: u64,
    pub(crate) failed: u64,
}

impl Measures {
    /// Adds a segment: its rate and its achieved rate, in Mbit/s.
    pub(crate) fn segment(&mut self, rr_mbit: f64, ar_mbit: f64) {
        self.achieved.add(ar_mbit);
        self.represented.add(rr_mbit);
        if let Some(last) = self.last.replace(rr_mbit) {
            let change = (rr_mbit - last).abs();
            self.switches += u64::from(change > 0.0);
            self.amplitude += change;
        }
    }

    /// Adds the picture height of a segment.
    pub(crate) fn picture(&mut self, lines: u16) {
        self.lines.add(f64::from(lines));
    }

    /// Returns the time to the first picture in milliseconds. Before the first picture, returns the
    /// waiting time so far if it exceeds [`MOST_STARTUP_MS`], and `None` otherwise.
    fn startup_ms(player: &Player) -> Option<f64> {
        let began = player.startup().map(|span| span.as_secs_f64() * 1e3);
        let waiting = player.asked_ago().as_secs_f64() * 1e3;
        began.or(Some(waiting).filter(|&ms| ms > MOST_STARTUP_MS))
    }

    /// Returns the linear quality of experience per segment; `None` before the first picture or the
    /// first complete segment.
    fn quality(&self, player: &Player) -> Option<f64> {
        let segments = self.represented.count() as f64;
        let waited = player.stalls().1 + player.startup()?;
        let bother = self.amplitude + STALL_WEIGHT * waited.as_secs_f64();
        Some(self.represented.mean()? - bother / segments)
    }

    /// Returns the metrics of the session.
    pub(crate) fn report(&self, player: &Player) -> Summary {
        let (stalls, stalled) = player.stalls();
        let mut out = vec![
            ("segments_count", self.represented.count() as f64),
            ("switches_count", self.switches as f64),
            ("switched_mbit", self.amplitude),
            ("abandoned_count", self.abandoned as f64),
            ("failed_count", self.failed as f64),
            ("stalls_count", stalls as f64),
            ("stalled_s", stalled.as_secs_f64()),
            ("played_s", player.played().as_secs_f64()),
        ];
        let watched = player.played() + stalled;
        if watched > Duration::ZERO {
            let share = stalled.as_secs_f64() / watched.as_secs_f64();
            out.push(("stalled_percent", 100.0 * share));
        }
        for (name, value) in [
            ("startup_ms", Self::startup_ms(player)),
            ("picture_mean_lines", self.lines.mean()),
            ("startup_delay_s", player.startup().map(Duration::as_secs_f64)),
            ("rr_mean_mbit", self.represented.mean()),
            ("rr_median_mbit", self.represented.at(0.5)),
            ("ar_mean_mbit", self.achieved.mean()),
            ("ar_median_mbit", self.achieved.at(0.5)),
            ("qoe_linear", self.quality(player)),
        ] {
            out.extend(value.map(|value| (name, value)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Instant;

    use super::*;
    use crate::testing::{close, known};

    #[test]
    fn quality_is_rate_less_switching_less_waiting() {
        let mut measures = Measures::default();
        for mbit in [1.0, 2.0, 2.0, 1.5] {
            measures.segment(mbit, 9.0);
        }
        let mut player = Player::new(Instant::ZERO, Duration::ZERO);
        // The session has a startup of 1 s and, 1.5 s later, a stall of 2 s.
        player.append(Duration::from_secs(2), Instant::from_millis(1_000));
        player.append(Duration::from_secs(2), Instant::from_millis(4_500));
        let out = measures.report(&player);
        close(known(&out, "qoe_linear"), (6.5 - 1.5 - 4.22 * 3.0) / 4.0, 1e-9);
        close(known(&out, "rr_median_mbit"), 1.5, 1e-9);
        close(known(&out, "switches_count"), 2.0, 0.0);
        close(known(&out, "stalled_percent"), 100.0 * 2.0 / 3.5, 1e-9);
    }
}
