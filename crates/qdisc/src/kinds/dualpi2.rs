//! `dualpi2`: a queue for L4S traffic and a queue for classic traffic, coupled by PI2.
//!
//! Sources: the sources of [`crate::aqm::dualpi2`], with iproute2 `tc/q_dualpi2.c` for the
//! parameters. By default ECT(1) and CE select the L4S queue, Not-ECT and ECT(0) the classic queue.
//! Both queues share one limit. If no packet has ECT(1) or CE, the discipline is PI2: one FIFO
//! whose packets are signalled with probability `p′²`.
//!
//! | | `dualpi2` (Linux) | `dualpi2_rfc` |
//! |---|---|---|
//! | limit | packets, and memory | bytes; an arrival needs room for a full frame |
//! | native L4S signal | step at `step_thresh`, beside the coupled signal | ramp, in place of the coupled signal if larger |
//! | scheduler | weighted round robin, classic 10 % | weighted round robin, classic 1/16, or time shift |
//! | no PI2 signal | while less than two frames are left | – |
//! | PI2 signals | at departure, or with `drop_early` at arrival | at departure |

mod linux;
mod params;
mod queues;
mod rfc9332;

use aqmlab_core::{Args, Kind};

use self::params::{
    ALPHA, BETA, CLASSIC_PROTECTION, COUPLING_FACTOR, DROP_EARLY, DROP_OVERLOAD, ECN_MASK, LIMIT,
    MAX_RTT, MEMLIMIT, MIN_QLEN_STEP, MTU, STEP_THRESH, STEP_THRESH_PACKETS, TARGET, TUPDATE,
    TYPICAL_RTT, rfc,
};
use crate::Qdisc;

/// Registers `dualpi2` and `dualpi2_rfc`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "dualpi2",
        summary: "A low-latency queue for L4S and a classic queue, coupled by PI2, as in Linux",
        source: "Linux 6.18 net/sched/sch_dualpi2.c; RFC 9332; tc-dualpi2(8)",
        params: &[
            LIMIT,
            MEMLIMIT,
            TARGET,
            TUPDATE,
            ALPHA,
            BETA,
            TYPICAL_RTT,
            MAX_RTT,
            COUPLING_FACTOR,
            STEP_THRESH,
            STEP_THRESH_PACKETS,
            MIN_QLEN_STEP,
            DROP_OVERLOAD,
            DROP_EARLY,
            CLASSIC_PROTECTION,
            ECN_MASK,
            MTU,
        ],
        build: |args: &Args| Box::new(linux::DualPi2::new(args)),
    },
    Kind {
        name: "dualpi2_rfc",
        summary: "A low-latency queue for L4S and a classic queue, coupled by PI2, as in RFC 9332",
        source: "RFC 9332 Appendix A",
        params: &[
            rfc::LIMIT,
            TARGET,
            rfc::MAX_RTT,
            COUPLING_FACTOR,
            rfc::MIN_TH,
            rfc::RANGE,
            rfc::TH_LEN,
            rfc::SCHEDULER,
            rfc::DEQUEUE_RATIO,
            rfc::TSHIFT,
            MTU,
        ],
        build: |args: &Args| Box::new(rfc9332::DualPi2::new(args)),
    },
];
