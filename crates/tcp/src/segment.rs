//! The segments that an endpoint sends.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_syn_options`, `tcp_established_options`,
//! `tcp_ecn_send`).

use aqmlab_core::hint::rare;
use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use crate::negotiated::{MAX_WINDOW, NO_SCALE};
use crate::tcb::Tcb;

/// The length of a TCP header without options, in bytes.
pub(crate) const TCP_HEADER: u32 = 20;
/// The length of the IPv4 and TCP headers without options, in bytes.
pub(crate) const HEADERS: u32 = 20 + TCP_HEADER;
/// The maximum length of the options in a TCP header, in bytes (`MAX_TCP_OPTION_SPACE`).
const OPTIONS_SPACE: u32 = 40;

/// A segment to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The TCP header of the segment.
    pub header: TcpHeader,
    /// The ECN field of the segment's IP header.
    pub ecn: Ecn,
    /// Whether the bytes or the SYN of the segment were sent before.
    pub retransmission: bool,
}

/// Whether a segment is sent for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmission {
    Original,
    Retransmission,
}

impl Transmission {
    /// Returns `Retransmission` if `repeated`, and `Original` otherwise.
    pub(crate) const fn repeated_if(repeated: bool) -> Self {
        if repeated { Self::Retransmission } else { Self::Original }
    }

    const fn is_repeated(self) -> bool {
        matches!(self, Self::Retransmission)
    }
}

/// The kind of a segment that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SynKind {
    Syn,
    SynAck,
}

impl Tcb {
    /// Returns the number of payload bytes that fit into the next segment, beside the options that
    /// it must carry (`tcp_current_mss`).
    #[inline]
    pub(crate) fn current_mss(&self) -> u32 {
        if !self.rcv.sack.is_due() {
            return self.window.mss;
        }
        rare();
        self.window.mss.saturating_sub(self.sack_len()).max(1)
    }

    /// Returns the length of the SACK option in the next segment, in bytes with padding.
    fn sack_len(&self) -> u32 {
        let limit = (OPTIONS_SPACE - self.options.fixed_len() - 4) / 8;
        let blocks = self.rcv.sack.len().min(limit);
        if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }

    /// Returns the header of a segment after the handshake that offers `window` and carries neither
    /// data nor SACK blocks. The segments of a burst differ from it in `seq`, `payload` and `flags`
    /// only.
    #[inline]
    pub(crate) fn header(&self, window: u32) -> TcpHeader {
        let mut header = TcpHeader {
            ack: self.rcv.nxt,
            window,
            window_scale: NO_SCALE,
            timestamps: self.options.timestamps,
            flags: TcpFlags::ACK,
            options_len: self.options.fixed_len() as u8,
            ..TcpHeader::default()
        };
        if self.options.timestamps {
            header.ts_val = self.clock.timestamp();
            header.ts_ecr = self.rcv.ts_recent;
        }
        header
    }

    /// Returns whether the next segment carries neither SACK blocks nor ECN bits.
    #[inline]
    pub(crate) fn sends_plainly(&self) -> bool {
        !self.options.ecn && !self.rcv.sack.is_due()
    }

    /// Sends an acknowledgement without payload, SACK blocks and ECN bits.
    #[inline]
    pub(crate) fn emit_ack(&mut self, header: TcpHeader) {
        self.stats.segments_sent += 1;
        self.out.push(Segment { header, ecn: Ecn::NotEct, retransmission: false });
    }

    /// Sends a segment after the handshake. Adds the SACK blocks and the ECN bits to `header`.
    ///
    /// Most segments have neither. The function that adds ECN bits gets the header by value, so that
    /// the compiler need not store it before it joins the queue. The SACK blocks are added in the
    /// queue.
    #[expect(clippy::inline_always, reason = "every segment passes; a call costs 1 % of a run")]
    #[inline(always)]
    pub(crate) fn emit(&mut self, header: TcpHeader, transmission: Transmission) {
        if self.options.ecn {
            rare();
            let (header, ecn) = self.with_ecn(header, transmission);
            self.enqueue(header, ecn, transmission);
        } else {
            self.enqueue(header, Ecn::NotEct, transmission);
        }
        if self.rcv.sack.is_due() {
            rare();
            self.add_sacks();
        }
    }

    /// Adds those due SACK blocks that fit to the segment that was just queued.
    #[inline(never)]
    fn add_sacks(&mut self) {
        let Segment { header, .. } = self.out.back_mut().expect("a segment was queued");
        let space = OPTIONS_SPACE - u32::from(header.options_len);
        // A retransmission keeps its size. SACK is omitted if the packet would be too large.
        let taken = HEADERS + u32::from(header.options_len) + header.payload;
        let room = self.mtu.saturating_sub(taken);
        let limit = space.min(room).saturating_sub(4) / 8;
        let ack = header.ack;
        self.rcv.sack.report(limit as usize, |start, end| header.sack.push(ack, start, end));
        if !header.sack.is_empty() {
            header.options_len += 4 + 8 * header.sack.len() as u8;
        }
    }

