//! Google congestion control: the target rate of a sender, from the receiver's reports.
//!
//! Source: libwebrtc (2025-06) `goog_cc_network_control.cc` and `delay_based_bwe.cc`. Each part has
//! its own module, such as the groups of packets, the trend of the delay, the rate control, the
//! measured rate, the limits from losses, and the probes.
//!
//! Differences: the round-trip time is the time from sending a packet to its report, minus the
//! receiver's wait before the report. libwebrtc uses the round-trip time of RTCP instead. Network
//! estimates by the receiver, off by default, are left out.

use aqmlab_core::{Duration, Instant};

use self::acked::AckedRate;
use self::aimd::Aimd;
use self::alr::Alr;
use self::congestion_window_pushback::CongestionWindowPushback;
use self::history::{Arrival, History, Sent};
use self::inter_arrival_delta::InterArrivalDelta;
use self::loss::LossLimit;
use self::loss_based::LossState;
use self::probe_rate::ProbeRates;
pub(crate) use self::probes::Cluster;
use self::probes::Probes;
use self::trendline::{Trendline, Usage};
use super::feedback::Report;

mod acked;
mod aimd;
mod alr;
mod capacity;
mod congestion_window_pushback;
mod history;
mod inter_arrival_delta;
mod loss;
mod loss_based;
mod probe_rate;
mod probes;
#[cfg(test)]
mod tests;
mod trendline;

/// The time between calls of [`Gcc::process`].
pub(crate) const PROCESS_EVERY: Duration = Duration::from_millis(25);
/// The pacing rate, as a multiple of the target rate.
const PACING: f64 = 2.5;
/// The time without reports after which the trend restarts.
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
/// The minimum result of a probe, as a proportion of the rate at which packets arrive. The minimum
/// does not exceed the rate before the probe.
const PROBE_DROP: f64 = 0.85;

/// The first target of the controller and its limits, in bit/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The first target rate.
    pub(crate) start: f64,
    /// The minimum target rate.
    pub(crate) floor: f64,
    /// The maximum rate that the streams can use.
    pub(crate) allocated: f64,
}

/// The controller of a sender.
#[derive(Debug)]
pub(crate) struct Gcc {
    history: History,
    inter_arrival: InterArrivalDelta,
    trend: Trendline,
    aimd: Aimd,
    acked: AckedRate,
    limit: LossLimit,
    probes: Probes,
    probe_rates: ProbeRates,
    alr: Alr,
    pushback: CongestionWindowPushback,
    was_limited: bool,
    last_report: Option<Instant>,
    rtt: Option<Duration>,
    target_bps: f64,
}

impl Gcc {
    /// Returns a controller at its start rate.
    pub(crate) fn new(limits: Limits) -> Self {
        let Limits { start: start_bps, floor: floor_bps, allocated: allocated_bps } = limits;
        Self {
            history: History::default(),
            inter_arrival: InterArrivalDelta::default(),
            trend: Trendline::default(),
            aimd: Aimd::new(start_bps, floor_bps),
            acked: AckedRate::default(),
            limit: LossLimit::new(start_bps, floor_bps),
            probes: Probes::new(start_bps, allocated_bps),
            probe_rates: ProbeRates::default(),
            alr: Alr::new(start_bps),
            pushback: CongestionWindowPushback::default(),
            was_limited: false,
            last_report: None,
            rtt: None,
            target_bps: start_bps.max(floor_bps),
        }
    }

    /// Chooses the first probes.
    pub(crate) fn start_probing(&mut self, now: Instant) {
        self.probes.start(now);
    }

    /// Removes and returns the probes to send.
    pub(crate) fn take_probes(&mut self) -> Vec<Cluster> {
        self.probes.take()
    }

    /// Returns the target rate in bit/s, including IP headers.
    pub(crate) const fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// Returns the rate of the pacer in bit/s, including IP headers.
    pub(crate) fn pacing_bps(&self) -> f64 {
        PACING * self.target_bps
    }

    /// Returns the rate in bit/s up to which the pacer adds padding.
    pub(crate) fn padding_bps(&self) -> f64 {
        if self.limit.state() == LossState::Increasing { self.target_bps } else { 0.0 }
    }

    /// Returns the proportion of lost packets in the last loss report, from 0 to 1.
    pub(crate) const fn loss(&self) -> f64 {
        self.limit.loss()
    }

    /// Returns the proportion of the target that the encoder leaves out because of the congestion
    /// window, from 0 to 1.
    pub(crate) fn excess(&self) -> f64 {
        self.pushback.excess(self.target_bps)
    }

