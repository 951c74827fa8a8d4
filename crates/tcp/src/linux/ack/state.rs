//! The findings of one acknowledgement.

use aqmlab_core::{Duration, Instant};

use crate::common::delivery_rate::PendingSample;

/// The effects and contents of an acknowledgement (Linux's `FLAG_*`).
pub(in crate::linux) mod flag {
    /// It came with data.
    pub(in crate::linux) const DATA: u32 = 1 << 0;
    /// It changed the window.
    pub(in crate::linux) const WIN_UPDATE: u32 = 1 << 1;
    /// It acknowledged data cumulatively.
    pub(in crate::linux) const DATA_ACKED: u32 = 1 << 2;
    /// Some of that data had been retransmitted.
    pub(in crate::linux) const RETRANS_DATA_ACKED: u32 = 1 << 3;
    /// It acknowledged the SYN.
    pub(in crate::linux) const SYN_ACKED: u32 = 1 << 4;
    /// It acknowledged data selectively for the first time.
    pub(in crate::linux) const DATA_SACKED: u32 = 1 << 5;
    /// It carries ECE.
    pub(in crate::linux) const ECE: u32 = 1 << 6;
    /// It showed that a retransmission was lost.
    pub(in crate::linux) const LOST_RETRANS: u32 = 1 << 7;
    /// It acknowledged, of either kind, an original sent before recovery.
    pub(in crate::linux) const ORIG_SACK_ACKED: u32 = 1 << 8;
    /// It advanced `snd_una`.
    pub(in crate::linux) const SND_UNA_ADVANCED: u32 = 1 << 9;
    /// It reports a duplicate.
    pub(in crate::linux) const DSACKING_ACK: u32 = 1 << 10;
    /// The duplicate is the tail loss probe.
    pub(in crate::linux) const DSACK_TLP: u32 = 1 << 11;
    /// It stops where selectively acknowledged data begins.
    pub(in crate::linux) const SACK_RENEGING: u32 = 1 << 12;
    /// The transmission timer must be set again.
    pub(in crate::linux) const SET_XMIT_TIMER: u32 = 1 << 13;
    /// The receiver probably delayed it.
    pub(in crate::linux) const MAYBE_DELAYED: u32 = 1 << 14;

    /// It acknowledged data or the SYN cumulatively.
    pub(in crate::linux) const ACKED: u32 = DATA_ACKED | SYN_ACKED;
    /// It is no duplicate.
    pub(in crate::linux) const NOT_DUP: u32 = DATA | WIN_UPDATE | ACKED;
    /// It is dubious.
    pub(in crate::linux) const CA_ALERT: u32 = DATA_SACKED | ECE | DSACKING_ACK;
    /// The acknowledgement delivered data.
    pub(in crate::linux) const FORWARD_PROGRESS: u32 = ACKED | DATA_SACKED;
}

/// The findings of one acknowledgement (Linux's `tcp_sacktag_state`, and the locals of `tcp_ack`).
#[derive(Debug)]
pub(in crate::linux) struct AckState {
    flags: u32,
    /// `snd_una` before it.
    pub(in crate::linux) prior_una: u64,
    /// The first and the last transmission time of the originals that it acknowledges selectively.
    pub(in crate::linux) first_sacked: Option<Instant>,
    pub(in crate::linux) last_sacked: Option<Instant>,
    /// The lowest segment that it shows to have been overtaken.
    pub(in crate::linux) reordered: u64,
    /// Segments that it delivers selectively.
    pub(in crate::linux) sack_delivered: u64,
    pub(in crate::linux) rate: PendingSample,
    /// The round-trip time of the newest segment acknowledged.
    pub(in crate::linux) cc_rtt: Option<Duration>,
    pub(in crate::linux) acked_bytes: u64,
}

impl AckState {
    pub(in crate::linux) const fn new(prior_una: u64, flags: u32) -> Self {
        Self {
            flags,
            prior_una,
            first_sacked: None,
            last_sacked: None,
            reordered: u64::MAX,
            sack_delivered: 0,
            rate: PendingSample::new(),
            cc_rtt: None,
            acked_bytes: 0,
        }
    }

    /// Whether one of `flags` is set.
    #[inline]
    pub(in crate::linux) const fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    #[inline]
    pub(in crate::linux) fn set(&mut self, flags: u32) {
        self.flags |= flags;
    }

    #[inline]
    pub(in crate::linux) fn clear(&mut self, flags: u32) {
        self.flags &= !flags;
    }
}

/// The segments to send once the window is up to date (`REXMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::linux) enum Rexmit {
    /// None beyond the usual.
    None,
    /// Lost segments.
    Lost,
    /// New data, to check whether a timeout was spurious.
    New,
}
