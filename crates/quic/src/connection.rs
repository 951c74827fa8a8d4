//! One end of a connection, and the functions that its driver calls.

use std::collections::VecDeque;

use aqmlab_core::{BitRate, Duration, Ecn, Instant, QuicDatagram, QuicPacket, QuicSpace};
use aqmlab_tcp::SenderState;

use crate::acks::AckTracker;
use crate::config::{Config, MIN_INITIAL};
use crate::handshake::{Handshake, Role};
use crate::pacer::{self, Pacer};
use crate::recovery::{Expiry, Recovery, Standing};
use crate::streams::Streams;

/// The time without a packet after which an end forgets the connection (quinn-proto 0.11,
/// Chromium).
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The factor of the anti-amplification limit (RFC 9000 §8.1).
const AMPLIFICATION: u64 = 3;
/// The number of datagrams that an end with packets in flight sends at a probe timeout (RFC 9002
/// §6.2.4).
const PROBES: u32 = 2;
/// The largest number of full datagrams in a burst: that of the initial window (RFC 9002 §7.7).
const BURST_DATAGRAMS: u64 = 10;

/// A notification to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The application may send. With 0-RTT, the client gets this event at once.
    Established,
    /// The application has read further bytes of a stream, in order.
    Readable {
        /// The number of the stream.
        stream: u32,
        /// The number of further bytes.
        bytes: u64,
    },
    /// The peer has ended its direction of a stream, and the application has read all its data.
    Finished {
        /// The number of the stream.
        stream: u32,
    },
    /// The connection is closed.
    Closed,
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The packets of the datagram.
    pub datagram: QuicDatagram,
    /// The payload of the UDP datagram in bytes.
    pub bytes: u32,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// Whether the connection is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// The end has closed the connection. Until the given time, it answers each datagram with
    /// `CONNECTION_CLOSE` (RFC 9000 §10.2.1).
    Closing(Instant),
    /// The end sends nothing and ignores datagrams (§10.2.2).
    Draining,
}

/// The state of the anti-amplification limit (RFC 9000 §8.1). Until a server has validated the
/// client's address, the bytes received limit the bytes sent. The limit does not apply to a client,
/// nor to a server with 0-RTT, so `is_validated` is true there from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amplification {
    pub(crate) is_validated: bool,
    /// The number of bytes received in UDP datagrams.
    pub(crate) received: u64,
    /// The number of bytes sent in UDP datagrams before the validation.
    pub(crate) sent: u64,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of datagrams sent.
    pub datagrams_sent: u64,
    /// The number of packets sent that carry a STREAM frame.
    pub data_packets_sent: u64,
    /// The number of packets sent that carry bytes that were sent before.
    pub repeated_packets: u64,
    /// Counters of loss detection.
    pub recovery: crate::RecoveryStats,
}

/// One end of a connection.
pub struct Connection {
    pub(crate) handshake: Handshake,
    pub(crate) recovery: Recovery,
    pub(crate) acks: [AckTracker; 3],
    /// The packets that wait for their keys, each with its ECN field and its arrival time.
    pub(crate) waiting: Vec<(QuicPacket, Ecn, Instant)>,
    pub(crate) streams: Streams,
    /// The number of the next stream that the client opens.
    next_stream: u32,
    /// The next packet number of each space.
    pub(crate) next: [u64; 3],
    /// The number of probes to send in each space.
    pub(crate) probes: [u32; 3],
    pub(crate) pacer: Pacer,
    /// The time until which pacing delays the next datagram.
    pub(crate) paced_until: Option<Instant>,
    /// Whether sent packets carry ECT(0).
    pub(crate) ecn: bool,
    pub(crate) max_datagram_size: u32,
    pub(crate) amplification: Amplification,
    pub(crate) state: State,
    /// Whether `CONNECTION_CLOSE` must be sent.
    pub(crate) must_close: bool,
    /// The time at which the idle timer expires; `Instant::NEVER` until a server has processed a
    /// packet.
    pub(crate) idle_at: Instant,
    /// Whether an ack-eliciting packet was sent since a packet was last received.
    pub(crate) has_sent: bool,
    pub(crate) events: VecDeque<Event>,
    pub(crate) stats: Stats,
}

impl Connection {
    /// Returns an end that opens a connection at `now`.
    pub fn client(config: Config, now: Instant) -> Self {
        let mut connection = Self::new(config, Role::Client);
        connection.idle_at = now + IDLE_TIMEOUT;
        if connection.handshake.sends_zero_rtt() {
            connection.events.push_back(Event::Established);
        }
        connection
    }

    /// Returns an end that waits for a client.
    pub fn server(config: Config) -> Self {
        Self::new(config, Role::Server)
    }

    fn new(config: Config, role: Role) -> Self {
        let max_datagram_size = config.max_datagram_size();
        Self {
            handshake: Handshake::new(role, config.zero_rtt),
            recovery: Recovery::new(config.cc, max_datagram_size),
            acks: Default::default(),
            waiting: Vec::new(),
            streams: Streams::default(),
            next_stream: 1,
            next: [0; 3],
            probes: [0; 3],
            pacer: Pacer::default(),
            paced_until: None,
            ecn: config.ecn,
            max_datagram_size,
            amplification: Amplification {
                is_validated: role == Role::Client || config.zero_rtt,
                received: 0,
                sent: 0,
            },
            state: State::Open,
            must_close: false,
            idle_at: Instant::NEVER,
            has_sent: false,
            events: VecDeque::new(),
            stats: Stats::default(),
        }
    }

