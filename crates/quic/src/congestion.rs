//! The congestion window of a connection, which a controller of the crate `aqmlab_tcp` governs.
//!
//! Source: RFC 9002 §7 and Appendix B. Amounts are in bytes. The controller grows the window and
//! chooses the slow-start threshold, and this module keeps the recovery period. Differences from
//! Appendix B, each pinned by a test:
//!
//! - the slow-start threshold after a congestion event is the controller's;
//! - a controller that always sets the window (BBR) is not limited by this module.

use aqmlab_core::{BitRate, Duration, Instant};
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, RateSample, Signal, Window};

use crate::rtt::Rtt;

/// The initial window in bytes for large datagrams (RFC 9002 §7.2).
const INITIAL_BYTES: u64 = 14_720;
/// The number of datagrams in the initial window.
const INITIAL_DATAGRAMS: u64 = 10;
/// The number of datagrams in the minimum window (`kMinimumWindow`).
const MINIMUM_DATAGRAMS: u64 = 2;
/// The largest window, which no path of the model reaches.
const CLAMP: u64 = 1 << 40;

/// Returns the initial congestion window for datagrams of `mds` bytes.
pub const fn initial_window(mds: u32) -> u64 {
    let mds = mds as u64;
    let floor = if INITIAL_BYTES > 2 * mds { INITIAL_BYTES } else { 2 * mds };
    if INITIAL_DATAGRAMS * mds < floor { INITIAL_DATAGRAMS * mds } else { floor }
}

/// The delivery state when a packet was sent, from which its acknowledgement makes a rate sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited: bool,
}

/// A packet as the controller sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) sent: Instant,
    pub(crate) bytes: u64,
    /// The total of bytes sent, including this packet.
    pub(crate) end: u64,
    /// The data in flight, including this packet.
    flight: u64,
    pub(crate) mark: Mark,
}

/// The outcome of an acknowledgement.
pub(crate) struct Outcome<'a> {
    pub(crate) now: Instant,
    /// The newly acknowledged packets in flight.
    pub(crate) acked: &'a [Packet],
    /// The round-trip sample, if there is one.
    pub(crate) sample: Option<Duration>,
    /// The bytes declared lost.
    pub(crate) lost: u64,
    /// The start of the oldest outstanding packet, as a total of bytes sent.
    pub(crate) oldest: Option<u64>,
}

/// The congestion state of a connection.
pub(crate) struct Congest {
    cc: Box<dyn CongestionControl>,
    window: Window,
    pub(crate) in_flight: u64,
    /// The start of the current or last recovery period.
    recovery_start: Option<Instant>,
    in_recovery: bool,
    /// Whether one packet may exceed the window, at the start of a recovery period (§7.3.2).
    pub(crate) has_extra_packet: bool,
    /// Whether the window or pacing stopped the sender when it last sent.
    pub(crate) limited: bool,
    sent: u64,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost: u64,
    /// The value of `delivered` until which the application limits samples.
    app_limited: u64,
    last_sent: Option<Instant>,
}

impl Congest {
    pub(crate) fn new(cc: Box<dyn CongestionControl>, mds: u32) -> Self {
        let segment = u64::from(mds);
        Self {
            cc,
            window: Window {
                cwnd: initial_window(mds),
                ssthresh: u64::MAX,
                segment,
                mss: mds,
                clamp: CLAMP,
            },
            in_flight: 0,
            recovery_start: None,
            in_recovery: false,
            has_extra_packet: false,
            limited: false,
            sent: 0,
            // Zero stands for the absence of a sample.
            delivered: segment,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            lost: 0,
            app_limited: 0,
            last_sent: None,
        }
    }

