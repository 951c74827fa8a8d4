//! The parameters of PIE's kinds, for one queue or for one per flow.

use aqmlab_core::{Bounds, Bytes, Duration, Param, Value};

use crate::bounds;

/// The room of a queue counted in packets.
pub(crate) const fn limit(packets: u64) -> Param {
    Param {
        name: "limit",
        default: Value::Count(packets),
        bounds: bounds::ROOM,
        doc: "Packets that may wait; an arrival beyond them is dropped.",
    }
}

/// The delay to settle at.
pub(crate) const fn target(ms: u64) -> Param {
    Param {
        name: "target",
        default: Value::Duration(Duration::from_millis(ms)),
        bounds: bounds::MICROS,
        doc: "Queue delay at which the drop probability comes to rest.",
    }
}

/// The time between updates.
pub(crate) const fn tupdate(ms: u64) -> Param {
    Param {
        name: "tupdate",
        default: Value::Duration(Duration::from_millis(ms)),
        bounds: bounds::MICROS,
        doc: "Time between updates of the drop probability; kernels round it up to their ticks.",
    }
}

/// Linux's gain.
pub(crate) const ALPHA: Param = Param {
    name: "alpha",
    default: Value::Count(2),
    bounds: Bounds::Whole(0, 32),
    doc: "Sixteenths of 1/s by which the delay's distance from the target counts.",
};

/// Linux's other gain.
pub(crate) const BETA: Param = Param {
    name: "beta",
    default: Value::Count(20),
    bounds: Bounds::Whole(0, 32),
    doc: "Sixteenths of 1/s by which the delay's change counts.",
};

/// The RFC's gain.
pub(crate) const ALPHA_PER_SECOND: Param = Param {
    name: "alpha",
    default: Value::Number(0.125),
    bounds: bounds::GAIN,
    doc: "Probability added for each second by which the delay exceeds the target.",
};

/// The RFC's other gain.
pub(crate) const BETA_PER_SECOND: Param = Param {
    name: "beta",
    default: Value::Number(1.25),
    bounds: bounds::GAIN,
    doc: "Probability added for each second by which the delay grew since the last update.",
};

/// Linux's drops by size.
pub(crate) const BYTEMODE: Param = Param {
    name: "bytemode",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether a packet's size scales its drop probability.",
};

/// Linux's choice of delay.
pub(crate) const DQ_RATE_ESTIMATOR: Param = Param {
    name: "dq_rate_estimator",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether the delay is estimated from the departure rate instead of timestamps.",
};

/// The frame size of Linux's guard, twice which must fit 32 bits.
pub(crate) const MTU: Param = Param {
    name: "mtu",
    default: Value::Bytes(Bytes(1_514)),
    bounds: Bounds::Whole(1, 1 << 30),
    doc: "The link's largest packet; below two of them nothing is dropped early.",
};

/// The bounds of dummynet for the parameters that it shares with the RFC (FreeBSD 10.4
/// `aqm_pie_config`).
pub(crate) mod dummynet {
    use aqmlab_core::{Bounds, Param};

    use crate::bounds;

    const GAIN: Bounds = Bounds::Real(0.0, 7.0);

    /// The delay to settle at.
    pub(crate) const TARGET: Param = Param { bounds: bounds::TEN_SECONDS, ..super::target(15) };
    /// The time between updates.
    pub(crate) const TUPDATE: Param = Param { bounds: bounds::TEN_SECONDS, ..super::tupdate(15) };
    /// The burst allowance.
    pub(crate) const MAX_BURST: Param =
        Param { bounds: bounds::TEN_SECONDS_OR_NONE, ..super::MAX_BURST };
    /// The gain.
    pub(crate) const ALPHA: Param = Param { bounds: GAIN, ..super::ALPHA_PER_SECOND };
    /// The other gain.
    pub(crate) const BETA: Param = Param { bounds: GAIN, ..super::BETA_PER_SECOND };
}

/// The allowance of the RFC and FreeBSD; Linux has it fixed.
pub(crate) const MAX_BURST: Param = Param {
    name: "max_burst",
    default: Value::Duration(Duration::from_millis(150)),
    bounds: bounds::MICROS_OR_NONE,
    doc: "Time after a quiet spell during which nothing is dropped early.",
};

/// The bound on marking of the RFC and FreeBSD.
pub(crate) const MAX_ECNTH: Param = Param {
    name: "max_ecnth",
    default: Value::Number(0.1),
    bounds: bounds::PROBABILITY,
    doc: "Drop probability from which ECN-capable packets are dropped too.",
};

/// FreeBSD's cap.
pub(crate) const CAPDROP: Param = Param {
    name: "capdrop",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether an update adds at most 2 % to a probability of 10 % or more.",
};

/// FreeBSD's derandomisation.
pub(crate) const DERAND: Param = Param {
    name: "derand",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether drops are kept from bunching and from keeping away.",
};

/// FreeBSD's sleep.
pub(crate) const ON_OFF: Param = Param {
    name: "onoff",
    default: Value::Flag(false),
    bounds: Bounds::Any,
    doc: "Whether PIE sleeps until a third of the limit waits.",
};

/// The room of a dummynet queue counted in bytes.
pub(crate) const LIMIT_BYTES: Param = Param {
    name: "limit_bytes",
    default: Value::Bytes(Bytes(0)),
    bounds: bounds::ROOM_OR_NONE,
    doc: "Bytes that may wait, in place of the limit in packets; 0 for that limit.",
};

/// Where the delay comes from.
pub(crate) const fn delay_from(default: &'static str) -> Param {
    Param {
        name: "delay_from",
        default: Value::Word(default, &["timestamps", "departures"]),
        bounds: Bounds::Any,
        doc: "Whether the delay comes from packets' timestamps or from the departure rate.",
    }
}

/// The ticks of Linux's timers: 4 ms on Debian; the routers of TEACUP were built with 0.1 ms.
pub(crate) const fn tick(us: u64) -> Param {
    Param {
        name: "tick",
        default: Value::Duration(Duration::from_micros(us)),
        bounds: bounds::TICK_OR_IDEAL,
        doc: "Timer tick of the kernel, 1/HZ, by which updates come late; 0 for an ideal timer.",
    }
}
