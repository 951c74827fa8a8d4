//! The limit on the rate of a link.
//!
//! Source of [`Shaper::Htb`]: Linux 6.1 `net/sched/sch_htb.c` with one class, `rate` equal to
//! `ceil` and `tc`'s own bursts. `htb_class_mode` lets a class send while its bucket is not in
//! debt, and `htb_charge_class` pays for a packet when it has gone. So a packet leaves at the
//! *beginning* of its time on the wire, and after a pause there is credit for [`BURST`] more.
//! Tokens of nanoseconds with a cap are the time when the debt is paid, with a floor: that is how
//! they are kept here.
//!
//! Source of [`Shaper::Dummynet`]: FreeBSD 10.4 `sys/netpfil/ipfw/ip_dn_io.c`, with `io_fast` off
//! as it is by default, and `kern.hz` of 1000, the default on PCs. `dummynet_task` looks once a
//! tick, `serve_sched` charges what it sends at the rate, and a packet goes out at the first tick
//! at which its last bit has gone. What comes to an idle pipe begins at the tick before
//! (`sched_time` is `curr_time`), so a small packet waits between nothing and a tick, and `RTT_base`
//! with a packet each way is up to two ticks too long. Within a tick the rate is kept exactly;
//! [`crate::pipe`] has the arithmetic, and the fate of an idle pipe.
//!
//! Differences: the kernel's timer fires a few microseconds after HTB is due; the credit for them is
//! not lost there, so the rate is the same. A packet that comes to dummynet in the very tick in
//! which a pipe ran idle, and is paid for by what is left of that tick, leaves at once, where its
//! delay would be counted from the tick.

use aqmlab_core::{BitRate, Bytes, Duration, Instant};

/// Bytes of credit that `tc` gives a class by default, below 8 Gbit/s: iproute2 `q_htb.c` adds the
/// bytes of one tick of the kernel's clock, a nanosecond.
pub const BURST: Bytes = Bytes(1_600);

/// The mechanism that limits a link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shaper {
    /// The wire itself: a packet has left when its last bit has, and the next may begin.
    #[default]
    Line,
    /// Linux's HTB before a wire that takes no time.
    Htb,
    /// FreeBSD's dummynet before a wire that takes no time.
    Dummynet,
}

impl Shaper {
    /// The longest time on the wire for which credit is kept.
    pub(crate) fn credit(self, rate: BitRate) -> Duration {
        match self {
            Self::Line | Self::Dummynet => Duration::ZERO,
            Self::Htb => rate.transmit_time(BURST),
        }
    }

    /// When a packet has left that was let go at `now` and whose time on the wire ends at `free`.
    #[inline]
    pub(crate) fn done(self, now: Instant, free: Instant) -> Instant {
        match self {
            Self::Line => free,
            Self::Htb => now,
            Self::Dummynet => free.max(now),
        }
    }
}
