//! FreeBSD 10's TCP: counting in bytes, SACK recovery by holes, go-back-N after a timeout, and a
//! receiver that queues segment by segment.
//!
//! Source: FreeBSD 10.4 `sys/netinet/tcp_input.c`, `tcp_output.c`, `tcp_sack.c`, `tcp_reass.c`,
//! `tcp_timer.c`; when the receive buffer grows is that of 9.3 to 10.3, and what counts as a
//! duplicate acknowledgement that of 10.2 or of 10.3 (`Profile::sack_news`).
//!
//! Difference: the host cache is empty.

mod ack;
mod input;
mod output;
mod rcvbuf;
mod reass;
mod sackholes;
mod sockbuf;
mod timer;

pub(crate) use rcvbuf::scale_of;
pub(crate) use reass::MAX_SACK_BLOCKS;

/// The state of loss recovery.
#[derive(Debug, Default)]
pub(crate) struct FreeBsd {
    /// Duplicate acknowledgements in a row.
    pub(crate) dup_acks: u32,
    /// Losses are being repaired by fast retransmission (`TF_FASTRECOVERY`).
    pub(crate) recovering: bool,
    /// The window has been reduced in this round trip (`TF_CONGRECOVERY`).
    pub(crate) congested: bool,
    /// Recovery ends when this is acknowledged.
    pub(crate) recover: u64,
    /// Segments sent by limited transmit for the duplicates seen so far.
    pub(crate) limited: u32,
    /// What selective acknowledgements have left out.
    pub(crate) holes: sackholes::SackHoles,
    /// What was sent when recovery began (`sack_newdata`).
    pub(crate) new_data_from: u64,
    /// Timeouts, or probes of a closed window, in a row (`t_rxtshift`).
    pub(crate) shift: u32,
    /// The state before a timeout, to return to if it was spurious.
    pub(crate) before_timeout: Option<BeforeTimeout>,
    /// When a segment last arrived, in ticks (`t_rcvtime`).
    pub(crate) last_heard: u64,
    /// The segment being timed where there are no timestamps: when it was sent, in ticks, and
    /// where it begins.
    pub(crate) timed: Option<(u64, u64)>,
    /// The acknowledgement of the segment that last updated the window (`snd_wl2`).
    pub(crate) wl2: u64,
    /// Whether the send buffer may still grow.
    pub(crate) send_tuning: bool,
    /// Whether the peer was last told that there is no window (`TF_RXWIN0SENT`).
    pub(crate) told_closed: bool,
    /// The peer's FIN is in order, which the application is still to learn.
    pub(crate) finished: bool,
    /// The memory of the send buffer.
    pub(crate) mbufs: sockbuf::Mbufs,
    /// What waits out of order.
    pub(crate) queue: reass::Queue,
    /// What the receive buffer grows by.
    steps: rcvbuf::Steps,
}

/// What a spurious timeout would be undone to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeTimeout {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) recover: u64,
    pub(crate) recovering: bool,
    pub(crate) congested: bool,
    /// An acknowledgement before this tick answers the original.
    pub(crate) until: u64,
}

impl FreeBsd {
    /// The name that metrics show.
    pub(crate) const fn name(&self) -> &'static str {
        if self.recovering {
            "recovery"
        } else if self.congested {
            "cwr"
        } else if self.shift > 0 {
            "loss"
        } else {
            "open"
        }
    }
}
