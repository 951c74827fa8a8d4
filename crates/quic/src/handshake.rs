//! The handshake: the TLS messages, the keys that they yield, and the validation of the address.
//!
//! Source: RFC 9001 §4, RFC 9000 §7 and §8.1; TLS 1.3 (RFC 8446). Differences, each pinned by a
//! test:
//!
//! - the sizes of TLS messages are typical values, not taken from a source. Only the size of
//!   `Finished` follows from RFC 8446;
//! - the server's first messages have 2623 bytes, and 3500 bytes over TCP (application `web`). With
//!   QUIC a certificate chain that exceeds the anti-amplification limit costs a round trip, so the
//!   model has a chain of about 2 kB, which fits. The chains of 65 % of QUIC services fit
//!   (Nawrocki and others, `CoNEXT` 2022).

use aqmlab_core::QuicSpace;

use crate::streams::{ReceiveBuffer, SendBuffer};

/// The length in bytes of the `ClientHello` message. The padding of the Initial packet makes the
/// size of the datagram independent of this length.
const CLIENT_HELLO: u64 = 517;
/// The length in bytes of the `ServerHello` message.
const SERVER_HELLO: u64 = 123;
/// The length in bytes of the server's messages after its `ServerHello`, with a certificate.
const CERTIFICATE_FLIGHT: u64 = 2_500;
/// The length in bytes of the server's messages after its `ServerHello`, without a certificate.
const RESUMED_FLIGHT: u64 = 150;
/// The length in bytes of the client's `Finished` message: a header and a SHA-256 (RFC 8446
/// §4.4.4).
const FINISHED: u64 = 36;

/// The role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// The handshake of one end.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the protocol")]
pub(crate) struct Handshake {
    pub(crate) role: Role,
    /// Whether the connection resumes an earlier connection with 0-RTT.
    zero_rtt: bool,
    /// The TLS bytes to send in each space.
    out: [SendBuffer; 3],
    /// The TLS bytes received in each space.
    incoming: [ReceiveBuffer; 3],
    /// Whether this end has the keys of Handshake packets.
    pub(crate) has_handshake_keys: bool,
    /// Whether the handshake is complete at this end (RFC 9001 §4.1.1).
    pub(crate) is_complete: bool,
    /// Whether the handshake is confirmed (RFC 9001 §4.1.2).
    pub(crate) is_confirmed: bool,
    /// Whether the peer has validated this end's address (RFC 9000 §8.1).
    pub(crate) peer_validated: bool,
    /// Whether `HANDSHAKE_DONE` must be sent.
    pub(crate) must_confirm: bool,
    /// Whether the keys of the Initial and of the Handshake space are discarded.
    discarded: [bool; 2],
}

impl Handshake {
    pub(crate) fn new(role: Role, zero_rtt: bool) -> Self {
        let mut handshake = Self {
            role,
            zero_rtt,
            out: Default::default(),
            incoming: Default::default(),
            has_handshake_keys: false,
            is_complete: false,
            is_confirmed: false,
            peer_validated: role == Role::Server,
            must_confirm: false,
            discarded: [false; 2],
        };
        if role == Role::Client {
            handshake.out[0].write(CLIENT_HELLO);
        }
        handshake
    }

    /// Returns the length in bytes of the server's messages after its `ServerHello`.
    const fn flight(&self) -> u64 {
        if self.zero_rtt { RESUMED_FLIGHT } else { CERTIFICATE_FLIGHT }
    }

    /// Returns the TLS bytes to send in a space.
    pub(crate) fn out(&mut self, space: QuicSpace) -> &mut SendBuffer {
        &mut self.out[space.index()]
    }

    /// Returns whether a space has TLS bytes to send.
    pub(crate) fn has_data(&self, space: QuicSpace) -> bool {
        self.out[space.index()].has_data()
    }

    /// Returns whether a space has TLS bytes that were lost.
    pub(crate) fn has_lost_data(&self, space: QuicSpace) -> bool {
        self.out[space.index()].has_lost_data()
    }

    /// Discards the keys of the Initial or the Handshake space. Returns false if they were
    /// discarded before.
    pub(crate) fn discard(&mut self, space: QuicSpace) -> bool {
        !std::mem::replace(&mut self.discarded[space.index()], true)
    }

    /// Returns whether the end can send packets of a space.
    pub(crate) fn can_send(&self, space: QuicSpace) -> bool {
        match space {
            QuicSpace::Initial => !self.discarded[0],
            QuicSpace::Handshake => self.has_handshake_keys && !self.discarded[1],
            // A server sends data right after its first flight.
            QuicSpace::Application => {
                self.is_complete
                    || self.sends_zero_rtt()
                    || (self.role == Role::Server && self.has_handshake_keys)
            }
        }
    }

    /// Returns whether this end sends packets of the application space with 0-RTT protection.
    pub(crate) const fn sends_zero_rtt(&self) -> bool {
        matches!(self.role, Role::Client) && self.zero_rtt && !self.is_complete
    }

    /// Returns whether the client may send data before the handshake is complete (0-RTT).
    pub(crate) const fn has_early_data(&self) -> bool {
        self.zero_rtt
    }

    /// Returns whether the end has the keys to read a packet of this space and protection.
    pub(crate) fn can_read(&self, space: QuicSpace, zero_rtt: bool) -> bool {
        match space {
            QuicSpace::Initial => !self.discarded[0],
            QuicSpace::Handshake => self.has_handshake_keys && !self.discarded[1],
            QuicSpace::Application if zero_rtt => self.has_handshake_keys,
            QuicSpace::Application => self.is_complete,
        }
    }

    /// Returns whether the end has the keys of a space or will get them.
    pub(crate) fn will_read(&self, space: QuicSpace) -> bool {
        self.discarded.get(space.index()) != Some(&true)
    }

    /// Processes received TLS bytes, and queues the messages with which this end answers. Returns
    /// whether the bytes complete the handshake at this end.
    pub(crate) fn receive(&mut self, space: QuicSpace, offset: u64, len: u32) -> bool {
        self.incoming[space.index()].receive(offset, u64::from(len), false);
        let read = |space: QuicSpace| self.incoming[space.index()].read();
        let (initial, handshake) = (read(QuicSpace::Initial), read(QuicSpace::Handshake));
        match self.role {
            Role::Server if !self.has_handshake_keys && initial >= CLIENT_HELLO => {
                self.has_handshake_keys = true;
                self.out[0].write(SERVER_HELLO);
                let flight = self.flight();
                self.out[1].write(flight);
                false
            }
            Role::Server if !self.is_complete && handshake >= FINISHED => {
                (self.is_complete, self.is_confirmed, self.must_confirm) = (true, true, true);
                true
            }
            Role::Client if !self.has_handshake_keys && initial >= SERVER_HELLO => {
                self.has_handshake_keys = true;
                false
            }
            Role::Client if !self.is_complete && handshake >= self.flight() => {
                self.is_complete = true;
                self.out[1].write(FINISHED);
                true
            }
            _ => false,
        }
    }
}
