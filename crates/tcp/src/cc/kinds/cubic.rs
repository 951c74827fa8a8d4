//! CUBIC: a window that is a cubic function of the time since the last congestion event.
//!
//! There are three kinds: `cubic` (Linux's CUBIC, in integer arithmetic), `cubic_rfc` (CUBIC of RFC
//! 9438, in floating point) and `cubic_freebsd` (FreeBSD 10's CUBIC). Each file names its source
//! and its differences.

mod freebsd;
mod hystart;
mod linux;
mod rfc;
mod root;

use aqmlab_core::{Bounds, Kind, Param, Value};

use crate::cc::CongestionControl;
use crate::cc::jiffies::LINUX_HZ;

const HYSTART: Param = Param {
    name: "hystart",
    default: Value::Word("on", &["on", "plusplus", "off"]),
    bounds: Bounds::Any,
    doc: "Exit from slow start before a loss: HyStart, HyStart++ (RFC 9406), or none.",
};

const FAST_CONVERGENCE: Param = Param {
    name: "fast_convergence",
    default: Value::Flag(true),
    bounds: Bounds::Any,
    doc: "Whether a loss at a window below the former maximum lowers the maximum further, \
          to make room for new flows.",
};

/// Registers `cubic`, `cubic_rfc` and `cubic_freebsd`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[
    Kind {
        name: "cubic",
        summary: "CUBIC with HyStart in Linux's integer arithmetic",
        source: "Linux 6.1 net/ipv4/tcp_cubic.c",
        params: &[
            HYSTART,
            FAST_CONVERGENCE,
            Param {
                name: "tcp_friendliness",
                default: Value::Flag(true),
                bounds: Bounds::Any,
                doc: "Whether the window grows at least as fast as Reno's.",
            },
            LINUX_HZ,
        ],
        build: |args| Box::new(linux::Cubic::new(args)),
    },
    Kind {
        name: "cubic_rfc",
        summary: "CUBIC as specified in RFC 9438, in floating-point arithmetic",
        source: "RFC 9438; RFC 9406",
        params: &[
            Param {
                name: "hystart",
                default: Value::Word("plusplus", &["plusplus", "off"]),
                bounds: Bounds::Any,
                doc: "Exit from slow start before a loss: HyStart++ (RFC 9406), or none.",
            },
            FAST_CONVERGENCE,
        ],
        build: |args| Box::new(rfc::Cubic::new(args)),
    },
    Kind {
        name: "cubic_freebsd",
        summary: "CUBIC as in FreeBSD 10, with appropriate byte counting",
        source: "FreeBSD 10.4 sys/netinet/cc/cc_cubic.c; draft-rhee-tcpm-cubic-02",
        params: &[Param {
            name: "hz",
            default: Value::Count(1_000),
            bounds: Bounds::Whole(1, 1_000_000),
            doc: "Ticks of the host's clock per second.",
        }],
        build: |args| Box::new(freebsd::Cubic::new(args)),
    },
];
