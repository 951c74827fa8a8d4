//! The congestion window of a connection, which a controller of the crate `aqmlab_tcp` governs.
//!
//! Source: RFC 9002 §7 and Appendix B. Amounts are in bytes. The controller grows the window and
//! chooses the slow-start threshold, and this module keeps the recovery period. §7.8 advises
//! against increasing an underutilized window. By §7.8, a window is underutilized if the data in
//! flight are less than the window and pacing does not limit sending. This module decides as
//! Chromium does (`IsCwndLimited` in `tcp_cubic_sender_bytes.cc`), which counts more windows as
//! used. The model was not compared with a run of Chromium. Differences from Appendix B of RFC
//! 9002, each pinned by a test:
//!
//! - the congestion controller chooses the slow-start threshold after a congestion event; in
//!   Appendix B the threshold is the window times `kLossReductionFactor`;
//! - this module never reduces the window if the controller sets the window itself at all times
//!   (BBR). Persistent congestion (RFC 9002 §7.6.2) then has no effect, as in Chromium
//!   (`BbrSender`) and quinn-proto (`Bbr`), and is not counted.

use aqmlab_core::{BitRate, Duration, Instant};
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};
use aqmlab_tcp::{DeliveryRate, PendingSample, Sent};

use crate::recovery::SentPacket;
use crate::rtt::Rtt;

/// The initial window in bytes for large datagrams (RFC 9002 §7.2).
const INITIAL_BYTES: u64 = 14_720;
/// The number of datagrams in the initial window.
const INITIAL_DATAGRAMS: u64 = 10;
/// The number of datagrams in the minimum window (`kMinimumWindow`).
const MINIMUM_DATAGRAMS: u64 = 2;
/// The number of datagrams of the window that may be unused while the window grows (Chromium's
/// `kMaxBurstBytes`).
const UNUSED_DATAGRAMS: u64 = 3;
/// The upper bound of the window in bytes: the largest credit that a receiver gives for the data of
/// a connection (Chromium's `kSessionReceiveWindowLimit`). Without this bound, a controller whose
/// window is unbounded, such as `cubic_freebsd` after timeouts, would send without end.
const CLAMP: u64 = 24 << 20;

/// Returns the initial congestion window for datagrams of `mds` bytes.
const fn initial_window(mds: u32) -> u64 {
    let mds = mds as u64;
    let floor = if INITIAL_BYTES > 2 * mds { INITIAL_BYTES } else { 2 * mds };
    if INITIAL_DATAGRAMS * mds < floor { INITIAL_DATAGRAMS * mds } else { floor }
}

/// A packet as the controller sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The bytes of the packet, numbered by the total of bytes sent, and its delivery state.
    data: Sent,
}

impl Packet {
    /// Returns the time of the transmission.
    pub(crate) const fn sent(&self) -> Instant {
        self.data.sent_at
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.data.len as u64
    }

    /// Returns the total of bytes sent before this packet.
    pub(crate) const fn start(&self) -> u64 {
        self.data.seq
    }
}

/// The effects of an acknowledgement.
pub(crate) struct Outcome<'a> {
    pub(crate) now: Instant,
    /// The newly acknowledged packets in flight, in the order of transmission.
    pub(crate) acked: &'a [SentPacket],
    /// The round-trip sample, if there is one.
    pub(crate) sample: Option<Duration>,
    /// The bytes declared lost.
    pub(crate) lost: u64,
    /// The start of the oldest outstanding packet, as a total of bytes sent.
    pub(crate) oldest: Option<u64>,
}

/// The congestion state of a connection.
pub(crate) struct CongestionState {
    cc: Box<dyn CongestionControl>,
    window: Window,
    /// The number of bytes in flight, including the headers of packets.
    pub(crate) in_flight: u64,
    /// The start of the current or last recovery period.
    pub(crate) recovery_start: Option<Instant>,
    /// Whether a recovery period has begun and not ended.
    in_recovery: bool,
    /// Whether the window or pacing held data when the sender last stopped.
    is_held: bool,
    /// Whether the sender uses the window, so that acknowledgements let the window grow (§7.8).
    pub(crate) limited: bool,
    /// The total of bytes sent.
    sent: u64,
    rate: DeliveryRate,
    /// The time at which the last packet in flight was sent.
    last_sent: Option<Instant>,
}

