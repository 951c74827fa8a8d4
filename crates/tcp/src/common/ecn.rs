//! The negotiation of ECN, and its state.
//!
//! Sources: RFC 3168 §6.1, RFC 9768 §3.1 and §3.2; Linux 6.18 `include/net/tcp_ecn.h` and
//! `tcp_ecn_create_request`; L4STeam's kernel for controllers that need ECT(1).
//! Difference: the AccECN option is neither sent nor read, as with `tcp_ecn_option = 0`. The ACE
//! field alone reports marks.

use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use crate::cc::{EcnMode, EcnNeed, Start, Totals};
use crate::profile::Stack;
use crate::tcb::Tcb;
use crate::{Config, Profile};

/// The first value of the counter of CE marks, which the ACE field of segments shows.
const ACE_INITIAL: u64 = 5;
/// The number of unreported marks from which an acknowledgement is due at once
/// (`TCP_ACCECN_ACE_MAX_DELTA`).
const ACE_MAX_DELTA: u32 = 6;

/// The ECN that a host requests and accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// The form of ECN that a SYN requests.
    request: EcnMode,
    /// Whether the host accepts classic ECN, and accurate ECN.
    accepts: (bool, bool),
    need: EcnNeed,
}

impl Offer {
    /// Combines the values of Linux's sysctl `tcp_ecn`, of the route's feature `ecn`, and the need
    /// of the controller.
    pub(crate) fn new(config: &Config) -> Self {
        let profile: &Profile = &config.profile;
        let (sysctl, need) = match profile.stack {
            Stack::Linux => (profile.tcp_ecn, config.cc.ecn_need()),
            Stack::FreeBsd => (0, EcnNeed::None),
        };
        let is_l4s = need == EcnNeed::L4s;
        let classic = config.ecn || matches!(sysctl, 1 | 4) || need == EcnNeed::Any;
        let request = match (sysctl == 3 || is_l4s, classic) {
            (true, _) => EcnMode::Accurate,
            (false, true) => EcnMode::Classic,
            (false, false) => EcnMode::Off,
        };
        Self { request, accepts: (config.ecn || sysctl > 0, sysctl >= 3 || is_l4s), need }
    }

    /// Returns the form of ECN that a host agrees to when it receives a SYN
    /// (`tcp_ecn_create_request`, `tcp_ecn_openreq_child`).
    fn answer(self, flags: TcpFlags, field: Ecn) -> EcnMode {
        let (classic, accurate) = self.accepts;
        if accurate && !matches!(flags.ace(), 0b000 | 0b011) {
            return EcnMode::Accurate;
        }
        if self.need == EcnNeed::L4s {
            return EcnMode::Off;
        }
        // A host without AccECN suspects the path if a SYN arrives ECN-capable. A SYN with AE may
        // be ECN-capable.
        let is_trusted = field == Ecn::NotEct || flags.has(TcpFlags::AE);
        let is_accepted = (classic && is_trusted) || self.need == EcnNeed::Any;
        let is_requested = flags.has(TcpFlags::ECE) && flags.has(TcpFlags::CWR);
        if is_requested && is_accepted { EcnMode::Classic } else { EcnMode::Off }
    }

    /// Returns the form of ECN that the answer to this host's SYN selects (`tcp_ecn_rcv_synack`).
    fn conclude(self, flags: TcpFlags) -> EcnMode {
        match (self.request, flags.ace()) {
            (EcnMode::Off, _) | (_, 0b000 | 0b111) => EcnMode::Off,
            (_, 0b001 | 0b101) if self.need == EcnNeed::L4s => EcnMode::Off,
            (_, 0b001 | 0b101) => EcnMode::Classic,
            (EcnMode::Classic, _) => EcnMode::Off,
            (EcnMode::Accurate, _) => EcnMode::Accurate,
        }
    }

    /// Returns the ECN field of ECN-capable packets.
    const fn capable(self) -> Ecn {
        match self.need {
            EcnNeed::L4s => Ecn::Ect1,
            EcnNeed::None | EcnNeed::Any => Ecn::Ect0,
        }
    }

    /// Returns the ECN field of a SYN or SYN-ACK of a connection with ECN.
    const fn of_syn(self) -> Ecn {
        match self.need {
            EcnNeed::None => Ecn::NotEct,
            EcnNeed::Any | EcnNeed::L4s => self.capable(),
        }
    }
}

