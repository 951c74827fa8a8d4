//! The transmission control block (RFC 9293 §3.3.1): the part of a connection's state that has the
//! same form in both stacks.

use std::collections::VecDeque;
use std::sync::Arc;

use aqmlab_core::hint::rare;
use aqmlab_core::{BitRate, Duration, Instant, Ring};

use crate::cc::{CcEvent, Congestion, CongestionControl, Signal, Window};
use crate::common::challenge::ChallengeLimit;
use crate::common::clock::{Clock, Expiry};
use crate::common::delivery_rate::DeliveryRate;
use crate::common::ecn::{EcnState, Offer};
use crate::common::pacer::Pacer;
use crate::common::receive_sequence::ReceiveSequence;
use crate::common::rtt::Rtt;
use crate::common::scoreboard::Scoreboard;
use crate::common::send_sequence::SendSequence;
use crate::common::tx_records::TxRecords;
use crate::common::wakeup::Wakeup;
use crate::common::writer::Writer;
use crate::metrics::Stats;
use crate::negotiated::{DEFAULT_MSS, NegotiatedOptions};
use crate::segment::HEADERS;
use crate::state::State;
use crate::timers::{Timers, XmitTimer};
use crate::{Config, Event, Profile, Segment};

/// The smallest MTU in bytes for which the first segment size is computed.
const MIN_MTU: u32 = 68 + HEADERS;

/// The part of a connection's state that has the same form in both stacks.
pub(crate) struct Tcb {
    pub(crate) clock: Clock,
    pub(crate) profile: Arc<Profile>,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    pub(crate) state: State,
    pub(crate) options: NegotiatedOptions,
    pub(crate) ecn: EcnState,
    pub(crate) snd: SendSequence,
    pub(crate) writer: Writer,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) rate: DeliveryRate,
    pub(crate) pacer: Pacer,
    pub(crate) tx_records: TxRecords,
    pub(crate) rcv: ReceiveSequence,
    pub(crate) wakeup: Wakeup,
    pub(crate) timers: Timers,
    pub(crate) challenge: ChallengeLimit,
    /// The segments that the driver has yet to poll for.
    pub(crate) out: Ring<Segment>,
    /// The events that the driver has yet to poll for.
    pub(crate) events: VecDeque<Event>,
    pub(crate) stats: Stats,
    pub(crate) mtu: u32,
    pub(crate) nodelay: bool,
    /// Whether reads by the application are events.
    pub(crate) read_events: bool,
    /// Whether the controller has a pacing rate.
    pub(crate) paces: bool,
    /// Whether the controller sets the congestion window itself.
    pub(crate) controls_cwnd: bool,
    /// Whether the stack must run before the next segment is polled, because the application has
    /// acted or segments that were held back may be sent.
    pub(crate) app_acted: bool,
}

impl Tcb {
    pub(crate) fn new(config: Config, expiry: Expiry, offer: Offer) -> Self {
        let profile = config.profile;
        let mss = config.mtu.max(MIN_MTU) - HEADERS;
        let segment = if profile.count_bytes { u64::from(mss) } else { 1 };
        let window = Window {
            cwnd: profile.initial_window.max(1) * segment,
            ssthresh: u64::MAX,
            segment,
            mss,
            // No limit. A quarter of the range leaves room for sums.
            clamp: u64::MAX / 4,
        };
        let mut tcb = Self {
            clock: Clock::new(profile.tick, expiry),
            cc: config.cc,
            window,
            state: State::Listen,
            options: NegotiatedOptions {
                advmss: mss,
                mss_clamp: DEFAULT_MSS,
                ..NegotiatedOptions::default()
            },
            ecn: EcnState::new(offer),
            snd: SendSequence::default(),
            writer: Writer::default(),
            board: Scoreboard::default(),
            rtt: Rtt::new(&profile),
            rate: DeliveryRate::default(),
            pacer: Pacer::default(),
            tx_records: TxRecords::default(),
            rcv: ReceiveSequence::default(),
            wakeup: Wakeup::default(),
            timers: Timers::new(),
            challenge: ChallengeLimit::default(),
            out: Ring::default(),
            events: VecDeque::with_capacity(8),
            stats: Stats::default(),
            mtu: config.mtu,
            nodelay: config.nodelay,
            read_events: config.read_events,
            paces: false,
            controls_cwnd: false,
            app_acted: false,
            profile,
        };
        tcb.note_controls();
        tcb
    }

    /// Stores whether the controller has a pacing rate and whether it sets the congestion window
    /// itself. Both values are needed at every acknowledgement and every burst.
    pub(crate) fn note_controls(&mut self) {
        self.paces = self.cc.pacing_rate().is_some();
        self.controls_cwnd = self.cc.controls_cwnd();
    }

