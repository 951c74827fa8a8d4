//! Linux's sender: what an acknowledgement means, when something is lost, and what then.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_input.c`, `tcp_recovery.c`, `tcp_output.c`, `tcp_timer.c`, with
//! the corrections of the stable series up to 6.1.192.
//! Windows is run by the same machine with its newer parts switched off.

mod ack;
mod cwnd;
mod data_queue;
pub(crate) mod delack;
mod input;
mod loss;
mod output;
mod rack;
pub(crate) mod rcv_autotune;
pub(crate) mod rcv_window;
mod recovery;
mod retransmit;
mod rto;
mod rtx_queue;
mod sack;
pub(crate) mod sndbuf;
mod tlp;
mod tso;
pub(crate) mod tsq;
mod undo;

use aqmlab_core::{Duration, Instant};

use crate::state::CaState;

pub(crate) use ack::AckState;
pub(crate) use rack::Rack;

/// What is added to the timers of probes and of reordering (`TCP_TIMEOUT_MIN_US`).
pub(crate) const TIMEOUT_MIN: Duration = Duration::from_millis(2);

/// What an acknowledgement did or carried (Linux's `FLAG_*`).
pub(crate) mod flag {
    /// It came with data.
    pub(crate) const DATA: u32 = 1 << 0;
    /// It changed the window.
    pub(crate) const WIN_UPDATE: u32 = 1 << 1;
    /// It acknowledged data cumulatively.
    pub(crate) const DATA_ACKED: u32 = 1 << 2;
    /// Some of that had been retransmitted.
    pub(crate) const RETRANS_DATA_ACKED: u32 = 1 << 3;
    /// It acknowledged the SYN.
    pub(crate) const SYN_ACKED: u32 = 1 << 4;
    /// It acknowledged data selectively for the first time.
    pub(crate) const DATA_SACKED: u32 = 1 << 5;
    /// It carries ECE.
    pub(crate) const ECE: u32 = 1 << 6;
    /// It showed that a retransmission was lost.
    pub(crate) const LOST_RETRANS: u32 = 1 << 7;
    /// It acknowledged, of either kind, an original sent before recovery.
    pub(crate) const ORIG_SACK_ACKED: u32 = 1 << 8;
    /// It advanced `snd_una`.
    pub(crate) const SND_UNA_ADVANCED: u32 = 1 << 9;
    /// It reports a duplicate.
    pub(crate) const DSACKING_ACK: u32 = 1 << 10;
    /// The duplicate is the tail loss probe.
    pub(crate) const DSACK_TLP: u32 = 1 << 11;
    /// It stops where something selectively acknowledged begins.
    pub(crate) const SACK_RENEGING: u32 = 1 << 12;
    /// The transmission timer must be set again.
    pub(crate) const SET_XMIT_TIMER: u32 = 1 << 13;
    /// It was probably delayed by the receiver.
    pub(crate) const MAYBE_DELAYED: u32 = 1 << 14;

    /// Something was acknowledged cumulatively.
    pub(crate) const ACKED: u32 = DATA_ACKED | SYN_ACKED;
    /// It is no duplicate.
    pub(crate) const NOT_DUP: u32 = DATA | WIN_UPDATE | ACKED;
    /// It calls for a closer look.
    pub(crate) const CA_ALERT: u32 = DATA_SACKED | ECE | DSACKING_ACK;
    /// Something was delivered.
    pub(crate) const FORWARD_PROGRESS: u32 = ACKED | DATA_SACKED;
}

/// What to transmit once the window is up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    /// Nothing out of the ordinary.
    None,
    /// What is lost.
    Lost,
    /// New data, to find out whether a timeout was spurious.
    New,
}

/// The state of loss recovery.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) ca: CaState,
    /// Recovery ends when everything sent before it began is acknowledged: up to here.
    pub(crate) high_seq: u64,
    /// `snd_una` at the beginning; zero when a reduction cannot be undone.
    pub(crate) undo_marker: u64,
    /// Retransmissions not yet reported as duplicates; `None` before the first.
    pub(crate) undo_retrans: Option<u32>,
    /// The threshold to return to; zero if the congestion is beyond doubt.
    pub(crate) prior_ssthresh: u64,
    /// The window at the beginning.
    pub(crate) prior_cwnd: u64,
    /// Delivered and sent during the reduction (RFC 6937), in segments.
    pub(crate) prr_delivered: u64,
    pub(crate) prr_out: u64,
    /// The timestamp of the first retransmission.
    pub(crate) retrans_stamp: Option<u32>,
    /// A timeout is being checked for being spurious.
    pub(crate) frto: bool,
    /// What was sent when the tail loss probe went out; zero if none is.
    pub(crate) tlp_high_seq: u64,
    /// The probe repeated old data.
    pub(crate) tlp_retrans: bool,
    /// How many segments may overtake one another.
    pub(crate) reordering: u32,
    /// How often reordering was seen.
    pub(crate) reordering_seen: u32,
    /// The receiver has thrown away what it had acknowledged selectively.
    pub(crate) reneging: bool,
    /// Timeouts since the last progress.
    pub(crate) retransmits: u32,
    /// Doublings of the timer for probes of a closed window.
    pub(crate) backoff: u32,
    /// Duplicates reported so far, and segments retransmitted so far.
    pub(crate) dsack_dups: u64,
    pub(crate) total_retrans: u64,
}

impl Recovery {
    pub(crate) fn new(reordering: u64) -> Self {
        Self {
            ca: CaState::Open,
            high_seq: 0,
            undo_marker: 0,
            undo_retrans: None,
            prior_ssthresh: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            retrans_stamp: None,
            frto: false,
            tlp_high_seq: 0,
            tlp_retrans: false,
            reordering: reordering.min(u64::from(u32::MAX)) as u32,
            reordering_seen: 0,
            reneging: false,
            retransmits: 0,
            backoff: 0,
            dsack_dups: 0,
            total_retrans: 0,
        }
    }
}

/// How much of the window is used (RFC 2861 as Linux has it), in segments.
#[derive(Debug)]
pub(crate) struct CwndUsage {
    /// The window, not the application, held the sender back in the last round trip.
    pub(crate) cwnd_limited: bool,
    /// The most that was out in it.
    pub(crate) max_packets_out: u32,
    /// It ends when this is acknowledged.
    pub(crate) round_end: u64,
    /// The most that was out since the window was last found too large.
    pub(crate) used: u32,
    /// When the window was last used in full or changed.
    pub(crate) stamp: Instant,
    /// When data was last sent.
    pub(crate) last_sent: Instant,
    /// Pacing: when the next segment may go.
    pub(crate) departure: Instant,
    /// Data segments sent, retransmissions included.
    pub(crate) data_segments: u64,
}

impl Default for CwndUsage {
    fn default() -> Self {
        Self {
            cwnd_limited: false,
            max_packets_out: 0,
            round_end: 0,
            used: 0,
            stamp: Instant::ZERO,
            last_sent: Instant::ZERO,
            departure: Instant::ZERO,
            data_segments: 0,
        }
    }
}
