//! Datagrams in: packets, acknowledgements and frames.
//!
//! Source: RFC 9000 §12 and §13. Packets wait until their keys are known (RFC 9001 §5.7). The
//! maximum number of waiting packets is Chromium's (`kDefaultMaxUndecryptablePackets`).

use aqmlab_core::{
    Duration, Ecn, Instant, QuicAck, QuicDatagram, QuicFrame, QuicPacket, QuicSpace,
};

use crate::acks::{AckRule, MAX_ACK_DELAY};
use crate::connection::{Connection, Event, State};
use crate::handshake::Role;
use crate::recovery::SentPacket;
use crate::streams::extent;

/// The maximum number of packets that wait for their keys.
const MOST_WAITING: usize = 10;

impl Connection {
    /// Processes a datagram that has arrived at `now` with `bytes` of UDP payload and the ECN field
    /// `ecn`.
    pub fn handle_datagram(&mut self, datagram: &QuicDatagram, bytes: u32, ecn: Ecn, now: Instant) {
        match self.state {
            State::Open => {}
            // The peer may not have received `CONNECTION_CLOSE`.
            State::Closing(_) => {
                self.must_close = true;
                return;
            }
            State::Draining => return,
        }
        self.amplification.received += u64::from(bytes);
        for packet in &datagram.packets {
            self.receive(packet, ecn, now);
        }
        self.receive_waiting();
        self.close_when_done(now);
        self.set_timer(now);
    }

    /// Processes a packet, or keeps it until its keys are known. Drops it if its keys were
    /// discarded or if too many packets wait.
    fn receive(&mut self, packet: &QuicPacket, ecn: Ecn, now: Instant) {
        if self.handshake.can_read(packet.space, packet.zero_rtt) {
            self.handle_packet(packet, ecn, now);
        } else if self.handshake.will_read(packet.space) && self.waiting.len() < MOST_WAITING {
            self.waiting.push((packet.clone(), ecn, now));
        }
    }

    /// Processes the packets whose keys have become known. Each packet has the time of its arrival,
    /// so the delay of its acknowledgement includes the wait (RFC 9000 §13.2.5).
    fn receive_waiting(&mut self) {
        while let Some(place) = self
            .waiting
            .iter()
            .position(|(packet, ..)| self.handshake.can_read(packet.space, packet.zero_rtt))
        {
            let (packet, ecn, at) = self.waiting.remove(place);
            self.handle_packet(&packet, ecn, at);
        }
    }

    fn handle_packet(&mut self, packet: &QuicPacket, ecn: Ecn, now: Instant) {
        let space = packet.space;
        if self.acks[space.index()].is_known(packet.number) {
            return;
        }
        self.restart_idle(now);
        self.has_sent = false;
        if self.handshake.role == Role::Server && space == QuicSpace::Handshake {
            self.amplification.is_validated = true;
            self.discard(QuicSpace::Initial);
        }
        let is_eliciting = packet.frames.iter().any(QuicFrame::is_ack_eliciting);
        let rule = match space {
            QuicSpace::Application => AckRule::Delayed,
            QuicSpace::Initial | QuicSpace::Handshake => AckRule::AtOnce,
        };
        self.acks[space.index()].on_packet(packet.number, is_eliciting, ecn, now, rule);
        for frame in &packet.frames {
            self.handle_frame(space, frame, now);
        }
    }

    fn handle_frame(&mut self, space: QuicSpace, frame: &QuicFrame, now: Instant) {
        match frame {
            QuicFrame::Ping => {}
            QuicFrame::Ack(ack) => self.handle_ack(space, ack, now),
            &QuicFrame::Crypto { offset, len } => {
                if self.handshake.receive(space, offset, len) {
                    self.complete(now);
                }
            }
            &QuicFrame::Stream { stream, offset, len, fin } => {
                let progress = self.streams.receive(stream, offset, len, fin);
                if progress.bytes > 0 {
                    let bytes = progress.bytes;
                    self.events.push_back(Event::Readable { stream, bytes });
                }
                if progress.finished {
                    self.events.push_back(Event::Finished { stream });
                }
            }
            QuicFrame::HandshakeDone => self.confirm(),
            QuicFrame::Close => self.drain(),
        }
    }

