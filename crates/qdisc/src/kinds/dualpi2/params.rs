//! The parameters of `dualpi2` and `dualpi2_rfc`.
//!
//! Differences from `tc`:
//!
//! - `classic_protection` must be a whole number of per cent; `tc` also accepts a fraction of a per
//!   cent, and rounds it;
//! - a `step_thresh` in packets has its own parameter, `step_thresh_packets`;
//! - `drop_overload`, `drop_early` and `ecn_mask` have the names of the kernel's attributes, while
//!   `tc` has words for their values;
//! - `tc` refuses a `typical_rtt` above the `max_rtt`; here the `typical_rtt` is limited to the
//!   `max_rtt`;
//! - `tc` refuses round-trip times for which a gain rounds to zero; here a gain is at least 1/256
//!   Hz.

use aqmlab_core::{Args, Bounds, Bytes, Duration, Param, Value};

use super::super::codel;
use crate::aqm::dualpi2::linux::Gains;
use crate::bounds;

/// The parameter for the limit in packets.
pub(super) const LIMIT: Param = Param {
    name: "limit",
    default: Value::Count(10_000),
    bounds: bounds::ROOM,
    doc: "Limit in packets of both queues together; arrivals beyond it are dropped.",
};

/// The parameter for the limit in bytes of memory.
pub(super) const MEMLIMIT: Param = Param {
    name: "memlimit",
    default: Value::Bytes(Bytes(0)),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Limit on the memory of both queues, with buffers; 0 for twice limit times mtu.",
};

/// The parameter for the target delay.
pub(super) const TARGET: Param = Param {
    name: "target",
    default: Value::Duration(Duration::from_millis(15)),
    bounds: bounds::MICROS,
    doc: "Target delay of the classic queue.",
};

/// The bounds of a duration that the kernel keeps as nanoseconds in 32 bits.
const MICROS_IN_NANOS: Bounds =
    Bounds::span(Duration::from_micros(1), Duration::from_nanos(u32::MAX as u64));

/// The parameter for the time between updates.
pub(super) const TUPDATE: Param = Param {
    name: "tupdate",
    default: Value::Duration(Duration::from_millis(16)),
    bounds: MICROS_IN_NANOS,
    doc: "Time between updates of the probability.",
};

/// The bounds of a gain in Hz: the unit and the largest value of the kernel's attribute.
const HERTZ: Bounds = Bounds::Real(1.0 / 256.0, 8_388_607.0);

/// The parameter for the gain on the distance from the target.
pub(super) const ALPHA: Param = Param {
    name: "alpha",
    default: Value::Number(41.0 / 256.0),
    bounds: HERTZ,
    doc: "Gain for the delay's distance from the target, in Hz; rounded down to 1/256.",
};

/// The parameter for the gain on the change of the delay.
pub(super) const BETA: Param = Param {
    name: "beta",
    default: Value::Number(819.0 / 256.0),
    bounds: HERTZ,
    doc: "Gain for the delay's change, in Hz; rounded down to 1/256.",
};

/// The parameter for a typical round-trip time, from which `tc` computes the controller's
/// constants.
pub(super) const TYPICAL_RTT: Param = Param {
    name: "typical_rtt",
    default: Value::MaybeDuration(None),
    bounds: bounds::MICROS,
    doc: "Typical RTT; replaces target, tupdate, alpha and beta. Off: a sixth of max_rtt.",
};

/// The parameter for the largest round-trip time, from which `tc` computes the controller's
/// constants.
pub(super) const MAX_RTT: Param = Param {
    name: "max_rtt",
    default: Value::MaybeDuration(None),
    bounds: bounds::MICROS,
    doc: "Largest RTT; replaces target, tupdate, alpha and beta. Off: six times typical_rtt.",
};

/// The parameter for the coupling factor.
pub(super) const COUPLING_FACTOR: Param = Param {
    name: "coupling_factor",
    default: Value::Count(2),
    bounds: Bounds::Whole(1, 255),
    doc: "Ratio of the L4S probability to the square root of the classic probability.",
};

/// The parameter for the step threshold in time.
pub(super) const STEP_THRESH: Param = Param {
    name: "step_thresh",
    default: Value::Duration(Duration::from_millis(1)),
    bounds: MICROS_IN_NANOS,
    doc: "Sojourn time above which every L4S packet is marked on departure.",
};

/// The parameter for the step threshold in packets.
pub(super) const STEP_THRESH_PACKETS: Param = Param {
    name: "step_thresh_packets",
    default: Value::Count(0),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Number of L4S packets behind a departing packet above which this packet is marked; 0 \
          selects `step_thresh`.",
};

/// The parameter for the queue length at and above which the step applies.
pub(super) const MIN_QLEN_STEP: Param = Param {
    name: "min_qlen_step",
    default: Value::Count(0),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Number of L4S packets that an arrival must find queued for the step to apply to it.",
};

/// The parameter for the response to overload.
pub(super) const DROP_OVERLOAD: Param = Param {
    name: "drop_overload",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether overload drops packets of both queues; otherwise the queues overflow.",
};

/// The parameter for the time of PI2's signals: arrival or departure.
pub(super) const DROP_EARLY: Param = Param {
    name: "drop_early",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether PI2 signals packets at arrival instead of at departure.",
};

/// The parameter for the share of the classic queue.
pub(super) const CLASSIC_PROTECTION: Param = Param {
    name: "classic_protection",
    default: Value::Count(10),
    bounds: Bounds::Whole(0, 100),
    doc: "Share of the link in per cent that the classic queue gets while both queues are busy.",
};

