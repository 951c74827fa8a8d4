//! Datagrams out: the packets of a datagram, their frames, and the limits on sending.
//!
//! Source: RFC 9000 §8.1, §12.2, §13.1, §14.1; RFC 9002 §7.
//!
//! Difference: lost TLS data may be sent again although the congestion window is full. RFC 9002 §7
//! permits this only for packets that are sent when the probe timeout expires or when recovery
//! begins.

use aqmlab_core::{Ecn, Instant, QuicAck, QuicDatagram, QuicFrame, QuicPacket, QuicSpace};

use crate::config::MIN_INITIAL;
use crate::connection::{Connection, State, Transmit};
use crate::handshake::Role;
use crate::recovery::SentPacket;
use crate::streams::Chunk;
use crate::wire::{frame_len, number_len, overhead, packet_len, stream_overhead, varint};

/// A packet or a data frame is begun only with more than this many free bytes in the datagram.
const LEAST_ROOM: u32 = 32;

/// Whether the congestion window and pacing let a packet leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
}

/// A packet that is not sent yet.
struct Built {
    packet: QuicPacket,
    /// The length of the packet in bytes.
    bytes: u32,
    is_eliciting: bool,
    /// Whether the packet carries bytes that were sent before.
    repeats: bool,
}

impl Connection {
    /// Returns the next datagram to send at `now`, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.state != State::Open {
            return self.poll_close();
        }
        let built = self.build_packets(now);
        if built.is_empty() {
            return None;
        }
        Some(self.send(built, now))
    }

    fn poll_close(&mut self) -> Option<Transmit> {
        if !std::mem::take(&mut self.must_close) {
            return None;
        }
        let space = QuicSpace::ALL.into_iter().rev().find(|&at| self.handshake.can_send(at))?;
        let packet = self.packet(space, vec![QuicFrame::Close]);
        let bytes = packet_len(&packet, self.recovery.largest_acked(space));
        self.next[space.index()] += 1;
        self.stats.datagrams_sent += 1;
        let datagram = QuicDatagram { packets: vec![packet] };
        Some(Transmit { datagram, bytes, ecn: Ecn::NotEct })
    }

    fn packet(&self, space: QuicSpace, frames: Vec<QuicFrame>) -> QuicPacket {
        let zero_rtt = space == QuicSpace::Application && self.handshake.sends_zero_rtt();
        QuicPacket { space, number: self.next[space.index()], zero_rtt, frames }
    }

    /// Builds the packets of the next datagram. If there are none, records that the sender stops,
    /// and until when pacing delays it.
    fn build_packets(&mut self, now: Instant) -> Vec<Built> {
        let mut built = Vec::new();
        let allowance = self.allowance();
        if allowance < u64::from(MIN_INITIAL) {
            return built;
        }
        // The path's MTU is known after the handshake.
        let most = if self.handshake.is_confirmed { self.max_datagram_size } else { MIN_INITIAL };
        let gate = self.gate(most, now);
        let mut left = most;
        let mut is_held = false;
        for space in QuicSpace::ALL {
            if !self.handshake.can_send(space) {
                continue;
            }
            let has_data = self.has_data(space);
            // Otherwise lost TLS data could wait for data in flight that the peer cannot
            // acknowledge before it has the TLS data.
            let is_exempt = self.handshake.has_lost_data(space);
            let may_send = gate == Gate::Open || is_exempt || self.probes[space.index()] > 0;
            is_held |= has_data && !may_send;
            if let Some(packet) = self.build(space, left, may_send, now) {
                left = left.saturating_sub(packet.bytes);
                built.push(packet);
            }
        }
        if built.is_empty() {
            self.recovery.congestion.on_stopped(is_held);
            let departs = self.departure(most);
            self.paced_until = (is_held && departs > now).then_some(departs);
        }
        built
    }

    fn departure(&self, bytes: u32) -> Instant {
        self.pacer.departure(self.pacing_rate(), self.burst(), u64::from(bytes))
    }

    fn gate(&self, bytes: u32, now: Instant) -> Gate {
        let congestion = &self.recovery.congestion;
        let fits = congestion.in_flight + u64::from(bytes) <= congestion.window().cwnd;
        if fits && self.departure(bytes) <= now { Gate::Open } else { Gate::Closed }
    }

    fn has_data(&mut self, space: QuicSpace) -> bool {
        self.handshake.has_data(space)
            || (space == QuicSpace::Application
                && (self.handshake.must_confirm || self.streams.next_ready().is_some()))
    }

    /// Builds a packet of up to `room` bytes. Returns `None` if there is nothing to send or `room`
    /// is too small.
    fn build(
        &mut self,
        space: QuicSpace,
        room: u32,
        may_send: bool,
        now: Instant,
    ) -> Option<Built> {
        let index = space.index();
        let number = number_len(self.next[index], self.recovery.largest_acked(space));
        let mut packet = self.packet(space, Vec::new());
        let mut left = room.checked_sub(overhead(space, packet.zero_rtt, number))?;
        if left <= LEAST_ROOM {
            return None;
        }
        let is_probe = self.probes[index] > 0;
        if is_probe && !self.has_data(space) {
            self.requeue_oldest(space);
        }
        let sends = may_send && (is_probe || self.has_data(space));
        let tracker = &self.acks[index];
        let acks = !packet.zero_rtt
            && tracker.is_pending()
            && (sends || tracker.due().is_some_and(|at| at <= now));
        if acks {
            let frame = fitting(tracker.frame(now), left);
            left -= frame_len(&frame);
            packet.frames.push(frame);
            self.acks[index].on_sent();
        }
        let mut repeats = false;
        if sends {
            let before = packet.frames.len();
            repeats = self.fill(space, left, &mut packet.frames);
            if is_probe && packet.frames.len() == before {
                packet.frames.push(QuicFrame::Ping);
            }
        }
        let is_eliciting = packet.frames.iter().any(QuicFrame::is_ack_eliciting);
        if packet.frames.is_empty() {
            return None;
        }
        if is_eliciting {
            self.probes[index] = self.probes[index].saturating_sub(1);
        }
        let bytes = packet_len(&packet, self.recovery.largest_acked(space));
        Some(Built { packet, bytes, is_eliciting, repeats })
    }

    /// Queues the frames of the oldest packet in flight to be sent again, for a probe without new
    /// data.
    fn requeue_oldest(&mut self, space: QuicSpace) {
        if let Some(frames) = self.recovery.oldest_frames(space).map(<[QuicFrame]>::to_vec) {
            self.requeue_frames(space, &frames);
        }
    }

    /// Adds data frames to a packet. Returns whether any of the data was sent before.
    fn fill(&mut self, space: QuicSpace, mut left: u32, frames: &mut Vec<QuicFrame>) -> bool {
        let mut repeats = false;
        while left > LEAST_ROOM && self.handshake.has_data(space) {
            let out = self.handshake.out(space);
            // Type, offset and length.
            let most = left - 1 - varint(out.next_offset()) - 2;
            let Some(chunk) = out.take(most) else { break };
            repeats |= chunk.is_repeated;
            let frame = QuicFrame::Crypto { offset: chunk.offset, len: chunk.len };
            left -= frame_len(&frame);
            frames.push(frame);
        }
        if space == QuicSpace::Application {
            repeats |= self.fill_streams(left, frames);
        }
        repeats
    }

    fn fill_streams(&mut self, mut left: u32, frames: &mut Vec<QuicFrame>) -> bool {
        let mut repeats = false;
        if self.handshake.must_confirm {
            self.handshake.must_confirm = false;
            frames.push(QuicFrame::HandshakeDone);
            left = left.saturating_sub(1);
        }
        while left > LEAST_ROOM
            && let Some(stream) = self.streams.next_ready()
        {
            let sender = self.streams.sender(stream);
            let most = left - stream_overhead(stream, sender.next_offset());
            let Some(Chunk { offset, len, fin, is_repeated }) = sender.take(most) else { break };
            repeats |= is_repeated;
            let frame = QuicFrame::Stream { stream, offset, len, fin };
            left = left.saturating_sub(frame_len(&frame));
            frames.push(frame);
        }
        repeats
    }

    /// Joins packets to one datagram, pads it if necessary, records it as sent, and returns it.
    fn send(&mut self, mut built: Vec<Built>, now: Instant) -> Transmit {
        let initial = built.iter().find(|one| one.packet.space == QuicSpace::Initial);
        let is_client = self.handshake.role == Role::Client;
        let pads = initial.is_some_and(|packet| is_client || packet.is_eliciting);
        let bytes: u32 = built.iter().map(|one| one.bytes).sum();
        let padding = if pads { MIN_INITIAL.saturating_sub(bytes) } else { 0 };
        if let Some(last) = built.last_mut() {
            last.bytes += padding;
        }
        let marks = self.ecn;
        let sent = built.len();
        let mut packets = Vec::with_capacity(sent);
        for (place, one) in built.into_iter().enumerate() {
            let is_padded = padding > 0 && place + 1 == sent;
            packets.push(self.register(one, is_padded, marks, now));
        }
        let total = bytes + padding;
        if !self.amplification.is_validated {
            self.amplification.sent += u64::from(total);
        }
        self.stats.datagrams_sent += 1;
        self.set_timer(now);
        let ecn = if marks { Ecn::Ect0 } else { Ecn::NotEct };
        Transmit { datagram: QuicDatagram { packets }, bytes: total, ecn }
    }

    /// Records a packet that is sent, and returns it.
    fn register(&mut self, built: Built, is_padded: bool, ecn: bool, now: Instant) -> QuicPacket {
        let Built { packet, bytes, is_eliciting, repeats } = built;
        let space = packet.space;
        self.next[space.index()] += 1;
        self.stats.repeated_packets += u64::from(repeats);
        let is_data = |frame: &QuicFrame| matches!(frame, QuicFrame::Stream { .. });
        self.stats.data_packets_sent += u64::from(packet.frames.iter().any(is_data));
        let acks = packet.frames.iter().find_map(|frame| match frame {
            QuicFrame::Ack(ack) => ack.ranges.first().map(|&(_, last)| last),
            _ => None,
        });
        if is_eliciting || is_padded {
            let rate = self.pacing_rate();
            self.pacer.on_sent(now, rate, u64::from(bytes));
            let is_kept = |frame: &&QuicFrame| !matches!(frame, QuicFrame::Ack(_));
            let frames = packet.frames.iter().filter(is_kept).cloned().collect();
            self.recovery.on_sent(space, now, bytes, |packet| SentPacket {
                ack_eliciting: is_eliciting,
                ecn,
                frames,
                acks,
                packet,
            });
        } else {
            self.recovery.on_ack_only_sent(space, now, acks);
        }
        if is_eliciting && !std::mem::replace(&mut self.has_sent, true) {
            self.restart_idle(now);
        }
        if space == QuicSpace::Handshake && self.handshake.role == Role::Client {
            self.discard(QuicSpace::Initial);
        }
        packet
    }
}