    fn handle_ack(&mut self, space: QuicSpace, ack: &QuicAck, now: Instant) {
        if space == QuicSpace::Handshake {
            self.handshake.peer_validated = true;
        }
        let delay = match space {
            QuicSpace::Application if self.handshake.is_confirmed => ack.delay.min(MAX_ACK_DELAY),
            QuicSpace::Application => ack.delay,
            // These acknowledgements are sent at once (RFC 9002 §5.3).
            QuicSpace::Initial | QuicSpace::Handshake => Duration::ZERO,
        };
        self.recovery.congestion.check_use();
        let found = self.recovery.on_ack(space, ack, delay, now);
        self.ecn &= !found.ecn_failed;
        // The peer has these ranges (RFC 9000 §13.2.4).
        if let Some(largest) = found.acks {
            self.acks[space.index()].on_acknowledged(largest);
        }
        for sent in &found.acked {
            self.on_packet_acked(space, sent);
        }
        self.requeue(space, &found.lost);
        if found.is_new && self.handshake.peer_validated {
            self.recovery.reset_backoff();
        }
    }

    /// Records that the frames of a packet were delivered.
    fn on_packet_acked(&mut self, space: QuicSpace, sent: &SentPacket) {
        for frame in &sent.frames {
            let Some((offset, len)) = extent(frame) else { continue };
            match frame {
                QuicFrame::Stream { stream, .. } => self.streams.on_acked(*stream, offset, len),
                _ => self.handshake.out(space).on_acked(offset, len),
            }
        }
    }

    /// Queues the frames of lost packets to be sent again.
    pub(crate) fn requeue(&mut self, space: QuicSpace, lost: &[SentPacket]) {
        for sent in lost {
            self.requeue_frames(space, &sent.frames);
        }
    }

    pub(crate) fn requeue_frames(&mut self, space: QuicSpace, frames: &[QuicFrame]) {
        for frame in frames {
            match (frame, extent(frame)) {
                (QuicFrame::HandshakeDone, _) => self.handshake.must_confirm = true,
                (QuicFrame::Stream { stream, .. }, Some((offset, len))) => {
                    self.streams.sender(*stream).on_lost(offset, len);
                }
                (_, Some((offset, len))) => self.handshake.out(space).on_lost(offset, len),
                (_, None) => {}
            }
        }
    }

    /// Records that the handshake is complete at this end.
    fn complete(&mut self, now: Instant) {
        self.recovery.congestion.on_established(now, &self.recovery.rtt);
        if self.handshake.role == Role::Server {
            self.discard(QuicSpace::Handshake);
            self.events.push_back(Event::Established);
        } else if !self.handshake.has_early_data() {
            self.events.push_back(Event::Established);
        }
    }

    /// Confirms the handshake at the client (RFC 9001 §4.1.2).
    fn confirm(&mut self) {
        self.handshake.is_confirmed = true;
        self.handshake.peer_validated = true;
        self.discard(QuicSpace::Initial);
        self.discard(QuicSpace::Handshake);
    }

    /// Discards the keys and the state of a space (RFC 9001 §4.9).
    pub(crate) fn discard(&mut self, space: QuicSpace) {
        if self.handshake.discard(space) {
            self.recovery.discard(space);
            self.acks[space.index()].on_sent();
            self.probes[space.index()] = 0;
        }
    }

    /// Closes the connection at the client when both directions of stream 0 are complete.
    fn close_when_done(&mut self, now: Instant) {
        if self.handshake.role == Role::Client && self.streams.is_done(0) {
            self.close(now);
        }
    }
}