    /// Returns the pacing rate of the controller, if it has one.
    #[inline]
    pub(crate) fn controlled_rate(&self) -> Option<BitRate> {
        if self.paces { self.cc.pacing_rate() } else { None }
    }

    /// Returns the time of the event being handled.
    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.clock.now
    }

    /// Returns the congestion window in full-sized segments, rounded down but at least one.
    #[inline]
    pub(crate) fn cwnd_segments(&self) -> u64 {
        match self.window.segment {
            1 => self.window.cwnd,
            segment => {
                rare();
                (self.window.cwnd / segment).max(1)
            }
        }
    }

    /// Converts segments to the unit of the congestion window.
    #[inline]
    pub(crate) fn units(&self, segments: u64) -> u64 {
        segments * self.window.segment
    }

    /// Returns a window of `segments`, in the unit of the congestion window. A window of more than
    /// two segments is limited to `bytes`, unless `bytes` is zero.
    pub(crate) fn capped(&self, segments: u64, bytes: u64) -> u64 {
        if bytes == 0 {
            return self.units(segments);
        }
        let mss = u64::from(self.window.mss.max(1));
        let limit = bytes.max(2 * mss).min(segments * mss);
        if self.window.segment == 1 { limit / mss } else { limit }
    }

    /// Sets the payload of a full-sized segment, at most `limit`, and the segment size that this
    /// end advertises.
    pub(crate) fn size_segments(&mut self, limit: Option<u32>) {
        let options = self.options.fixed_len();
        let ours = self.mtu - HEADERS;
        self.options.advmss = ours - options;
        let mss = (ours.min(self.options.mss_clamp) - options).max(1);
        self.window.mss = limit.map_or(mss, |limit| mss.min(limit));
        if self.profile.count_bytes {
            self.window.segment = u64::from(self.window.mss);
        }
    }

    /// Sets the transmission timer for `purpose`, to expire after `span` but at most after `limit`.
    #[inline]
    pub(crate) fn arm(&mut self, purpose: XmitTimer, span: Duration, limit: Duration) {
        let ticks = self.clock.covering(span.min(limit));
        self.timers.xmit = purpose;
        self.timers.xmit_at = self.clock.expiry(ticks);
    }

    /// Sets the transmission timer for the retransmission timeout.
    #[inline]
    pub(crate) fn arm_rto(&mut self) {
        self.arm(XmitTimer::Retransmit, self.rtt.rto, self.profile.rto_max);
    }

    /// Returns whether an unacceptable segment may be answered now, and records the answer (RFC
    /// 5961 §10).
    pub(crate) fn may_challenge(&mut self) -> bool {
        self.challenge.take(self.clock.now, self.profile.challenge_interval)
    }

    /// Notifies the congestion control of `event`.
    pub(crate) fn notify(&mut self, event: CcEvent) {
        self.cc.on_event(&mut self.window, event, self.clock.now);
    }

    /// Returns the slow-start threshold that the congestion control sets after `signal`.
    pub(crate) fn reduced_ssthresh(&mut self, signal: Signal) -> u64 {
        let congestion = Congestion {
            now: self.clock.now,
            in_flight: self.units(u64::from(self.board.in_flight())),
            signal,
            srtt: self.rtt.srtt(),
        };
        self.cc.ssthresh(&self.window, &congestion)
    }

    /// Records that a data segment is about to be sent. If nothing is in flight, notifies the
    /// congestion control.
    #[inline]
    pub(crate) fn on_data_sent(&mut self) {
        if self.board.in_flight() == 0 {
            rare();
            let idle = self.now().since(self.snd.last_sent);
            let app_limited = self.rate.app_limited != 0;
            self.notify(CcEvent::TransmitStart { idle, app_limited });
        }
        self.snd.last_sent = self.clock.now;
        self.pacer.on_segment_sent();
    }

    /// Reserves the time that the burst of `bytes` that was just sent takes at the pacing rate, if
    /// the congestion control paces.
    #[inline]
    pub(crate) fn pace(&mut self, bytes: u64) {
        if let Some(rate) = self.controlled_rate() {
            self.pacer.on_burst(self.clock.now, rate, bytes);
        }
    }

    /// Returns whether pacing forbids sending now. If it does, sets the pacing timer.
    #[inline]
    pub(crate) fn is_paced(&mut self) -> bool {
        let departure = self.pacer.departure();
        if departure <= self.clock.now {
            return false;
        }
        self.timers.set_pacing(departure);
        true
    }

    /// Records that the application limits the sender, if it does (Linux
    /// `tcp_rate_check_app_limited`).
    pub(crate) fn check_app_limited(&mut self) {
        let in_flight = u64::from(self.board.in_flight());
        if self.snd.unsent() < u64::from(self.window.mss)
            && in_flight < self.cwnd_segments()
            && !self.board.has_lost_to_send()
        {
            self.rate.app_limited = (self.rate.delivered + in_flight).max(1);
        }
    }
}
