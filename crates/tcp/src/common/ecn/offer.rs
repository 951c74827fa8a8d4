//! The forms of ECN that a host requests and accepts, and the result of the negotiation.
//!
//! Sources: RFC 3168 §6.1.1, RFC 9768 §3.1; Linux 6.18 `include/net/tcp_ecn.h` and
//! `tcp_ecn_create_request`; L4STeam's kernel for controllers that need ECT(1).

use aqmlab_core::{Ecn, TcpFlags};

use crate::cc::{EcnMode, EcnNeed};

/// The forms of ECN that a host requests and accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// The form of ECN that a SYN requests.
    request: EcnMode,
    accepts_classic: bool,
    accepts_accurate: bool,
    need: EcnNeed,
}

impl Offer {
    /// Returns the offer that follows from the route's feature `ecn`, the value `sysctl` of Linux's
    /// `tcp_ecn`, and the need of the controller.
    pub(crate) fn new(route: bool, sysctl: u64, need: EcnNeed) -> Self {
        let is_l4s = need == EcnNeed::L4s;
        let classic = route || matches!(sysctl, 1 | 4) || need == EcnNeed::Any;
        let request = match (sysctl == 3 || is_l4s, classic) {
            (true, _) => EcnMode::Accurate,
            (false, true) => EcnMode::Classic,
            (false, false) => EcnMode::Off,
        };
        Self {
            request,
            accepts_classic: route || sysctl > 0,
            accepts_accurate: sysctl >= 3 || is_l4s,
            need,
        }
    }

    /// Returns the form of ECN that a SYN requests.
    pub(super) const fn request(self) -> EcnMode {
        self.request
    }

    /// Returns whether the controller needs ECN.
    pub(super) fn is_needed(self) -> bool {
        self.need != EcnNeed::None
    }

    /// Returns the form of ECN that a host selects when it receives a SYN with `flags` and the ECN
    /// field `field` (`tcp_ecn_create_request`, `tcp_ecn_openreq_child`).
    pub(super) fn answer(self, flags: TcpFlags, field: Ecn) -> EcnMode {
        if self.accepts_accurate && !matches!(flags.ace(), 0b000 | 0b011) {
            return EcnMode::Accurate;
        }
        if self.need == EcnNeed::L4s {
            return EcnMode::Off;
        }
        // A host without AccECN suspects the path if a SYN arrives ECN-capable. A SYN with AE may
        // be ECN-capable.
        let is_trusted = field == Ecn::NotEct || flags.has(TcpFlags::AE);
        let is_accepted = (self.accepts_classic && is_trusted) || self.need == EcnNeed::Any;
        let is_requested = flags.has(TcpFlags::ECE) && flags.has(TcpFlags::CWR);
        if is_requested && is_accepted { EcnMode::Classic } else { EcnMode::Off }
    }

    /// Returns the form of ECN that the answer to this host's SYN selects (`tcp_ecn_rcv_synack`).
    pub(super) fn conclude(self, flags: TcpFlags) -> EcnMode {
        match (self.request, flags.ace()) {
            (EcnMode::Off, _) | (_, 0b000 | 0b111) => EcnMode::Off,
            (_, 0b001 | 0b101) if self.need == EcnNeed::L4s => EcnMode::Off,
            (_, 0b001 | 0b101) => EcnMode::Classic,
            (EcnMode::Classic, _) => EcnMode::Off,
            (EcnMode::Accurate, _) => EcnMode::Accurate,
        }
    }

    /// Returns the ECN field of ECN-capable packets.
    pub(super) const fn capable(self) -> Ecn {
        match self.need {
            EcnNeed::L4s => Ecn::Ect1,
            EcnNeed::None | EcnNeed::Any => Ecn::Ect0,
        }
    }

    /// Returns the ECN field of a SYN or SYN-ACK of a connection with ECN.
    pub(super) const fn of_syn(self) -> Ecn {
        match self.need {
            EcnNeed::None => Ecn::NotEct,
            EcnNeed::Any | EcnNeed::L4s => self.capable(),
        }
    }
}
