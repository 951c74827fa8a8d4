//! The parameters of the PIE kinds, for one queue or for one queue per flow.

use aqmlab_core::{Bounds, Bytes, Duration, Param, Value};

use crate::bounds;

/// Returns the parameter for the limit of a queue in packets.
pub(crate) const fn limit(packets: u64) -> Param {
    Param {
        name: "limit",
        default: Value::Count(packets),
        bounds: bounds::ROOM,
        doc: "Queue limit in packets; arrivals beyond it are dropped.",
    }
}

/// Returns the parameter for the target delay.
pub(crate) const fn target(ms: u64) -> Param {
    Param {
        name: "target",
        default: Value::Duration(Duration::from_millis(ms)),
        bounds: bounds::MICROS,
        doc: "Target queueing delay.",
    }
}

/// Returns the parameter for the time between updates.
pub(crate) const fn tupdate(ms: u64) -> Param {
    Param {
        name: "tupdate",
        default: Value::Duration(Duration::from_millis(ms)),
        bounds: bounds::MICROS,
        doc: "Time between updates of the drop probability; Linux rounds it up to its ticks.",
    }
}

/// The parameter for Linux's gain on the distance from the target.
pub(crate) const ALPHA: Param = Param {
    name: "alpha",
    default: Value::Count(2),
    bounds: Bounds::Whole(0, 32),
    doc: "Gain for the delay's distance from the target, in sixteenths of 1/s.",
};

/// The parameter for Linux's gain on the change of the delay.
pub(crate) const BETA: Param = Param {
    name: "beta",
    default: Value::Count(20),
    bounds: Bounds::Whole(0, 32),
    doc: "Gain for the delay's change, in sixteenths of 1/s.",
};

/// The parameter for the RFC's gain on the distance from the target.
pub(crate) const ALPHA_PER_SECOND: Param = Param {
    name: "alpha",
    default: Value::Number(0.125),
    bounds: bounds::GAIN,
    doc: "Gain for the delay's distance from the target, in 1/s.",
};

/// The parameter for the RFC's gain on the change of the delay.
pub(crate) const BETA_PER_SECOND: Param = Param {
    name: "beta",
    default: Value::Number(1.25),
    bounds: bounds::GAIN,
    doc: "Gain for the delay's change since the last update, in 1/s.",
};

/// The parameter that makes Linux's drops depend on the packet size.
pub(crate) const BYTEMODE: Param = Param {
    name: "bytemode",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether the drop probability scales with the packet size.",
};

/// The parameter that selects Linux's source of the delay.
pub(crate) const DQ_RATE_ESTIMATOR: Param = Param {
    name: "dq_rate_estimator",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether the delay is estimated from the departure rate instead of timestamps.",
};

/// The parameter for the frame size of Linux's guard against early drops; twice this size must fit
/// in 32 bits.
pub(crate) const MTU: Param = Param {
    name: "mtu",
    default: Value::Bytes(Bytes(1_514)),
    bounds: Bounds::Whole(1, 1 << 30),
    doc: "Size of the link's largest packet; while the queue holds less than twice this size, \
          nothing is dropped early.",
};

/// The parameters that dummynet shares with the RFC, with dummynet's bounds (FreeBSD 10.4
/// `aqm_pie_config`).
pub(crate) mod dummynet {
    use aqmlab_core::{Bounds, Param};

    use crate::bounds;

    const GAIN: Bounds = Bounds::Real(0.0, 7.0);

    /// The parameter for the target delay.
    pub(crate) const TARGET: Param = Param { bounds: bounds::TEN_SECONDS, ..super::target(15) };
    /// The parameter for the time between updates.
    pub(crate) const TUPDATE: Param = Param { bounds: bounds::TEN_SECONDS, ..super::tupdate(15) };
    /// The parameter for the burst allowance.
    pub(crate) const MAX_BURST: Param =
        Param { bounds: bounds::TEN_SECONDS_OR_NONE, ..super::MAX_BURST };
    /// The parameter for the gain on the distance from the target.
    pub(crate) const ALPHA: Param = Param { bounds: GAIN, ..super::ALPHA_PER_SECOND };
    /// The parameter for the gain on the change of the delay.
    pub(crate) const BETA: Param = Param { bounds: GAIN, ..super::BETA_PER_SECOND };
}

/// The parameter for the burst allowance of the RFC and FreeBSD; in Linux it is a constant.
pub(crate) const MAX_BURST: Param = Param {
    name: "max_burst",
    default: Value::Duration(Duration::from_millis(150)),
    bounds: bounds::MICROS_OR_NONE,
    doc: "Time for which nothing is dropped early after a quiet period.",
};

/// The parameter for the ECN threshold of the RFC and FreeBSD.
pub(crate) const MAX_ECNTH: Param = Param {
    name: "max_ecnth",
    default: Value::Number(0.1),
    bounds: bounds::PROBABILITY,
    doc: "Drop probability from which ECN-capable packets are dropped too.",
};

/// The parameter of FreeBSD's 2 % cap.
pub(crate) const CAPDROP: Param = Param {
    name: "capdrop",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether an update raises a probability of 10 % or more by at most 0.02.",
};

/// The parameter of FreeBSD's derandomisation.
pub(crate) const DERAND: Param = Param {
    name: "derand",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether drops are spaced apart (derandomisation).",
};

/// The parameter that lets FreeBSD's PIE be inactive.
pub(crate) const ON_OFF: Param = Param {
    name: "onoff",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether PIE is inactive until the backlog reaches a third of the limit.",
};

/// The parameter for the limit of a dummynet queue in bytes.
pub(crate) const LIMIT_BYTES: Param = Param {
    name: "limit_bytes",
    default: Value::Bytes(Bytes(0)),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Queue limit in bytes; 0 selects the limit in packets instead.",
};

/// Returns the parameter for the source of the delay.
pub(crate) const fn delay_from(default: &'static str) -> Param {
    Param {
        name: "delay_from",
        default: Value::Word(default, &["timestamps", "departures"]),
        bounds: Bounds::Any,
        doc: "Source of the delay: timestamps of packets, or the departure rate.",
    }
}

/// Returns the parameter for the tick of Linux's timers. The tick is 4 ms on Debian, and 0.1 ms on
/// the routers of the testbed TEACUP.
pub(crate) const fn tick(us: u64) -> Param {
    Param {
        name: "tick",
        default: Value::Duration(Duration::from_micros(us)),
        bounds: bounds::TICK_OR_IDEAL,
        doc: "Timer tick of the kernel, 1/HZ; intervals are rounded up to it; 0 for an ideal timer.",
    }
}