    /// Opens a stream in addition to stream 0, which exists from the start, and returns its number.
    /// Only the client opens streams.
    pub fn open_stream(&mut self) -> u32 {
        self.next_stream += 1;
        self.next_stream - 1
    }

    /// Writes `bytes` to a stream. Returns the number of bytes accepted: 0 if the stream is
    /// finished, if its application writes without limit or if the connection is closed, and
    /// `bytes` otherwise.
    pub fn write(&mut self, stream: u32, bytes: u64) -> u64 {
        if self.state != State::Open {
            return 0;
        }
        self.streams.sender(stream).write(bytes)
    }

    /// Writes to a stream without limit until [`Connection::finish`]. Has no effect on a finished
    /// stream.
    pub fn send_unlimited(&mut self, stream: u32) {
        self.streams.sender(stream).write_unlimited();
    }

    /// Ends the direction of a stream in which this end sends. A stream that is written without
    /// limit ends with the bytes that have been sent.
    pub fn finish(&mut self, stream: u32) {
        self.streams.sender(stream).finish();
    }

    /// Closes the connection at once, and queues `CONNECTION_CLOSE`. Has no effect on a closed
    /// connection.
    pub(crate) fn close(&mut self, now: Instant) {
        if self.state == State::Open {
            let span = self.recovery.backed_off_pto() * 3;
            self.state = State::Closing(now + span);
            self.must_close = true;
            self.events.push_back(Event::Closed);
        }
    }

    /// Ends the connection. This end sends nothing more.
    pub(crate) fn drain(&mut self) {
        if self.state == State::Open {
            self.events.push_back(Event::Closed);
        }
        self.state = State::Draining;
        self.must_close = false;
    }

    /// Returns whether this end is a server that has not yet processed a packet of its client.
    pub fn is_listening(&self) -> bool {
        self.state == State::Open && self.idle_at == Instant::NEVER
    }

    /// Removes and returns the next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the time for the next [`Connection::handle_timeout`], unless another call is made
    /// before that time. Returns `None` if no timer is set.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Draining => None,
            State::Closing(until) => Some(until),
            State::Open => {
                let acks = self.acks.iter().filter_map(AckTracker::due);
                let timers = [self.recovery.timer(), self.paced_until, Some(self.idle_at)];
                let next = timers.into_iter().flatten().chain(acks).min();
                next.filter(|at| *at != Instant::NEVER)
            }
        }
    }

    /// Runs the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Draining => return,
            State::Closing(until) => {
                if until <= now {
                    self.drain();
                }
                return;
            }
            State::Open => {}
        }
        if self.idle_at <= now {
            return self.drain();
        }
        if self.paced_until.is_some_and(|at| at <= now) {
            self.paced_until = None;
        }
        if self.recovery.timer().is_some_and(|at| at <= now) {
            let standing = self.standing();
            match self.recovery.on_timer(standing, now) {
                Some(Expiry::Lost(space, found)) => self.requeue(space, &found.lost),
                Some(Expiry::Probe(space)) => self.probe(space),
                None => {}
            }
            self.set_timer(now);
        }
    }

    fn probe(&mut self, space: QuicSpace) {
        let has_flight = self.recovery.oldest_frames(space).is_some();
        self.probes[space.index()] = if has_flight { PROBES } else { 1 };
    }

    /// Returns the facts that decide about the probe timeout.
    pub(crate) fn standing(&self) -> Standing {
        Standing {
            is_confirmed: self.handshake.is_confirmed,
            peer_validated: self.handshake.peer_validated,
            has_handshake_keys: self.handshake.has_handshake_keys,
            is_blocked: self.allowance() < u64::from(MIN_INITIAL),
        }
    }

    /// Returns the bytes that the anti-amplification limit still allows; `u64::MAX` without this
    /// limit.
    pub(crate) const fn allowance(&self) -> u64 {
        let Amplification { is_validated, received, sent } = self.amplification;
        if is_validated { u64::MAX } else { (AMPLIFICATION * received).saturating_sub(sent) }
    }

    pub(crate) fn set_timer(&mut self, now: Instant) {
        let standing = self.standing();
        self.recovery.set_timer(standing, now);
    }

    /// Restarts the idle timer (RFC 9000 §10.1).
    pub(crate) fn restart_idle(&mut self, now: Instant) {
        let span = IDLE_TIMEOUT.max(self.recovery.backed_off_pto() * 3);
        self.idle_at = now + span;
    }

    /// Returns the controller's pacing rate, if it sets one and there is a round-trip sample.
    /// Otherwise returns the rate of RFC 9002 §7.7.
    pub(crate) fn pacing_rate(&self) -> BitRate {
        let congestion = &self.recovery.congestion;
        congestion
            .pacing_rate()
            .filter(|_| self.recovery.rtt.measured().is_some())
            .unwrap_or_else(|| pacer::rate(congestion.window().cwnd, self.recovery.rtt.smoothed()))
    }

    /// Returns the largest burst that pacing allows, in bytes.
    pub(crate) const fn burst(&self) -> u64 {
        BURST_DATAGRAMS * self.max_datagram_size as u64
    }

    /// Returns the state of this end as a sender, which is sampled over time.
    pub fn sender_state(&self) -> SenderState {
        let window = self.recovery.congestion.window();
        SenderState {
            cwnd_bytes: window.cwnd,
            ssthresh_bytes: (window.ssthresh != u64::MAX).then_some(window.ssthresh),
            srtt: self.recovery.rtt.measured(),
            in_flight_bytes: self.recovery.congestion.in_flight,
        }
    }

    /// Returns the counters since the start of the connection.
    pub fn stats(&self) -> Stats {
        Stats { recovery: self.recovery.stats, ..self.stats }
    }
}