    /// Returns the round-trip time, once it is known.
    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Records that the next packet was sent, with `bytes` including its headers. Returns its
    /// number.
    pub(crate) fn sent(&mut self, bytes: u32, cluster: Option<Cluster>, now: Instant) -> u64 {
        self.alr.sent(bytes, now);
        self.limit.sent(now);
        self.pushback.reported(self.history.expire(now));
        self.pushback.sent(bytes);
        self.pushback.adapt();
        self.history.add(Sent { at: now, bytes, cluster })
    }

    /// Adapts the limits, the probes, the congestion window and the target to the passage of time.
    pub(crate) fn process(&mut self, now: Instant) {
        self.limit.process(now);
        self.probes.process(now);
        self.pushback.resize(self.target_bps);
        self.retarget(now);
    }

    /// Processes a report of the receiver.
    pub(crate) fn report(&mut self, report: &Report, now: Instant) {
        self.pushback.reported(self.history.settle(report));
        let (arrivals, outcomes) = self.history.read(report);
        let lost = (outcomes.len() - arrivals.len()) as u64;
        self.limit.count(lost, outcomes.len() as u64, now);
        let Some(newest) = arrivals.last().map(|arrival| arrival.at) else { return };
        let wait_free = |one: &Arrival| now.since(one.sent.at).saturating_sub(newest.since(one.at));
        if let Some(first) = arrivals.iter().map(|one| one.sent.at).min() {
            self.pushback.add_rtt(now.since(first));
        }
        if let Some(rtt) = arrivals.iter().map(wait_free).min() {
            self.rtt = Some(rtt);
            self.aimd.set_rtt(rtt);
            self.limit.set_rtt(rtt, now);
        }
        self.note_limitation(now);
        let probed = self.measure(&arrivals);
        let recovered = self.follow_trend(&arrivals, now);
        self.adapt(probed, now);
        self.limit.learn(&outcomes, self.was_limited, now);
        self.retarget(now);
        if recovered {
            self.probes.recovered(self.was_limited, now);
        }
        self.pushback.resize(self.target_bps);
    }

    fn note_limitation(&mut self, now: Instant) {
        let is_limited = self.alr.is_limited();
        if self.was_limited && !is_limited {
            self.probes.limited_until(now);
        }
        self.was_limited = is_limited;
    }

    /// Measures the rate of the arrivals. If a probe is complete, returns its rate in bit/s, raised
    /// to the minimum of [`PROBE_DROP`].
    fn measure(&mut self, arrivals: &[Arrival]) -> Option<f64> {
        let mut probed = None;
        for &Arrival { sent, at } in arrivals {
            self.acked.add(sent.at, at, sent.bytes);
            if let Some(cluster) = sent.cluster {
                probed = self.probe_rates.add(cluster, sent.at, at, sent.bytes).or(probed);
            }
        }
        self.acked.expire();
        let acked = self.acked.bps();
        if let Some(bps) = acked {
            self.limit.set_acked(bps);
        }
        let least = acked.map_or(0.0, |acked| self.aimd.bps().min(PROBE_DROP * acked));
        probed.map(|bps| bps.max(least))
    }

    /// Updates the trend of the delay. Returns whether queues have just finished emptying.
    fn follow_trend(&mut self, arrivals: &[Arrival], now: Instant) -> bool {
        if self.last_report.is_none_or(|at| now.since(at) > STREAM_TIMEOUT) {
            self.inter_arrival = InterArrivalDelta::default();
            self.trend = Trendline::default();
        }
        self.last_report = Some(now);
        let mut recovered = false;
        for arrival in arrivals {
            let before = self.trend.usage();
            if let Some(spacing) = self.inter_arrival.add(arrival.sent.at, arrival.at, now) {
                self.trend.update(spacing, arrival.at);
            }
            recovered |= before == Usage::Under && self.trend.usage() == Usage::Normal;
        }
        recovered && self.trend.usage() != Usage::Over
    }

    fn adapt(&mut self, probed: Option<f64>, now: Instant) {
        let (usage, acked) = (self.trend.usage(), self.acked.bps());
        match (usage, acked, probed) {
            (Usage::Over, Some(acked_bps), _) => {
                if !self.aimd.may_decrease(now, acked_bps) {
                    return;
                }
                self.aimd.update(usage, acked, now);
            }
            (Usage::Over, None, _) => {
                if !self.aimd.halve(now) {
                    return;
                }
            }
            (_, _, Some(bps)) => {
                self.aimd.set(bps, now);
                self.limit.probed(self.aimd.bps());
            }
            _ => self.aimd.update(usage, acked, now),
        }
        self.limit.set_delay_limit(self.aimd.bps());
    }

    fn retarget(&mut self, now: Instant) {
        let bps = self.limit.bps();
        self.target_bps = bps;
        self.alr.set_target(bps);
        self.pushback.adapt();
        let may_probe = self.trend.usage() == Usage::Normal
            && !self.limit.is_rtt_long()
            && self.limit.state() == LossState::Delay;
        self.probes.estimated(bps, may_probe, now);
    }
}
