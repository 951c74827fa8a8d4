//! The model of the path, the mode that follows from it, and the cycle of pacing gains.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_bbr.c` (`bbr_update_model` and its callees). The functions are
//! in the order of the source.

use aqmlab_core::Instant;

use super::aggregation::WINDOW_ROUNDS;
use super::policer::{Observation, Outcome};
use super::shared::{FULL_BW_ROUNDS, FULL_BW_THRESH, PROBE_RTT_MICROS};
use super::{
    BW_UNIT, Bbr, CWND_GAIN, CWND_MIN_TARGET, CYCLE, CYCLE_RANDOM, DRAIN_GAIN, HIGH_GAIN, Mode,
    UNIT,
};
use crate::cc::{Ack, Window};

/// The length of the bandwidth filter in rounds: a gain cycle plus two.
const BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// The length in seconds of the minimum filter for round-trip times.
const MIN_RTT_SECONDS: u64 = 10;

impl Bbr {
    pub(super) fn update_model(&mut self, window: &mut Window, ack: &Ack, app_limited: bool) {
        self.update_bandwidth(ack, app_limited);
        self.update_aggregation(window, ack);
        self.update_cycle(ack);
        self.check_full_pipe(app_limited);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
    }

    /// Returns whether [`Mode::ProbeRtt`] limited the sample of a segment that was sent when the
    /// `delivered` count was `prior_delivered`.
    pub(super) fn was_limited(&self, prior_delivered: u64) -> bool {
        self.limited.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered))
    }

    fn update_bandwidth(&mut self, ack: &Ack, app_limited: bool) {
        self.round_start = false;
        let micros = ack.rate.interval.as_micros();
        if micros == 0 {
            return;
        }
        if ack.rate.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(ack.rate.losses, app_limited);
        let bw = ack.rate.delivered.saturating_mul(BW_UNIT) / micros;
        // A sample limited by the application counts only if it is at least the maximum so far.
        if !app_limited || bw >= self.bw.get() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }

    fn observation(&self, losses: u64, app_limited: bool) -> Observation {
        Observation {
            at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            losses,
            app_limited,
            round_start: self.round_start,
            cycling: self.mode == Mode::ProbeBw,
        }
    }

    pub(super) fn reset_policer(&mut self) {
        let observation = self.observation(0, false);
        self.policer.reset(&observation);
    }

    pub(super) fn sample_policer(&mut self, losses: u64, app_limited: bool) {
        let observation = self.observation(losses, app_limited);
        match self.policer.sample(&observation, self.units) {
            Outcome::AsBefore => {}
            Outcome::Policed => self.pacing_gain = UNIT,
            Outcome::LookAgain => self.begin_cycle(),
        }
    }

    fn update_aggregation(&mut self, window: &Window, ack: &Ack) {
        if ack.rate.acked_sacked == 0 || ack.rate.interval.as_micros() == 0 {
            return;
        }
        if self.round_start {
            self.aggregation.next_round(WINDOW_ROUNDS);
        }
        let bw = self.bandwidth();
        self.aggregation.update(self.delivered_at, ack.rate.acked_sacked, bw, window.cwnd);
    }

    /// Enters [`Mode::ProbeBw`] at a random phase other than phase 1, which drains the queue.
    fn begin_cycle(&mut self) {
        self.mode = Mode::ProbeBw;
        self.cycle_index = CYCLE.len() - 1 - self.rng.below(CYCLE_RANDOM) as usize;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_start = self.delivered_at;
    }

    fn update_cycle(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack) {
            self.next_phase();
        }
    }

    fn phase_is_over(&self, ack: &Ack) -> bool {
        let lasted = self.delivered_at.since(self.cycle_start).as_micros();
        let full_length = self.min_rtt.is_some_and(|min_rtt| lasted > min_rtt);
        // This is the data in flight before this acknowledgement.
        let in_flight = ack.in_flight + ack.rate.acked_sacked + ack.rate.losses;
        match self.pacing_gain {
            // After a round trip, the phase also waits for a loss or for enough data in flight.
            gain if gain > UNIT => {
                let target = self.inflight(self.bw.get(), gain);
                full_length && (ack.rate.losses > 0 || self.at_departure(in_flight, ack) >= target)
            }
            gain if gain < UNIT => {
                let target = self.inflight(self.bw.get(), UNIT);
                full_length || self.at_departure(in_flight, ack) <= target
            }
            _ => full_length,
        }
    }

    fn check_full_pipe(&mut self, app_limited: bool) {
        if self.full_bw_reached || !self.round_start || app_limited {
            return;
        }
        let bw = self.bw.get();
        if bw >= self.full_bw * FULL_BW_THRESH / UNIT {
            self.full_bw = bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, ack: &Ack) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(self.bw.get(), UNIT);
        }
        if self.mode != Mode::Drain {
            return;
        }
        if self.at_departure(ack.in_flight, ack) <= self.inflight(self.bw.get(), UNIT) {
            self.begin_cycle();
        }
    }

    /// Returns the amount of data in the network when the next burst departs. `in_flight` is the
    /// present amount. While the rate is above the bandwidth, the result includes that burst
    /// (`bbr_packets_in_net_at_edt`).
    fn at_departure(&self, in_flight: u64, ack: &Ack) -> u64 {
        let departing = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let micros = ack.until_departure.as_micros();
        let delivered = self.bandwidth().saturating_mul(micros) / BW_UNIT;
        (in_flight + departing).saturating_sub(delivered)
    }

    fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let now = self.clock.at(ack.now);
        let expired = now > self.min_rtt_stamp + MIN_RTT_SECONDS * self.clock.hz();
        if let Some(rtt) = ack.rtt.map(aqmlab_core::Duration::as_micros) {
            let less = self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt);
            if less || (expired && !maybe_delayed(window, ack)) {
                self.min_rtt = Some(rtt);
                self.min_rtt_stamp = now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window.cwnd);
            self.probe_rtt_done = None;
            self.limited = Some((self.delivered, self.delivered));
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, ack);
        }
        if ack.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Ends [`Mode::ProbeRtt`] when at most four segments have been in flight for 200 ms and for a
    /// round trip (`bbr_update_min_rtt`).
    fn probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        if let Some((_, to)) = &mut self.limited {
            *to = self.delivered + ack.in_flight;
        }
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(window, ack.now);
            }
        } else if ack.in_flight <= CWND_MIN_TARGET * window.segment {
            let span = self.clock.covering_micros(PROBE_RTT_MICROS);
            self.probe_rtt_done = Some(self.clock.at(ack.now) + span);
            self.probe_rtt_round_done = false;
            self.next_round_delivered = self.delivered;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Instant) {
        let now = self.clock.at(now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd).min(window.clamp);
        if self.full_bw_reached {
            self.begin_cycle();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_index], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// Returns whether the sample may include the delay of an acknowledgement. This is possible if a
/// single small segment was acknowledged and nothing else was delivered since the segment was sent
/// (`FLAG_ACK_MAYBE_DELAYED`).
fn maybe_delayed(window: &Window, ack: &Ack) -> bool {
    ack.bytes < u64::from(window.mss)
        && ack.rate.acked_sacked <= window.segment
        && ack.rate.prior_delivered + ack.rate.acked_sacked == ack.rate.total_delivered
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Duration;

    use super::*;

    /// Tests the data in the network at the next departure (`bbr_packets_in_net_at_edt`), at one
    /// segment per millisecond. Data delivered before the departure has left the network, and the
    /// departing burst of a probe has entered it.
    #[test]
    fn data_delivered_before_the_departure_has_left_the_network() {
        let mut bbr = Bbr::new(1, 250);
        (bbr.units.mss, bbr.pacing_rate) = (1_448, 1_448_000);
        bbr.bw.update(BW_ROUNDS, 0, BW_UNIT / 1_000 + 1);
        for (gain, millis, want) in
            [(UNIT, 0, 40), (UNIT, 3, 37), (UNIT * 5 / 4, 3, 39), (UNIT * 3 / 4, 50, 0)]
        {
            bbr.pacing_gain = gain;
            let ack = Ack { until_departure: Duration::from_millis(millis), ..Ack::default() };
            assert_eq!(bbr.at_departure(40, &ack), want, "gain {gain}, {millis} ms");
        }
    }
}
