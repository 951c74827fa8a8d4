//! The contents of a QUIC datagram (RFC 9000), which only the two ends of its connection can read.
//!
//! A router sees a UDP datagram. Links, disciplines and captures therefore use the length of the
//! packet and never these contents.

use crate::Duration;

/// A packet number space (RFC 9000 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuicSpace {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Application,
}

impl QuicSpace {
    /// All spaces, in the order of the handshake.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Application];

    /// Returns the index of the space in [`QuicSpace::ALL`].
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The contents of a QUIC datagram: one packet, or several coalesced packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicDatagram {
    /// The packets, in the order of their spaces.
    pub packets: Vec<QuicPacket>,
}

/// A QUIC packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicPacket {
    /// The number space to which the packet belongs.
    pub space: QuicSpace,
    /// The packet number, which is unique in its space.
    pub number: u64,
    /// Whether the packet has 0-RTT protection.
    pub zero_rtt: bool,
    /// The frames. Padding counts only in the length of the datagram.
    pub frames: Vec<QuicFrame>,
}

/// A frame of a QUIC packet (RFC 9000 §19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuicFrame {
    /// PING, which only elicits an acknowledgement.
    Ping,
    /// ACK: the packets received.
    Ack(QuicAck),
    /// CRYPTO: bytes of the TLS handshake.
    Crypto {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        len: u32,
    },
    /// STREAM: bytes of an application.
    Stream {
        /// The stream's index in the order of opening.
        stream: u32,
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        len: u32,
        /// Whether the stream ends after these bytes.
        fin: bool,
    },
    /// The server confirms the handshake (`HANDSHAKE_DONE`).
    HandshakeDone,
    /// The sender closes the connection (`CONNECTION_CLOSE`).
    Close,
}

impl QuicFrame {
    /// Returns whether the receiver must acknowledge the frame (RFC 9002 §2).
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Self::Ack(_) | Self::Close)
    }
}

/// An ACK frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicAck {
    /// The ranges of acknowledged packet numbers, the highest range first. Each range includes both
    /// of its ends.
    pub ranges: Vec<(u64, u64)>,
    /// The time from the arrival of the largest acknowledged packet to the transmission of this
    /// frame.
    pub delay: Duration,
    /// The numbers of packets received with ECT(0), ECT(1) and CE; `None` if all are zero.
    pub ecn: Option<EcnCounts>,
}

/// The numbers of packets received with ECT(0), ECT(1) and CE (RFC 9000 §19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u64,
    /// Packets with ECT(1).
    pub ect1: u64,
    /// Packets with CE.
    pub ce: u64,
}