/// The counters of accurate ECN.
#[derive(Debug, Default)]
pub(crate) struct Accurate {
    /// Packets received with a CE mark, including pure acknowledgements (`received_ce`).
    received_ce: u64,
    /// Marks that no segment has reported yet (`received_ce_pending`).
    pending: u32,
    /// The ECN field of the packet last received (`prev_ecnfield`).
    last: Ecn,
    /// The ECN fields of the SYN or SYN-ACK: as sent, and as received from the peer.
    syn: (Ecn, Ecn),
    /// Whether the next segment shows the ECN field of the SYN-ACK.
    shows_syn_ack: bool,
    /// Whether the next segment is the third of the handshake, which has no counter.
    awaits_third: bool,
    /// Whether the peer's feedback is invalid, so that packets are not ECN-capable.
    is_broken: bool,
    /// The timestamp of the segment last processed.
    ts_val: u32,
}

/// The state of ECN.
#[derive(Debug)]
pub(crate) struct EcnState {
    /// Whether acknowledgements carry ECE, until the peer sends CWR.
    pub(crate) echo: bool,
    /// Whether the next new data carries CWR.
    pub(crate) cwr: bool,
    /// Whether the peer has sent ECN-capable data.
    pub(crate) seen: bool,
    /// A segment with one of these control bits is not processed on the fast paths for
    /// acknowledgements. The bit ACK excludes every segment from them.
    pub(crate) attention: TcpFlags,
    /// Segments that the peer reports to have received with a CE mark (`delivered_ce`).
    pub(crate) delivered_ce: u64,
    pub(crate) accurate: Accurate,
    /// The state of DCTCP's receiver after the last segment: whether the segment was marked, and the
    /// next byte expected after it.
    pub(crate) precise: (bool, u64),
    offer: Offer,
    mode: EcnMode,
}

impl EcnState {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            echo: false,
            cwr: false,
            seen: false,
            attention: TcpFlags::ECE.with(TcpFlags::CWR),
            delivered_ce: 0,
            accurate: Accurate::default(),
            precise: (false, 0),
            offer: Offer::new(config),
            mode: EcnMode::Off,
        }
    }

    #[inline]
    pub(crate) fn is_accurate(&self) -> bool {
        self.mode == EcnMode::Accurate
    }

    /// Returns whether the controller needs ECN (`tcp_ca_needs_ecn`).
    pub(crate) fn is_needed(&self) -> bool {
        self.offer.need != EcnNeed::None
    }
}

