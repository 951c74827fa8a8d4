//! Accurate ECN: the counters of marks, and the feedback on the handshake.
//!
//! Sources: RFC 9768 §3.2; Linux 6.18 `include/net/tcp_ecn.h` and `tcp_input.c`.

use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use crate::common::clock::later_by;
use crate::tcb::Tcb;

/// The initial value of the counter of CE marks, which the ACE field of segments shows (RFC 9768
/// §3.2.1).
const ACE_INITIAL: u64 = 5;
/// The number of unreported marks at and above which an acknowledgement is due at once
/// (`TCP_ACCECN_ACE_MAX_DELTA`).
const ACE_MAX_DELTA: u32 = 6;
/// The largest number of unreported marks that is counted (`received_ce_pending` has four bits).
const MAX_PENDING: u32 = 15;

/// The counters of accurate ECN.
#[derive(Debug, Default)]
pub(crate) struct Accurate {
    /// The number of packets received with a CE mark, including pure acknowledgements
    /// (`received_ce`).
    received_ce: u64,
    /// The number of marks that no segment has reported yet (`received_ce_pending`).
    pending: u32,
    /// The ECN field of the packet last received (`prev_ecnfield`).
    last: Ecn,
    /// The ECN field of this end's SYN or SYN-ACK.
    syn_sent: Ecn,
    /// The ECN field of the peer's SYN or SYN-ACK.
    syn_received: Ecn,
    /// Whether the next segment sent shows the ECN field of the SYN-ACK.
    shows_syn_ack: bool,
    /// Whether the next segment received is the third of the handshake, which has no counter.
    awaits_third: bool,
    /// Whether the peer's feedback is invalid, so that packets are not ECN-capable.
    is_broken: bool,
    /// The latest timestamp of the segments checked so far.
    ts_val: u32,
}

impl Accurate {
    /// Returns the ACE field that reports the ECN field of the peer's SYN or SYN-ACK (RFC 9768
    /// table 2).
    pub(super) const fn ace_of_syn(&self) -> u64 {
        match self.syn_received {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        }
    }
}

/// Returns the ECN field with which a SYN or SYN-ACK arrived, as `ace` reports it. Also returns
/// whether a path may turn the field `sent` into that field.
const fn syn_of_ace(ace: u8, sent: Ecn) -> (Ecn, bool) {
    let arrived = match ace {
        0b010 => Ecn::NotEct,
        0b100 => Ecn::Ect0,
        0b110 => Ecn::Ce,
        _ => Ecn::Ect1,
    };
    let is_equal = arrived.bits() == sent.bits();
    let is_valid =
        is_equal || !(matches!(sent, Ecn::NotEct | Ecn::Ce) || matches!(arrived, Ecn::NotEct));
    (arrived, is_valid)
}

impl Tcb {
    /// Records the ECN field `field` of the peer's SYN, and the ECN field of this end's SYN-ACK.
    pub(super) fn note_syn(&mut self, field: Ecn) {
        let accurate = &mut self.ecn.accurate;
        (accurate.syn_sent, accurate.syn_received) = (self.ecn.offer.of_syn(), field);
        accurate.last = field;
        accurate.awaits_third = true;
    }

    /// Records the ECN field `field` of the peer's SYN-ACK, and the ECN field of this end's SYN. If
    /// the SYN-ACK is marked, counts the mark. A host with `ecn_fallback` instead makes its later
    /// packets not ECN-capable if the marked SYN-ACK reports an impossible field of the SYN.
    pub(super) fn note_syn_ack(&mut self, header: &TcpHeader, field: Ecn) {
        let fallback = self.profile.ecn_fallback;
        let accurate = &mut self.ecn.accurate;
        (accurate.syn_sent, accurate.syn_received) = (self.ecn.offer.of_syn(), field);
        accurate.shows_syn_ack = true;
        if field == Ecn::Ce {
            let (_, is_valid) = syn_of_ace(header.flags.ace(), accurate.syn_sent);
            if is_valid || !fallback {
                accurate.received_ce += 1;
                accurate.pending += 1;
            } else {
                accurate.is_broken = true;
            }
        }
    }

