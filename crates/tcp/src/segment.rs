//! Putting a segment's header together.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_syn_options`, `tcp_established_options`,
//! `tcp_ecn_send`).

use aqmlab_core::{Ecn, SackBlocks, TcpFlags, TcpHeader};

use crate::common::clock::Clock;
use crate::connection::Connection;

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

/// The room for options in a TCP header.
const OPTIONS_ROOM: u32 = 40;

impl Connection {
    /// Bytes of payload that fit a segment now, beside the options that it must carry.
    #[inline]
    pub(crate) fn current_mss(&self) -> u32 {
        if !self.rcv.has_sacks() {
            return self.window.mss;
        }
        self.window.mss.saturating_sub(self.sack_room()).max(1)
    }

    /// Bytes that the SACK option of the next segment takes.
    fn sack_room(&self) -> u32 {
        let blocks =
            self.rcv.sack_count().min((OPTIONS_ROOM - self.options.fixed_options() - 4) / 8);
        if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }

    /// Sends a segment of the established connection.
    #[inline]
    pub(crate) fn emit(&mut self, seq: u64, payload: u32, flags: TcpFlags, retransmission: bool) {
        let ack = self.rcv.nxt;
        if self.is_bsd() {
            self.bsd_start_steps();
        }
        let mut header = TcpHeader {
            seq,
            ack,
            payload,
            window: self.select_window(),
            window_scale: 255,
            timestamps: self.options.timestamps,
            flags: flags.with(TcpFlags::ACK),
            options_len: self.options.fixed_options() as u8,
            ..TcpHeader::default()
        };
        if self.options.timestamps {
            header.ts_val = self.clock.timestamp();
            header.ts_ecr = self.rcv.ts_recent;
        }
        if self.rcv.has_sacks() {
            self.add_sacks(&mut header);
        }
        let ecn = self.mark_ecn(&mut header, retransmission);
        self.count_sent(&header, retransmission);
        self.out.push_back(Segment { header, ecn, retransmission });
        self.on_ack_sent();
    }

    #[inline(never)]
    fn add_sacks(&mut self, header: &mut TcpHeader) {
        let room = OPTIONS_ROOM - u32::from(header.options_len);
        // A retransmission keeps its size, so SACK goes without if the packet were too large.
        let spare = (self.mtu - 40 - u32::from(header.options_len)).saturating_sub(header.payload);
        let most = (room.min(spare)).saturating_sub(4) / 8;
        let mut sack = SackBlocks::default();
        self.rcv.sack_blocks(most as usize, |start, end| sack.push(header.ack, start, end));
        if !sack.is_empty() {
            header.options_len += 4 + 8 * sack.len() as u8;
            header.sack = sack;
        }
    }

    /// RFC 3168 §6.1: only new data is ECN-capable, and the first of it carries CWR.
    #[inline]
    fn mark_ecn(&mut self, header: &mut TcpHeader, retransmission: bool) -> Ecn {
        if !self.options.ecn {
            return Ecn::NotEct;
        }
        if self.ecn.echo {
            header.flags = header.flags.with(TcpFlags::ECE);
        }
        if header.payload == 0 || retransmission {
            return Ecn::NotEct;
        }
        if std::mem::take(&mut self.ecn.cwr) {
            header.flags = header.flags.with(TcpFlags::CWR);
        }
        Ecn::Ect0
    }

    #[inline]
    pub(crate) fn count_sent(&mut self, header: &TcpHeader, retransmission: bool) {
        let stats = &mut self.stats;
        stats.segments_sent += 1;
        stats.bytes_sent += u64::from(header.payload);
        stats.data_segments_sent += u64::from(header.payload > 0);
        if retransmission {
            stats.retransmitted_segments += 1;
            stats.retransmitted_bytes += u64::from(header.payload);
        }
    }

    /// Sends an acknowledgement at once.
    pub(crate) fn send_ack(&mut self) {
        if self.is_bsd() && self.state.is_synchronized() {
            self.delack.now = true;
            self.bsd_output();
            return;
        }
        self.emit(self.snd.max.max(self.snd.nxt), 0, TcpFlags::default(), false);
    }

    /// Sends a SYN or a SYN-ACK.
    pub(crate) fn emit_syn(&mut self, with_ack: bool, retransmission: bool) {
        let offered = if with_ack { self.options.timestamps } else { self.profile.timestamps };
        let sack = if with_ack { self.options.sack } else { self.profile.sack };
        let scaling = if with_ack { self.options.scaling } else { self.profile.window_scale };
        let mut flags = TcpFlags::SYN;
        if with_ack {
            flags = flags.with(TcpFlags::ACK);
            if self.options.ecn {
                flags = flags.with(TcpFlags::ECE);
            }
        } else if self.want_ecn && !(retransmission && self.profile.ecn_fallback) {
            flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
        }
        let header = TcpHeader {
            seq: 0,
            ack: self.rcv.nxt,
            window: self.rcv_window.advertised.min(65_535) as u32,
            ts_val: if offered { self.syn_timestamp(with_ack) } else { 0 },
            ts_ecr: if offered && with_ack { self.rcv.ts_recent } else { 0 },
            flags,
            options_len: Self::syn_options(offered, sack, scaling),
            mss: (self.mtu - 40).min(65_535) as u16,
            window_scale: if scaling { self.options.rcv_shift } else { 255 },
            sack_permitted: sack,
            timestamps: offered,
            ..TcpHeader::default()
        };
        self.count_sent(&header, retransmission);
        self.out.push_back(Segment { header, ecn: Ecn::NotEct, retransmission });
    }

    /// FreeBSD's SYN-ACK says each time when it was first sent (`sc_ts`).
    fn syn_timestamp(&self, with_ack: bool) -> u32 {
        match self.first_syn.filter(|_| with_ack && self.is_bsd()) {
            Some(first) => Clock::timestamp_of(first),
            None => self.clock.timestamp(),
        }
    }

    /// MSS takes 4 bytes; timestamps 12 with SACK-permitted in their padding; SACK-permitted
    /// alone and window scale 4 each.
    const fn syn_options(timestamps: bool, sack: bool, scaling: bool) -> u8 {
        let clock = if timestamps {
            12
        } else if sack {
            4
        } else {
            0
        };
        4 + clock + if scaling { 4 } else { 0 }
    }

    /// Sends a reset.
    pub(crate) fn emit_reset(&mut self, seq: u64, ack: Option<u64>) {
        let flags = TcpFlags::RST;
        let header = TcpHeader {
            seq,
            ack: ack.unwrap_or(0),
            flags: if ack.is_some() { flags.with(TcpFlags::ACK) } else { flags },
            window_scale: 255,
            ..TcpHeader::default()
        };
        self.count_sent(&header, false);
        self.out.push_back(Segment { header, ecn: Ecn::NotEct, retransmission: false });
    }
}
