//! The rate of a link over time.
//!
//! On a line, each bit is sent at the rate of its time: the rest of a packet in service is sent at
//! the new rate. Mahimahi (`link_queue.cc`) and the segmentation of LTE (TS 36.322) do the same.
//!
//! Source for HTB: Linux 6.1 `net/sched/sch_htb.c`, `htb_change_class`, which `tc class change`
//! calls. It sets the rate and the size of the bucket and keeps the tokens. Tokens are a time, so a
//! packet is paid for at the rate at which it was sent.

use aqmlab_core::RateSteps;
use aqmlab_core::delivery_trace::Opportunities;

use crate::Shaper;

/// The rate of a link over time.
#[derive(Clone, Debug)]
pub enum VaryingRate {
    /// A rate that changes at stated times.
    Steps(RateSteps),
    /// A trace of delivery opportunities.
    Trace(Opportunities),
}

impl VaryingRate {
    /// Returns whether a link with `shaper` can have this rate.
    pub fn supports(&self, shaper: Shaper) -> bool {
        match self {
            Self::Steps(steps) => match shaper {
                Shaper::Line => true,
                // HTB has no rate of zero.
                Shaper::Htb => !steps.pauses(),
                Shaper::Dummynet | Shaper::Own | Shaper::Trace => false,
            },
            Self::Trace(_) => shaper == Shaper::Line,
        }
    }
}
