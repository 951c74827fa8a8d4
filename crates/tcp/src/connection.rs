//! One endpoint of a connection: its parts, and how it is driven.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Ecn, Instant, TcpHeader};

use crate::Profile;
use crate::bsd::Bsd;
use crate::cc::{CongestionControl, Window};
use crate::clock::Clock;
use crate::delack::DelayedAck;
use crate::linux::{Rack, Recovery, Usage};
use crate::metrics::Stats;
use crate::profile::Stack;
use crate::rate::Rate;
use crate::reassembly::Reassembly;
use crate::room::Room;
use crate::rtt::Rtt;
use crate::rwin::ReceiveWindow;
use crate::scoreboard::Scoreboard;
use crate::send::Send;
use crate::small_queue::Below;
use crate::state::State;
use crate::wakeup::Wakeup;

/// How to make a [`Connection`].
pub struct Config {
    /// The host that it belongs to.
    pub profile: Profile,
    /// Its congestion control, fresh.
    pub cc: Box<dyn CongestionControl>,
    /// Bytes of the largest IP packet.
    pub mtu: u32,
    /// Whether to ask for ECN, and to accept it.
    pub ecn: bool,
    /// Whether small segments leave at once rather than by Nagle's rule.
    pub nodelay: bool,
    /// Whether every segment is acknowledged at once.
    pub quickack: bool,
    /// Bytes of payload that the send buffer holds; automatic if `None`.
    pub send_buffer: Option<u64>,
    /// Bytes of receive window; automatic if `None`.
    pub receive_buffer: Option<u64>,
}

impl Config {
    /// A configuration with a socket's defaults: Ethernet's MTU, no ECN, Nagle's rule, delayed
    /// acknowledgements, automatic buffers.
    pub fn new(profile: Profile, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            profile,
            cc,
            mtu: 1_500,
            ecn: false,
            nodelay: false,
            quickack: false,
            send_buffer: None,
            receive_buffer: None,
        }
    }
}

/// A segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its TCP header.
    pub header: TcpHeader,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Whether it repeats bytes, or a SYN, sent before.
    pub retransmission: bool,
}

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

/// What was agreed in the handshake.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    /// Whether segments carry timestamps.
    pub(crate) timestamps: bool,
    /// Whether SACK may be used.
    pub(crate) sack: bool,
    /// Whether windows are scaled.
    pub(crate) scaling: bool,
    /// The shift of the peer's windows; the header shows them already shifted.
    pub(crate) snd_shift: u8,
    /// The shift of our windows.
    pub(crate) rcv_shift: u8,
    /// Whether ECN may be used.
    pub(crate) ecn: bool,
    /// The segment size that we advertised, less what timestamps take.
    pub(crate) advmss: u32,
    /// The segment size that the peer advertised.
    pub(crate) mss_clamp: u32,
}

impl Wire {
    /// Bytes of options that every segment carries.
    #[inline]
    pub(crate) const fn fixed_options(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
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

/// What the transmission timer is running for; Linux has one for four purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    Off,
    Retransmit,
    LossProbe,
    Reorder,
    Persist,
}

/// When to wake up, and what for.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) alarm: Alarm,
    pub(crate) transmit: Instant,
    pub(crate) delayed_ack: Instant,
    pub(crate) compressed_ack: Instant,
    pub(crate) pacing: Instant,
    /// The application will be awake.
    pub(crate) wakeup: Instant,
    /// The end of TIME-WAIT.
    pub(crate) linger: Instant,
}

impl Timers {
    const fn new() -> Self {
        Self {
            alarm: Alarm::Off,
            transmit: Instant::NEVER,
            delayed_ack: Instant::NEVER,
            compressed_ack: Instant::NEVER,
            pacing: Instant::NEVER,
            wakeup: Instant::NEVER,
            linger: Instant::NEVER,
        }
    }

    /// Stops the transmission timer.
    #[inline]
    pub(crate) fn stop_transmit(&mut self) {
        self.alarm = Alarm::Off;
        self.transmit = Instant::NEVER;
    }
}

/// One endpoint of a connection.
pub struct Connection {
    pub(crate) clock: Clock,
    pub(crate) profile: Profile,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) window: Window,
    pub(crate) state: State,
    pub(crate) wire: Wire,
    pub(crate) ecn: EcnState,
    pub(crate) snd: Send,
    pub(crate) room: Room,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: Rtt,
    pub(crate) rate: Rate,
    pub(crate) rack: Rack,
    pub(crate) rec: Recovery,
    pub(crate) usage: Usage,
    pub(crate) bsd: Bsd,
    pub(crate) rcv: Reassembly,
    pub(crate) delack: DelayedAck,
    pub(crate) rwin: ReceiveWindow,
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
    pub(crate) below: Below,
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
            wire: Wire { advmss: mss, mss_clamp: 536, ..Wire::default() },
            ecn: EcnState::default(),
            snd: Send::new(),
            room: Room::default(),
            board: Scoreboard::default(),
            rtt: Rtt::new(&profile),
            rate: Rate::default(),
            rack: Rack::default(),
            rec: Recovery::new(profile.reordering),
            usage: Usage::default(),
            bsd: Bsd::default(),
            rcv: Reassembly::default(),
            delack: DelayedAck::new(&profile, config.quickack),
            rwin: ReceiveWindow::new(&profile, config.receive_buffer),
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
            below: Below::default(),
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
        let at = timers.transmit.min(acks).min(others);
        (at != Instant::NEVER).then_some(at)
    }

    /// Arms the transmission timer for `span` from now, at most `limit`.
    #[inline]
    pub(crate) fn arm(&mut self, alarm: Alarm, span: Duration, limit: Duration) {
        let ticks = self.clock.ticks(span.min(limit));
        self.timers.alarm = alarm;
        self.timers.transmit =
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