    pub(crate) const fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.cc.gauges()
    }

    /// Returns the controller's own pacing rate.
    pub(crate) fn pacing_rate(&self) -> Option<BitRate> {
        self.cc.pacing_rate()
    }

    pub(crate) fn on_established(&mut self, now: Instant, rtt: &Rtt) {
        self.cc.on_established(&mut self.window, now, rtt.measured());
    }

    /// Records that a packet in flight is sent.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64) -> Packet {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
            if let Some(last) = self.last_sent {
                let app_limited = self.app_limited != 0;
                let event = CcEvent::TransmitStart { idle: now.since(last), app_limited };
                self.cc.on_event(&mut self.window, event, now);
            }
        }
        self.last_sent = Some(now);
        self.has_extra_packet = false;
        self.in_flight += bytes;
        self.sent += bytes;
        let mark = Mark {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited != 0,
        };
        Packet { sent: now, bytes, end: self.sent, flight: self.in_flight, mark }
    }

    /// Records that the sender has stopped, because the window or pacing limits it, or because
    /// there is no data.
    pub(crate) fn on_stopped(&mut self, limited: bool) {
        self.limited = limited;
        if !limited && self.in_flight < self.window.cwnd {
            self.app_limited = (self.delivered + self.in_flight).max(1);
        }
    }

    /// Processes the acknowledged packets (`OnPacketsAcked`), after the losses.
    pub(crate) fn on_ack(&mut self, outcome: &Outcome<'_>, rtt: &Rtt) {
        let all: u64 = outcome.acked.iter().map(|packet| packet.bytes).sum();
        self.in_flight = self.in_flight.saturating_sub(all);
        self.delivered += all;
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.leave_recovery(outcome);
        let rate = self.rate_sample(outcome, all);
        if all > 0 {
            self.delivered_at = outcome.now;
        }
        let newest = outcome.acked.iter().max_by_key(|packet| packet.end);
        let since = self.recovery_start;
        let counts = |packet: &&Packet| since.is_none_or(|start| packet.sent > start);
        let grown: u64 = outcome.acked.iter().filter(counts).map(|packet| packet.bytes).sum();
        let ack = Ack {
            now: outcome.now,
            acked: all,
            bytes: all,
            in_flight: self.in_flight,
            prior_in_flight: newest.map_or(0, |packet| packet.flight),
            until_departure: Duration::ZERO,
            rtt: outcome.sample,
            srtt: rtt.measured(),
            min_rtt: rtt.min(),
            cwnd_limited: self.limited,
            snd_una: outcome.oldest.unwrap_or(self.sent),
            snd_nxt: self.sent,
            rate,
        };
        if all > 0 {
            self.cc.on_sample(&mut self.window, &ack);
        }
        if self.cc.controls_cwnd() {
            self.cc.control(&mut self.window, &ack, self.in_recovery);
        } else if grown > 0 && !self.in_recovery {
            let ack = Ack { acked: grown, bytes: grown, ..ack };
            self.cc.on_ack(&mut self.window, &ack);
        }
    }

    /// Ends the recovery period when a packet that was sent during it is acknowledged (§7.3.2).
    fn leave_recovery(&mut self, outcome: &Outcome<'_>) {
        let Some(start) = self.recovery_start.filter(|_| self.in_recovery) else { return };
        if outcome.acked.iter().any(|packet| packet.sent > start) {
            self.in_recovery = false;
            self.cc.on_event(&mut self.window, CcEvent::RecoveryLeft, outcome.now);
            self.cc.on_event(&mut self.window, CcEvent::Opened, outcome.now);
        }
    }

    /// Returns the delivery-rate sample of an acknowledgement.
    fn rate_sample(&mut self, outcome: &Outcome<'_>, all: u64) -> RateSample {
        let mut rate = RateSample {
            total_delivered: self.delivered,
            losses: outcome.lost,
            total_lost: self.lost,
            acked_sacked: all,
            ..RateSample::default()
        };
        let Some(newest) = outcome.acked.iter().max_by_key(|packet| packet.end) else {
            return rate;
        };
        let span = newest.sent.since(newest.mark.first_sent);
        self.first_sent = newest.sent;
        rate.prior_delivered = newest.mark.delivered;
        rate.app_limited = newest.mark.app_limited;
        rate.delivered = self.delivered - newest.mark.delivered;
        rate.interval = span.max(outcome.now.since(newest.mark.delivered_at));
        rate
    }

    /// Removes a lost packet from the flight.
    pub(crate) fn on_lost(&mut self, packet: &Packet) {
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
        self.lost += packet.bytes;
    }

    /// Removes a packet whose keys are discarded (`RemoveFromBytesInFlight`).
    pub(crate) fn forget(&mut self, packet: &Packet) {
        self.in_flight = self.in_flight.saturating_sub(packet.bytes);
    }

    /// Processes a loss or a mark of a packet sent at `sent` (`OnCongestionEvent`). `in_flight` is
    /// the flight before the losses. Returns whether a recovery period begins.
    pub(crate) fn on_congestion(
        &mut self,
        now: Instant,
        sent: Instant,
        signal: Signal,
        in_flight: u64,
        rtt: &Rtt,
    ) -> bool {
        if self.recovery_start.is_some_and(|start| sent <= start) {
            return false;
        }
        (self.recovery_start, self.in_recovery) = (Some(now), true);
        self.has_extra_packet = true;
        let congestion = Congestion { now, in_flight, signal, srtt: rtt.measured() };
        self.window.ssthresh = self.cc.ssthresh(&self.window, &congestion);
        if !self.cc.controls_cwnd() {
            let least = MINIMUM_DATAGRAMS * self.window.segment;
            self.window.cwnd = self.window.ssthresh.max(least);
        }
        let event = match signal {
            Signal::EcnEcho => CcEvent::CwrEntered,
            Signal::Loss | Signal::Rto => CcEvent::RecoveryEntered,
        };
        self.cc.on_event(&mut self.window, event, now);
        true
    }

    /// Handles persistent congestion (§7.6.2).
    pub(crate) fn on_persistent_congestion(&mut self, now: Instant) {
        (self.recovery_start, self.in_recovery) = (None, false);
        self.window.cwnd = MINIMUM_DATAGRAMS * self.window.segment;
        self.cc.on_event(&mut self.window, CcEvent::RtoEntered, now);
    }
}