impl CongestionState {
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
            is_held: false,
            limited: false,
            sent: 0,
            rate: DeliveryRate::default(),
            last_sent: None,
        }
    }

    /// Sets the window to `cwnd`. After a reduction, a threshold that equals the previous window
    /// becomes `cwnd` too.
    #[cfg(test)]
    pub(crate) fn set_window(&mut self, cwnd: u64, is_reduced: bool) {
        if is_reduced && self.window.cwnd == self.window.ssthresh {
            self.window.ssthresh = cwnd;
        }
        self.window.cwnd = cwnd;
    }

    pub(crate) const fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the controller's pacing rate, if the controller sets one.
    pub(crate) fn pacing_rate(&self) -> Option<BitRate> {
        self.cc.pacing_rate()
    }

    pub(crate) fn on_established(&mut self, now: Instant, rtt: &Rtt) {
        self.cc.on_established(&mut self.window, now, rtt.measured());
    }

    /// Records the sending of a packet that counts as in flight. Returns the packet as the
    /// controller sees it.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u32) -> Packet {
        let nothing_out = self.in_flight == 0;
        if let (true, Some(last)) = (nothing_out, self.last_sent) {
            let app_limited = self.rate.app_limited != 0;
            let event = CcEvent::TransmitStart { idle: now.since(last), app_limited };
            self.cc.on_event(&mut self.window, event, now);
        }
        let mut data = Sent::new(self.sent, bytes, 0);
        data.sent_at = now;
        self.rate.on_sent(&mut data, nothing_out);
        self.last_sent = Some(now);
        self.in_flight += u64::from(bytes);
        self.sent = data.end();
        Packet { data }
    }

    /// Records that the sender has stopped, because the window or pacing holds its data, or because
    /// there is no data.
    pub(crate) fn on_stopped(&mut self, is_held: bool) {
        self.is_held = is_held;
        if !is_held && self.in_flight < self.window.cwnd {
            self.rate.app_limited = self.rate.delivered + self.in_flight;
        }
    }

    /// Decides whether the sender uses the window. The caller has not yet processed the
    /// acknowledgement.
    pub(crate) fn check_use(&mut self) {
        let Window { cwnd, segment, .. } = self.window;
        let is_half_used = self.window.in_slow_start() && self.in_flight > cwnd / 2;
        let is_used = self.in_flight + UNUSED_DATAGRAMS * segment >= cwnd;
        self.limited = self.is_held || is_half_used || is_used;
    }

    /// Processes the acknowledged packets (`OnPacketsAcked`), after the losses.
    pub(crate) fn on_ack(&mut self, outcome: &Outcome<'_>, rtt: &Rtt) {
        let Some(newest) = outcome.acked.last() else { return };
        self.leave_recovery(newest.packet.sent(), outcome.now);
        let (mut all, mut grown, mut pending) = (0, 0, PendingSample::new());
        for acked in outcome.acked {
            let mut packet = acked.packet;
            self.rate.on_delivered(&mut packet.data, &mut pending);
            all += packet.bytes();
            if self.recovery_start.is_none_or(|start| packet.sent() > start) {
                grown += packet.bytes();
            }
        }
        self.in_flight = self.in_flight.saturating_sub(all);
        self.rate.delivered += all;
        self.rate.on_ack(all, outcome.now);
        let ack = Ack {
            now: outcome.now,
            acked: all,
            bytes: all,
            in_flight: self.in_flight,
            until_departure: Duration::ZERO,
            rtt: outcome.sample,
            srtt: rtt.measured(),
            min_rtt: rtt.min(),
            cwnd_limited: self.limited,
            snd_una: outcome.oldest.unwrap_or(self.sent),
            snd_nxt: self.sent,
            rate: self.rate.sample(&pending, (all, outcome.lost), outcome.now, true, rtt.min()),
        };
        self.cc.on_sample(&mut self.window, &ack);
        if self.cc.controls_cwnd() {
            self.cc.control(&mut self.window, &ack, self.in_recovery);
        } else if grown > 0 {
            let ack = Ack { acked: grown, bytes: grown, ..ack };
            self.cc.on_ack(&mut self.window, &ack);
        }
        self.limit_window();
    }

    /// Limits the window, because some controllers ignore its upper bound.
    fn limit_window(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.clamp);
    }

    /// Ends the recovery period when a packet that was sent during it is acknowledged (§7.3.2).
    /// `sent` is the transmission time of the newest acknowledged packet.
    fn leave_recovery(&mut self, sent: Instant, now: Instant) {
        if self.in_recovery && self.recovery_start.is_some_and(|start| sent > start) {
            self.in_recovery = false;
            self.cc.on_event(&mut self.window, CcEvent::RecoveryLeft, now);
            self.cc.on_event(&mut self.window, CcEvent::Opened, now);
        }
    }

    /// Removes a lost packet from the bytes in flight, and counts its bytes as lost.
    pub(crate) fn on_lost(&mut self, packet: &Packet) {
        self.forget(packet);
        self.rate.lost += packet.bytes();
    }

    /// Removes a packet from the bytes in flight (`RemoveFromBytesInFlight`).
    pub(crate) fn forget(&mut self, packet: &Packet) {
        self.in_flight = self.in_flight.saturating_sub(packet.bytes());
    }

    /// Processes a loss or a mark of a packet sent at `sent` (`OnCongestionEvent`). `in_flight` is
    /// the number of bytes in flight before the losses. Returns whether a recovery period begins.
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
        self.limit_window();
        true
    }

    /// Handles persistent congestion (§7.6.2). Returns whether the window was set to its minimum.
    pub(crate) fn on_persistent_congestion(&mut self, now: Instant) -> bool {
        if self.cc.controls_cwnd() {
            return false;
        }
        (self.recovery_start, self.in_recovery) = (None, false);
        self.window.cwnd = MINIMUM_DATAGRAMS * self.window.segment;
        self.cc.on_event(&mut self.window, CcEvent::RtoEntered, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Args;
    use aqmlab_tcp::cc::kinds;

    use super::*;

    fn congestion(cc: &str) -> CongestionState {
        let kind = kinds::find(cc).expect("the controller exists");
        let mut congestion =
            CongestionState::new((kind.build)(&Args::defaults(kind.params)), 1_452);
        congestion.on_established(Instant::ZERO, &Rtt::default());
        for _ in 0..10 {
            congestion.on_sent(Instant::ZERO, 1_452);
        }
        congestion
    }

    #[test]
    fn c225_the_initial_window_depends_on_the_datagram_size() {
        let windows = [1_200, 1_472, 1_500, 9_000].map(initial_window);
        assert_eq!(windows, [12_000, 14_720, 14_720, 18_000]);
    }

    /// Tests the bound with controllers that compute the window from the present window, and with
    /// one that leaves it.
    #[test]
    fn the_window_never_exceeds_the_credit_of_a_receiver() {
        for cc in ["reno", "cubic_freebsd", "bbr"] {
            let (mut congestion, now) = (congestion(cc), Instant::from_millis(40));
            congestion.window.cwnd = u64::MAX >> 10;
            congestion.on_congestion(now, Instant::ZERO, Signal::Loss, 0, &Rtt::default());
            assert_eq!(congestion.window().cwnd, CLAMP, "{cc}");
        }
    }

    #[test]
    fn a_loss_halves_the_window_unless_the_controller_always_sets_it() {
        for (cc, window) in [("reno", 7_260), ("bbr", 14_520)] {
            let (mut congestion, now) = (congestion(cc), Instant::from_millis(40));
            let in_flight = congestion.in_flight;
            assert!(congestion.on_congestion(
                now,
                Instant::ZERO,
                Signal::Loss,
                in_flight,
                &Rtt::default()
            ));
            assert_eq!(congestion.window().cwnd, window, "{cc}");
        }
    }

    #[test]
    fn persistent_congestion_leaves_two_datagrams_unless_the_controller_always_sets_the_window() {
        for (cc, window) in [("reno", 2_904), ("bbr", 14_520)] {
            let mut congestion = congestion(cc);
            congestion.on_persistent_congestion(Instant::from_millis(40));
            assert_eq!(congestion.window().cwnd, window, "{cc}");
        }
    }
}
