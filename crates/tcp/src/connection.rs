//! One endpoint of a connection: its parts, and how it is driven.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use crate::Profile;
use crate::cc::{CongestionControl, Window};
use crate::common::clock::Clock;
use crate::common::delivery_rate::DeliveryRate;
use crate::common::ooo_queue::OooQueue;
use crate::common::rtt::Rtt;
use crate::common::scoreboard::Scoreboard;
use crate::common::send_sequence::SendSequence;
use crate::common::wakeup::Wakeup;
use crate::config::Config;
use crate::freebsd::FreeBsd;
use crate::linux::delack::DelayedAck;
use crate::linux::rcv_window::RcvWindow;
use crate::linux::sndbuf::SendBuffer;
use crate::linux::tsq::Tsq;
use crate::linux::{CwndUsage, Rack, Recovery};
use crate::metrics::Stats;
use crate::negotiated::NegotiatedOptions;
use crate::profile::Stack;
use crate::segment::Segment;
use crate::state::State;
use crate::timers::{Timers, XmitTimer};

/// What an application learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Established,
    /// So many more bytes have arrived in order and were read.
    Readable(u64),
    /// There is room in the send buffer again after a write that was cut short.
    Writable,
    /// The peer has closed its half and everything it sent has been read.
    PeerFinished,
    /// Both halves are closed.
    Closed,
    /// The connection was reset by either side, or given up.
    Aborted,
}

/// ECN as RFC 3168 §6.1 keeps it.
#[derive(Debug, Default)]
pub(crate) struct EcnState {
    /// Acknowledgements carry ECE until the peer says CWR.
    pub(crate) echo: bool,
    /// The next new data carries CWR.
    pub(crate) cwr: bool,
    /// The peer's data has been seen to be ECN-capable.
    pub(crate) seen: bool,
}

/// One endpoint of a connection.
pub struct Connection {
    pub(crate) clock: Clock,
    pub(crate) profile: Profile,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    pub(crate) state: State,
    pub(crate) options: NegotiatedOptions,
    pub(crate) ecn: EcnState,
    pub(crate) snd: SendSequence,
    pub(crate) sndbuf: SendBuffer,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) rate: DeliveryRate,
    pub(crate) rack: Rack,
    pub(crate) recovery: Recovery,
    pub(crate) usage: CwndUsage,
    pub(crate) freebsd: FreeBsd,
    pub(crate) rcv: OooQueue,
    pub(crate) delack: DelayedAck,
    pub(crate) rcv_window: RcvWindow,
    pub(crate) timers: Timers,
    pub(crate) out: VecDeque<Segment>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) stats: Stats,
    pub(crate) mtu: u32,
    pub(crate) nodelay: bool,
    pub(crate) fixed_send_buffer: Option<u64>,
    pub(crate) want_ecn: bool,
    /// When the first SYN, or SYN-ACK, was sent.
    pub(crate) first_syn: Option<Instant>,
    /// When something unacceptable was last answered.
    pub(crate) ack_challenged: Option<Instant>,
    /// The application did something since the connection last had the time.
    pub(crate) app_acted: bool,
    pub(crate) wakeup: Wakeup,
    pub(crate) tsq: Tsq,
    is_bsd: bool,
}

impl Connection {
    /// An endpoint that opens a connection: it will send a SYN.
    pub fn active(config: Config, now: Instant) -> Self {
        let mut connection = Self::new(config);
        connection.clock.set(now);
        connection.start_handshake();
        connection
    }

    /// An endpoint that waits for a SYN.
    pub fn passive(config: Config) -> Self {
        Self::new(config)
    }

    fn new(config: Config) -> Self {
        let profile = config.profile;
        let clock = Clock::new(profile.tick, profile.timer_wheel);
        let mss = config.mtu.max(68 + 40) - 40;
        let segment = if profile.count_bytes { u64::from(mss) } else { 1 };
        let window = Window {
            cwnd: profile.initial_window.max(1) * segment,
            ssthresh: u64::MAX,
            segment,
            mss,
            clamp: u64::MAX / 4,
        };
        let mut connection = Self {
            clock,
            cc: config.cc,
            window,
            state: State::Listen,
            options: NegotiatedOptions {
                advmss: mss,
                mss_clamp: 536,
                ..NegotiatedOptions::default()
            },
            ecn: EcnState::default(),
            snd: SendSequence::new(),
            sndbuf: SendBuffer::default(),
            board: Scoreboard::default(),
            rtt: Rtt::new(&profile),
            rate: DeliveryRate::default(),
            rack: Rack::default(),
            recovery: Recovery::new(profile.reordering),
            usage: CwndUsage::default(),
            freebsd: FreeBsd::default(),
            rcv: OooQueue::default(),
            delack: DelayedAck::new(&profile, config.quickack),
            rcv_window: RcvWindow::new(&profile, config.receive_buffer),
            timers: Timers::new(),
            out: VecDeque::with_capacity(32),
            events: VecDeque::with_capacity(8),
            stats: Stats::default(),
            mtu: config.mtu,
            nodelay: config.nodelay,
            fixed_send_buffer: config.send_buffer,
            want_ecn: config.ecn,
            first_syn: None,
            ack_challenged: None,
            app_acted: false,
            wakeup: Wakeup::default(),
            tsq: Tsq::default(),
            is_bsd: profile.stack == Stack::FreeBsd,
            profile,
        };
        connection.snd.capacity = connection.fixed_send_buffer.unwrap_or(1 << 16);
        connection
    }

    /// Whether this is FreeBSD's TCP.
    #[inline]
    pub(crate) const fn is_bsd(&self) -> bool {
        self.is_bsd
    }

    /// The time of the event being handled.
    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.clock.now
    }

    /// The congestion window in full-sized segments, rounded down, at least one.
    #[inline]
    pub(crate) fn cwnd_segments(&self) -> u64 {
        match self.window.segment {
            1 => self.window.cwnd,
            segment => (self.window.cwnd / segment).max(1),
        }
    }

    /// Segments as the congestion controller counts them.
    #[inline]
    pub(crate) fn units(&self, segments: u64) -> u64 {
        segments * self.window.segment
    }

    /// The next segment to send, if any; to be called until it says `None` after every call
    /// that changes the connection.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.app_acted {
            self.clock.set(now);
            self.serve_application();
        }
        self.out.pop_front()
    }

    /// What happened next, if anything; to be called until it says `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`Connection::handle_timeout`], if nothing happens before.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timers = &self.timers;
        let acks = timers.delayed_ack.min(timers.compressed_ack);
        let others = timers.pacing.min(timers.wakeup).min(timers.linger);
        let at = timers.xmit_at.min(acks).min(others);
        (at != Instant::NEVER).then_some(at)
    }

    /// Arms the transmission timer for `span` from now, at most `limit`.
    #[inline]
    pub(crate) fn arm(&mut self, alarm: XmitTimer, span: Duration, limit: Duration) {
        let ticks = self.clock.ticks(span.min(limit));
        self.timers.xmit = alarm;
        self.timers.xmit_at =
            if self.is_bsd { self.clock.next(ticks) } else { self.clock.alarm(ticks) };
    }

    /// Tells the application, merging what it can.
    #[inline]
    pub(crate) fn readable(&mut self, bytes: u64) {
        self.stats.bytes_delivered += bytes;
        if let Some(Event::Readable(more)) = self.events.back_mut() {
            *more += bytes;
        } else {
            self.events.push_back(Event::Readable(bytes));
        }
    }
}
