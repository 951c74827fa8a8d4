//! The limit on the rate of a link. This module computes the maximum credit of the link.
//! [`crate::Port::start`] charges the shaper for each packet.
//!
//! Source of [`Shaper::Htb`]: Linux 6.1 `net/sched/sch_htb.c` with one class, `rate` equal to
//! `ceil` and `tc`'s default bursts. `htb_class_mode` lets a class send while its bucket is not in
//! debt, and `htb_charge_class` charges a packet after it is sent. A packet therefore leaves at the
//! *beginning* of its transmission time, and a pause earns credit of up to [`BURST`]. HTB keeps
//! tokens in nanoseconds, with a cap. The port keeps the time at which the debt is paid, with a
//! floor, which is equivalent.
//!
//! Source of [`Shaper::Dummynet`]: FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c`, with `io_fast` off,
//! its default, and `kern.hz` of 1000, the default on PCs. `dummynet_task` runs once per tick.
//! `serve_sched` charges each packet at the rate, and the packet leaves at the first tick at or
//! after the end of its transmission time. If a packet arrives at an idle pipe, its transmission
//! time begins at the last tick before the arrival (`sched_time` is `curr_time`). A small packet
//! therefore waits between zero and one tick, and the round-trip time of one packet in each
//! direction is up to two ticks too long. The rate is exact within a tick; [`crate::pipe`] performs
//! the arithmetic and frees idle pipes.
//!
//! With [`Shaper::Own`] the discipline decides when a packet may leave. The time on the wire then
//! counts only for the link's utilisation.
//!
//! Differences: in Linux the timer fires a few microseconds after the time at which HTB may send;
//! in this model it is punctual. Linux keeps the credit for these microseconds, so the rate is the
//! same. A packet can arrive at a pipe of dummynet in the tick in which the pipe became idle. The
//! remaining credit of that tick can suffice for this packet. In this model, the packet leaves at
//! once; in FreeBSD, the packet's delay begins at the start of that tick.

use aqmlab_core::{BitRate, Bytes, Duration};

/// The credit in bytes that `tc` gives a class by default, for rates below 8 Gbit/s. iproute2
/// `q_htb.c` computes it as an MTU of 1600 bytes plus the bytes of one clock tick of 1 ns.
pub const BURST: Bytes = Bytes(1_600);

/// The mechanism that limits the rate of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shaper {
    /// The wire itself: a packet has left after its last bit, and the next packet begins at that
    /// time.
    #[default]
    Line,
    /// Linux's HTB in front of an infinitely fast wire.
    Htb,
    /// FreeBSD's dummynet in front of an infinitely fast wire.
    Dummynet,
    /// The shaper of the discipline itself in front of an infinitely fast wire.
    Own,
    /// The delivery opportunities of a trace. [`crate::Port::varied_by`] selects it.
    Trace,
}

impl Shaper {
    /// Returns the maximum credit, as a transmission time.
    pub(crate) fn credit(self, rate: BitRate) -> Duration {
        match self {
            Self::Line | Self::Dummynet | Self::Own | Self::Trace => Duration::ZERO,
            Self::Htb => rate.transmit_time(BURST),
        }
    }
}
