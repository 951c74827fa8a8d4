//! Ends of connections with ECN, driven by single segments.

use aqmlab_core::{Duration, Ecn, Instant, TcpFlags, TcpHeader, Value};
use aqmlab_tcp::{Config, Connection, Profile, Segment};

use super::controller;

/// Returns the flags whose ACE field is `bits`.
pub(crate) fn ace(bits: u64) -> TcpFlags {
    TcpFlags::of_ace(bits)
}

/// Returns a Linux host with a value of `tcp_ecn`, whose application never sleeps.
pub(crate) fn host(tcp_ecn: u64, cc: &str) -> Config {
    let mut profile = Profile::linux();
    profile.wakeup = Duration::ZERO;
    profile.set("tcp_ecn", Value::Count(tcp_ecn)).expect("it is a setting");
    Config::new(profile, controller(cc))
}

fn header(flags: TcpFlags) -> TcpHeader {
    TcpHeader { flags, window: 60_000, window_scale: 255, ..TcpHeader::default() }
}

/// Returns the segments that an end has to send.
pub(crate) fn sent(end: &mut Connection, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| end.poll_transmit(now)).collect()
}

/// A connection under test, and the time.
pub(crate) struct End {
    pub(crate) tcp: Connection,
    pub(crate) now: Instant,
    /// The next byte that the peer sends.
    seq: u64,
}

impl End {
    /// Opens a connection, whose peer answers with the bits `answer` in a SYN-ACK with the ECN
    /// field `field`. Returns the end, the SYN and the third segment of the handshake.
    pub(crate) fn active(config: Config, answer: TcpFlags, field: Ecn) -> (Self, Segment, Segment) {
        let mut tcp = Connection::active(config, Instant::ZERO);
        let syn = sent(&mut tcp, Instant::ZERO).remove(0);
        let now = Instant::from_millis(40);
        let flags = TcpFlags::SYN.with(TcpFlags::ACK).with(answer);
        let syn_ack = TcpHeader { ack: 1, mss: 1_460, sack_permitted: true, ..header(flags) };
        tcp.handle_segment(&syn_ack, field, now);
        let third = sent(&mut tcp, now).remove(0);
        (Self { tcp, now, seq: 1 }, syn, third)
    }

    /// Answers a SYN with the bits `request` and the ECN field `field`. Returns the end, whose
    /// handshake is not yet complete, and the SYN-ACK.
    pub(crate) fn passive(config: Config, request: TcpFlags, field: Ecn) -> (Self, Segment) {
        let mut tcp = Connection::passive(config);
        let syn =
            TcpHeader { mss: 1_460, sack_permitted: true, ..header(TcpFlags::SYN.with(request)) };
        tcp.handle_segment(&syn, field, Instant::ZERO);
        let syn_ack = sent(&mut tcp, Instant::ZERO).remove(0);
        (Self { tcp, now: Instant::from_millis(40), seq: 1 }, syn_ack)
    }

    /// Passes a segment of the peer with `payload` bytes, and returns the segments sent in
    /// response.
    pub(crate) fn arrive(
        &mut self,
        bits: TcpFlags,
        ack: u64,
        payload: u32,
        field: Ecn,
    ) -> Vec<Segment> {
        let segment = TcpHeader { seq: self.seq, ack, payload, ..header(TcpFlags::ACK.with(bits)) };
        self.seq += u64::from(payload);
        self.tcp.handle_segment(&segment, field, self.now);
        sent(&mut self.tcp, self.now)
    }

    /// Writes `bytes`, and returns the segments sent.
    pub(crate) fn write(&mut self, bytes: u64) -> Vec<Segment> {
        self.tcp.write(self.now, bytes);
        sent(&mut self.tcp, self.now)
    }
}
