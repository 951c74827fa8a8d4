//! One sender on one bottleneck: a FIFO of limited length, an acknowledgement for every packet, and
//! no other traffic.
//!
//! A loss is detected when a later packet is acknowledged, and new data replaces the lost packet. A
//! reduction sets the window to the threshold at once. This is simpler than a real connection, but
//! sufficient to test the laws of window and rate.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod steps;

use std::collections::VecDeque;

use aqmlab_core::{Args, BitRate, Bytes, Duration, Instant, Value};
use aqmlab_tcp::cc::kinds;
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, RateSample, Signal, Window};

/// The payload of a full segment in bytes.
pub(crate) const MSS: u32 = 1_448;
/// The length of a full segment on the wire.
const WIRE: Bytes = Bytes(1_500);

/// Returns the controller called `name`, with some arguments changed.
pub(crate) fn controller(name: &str, changes: &[(&str, Value)]) -> Box<dyn CongestionControl> {
    let kind = kinds::find(name).unwrap_or_else(|| panic!("no controller is called {name}"));
    let args = changes
        .iter()
        .fold(Args::defaults(kind.params), |args, (param, value)| args.with(param, *value));
    (kind.build)(&args)
}

/// Returns an initial window of ten segments. Each segment has `segment` units.
pub(crate) fn fresh_window(segment: u64) -> Window {
    Window { cwnd: 10 * segment, ssthresh: u64::MAX, segment, mss: MSS, clamp: 1_000_000 * segment }
}

/// Returns the gauge called `name`.
pub(crate) fn gauge(cc: &dyn CongestionControl, name: &str) -> f64 {
    let gauges = cc.gauges();
    let found = gauges.iter().find(|(gauge, _)| *gauge == name);
    found.unwrap_or_else(|| panic!("no gauge {name} in {gauges:?}")).1
}

/// A bottleneck: its rate, the round-trip time without a queue, and the limit of the queue in
/// packets.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) mbit: u64,
    pub(crate) rtt: Duration,
    pub(crate) buffer: u64,
}

/// A packet that is neither acknowledged nor known to be lost.
struct Sent {
    at: Instant,
    /// The time at which the packet's acknowledgement arrives; `None` if the packet was dropped.
    acked: Option<Instant>,
    seq: u64,
    delivered: u64,
    delivered_at: Instant,
    first_at: Instant,
}

/// The state after an acknowledgement.
pub(crate) struct View<'a> {
    pub(crate) now: Instant,
    pub(crate) cc: &'a dyn CongestionControl,
    pub(crate) window: Window,
    pub(crate) in_flight: u64,
    pub(crate) rtt: Duration,
    pub(crate) losses: u64,
    pub(crate) delivered: u64,
}

/// The sender and its path.
pub(crate) struct Run {
    cc: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    path: Path,
    now: Instant,
    link_free: Instant,
    pace_free: Instant,
    flight: VecDeque<Sent>,
    next_seq: u64,
    delivered: u64,
    delivered_at: Instant,
    first_at: Instant,
    lost: u64,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    /// The number of the first packet whose acknowledgement ends recovery; `None` outside recovery.
    recover: Option<u64>,
    established: bool,
}

impl Run {
    pub(crate) fn new(cc: Box<dyn CongestionControl>, path: Path, segment: u64) -> Self {
        Self {
            cc,
            window: fresh_window(segment),
            path,
            now: Instant::from_millis(1_000),
            link_free: Instant::ZERO,
            pace_free: Instant::ZERO,
            flight: VecDeque::new(),
            next_seq: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_at: Instant::ZERO,
            lost: 0,
            srtt: None,
            min_rtt: None,
            recover: None,
            established: false,
        }
    }

    fn rate(&self) -> BitRate {
        BitRate::new(self.path.mbit * 1_000_000).expect("a path has a rate")
    }

