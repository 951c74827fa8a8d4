//! The parameters of BBR version 3.

use aqmlab_core::{Args, Bounds, Kind, Param, Value};

use super::{Bbr3, DRAIN_GAIN, UNIT};
use crate::cc::CongestionControl;
use crate::cc::jiffies::LINUX_HZ;

/// Registers `bbr3`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "bbr3",
    summary: "BBR version 3: bounds the data in flight by loss and ECN marks while it probes",
    source: "google/bbr v3 net/ipv4/tcp_bbr.c; draft-ietf-ccwg-bbr-06",
    params: &[
        Param {
            name: "variant",
            default: Value::Word("linux", &["linux", "draft"]),
            bounds: Bounds::Any,
            doc: "Gain for draining: 0.347 as in Google's code, or 0.5 as in the draft.",
        },
        Param {
            name: "ecn_low",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether the path marks early (the route's feature `ecn_low`), so that BBR responds to marks.",
        },
        Param {
            name: "seed",
            default: Value::Count(1),
            bounds: Bounds::Whole(0, u32::MAX as u64),
            doc: "Seed of the random waits between probes.",
        },
        LINUX_HZ,
    ],
    build: |args| Box::new(Bbr3::new(Options::of(args))),
}];

/// The parameters of a `bbr3` controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) hz: u64,
    pub(super) ecn_low: bool,
    /// The gain of the rate in `Mode::Drain`.
    pub(super) drain_gain: u64,
}

impl Options {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            seed: args.count("seed"),
            hz: args.count(LINUX_HZ.name),
            ecn_low: args.flag("ecn_low"),
            drain_gain: match args.word("variant") {
                "draft" => UNIT / 2,
                _ => DRAIN_GAIN,
            },
        }
    }
}
