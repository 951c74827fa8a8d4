//! What limits the rate of a link.
//!
//! Source of [`Shaper::Htb`]: Linux 6.1 `net/sched/sch_htb.c` with one class, `rate` equal to
//! `ceil` and `tc`'s own bursts. `htb_class_mode` lets a class send while its bucket is not in
//! debt, and `htb_charge_class` pays for a packet when it has gone. So a packet leaves at the
//! *beginning* of its time on the wire, and after a pause there is credit for [`BURST`] more.
//! Tokens of nanoseconds with a cap are the time when the debt is paid, with a floor: that is how
//! they are kept here.
//! Difference: the kernel's timer fires a few microseconds after it is due; the credit for them
//! is not lost there, so the rate is the same.

use aqmlab_core::{BitRate, Bytes, Duration, Instant};

/// Bytes of credit that `tc` gives a class when nobody says otherwise, below 8 Gbit/s: iproute2
/// `q_htb.c` adds to them what the rate sends in a tick of the kernel's clock, a nanosecond.
pub const BURST: Bytes = Bytes(1_600);

/// What makes packets leave at a link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shaper {
    /// The wire itself: a packet has left when its last bit has, and the next may begin.
    #[default]
    Line,
    /// Linux's HTB before a wire that takes no time.
    Htb,
}

impl Shaper {
    /// The longest time on the wire for which credit is kept.
    pub(crate) fn credit(self, rate: BitRate) -> Duration {
        match self {
            Self::Line => Duration::ZERO,
            Self::Htb => rate.transmit_time(BURST),
        }
    }

    /// When a packet has left that was let go at `now` and whose time on the wire ends at `free`.
    #[inline]
    pub(crate) fn done(self, now: Instant, free: Instant) -> Instant {
        match self {
            Self::Line => free,
            Self::Htb => now,
        }
    }
}