/// Returns the ACE field that reports the ECN field of a SYN (RFC 9768 table 2).
const fn ace_of_syn(field: Ecn) -> u64 {
    match field {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// Returns the ECN field of a SYN that an ACE field reports, and whether the path may have caused
/// the difference to the field `sent`.
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
    /// Agrees on ECN when a SYN arrives.
    pub(crate) fn answer_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        let mode = self.ecn.offer.answer(header.flags, field);
        self.set_ecn(mode);
        let accurate = &mut self.ecn.accurate;
        accurate.syn = (self.ecn.offer.of_syn(), field);
        accurate.last = field;
        accurate.awaits_third = true;
    }

    /// Agrees on ECN when a SYN arrives that crossed this end's SYN (`tcp_ecn_rcv_syn`).
    pub(crate) fn cross_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        if self.ecn.offer.request == EcnMode::Off {
            self.set_ecn(EcnMode::Off);
        } else {
            self.answer_ecn(header, field);
        }
    }

    /// Completes the negotiation when a SYN-ACK arrives.
    pub(crate) fn conclude_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        let mode = self.ecn.offer.conclude(header.flags);
        self.set_ecn(mode);
        if mode != EcnMode::Accurate {
            return;
        }
        let fallback = self.profile.ecn_fallback;
        let accurate = &mut self.ecn.accurate;
        accurate.syn = (self.ecn.offer.of_syn(), field);
        accurate.shows_syn_ack = true;
        if field == Ecn::Ce {
            let (_, is_valid) = syn_of_ace(header.flags.ace(), accurate.syn.0);
            if is_valid || !fallback {
                accurate.received_ce += 1;
                accurate.pending += 1;
            } else {
                accurate.is_broken = true;
            }
        }
    }

    fn set_ecn(&mut self, mode: EcnMode) {
        self.options.ecn = mode != EcnMode::Off;
        self.ecn.mode = mode;
        if mode == EcnMode::Accurate || (self.options.ecn && self.ecn.is_needed()) {
            self.ecn.attention = TcpFlags::ACK;
        }
    }

    /// Tells the controller of the state at the start.
    pub(crate) fn start_ecn(&mut self) {
        let start = Start {
            ecn: self.ecn.mode,
            header: 40 + self.options.fixed_len(),
            totals: self.totals(),
        };
        self.cc.on_start(&start);
        if self.cc.wants_feedback() {
            self.transmissions.are_kept = true;
            self.ecn.attention = TcpFlags::ACK;
        }
        self.ecn.precise.1 = self.rcv.nxt;
    }

    /// Returns the totals of the connection.
    pub(crate) fn totals(&self) -> Totals {
        Totals {
            snd_una: self.snd.una,
            snd_nxt: self.snd.nxt,
            delivered: self.rate.delivered,
            delivered_ce: self.ecn.delivered_ce,
        }
    }

    /// Returns the ECN bits of a SYN, and its ECN field (`tcp_ecn_send_syn`).
    pub(crate) fn ecn_of_syn(&self) -> (TcpFlags, Ecn) {
        match self.ecn.offer.request {
            EcnMode::Off => (TcpFlags::default(), Ecn::NotEct),
            EcnMode::Classic => (TcpFlags::ECE.with(TcpFlags::CWR), self.ecn.offer.of_syn()),
            EcnMode::Accurate => (TcpFlags::ACE, self.ecn.offer.of_syn()),
        }
    }

    /// Returns the ECN bits of a SYN-ACK, and its ECN field (`tcp_ecn_make_synack`).
    pub(crate) fn ecn_of_syn_ack(&self) -> (TcpFlags, Ecn) {
        let flags = match self.ecn.mode {
            EcnMode::Off => return (TcpFlags::default(), Ecn::NotEct),
            EcnMode::Classic => TcpFlags::ECE,
            EcnMode::Accurate => TcpFlags::of_ace(ace_of_syn(self.ecn.accurate.syn.1)),
        };
        (flags, self.ecn.offer.of_syn())
    }

    /// Adds the ECN bits to a segment of a connection with ECN, and returns the segment's ECN field
    /// (`tcp_ecn_send`). `is_new` states whether the segment carries new data.
    pub(crate) fn mark_capable(&mut self, header: &mut TcpHeader, is_new: bool) -> Ecn {
        if self.ecn.is_accurate() {
            return self.report_marks(header);
        }
        if self.ecn.echo {
            header.flags = header.flags.with(TcpFlags::ECE);
        }
        // RFC 3168 §6.1: only new data is ECN-capable, and the first segment of new data carries
        // CWR.
        if !is_new {
            return self.ecn.offer.of_syn();
        }
        if std::mem::take(&mut self.ecn.cwr) {
            header.flags = header.flags.with(TcpFlags::CWR);
        }
        self.ecn.offer.capable()
    }

    /// Reports the number of marks in a segment of accurate ECN (`tcp_accecn_set_ace`).
    fn report_marks(&mut self, header: &mut TcpHeader) -> Ecn {
        let accurate = &mut self.ecn.accurate;
        let ace = if std::mem::take(&mut accurate.shows_syn_ack) {
            ace_of_syn(accurate.syn.1)
        } else {
            accurate.pending = 0;
            accurate.received_ce + ACE_INITIAL
        };
        header.flags = header.flags.with(TcpFlags::of_ace(ace));
        if accurate.is_broken { Ecn::NotEct } else { self.ecn.offer.capable() }
    }

    /// Counts the mark of a segment that has arrived. Returns whether its ECN field differs from
    /// the previous segment's ECN field (`tcp_ecn_received_counters`).
    pub(crate) fn count_mark(&mut self, field: Ecn) -> bool {
        self.ecn.seen |= field != Ecn::NotEct;
        let accurate = &mut self.ecn.accurate;
        if field == Ecn::Ce {
            accurate.received_ce += 1;
            accurate.pending = (accurate.pending + 1).min(15);
        }
        std::mem::replace(&mut accurate.last, field) != field
    }

    /// Returns whether marks must be reported at once.
    pub(crate) fn has_many_marks(&self) -> bool {
        self.ecn.accurate.pending >= ACE_MAX_DELTA
    }

    /// Returns whether a segment is the third of the handshake. Reads from this segment the ECN
    /// field with which the SYN-ACK arrived (`tcp_accecn_third_ack`).
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
                let (arrived, is_valid) = syn_of_ace(ace, accurate.syn.0);
                accurate.is_broken |= fallback && !is_valid;
                if arrived == Ecn::Ce && (is_valid || !fallback) && self.ecn.delivered_ce == 0 {
                    self.ecn.delivered_ce = 1;
                }
            }
            _ => {}
        }
        true
    }

    /// Returns whether the segment is newer than the last one by its timestamp.
    pub(crate) fn is_newer_by_timestamp(&mut self, header: &TcpHeader) -> bool {
        let accurate = &mut self.ecn.accurate;
        let is_newer =
            header.timestamps && crate::common::clock::later_by(header.ts_val, accurate.ts_val) > 0;
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

    /// Stops sending ECN-capable packets, because the path or the peer clears the counter.
    pub(crate) fn break_ecn(&mut self) {
        self.ecn.accurate.is_broken = true;
    }
}