    /// Sets the ACE field of a segment, and returns the segment's ECN field (`tcp_accecn_set_ace`).
    pub(super) fn report_marks(&mut self, header: &mut TcpHeader) -> Ecn {
        let accurate = &mut self.ecn.accurate;
        let ace = if std::mem::take(&mut accurate.shows_syn_ack) {
            accurate.ace_of_syn()
        } else {
            accurate.pending = 0;
            accurate.received_ce + ACE_INITIAL
        };
        header.flags = header.flags.with(TcpFlags::of_ace(ace));
        if accurate.is_broken { Ecn::NotEct } else { self.ecn.offer.capable() }
    }

    /// Records the ECN field of a segment that has arrived, and counts its mark, if any. Returns
    /// whether the field differs from the previous segment's field (`tcp_ecn_received_counters`).
    pub(crate) fn count_mark(&mut self, field: Ecn) -> bool {
        self.ecn.seen |= field != Ecn::NotEct;
        let accurate = &mut self.ecn.accurate;
        if field == Ecn::Ce {
            accurate.received_ce += 1;
            accurate.pending = (accurate.pending + 1).min(MAX_PENDING);
        }
        std::mem::replace(&mut accurate.last, field) != field
    }

    /// Returns whether marks must be reported at once.
    pub(crate) fn has_many_marks(&self) -> bool {
        self.ecn.accurate.pending >= ACE_MAX_DELTA
    }

    /// Returns whether a segment is the third of the handshake. Reads from this segment the ECN
    /// field with which the SYN-ACK arrived. If the report is invalid, makes later packets not
    /// ECN-capable (`tcp_accecn_third_ack`).
    pub(crate) fn read_third(&mut self, header: &TcpHeader) -> bool {
        let fallback = self.profile.ecn_fallback;
        let accurate = &mut self.ecn.accurate;
        if !std::mem::take(&mut accurate.awaits_third) {
            return false;
        }
        let ace = header.flags.ace();
        match ace {
            0b000 => accurate.is_broken = true,
            0b001 | 0b101 | 0b111 => {}
            _ if header.payload == 0 => {
                let (arrived, is_valid) = syn_of_ace(ace, accurate.syn_sent);
                accurate.is_broken |= fallback && !is_valid;
                if arrived == Ecn::Ce && (is_valid || !fallback) && self.ecn.delivered_ce == 0 {
                    self.ecn.delivered_ce = 1;
                }
            }
            _ => {}
        }
        true
    }

    /// Returns whether the segment has a later timestamp than all segments checked before, and
    /// records that timestamp.
    pub(crate) fn is_newer_by_timestamp(&mut self, header: &TcpHeader) -> bool {
        let accurate = &mut self.ecn.accurate;
        let is_newer = header.timestamps && later_by(header.ts_val, accurate.ts_val) > 0;
        if is_newer {
            accurate.ts_val = header.ts_val;
        }
        is_newer
    }

    /// Returns the number of new marks that an acknowledgement of `delivered` segments reports. The
    /// counter has three bits, so it gives the number modulo eight. For at most seven segments the
    /// smallest possible number is assumed, and for more segments the largest possible number
    /// (`__tcp_accecn_process`).
    pub(crate) fn new_marks(&self, ace: u8, delivered: u64) -> u64 {
        let counter = (u64::from(ace) + 8 - ACE_INITIAL) & 7;
        let delta = counter.wrapping_sub(self.ecn.delivered_ce) & 7;
        if delivered <= 7 { delta } else { delivered - (delivered.wrapping_sub(delta) & 7) }
    }

    /// Makes later packets not ECN-capable, because the path or the peer clears the counter.
    pub(crate) fn break_ecn(&mut self) {
        self.ecn.accurate.is_broken = true;
    }
}