/// The parameter that selects the packets of the L4S queue.
pub(super) const ECN_MASK: Param = Param {
    name: "ecn_mask",
    default: Value::Word("l4s_ect", &["l4s_ect", "any_ect"]),
    bounds: Bounds::Any,
    doc: "Packets of the L4S queue: ECT(1) and CE, or every ECN-capable packet.",
};

/// The parameter for the size of a full frame.
pub(super) const MTU: Param =
    Param { bounds: Bounds::Whole(1, 1 << 20), doc: "The link's largest packet.", ..codel::MTU };

/// The parameters that `dualpi2_rfc` does not share with `dualpi2`.
pub(super) mod rfc {
    use aqmlab_core::{Bounds, Bytes, Duration, Param, Value};

    use crate::bounds;

    /// The parameter for the limit in bytes.
    pub(crate) const LIMIT: Param = Param {
        name: "limit",
        default: Value::Bytes(Bytes(0)),
        bounds: bounds::ROOM_OR_NONE,
        doc: "Limit in bytes of both queues together; 0 for 250 ms at the link's rate.",
    };

    /// The parameter for the largest round-trip time.
    pub(crate) const MAX_RTT: Param = Param {
        name: "max_rtt",
        default: Value::Duration(Duration::from_millis(100)),
        bounds: Bounds::span(Duration::from_micros(3), Duration::from_micros(u32::MAX as u64)),
        doc: "Largest expected RTT; it sets the gains and, with target, the update interval.",
    };

    /// The parameter for the start of the ramp.
    pub(crate) const MIN_TH: Param = Param {
        name: "min_th",
        default: Value::Duration(Duration::from_micros(800)),
        bounds: bounds::MICROS_OR_NONE,
        doc: "Sojourn time above which the probability of marks on L4S packets rises from 0.",
    };

    /// The parameter for the width of the ramp.
    pub(crate) const RANGE: Param = Param {
        name: "range",
        default: Value::Duration(Duration::from_micros(400)),
        bounds: bounds::MICROS_OR_NONE,
        doc: "Width of the ramp: from a sojourn time of min_th + range, all L4S packets are marked.",
    };

    /// The parameter for the length of the L4S queue up to which the ramp is off.
    pub(crate) const TH_LEN: Param = Param {
        name: "th_len",
        default: Value::Count(1),
        bounds: bounds::ROOM_OR_NONE,
        doc: "Number of L4S packets behind a departing packet up to which the ramp is off.",
    };

    /// The parameter that selects the scheduler.
    pub(crate) const SCHEDULER: Param = Param {
        name: "scheduler",
        default: Value::Word("wrr", &["wrr", "ts_fifo"]),
        bounds: Bounds::Any,
        doc: "Weighted round robin, or a FIFO in which L4S packets count as older by tshift.",
    };

    /// The parameter for the weight of the classic queue.
    pub(crate) const DEQUEUE_RATIO: Param = Param {
        name: "dequeue_ratio",
        default: Value::Count(16),
        bounds: Bounds::Whole(1, 1_000),
        doc: "With wrr: while both queues are busy, one byte in this many is classic.",
    };

    /// The parameter for the time shift of L4S packets.
    pub(crate) const TSHIFT: Param = Param {
        name: "tshift",
        default: Value::Duration(Duration::from_millis(50)),
        bounds: bounds::MICROS_OR_NONE,
        doc: "With ts_fifo: time by which L4S packets count as older.",
    };
}

/// The constants of the controller, stated by the user or computed from round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) gains: Gains,
}

impl Control {
    /// Returns the constants that `tc` sends for these arguments.
    pub(super) fn of(args: &Args) -> Self {
        let rtts = (args.maybe_duration("typical_rtt"), args.maybe_duration("max_rtt"));
        let rtts = match rtts {
            (None, None) => return Self::stated(args),
            (Some(typical), None) => (typical.as_micros(), typical.as_micros() * 6),
            (None, Some(max)) => ((max.as_micros() / 6).max(1), max.as_micros()),
            (Some(typical), Some(max)) => (typical.min(max).as_micros(), max.as_micros()),
        };
        Self::computed(rtts.0, rtts.1)
    }

    fn stated(args: &Args) -> Self {
        let gain = |name| (args.number(name) as f32 * 256.0) as u32;
        Self {
            target: args.duration("target"),
            tupdate: args.duration("tupdate"),
            gains: Gains { alpha: gain("alpha"), beta: gain("beta") },
        }
    }

    /// Computes the constants from round-trip times in microseconds (`dualpi2_parse_opt`). Some
    /// factors have the precision of a C `float`.
    fn computed(typical_us: u64, max_us: u64) -> Self {
        const MICROS_PER_SECOND: f64 = 1_000_000.0;
        let (typical, max) = (typical_us as f64, max_us as f64);
        let tupdate_us = (typical.min(max / 3.0) as u64).max(1);
        let alpha = tupdate_us as f64 / max / max * MICROS_PER_SECOND * f64::from(0.1_f32);
        let beta = f64::from(0.3_f32) / max * MICROS_PER_SECOND;
        let gain = |hertz: f64| ((hertz * 256.0) as u32).max(1);
        Self {
            target: Duration::from_micros(typical_us),
            tupdate: Duration::from_micros(tupdate_us),
            gains: Gains { alpha: gain(alpha), beta: gain(beta) },
        }
    }
}

#[cfg(test)]
mod tests;
