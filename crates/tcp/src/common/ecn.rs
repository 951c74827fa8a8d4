//! The state of ECN, and the ECN bits of segments that are sent.
//!
//! Sources: RFC 3168 §6.1, RFC 9768 §3.1 and §3.2; Linux 6.18 `include/net/tcp_ecn.h`.
//! Difference: the AccECN option is neither sent nor read, as with `tcp_ecn_option = 0`. The ACE
//! field alone reports marks.
//!
//! `ecn/offer.rs` negotiates ECN, and `ecn/accurate.rs` counts and reports the marks of accurate
//! ECN.

mod accurate;
mod offer;

use aqmlab_core::{Ecn, TcpFlags, TcpHeader};

use crate::cc::{EcnMode, Start, Totals};
use crate::segment::HEADERS;
use crate::tcb::Tcb;
use accurate::Accurate;
pub(crate) use offer::Offer;

/// The state of DCTCP's receiver after the last segment (`tcp_dctcp.c`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DctcpReceiver {
    /// Whether the segment was marked.
    pub(crate) ce_state: bool,
    /// The next byte expected after the segment.
    pub(crate) prior_rcv_nxt: u64,
}

/// The ECN state of a connection.
#[derive(Debug)]
pub(crate) struct EcnState {
    /// Whether segments carry ECE: until the peer sends CWR or, with DCTCP, until an unmarked
    /// segment arrives.
    pub(crate) echo: bool,
    /// Whether the next new data carries CWR.
    pub(crate) cwr: bool,
    /// Whether the peer has sent ECN-capable data.
    pub(crate) seen: bool,
    /// The control bits of segments that need ECN processing, and whose acknowledgements do not
    /// count as plain. ACK selects every segment.
    pub(crate) attention: TcpFlags,
    /// The number of segments that the peer reports to have received with a CE mark
    /// (`delivered_ce`).
    pub(crate) delivered_ce: u64,
    accurate: Accurate,
    pub(crate) dctcp: DctcpReceiver,
    offer: Offer,
    mode: EcnMode,
}

impl EcnState {
    pub(crate) fn new(offer: Offer) -> Self {
        Self {
            echo: false,
            cwr: false,
            seen: false,
            attention: TcpFlags::ECE.with(TcpFlags::CWR),
            delivered_ce: 0,
            accurate: Accurate::default(),
            dctcp: DctcpReceiver::default(),
            offer,
            mode: EcnMode::Off,
        }
    }

    #[inline]
    pub(crate) fn is_accurate(&self) -> bool {
        self.mode == EcnMode::Accurate
    }

    /// Returns whether the controller needs ECN (`tcp_ca_needs_ecn`).
    pub(crate) fn is_needed(&self) -> bool {
        self.offer.is_needed()
    }
}

impl Tcb {
    /// Selects the form of ECN when the peer's SYN arrives.
    pub(crate) fn answer_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        let mode = self.ecn.offer.answer(header.flags, field);
        self.set_ecn(mode);
        self.note_syn(field);
    }

    /// Selects the form of ECN when the peer's SYN arrives after this end has sent a SYN
    /// (`tcp_ecn_rcv_syn`).
    pub(crate) fn cross_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        if self.ecn.offer.request() == EcnMode::Off {
            self.set_ecn(EcnMode::Off);
        } else {
            self.answer_ecn(header, field);
        }
    }

    /// Completes the negotiation when a SYN-ACK arrives.
    pub(crate) fn conclude_ecn(&mut self, header: &TcpHeader, field: Ecn) {
        let mode = self.ecn.offer.conclude(header.flags);
        self.set_ecn(mode);
        if mode == EcnMode::Accurate {
            self.note_syn_ack(header, field);
        }
    }

    fn set_ecn(&mut self, mode: EcnMode) {
        self.options.ecn = mode != EcnMode::Off;
        self.ecn.mode = mode;
        if mode == EcnMode::Accurate || (self.options.ecn && self.ecn.is_needed()) {
            self.ecn.attention = TcpFlags::ACK;
        }
    }

    /// Passes the result of the negotiation to the controller, and prepares the feedback that the
    /// controller wants.
    pub(crate) fn start_ecn(&mut self) {
        let start = Start {
            ecn: self.ecn.mode,
            header: HEADERS + self.options.fixed_len(),
            totals: self.totals(),
        };
        self.cc.on_start(&start);
        if self.cc.wants_feedback() {
            self.tx_records.are_kept = true;
            self.ecn.attention = TcpFlags::ACK;
        }
        self.ecn.dctcp.prior_rcv_nxt = self.rcv.nxt;
    }

    /// Returns the sequence numbers and the counts of delivered segments that controllers receive.
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
        match self.ecn.offer.request() {
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
            EcnMode::Accurate => TcpFlags::of_ace(self.ecn.accurate.ace_of_syn()),
        };
        (flags, self.ecn.offer.of_syn())
    }

    /// Adds the ECN bits to a segment of a connection with ECN, and returns the segment's ECN field
    /// (`tcp_ecn_send`). `is_new` states whether the segment carries new data.
    pub(crate) fn add_ecn_bits(&mut self, header: &mut TcpHeader, is_new: bool) -> Ecn {
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
}