    /// Adds the ECN bits of a connection that uses ECN. Also returns the ECN field of the segment's
    /// IP header.
    #[inline(never)]
    fn with_ecn(&mut self, mut header: TcpHeader, transmission: Transmission) -> (TcpHeader, Ecn) {
        let is_new = header.payload > 0 && !transmission.is_repeated();
        let ecn = self.add_ecn_bits(&mut header, is_new);
        (header, ecn)
    }

    /// Counts a segment, and queues it for the driver.
    #[inline]
    fn enqueue(&mut self, header: TcpHeader, ecn: Ecn, transmission: Transmission) {
        let retransmission = transmission.is_repeated();
        let stats = &mut self.stats;
        stats.segments_sent += 1;
        stats.bytes_sent += u64::from(header.payload);
        stats.data_segments_sent += u64::from(header.payload > 0);
        if retransmission {
            rare();
            stats.retransmitted_segments += 1;
            stats.retransmitted_bytes += u64::from(header.payload);
        }
        self.out.push(Segment { header, ecn, retransmission });
    }

    /// Sends a SYN or a SYN-ACK. If the segment carries a timestamp, the timestamp is `ts_val`.
    pub(crate) fn emit_syn(&mut self, kind: SynKind, transmission: Transmission, ts_val: u32) {
        let answers = kind == SynKind::SynAck;
        let (timestamps, sack, scaling) = if answers {
            (self.options.timestamps, self.options.sack, self.options.scaling)
        } else {
            (self.profile.timestamps, self.profile.sack, self.profile.window_scale)
        };
        let (flags, ecn) = self.syn_flags(kind, transmission);
        let header = TcpHeader {
            seq: 0,
            ack: self.rcv.nxt,
            window: self.rcv.wnd.min(MAX_WINDOW) as u32,
            ts_val: if timestamps { ts_val } else { 0 },
            ts_ecr: if timestamps && answers { self.rcv.ts_recent } else { 0 },
            flags,
            options_len: syn_options_len(timestamps, sack, scaling),
            mss: (self.mtu - HEADERS).min(u32::from(u16::MAX)) as u16,
            window_scale: if scaling { self.options.rcv_shift } else { NO_SCALE },
            sack_permitted: sack,
            timestamps,
            ..TcpHeader::default()
        };
        self.enqueue(header, ecn, transmission);
    }

    /// Returns the flags of a SYN or a SYN-ACK, and its ECN field (RFC 3168 §6.1.1). A
    /// retransmitted SYN does not request ECN if the profile has `ecn_fallback`. Its ECN field does
    /// not change, because `tcp_ecn_clear_syn` clears only the flags.
    fn syn_flags(&self, kind: SynKind, transmission: Transmission) -> (TcpFlags, Ecn) {
        let falls_back = transmission.is_repeated() && self.profile.ecn_fallback;
        match kind {
            SynKind::SynAck => {
                let (bits, ecn) = self.ecn_of_syn_ack();
                (TcpFlags::SYN.with(TcpFlags::ACK).with(bits), ecn)
            }
            SynKind::Syn => {
                let (bits, ecn) = self.ecn_of_syn();
                let bits = if falls_back { TcpFlags::default() } else { bits };
                (TcpFlags::SYN.with(bits), ecn)
            }
        }
    }

    /// Sends a reset with the sequence number `seq`, and with an acknowledgement of `ack` if there
    /// is one.
    pub(crate) fn emit_reset(&mut self, seq: u64, ack: Option<u64>) {
        let flags = TcpFlags::RST;
        let header = TcpHeader {
            seq,
            ack: ack.unwrap_or(0),
            flags: if ack.is_some() { flags.with(TcpFlags::ACK) } else { flags },
            window_scale: NO_SCALE,
            ..TcpHeader::default()
        };
        self.enqueue(header, Ecn::NotEct, Transmission::Original);
    }
}

/// Returns the length of a SYN's options in bytes. MSS takes 4 bytes. Timestamps take 12 bytes,
/// with SACK-permitted in their padding. SACK-permitted alone and window scale take 4 bytes each.
const fn syn_options_len(timestamps: bool, sack: bool, scaling: bool) -> u8 {
    let clock = if timestamps {
        12
    } else if sack {
        4
    } else {
        0
    };
    4 + clock + if scaling { 4 } else { 0 }
}