/// Returns an ACK frame without the oldest ranges that do not fit into `room` bytes. At least one
/// range remains.
fn fitting(ack: QuicAck, room: u32) -> QuicFrame {
    let mut frame = QuicFrame::Ack(ack);
    while frame_len(&frame) > room {
        let QuicFrame::Ack(ack) = &mut frame else { break };
        if ack.ranges.len() < 2 {
            break;
        }
        ack.ranges.pop();
    }
    frame
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Args;
    use aqmlab_tcp::cc::kinds;

    use super::*;
    use crate::Config;
    use crate::acks::AckRule;

    /// Returns a client that has TLS data and the acknowledgement of a packet to send.
    fn client() -> Connection {
        let kind = kinds::find("reno").expect("the controller exists");
        let config = Config::new((kind.build)(&Args::defaults(kind.params)));
        let mut client = Connection::client(config, Instant::ZERO);
        client.acks[0].on_packet(0, true, Ecn::NotEct, Instant::ZERO, AckRule::AtOnce);
        client
    }

    /// Builds an Initial packet with `left` bytes for its frames; returns its frames.
    fn frames(client: &mut Connection, left: u32) -> Option<Vec<QuicFrame>> {
        let room = overhead(QuicSpace::Initial, false, 1) + left;
        let built = client.build(QuicSpace::Initial, room, true, Instant::ZERO);
        built.map(|built| built.packet.frames)
    }

    #[test]
    fn a_packet_without_room_for_data_has_no_ping() {
        for left in 0..100 {
            for has_ack in [false, true] {
                let mut client = client();
                if !has_ack {
                    client.acks[0].on_sent();
                }
                let built = frames(&mut client, left);
                assert_eq!(built.is_some(), left > LEAST_ROOM, "{left} bytes, {has_ack}");
                let has_ping = built.is_some_and(|frames| frames.contains(&QuicFrame::Ping));
                assert!(!has_ping, "{left} bytes, {has_ack}");
            }
        }
    }

    #[test]
    fn a_probe_without_room_for_data_has_a_ping() {
        let mut client = client();
        client.probes[0] = 1;
        let built = frames(&mut client, LEAST_ROOM + 1).expect("there is room for a packet");
        assert!(matches!(built[..], [QuicFrame::Ack(_), QuicFrame::Ping]), "{built:?}");
    }
}