    /// Runs for `span`, and calls `see` after every acknowledgement.
    pub(crate) fn run(&mut self, span: Duration, mut see: impl FnMut(&View<'_>)) {
        let end = self.now + span;
        if !self.established {
            self.established = true;
            self.srtt = Some(self.path.rtt);
            self.min_rtt = Some(self.path.rtt);
            self.cc.on_established(&mut self.window, self.now, self.srtt);
        }
        loop {
            let paced = self.send();
            let acked = self.flight.iter().find_map(|sent| sent.acked);
            let next = match (paced, acked) {
                (Some(paced), Some(acked)) => paced.min(acked),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => {
                    self.time_out();
                    continue;
                }
            };
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next;
            if acked == Some(next) {
                self.acknowledge(&mut see);
            }
        }
    }

    /// Sends all packets that may be sent. Returns the time of the next departure, if only pacing
    /// delays it.
    fn send(&mut self) -> Option<Instant> {
        while (self.flight.len() as u64 + 1) * self.window.segment <= self.window.cwnd.max(1) {
            if self.pace_free > self.now {
                return Some(self.pace_free);
            }
            if let Some(rate) = self.cc.pacing_rate() {
                self.pace_free = self.now + rate.transmit_time(WIRE);
            }
            self.send_one();
        }
        None
    }

    fn send_one(&mut self) {
        if self.flight.is_empty() {
            self.first_at = self.now;
            self.delivered_at = self.now;
        }
        let transmit = self.rate().transmit_time(WIRE);
        let waiting = self.link_free.since(self.now).as_nanos() / transmit.as_nanos();
        let acked = (waiting < self.path.buffer).then(|| {
            self.link_free = self.link_free.max(self.now) + transmit;
            self.link_free + self.path.rtt
        });
        self.flight.push_back(Sent {
            at: self.now,
            acked,
            seq: self.next_seq,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
        });
        self.next_seq += 1;
    }

    fn acknowledge(&mut self, see: &mut impl FnMut(&View<'_>)) {
        let mut losses = 0;
        let sent = loop {
            let sent = self.flight.pop_front().expect("an acknowledgement is for something");
            if sent.acked.is_some() {
                break sent;
            }
            losses += 1;
        };
        self.lost += losses;
        self.delivered += 1;
        self.delivered_at = self.now;
        let rtt = self.now.since(sent.at);
        self.srtt = self.srtt.map(|srtt| (srtt * 7 + rtt) / 8);
        self.min_rtt = self.min_rtt.map(|least| least.min(rtt));
        if self.recover.is_some_and(|recover| sent.seq >= recover) {
            self.recover = None;
            self.cc.on_event(&mut self.window, CcEvent::RecoveryLeft, self.now);
        }
        if losses > 0 && self.recover.is_none() {
            self.enter_recovery(losses);
        }
        let ack = self.describe(&sent, rtt, losses);
        self.first_at = sent.at;
        self.cc.on_sample(&mut self.window, &ack);
        if self.cc.controls_cwnd() {
            self.cc.control(&mut self.window, &ack, self.recover.is_some());
        } else if self.recover.is_none() {
            self.cc.on_ack(&mut self.window, &ack);
        }
        see(&View {
            now: self.now,
            cc: &*self.cc,
            window: self.window,
            in_flight: self.flight.len() as u64,
            rtt,
            losses: self.lost,
            delivered: self.delivered,
        });
    }

    fn describe(&self, sent: &Sent, rtt: Duration, losses: u64) -> Ack {
        let unit = self.window.segment;
        let sending = sent.at.since(sent.first_at);
        let acking = self.now.since(sent.delivered_at);
        Ack {
            now: self.now,
            acked: unit,
            bytes: u64::from(MSS),
            in_flight: self.flight.len() as u64 * unit,
            until_departure: Duration::ZERO,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            cwnd_limited: true,
            snd_una: (sent.seq + 1) * u64::from(MSS),
            snd_nxt: self.next_seq * u64::from(MSS),
            rate: RateSample {
                delivered: (self.delivered - sent.delivered) * unit,
                interval: sending.max(acking),
                prior_delivered: sent.delivered * unit,
                total_delivered: self.delivered * unit,
                losses: losses * unit,
                total_lost: self.lost * unit,
                acked_sacked: unit,
                app_limited: false,
                retransmitted: false,
            },
        }
    }

    fn congestion(&self, signal: Signal, in_flight: u64) -> Congestion {
        Congestion { now: self.now, in_flight, signal, srtt: self.srtt }
    }

    fn enter_recovery(&mut self, losses: u64) {
        let outstanding = (self.flight.len() as u64 + losses) * self.window.segment;
        let congestion = self.congestion(Signal::Loss, outstanding);
        self.window.ssthresh = self.cc.ssthresh(&self.window, &congestion);
        if !self.cc.controls_cwnd() {
            self.window.cwnd = self.window.ssthresh.min(self.window.cwnd);
        }
        self.recover = Some(self.next_seq);
        self.cc.on_event(&mut self.window, CcEvent::RecoveryEntered, self.now);
    }

    /// Loses all outstanding packets; the timer expires one second later.
    fn time_out(&mut self) {
        self.now += Duration::from_secs(1);
        let outstanding = self.flight.len() as u64 * self.window.segment;
        let congestion = self.congestion(Signal::Rto, outstanding);
        self.window.ssthresh = self.cc.ssthresh(&self.window, &congestion);
        self.window.cwnd = self.window.segment;
        self.lost += self.flight.len() as u64;
        self.flight.clear();
        self.recover = Some(self.next_seq);
        self.cc.on_event(&mut self.window, CcEvent::RtoEntered, self.now);
    }
}
