//! The information collected from one acknowledgement.

use aqmlab_core::{Duration, Instant};

use crate::common::delivery_rate::PendingSample;

/// The properties and effects of an acknowledgement (Linux's `FLAG_*`).
pub(in crate::linux) mod flag {
    /// The acknowledgement came with data.
    pub(in crate::linux) const DATA: u32 = 1 << 0;
    /// The segment was recent enough to update the send window.
    pub(in crate::linux) const WIN_UPDATE: u32 = 1 << 1;
    /// The acknowledgement covered data cumulatively.
    pub(in crate::linux) const DATA_ACKED: u32 = 1 << 2;
    /// Some of the cumulatively acknowledged data had been retransmitted.
    pub(in crate::linux) const RETRANS_DATA_ACKED: u32 = 1 << 3;
    /// The acknowledgement covered the SYN.
    pub(in crate::linux) const SYN_ACKED: u32 = 1 << 4;
    /// The acknowledgement covered data selectively for the first time.
    pub(in crate::linux) const DATA_SACKED: u32 = 1 << 5;
    /// The acknowledgement carries ECE.
    pub(in crate::linux) const ECE: u32 = 1 << 6;
    /// The acknowledgement showed that a retransmission was lost.
    pub(in crate::linux) const LOST_RETRANS: u32 = 1 << 7;
    /// The acknowledgement covered, cumulatively or selectively, an original segment sent before
    /// recovery.
    pub(in crate::linux) const ORIG_SACK_ACKED: u32 = 1 << 8;
    /// The acknowledgement advanced `snd_una`.
    pub(in crate::linux) const SND_UNA_ADVANCED: u32 = 1 << 9;
    /// The acknowledgement reports a duplicate.
    pub(in crate::linux) const DSACKING_ACK: u32 = 1 << 10;
    /// The reported duplicate is the tail loss probe.
    pub(in crate::linux) const DSACK_TLP: u32 = 1 << 11;
    /// The acknowledgement ends where selectively acknowledged data begins.
    pub(in crate::linux) const SACK_RENEGING: u32 = 1 << 12;
    /// The transmission timer must be set again.
    pub(in crate::linux) const SET_XMIT_TIMER: u32 = 1 << 13;
    /// The receiver probably delayed the acknowledgement.
    pub(in crate::linux) const MAYBE_DELAYED: u32 = 1 << 14;

    /// The acknowledgement covered data or the SYN cumulatively.
    pub(in crate::linux) const ACKED: u32 = DATA_ACKED | SYN_ACKED;
    /// The acknowledgement is not a duplicate.
    pub(in crate::linux) const NOT_DUP: u32 = DATA | WIN_UPDATE | ACKED;
    /// The acknowledgement may indicate loss, reordering or congestion.
    pub(in crate::linux) const CA_ALERT: u32 = DATA_SACKED | ECE | DSACKING_ACK;
    /// The acknowledgement delivered data.
    pub(in crate::linux) const FORWARD_PROGRESS: u32 = ACKED | DATA_SACKED;
}

/// The information collected from one acknowledgement (Linux's `tcp_sacktag_state`, and the local
/// variables of `tcp_ack`).
#[derive(Debug)]
pub(in crate::linux) struct AckState {
    flags: u32,
    /// The value of `snd_una` before the acknowledgement.
    pub(in crate::linux) prior_una: u64,
    /// The transmission time of the first original segment, if any, that the acknowledgement newly
    /// covers selectively.
    pub(in crate::linux) first_sacked: Option<Instant>,
    /// The transmission time of the last original segment, if any, that the acknowledgement newly
    /// covers selectively.
    pub(in crate::linux) last_sacked: Option<Instant>,
    /// The sequence number of the lowest segment that the acknowledgement shows to have been
    /// reordered; `snd_nxt` or more if there is none.
    pub(in crate::linux) reordered: u64,
    /// The number of segments that the acknowledgement delivers selectively.
    pub(in crate::linux) sack_delivered: u64,
    /// The delivery-rate sample of the acknowledgement.
    pub(in crate::linux) rate: PendingSample,
    /// The round-trip time of the newest segment acknowledged, if it gave a sample.
    pub(in crate::linux) cc_rtt: Option<Duration>,
    /// The number of payload bytes that the acknowledgement covers cumulatively.
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

    /// Returns whether one of `flags` is set.
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

/// The segments to send when the window is up to date (`REXMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::linux) enum Rexmit {
    /// No additional segments.
    None,
    /// Lost segments.
    Lost,
    /// New data, to check whether a timeout was spurious.
    New,
}
