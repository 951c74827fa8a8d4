//! The estimator of the round-trip time in ticks, and the timeouts computed from it.
//!
//! Sources: FreeBSD 10.4 `sys/netinet/tcp_input.c` (`tcp_xmit_timer`), `tcp_timer.c`
//! (`tcp_timer_rexmt`), `tcp_output.c` (`tcp_setpersist`), `tcp_timer.h`.

use aqmlab_core::{Duration, TcpHeader};

use super::FreeBsd;
use crate::Profile;
use crate::common::clock::Clock;
use crate::common::rtt::Rtt;
use crate::tcb::Tcb;

/// The bounds of the persist timer (`TCPTV_PERSMIN`, `TCPTV_PERSMAX`).
const PERSIST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// The estimator of one connection, which uses integers in fractions of a tick.
#[derive(Debug)]
pub(super) struct RttEstimator {
    /// 32 times the smoothed round-trip time; zero before the first sample (`t_srtt`).
    srtt: i64,
    /// 16 times the variation of the round-trip time (`t_rttvar`).
    rttvar: i64,
    initial: u64,
    minimum: u64,
    maximum: u64,
    slop: u64,
}

impl RttEstimator {
    #[expect(clippy::cast_possible_wrap, reason = "no timeout takes 292 years")]
    pub(super) fn new(profile: &Profile) -> Self {
        let tick = profile.tick.as_nanos().max(1);
        let ticks = |span: Duration| span.as_nanos() / tick;
        let initial = ticks(profile.rto_initial);
        Self {
            srtt: 0,
            rttvar: (initial * 4) as i64,
            initial,
            minimum: ticks(profile.rto_min).max(1),
            maximum: ticks(profile.rto_max).max(1),
            slop: ticks(profile.rto_slop),
        }
    }

    /// Adds a sample in ticks, and computes the timeout. The sample is usually one tick too long.
    #[expect(clippy::cast_possible_wrap, reason = "no round trip takes 292 years")]
    pub(super) fn sample(&mut self, rtt: &mut Rtt, ticks: u64, clock: &Clock) {
        self.estimate(ticks as i64);
        self.publish(rtt, clock);
        let least = self.minimum.max(ticks + 2);
        rtt.rto = clock.span(self.range(self.value(), least));
    }

    fn estimate(&mut self, ticks: i64) {
        if self.srtt == 0 {
            self.srtt = ticks << 5;
            self.rttvar = ticks << 3;
            return;
        }
        let error = ((ticks - 1) << 2) - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
    }

    /// Copies the estimates into the structure that both stacks share.
    fn publish(&self, rtt: &mut Rtt, clock: &Clock) {
        let tick = clock.tick().as_nanos();
        rtt.srtt8 = self.srtt as u64 * tick / 4;
        rtt.rttvar4 = self.rttvar as u64 * tick / 4;
    }

    /// Sets the timeout after `shift` consecutive timeouts.
    pub(super) fn back_off(&self, rtt: &mut Rtt, shift: u32, clock: &Clock) {
        let span = self.value() << shift.min(9);
        rtt.rto = clock.span(self.range(span, self.minimum));
    }

    /// Adds a sixteenth of the smoothed round-trip time to the variation, and sets the smoothed
    /// round-trip time to zero, after several consecutive timeouts. The timeout that is already set
    /// does not change.
    pub(super) fn distrust(&mut self, rtt: &mut Rtt, clock: &Clock) {
        self.rttvar += self.srtt >> 5;
        self.srtt = 0;
        self.publish(rtt, clock);
    }

    /// Sets the timeout of a SYN after `shift` timeouts. The timeout grows only from the fifth
    /// timeout on.
    pub(super) fn back_off_syn(&self, rtt: &mut Rtt, shift: u32, clock: &Clock) {
        let span = self.initial << shift.saturating_sub(4).min(6);
        rtt.rto = clock.span(self.range(span, self.minimum));
    }

    /// Returns the wait before a probe of a closed window, after `shift` probes (`tcp_setpersist`).
    pub(super) fn persist(&self, shift: u32, clock: &Clock) -> Duration {
        let base = (((self.srtt >> 2) + self.rttvar) >> 1) as u64;
        let wait = clock.span((base << shift.min(9)) + self.slop);
        wait.max(PERSIST.0).min(PERSIST.1)
    }

    /// Returns the timeout in ticks, before the slop and the maximum (`TCP_REXMTVAL`).
    pub(super) fn value(&self) -> u64 {
        self.minimum.max((((self.srtt >> 3) + self.rttvar) >> 2) as u64)
    }

    /// Adds the slop to a timeout in ticks, and limits the sum to between `least` and the maximum
    /// (`TCPT_RANGESET`).
    fn range(&self, span: u64, least: u64) -> u64 {
        (span + self.slop).max(least).min(self.maximum)
    }
}

impl FreeBsd {
    /// Returns the round-trip time of an echoed timestamp in ticks, or `None` without an echo or
    /// for an echo from the future.
    pub(super) fn echoed_ticks(tcb: &Tcb, header: &TcpHeader) -> Option<u64> {
        let millis = tcb.clock.timestamp().wrapping_sub(header.ts_ecr);
        let echoes = header.timestamps && header.ts_ecr != 0 && millis < 1 << 31;
        echoes.then(|| tcb.clock.within(Duration::from_millis(u64::from(millis))))
    }

    /// Takes a round-trip sample from the echoed timestamp or, without an echo, from the timed
    /// segment. Returns the sample, at least one tick, or `None` if there is none.
    #[expect(
        clippy::inline_always,
        reason = "most acknowledgements pass; a call costs 0.2 % of a run"
    )]
    #[inline(always)]
    pub(super) fn measure_rtt(&mut self, tcb: &mut Tcb, header: &TcpHeader) -> Option<Duration> {
        let (ticks, more) = if let Some(ticks) = Self::echoed_ticks(tcb, header) {
            (ticks, 1)
        } else {
            let (sent, _) = self.timed.filter(|(_, start)| header.ack > *start)?;
            (tcb.clock.jiffies() - sent, 0)
        };
        self.timed = None;
        self.add_sample(tcb, ticks, more);
        Some(tcb.clock.span(ticks.max(1)))
    }

    /// Adds `ticks` to the minimum filter, and `ticks` plus `more` to the estimator. Resets the
    /// number of consecutive timeouts.
    #[expect(
        clippy::inline_always,
        reason = "every acknowledgement passes; a call costs 0.1 % of a run"
    )]
    #[inline(always)]
    pub(super) fn add_sample(&mut self, tcb: &mut Tcb, ticks: u64, more: u64) {
        let span = tcb.clock.span(ticks);
        tcb.rtt.sample_min(span.max(tcb.clock.tick()), tcb.clock.now);
        self.rtt.sample(&mut tcb.rtt, ticks + more, &tcb.clock);
        self.shift = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::clock::Expiry;

    /// Tests the timeout after one sample of 100 ms, which counts as 101 ticks.
    #[test]
    fn c78_the_timeout_after_one_sample_of_100_ms() {
        let profile = Profile::freebsd();
        let clock = Clock::new(profile.tick, Expiry::Callout);
        let (mut rtt, mut estimator) = (Rtt::new(&profile), RttEstimator::new(&profile));
        assert_eq!(rtt.rto, Duration::from_millis(3_000));
        estimator.sample(&mut rtt, clock.within(Duration::from_millis(100)) + 1, &clock);
        assert_eq!(rtt.rto, Duration::from_millis(503));
    }
}
