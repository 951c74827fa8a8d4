//! The parameters of Prague.

use aqmlab_core::{Args, Bounds, Duration, Kind, Param, Value};

use super::Prague;
use crate::cc::CongestionControl;

/// Registers `prague`.
pub const KINDS: &[Kind<dyn CongestionControl>] = &[Kind {
    name: "prague",
    summary: "Prague: a scalable sender for L4S with AccECN and ECT(1)",
    source: "L4STeam Linux net/ipv4/tcp_prague.c 0.7; RFC 9331",
    params: &[
        Param {
            name: "prague_rtt_target",
            default: Value::Duration(Duration::from_millis(25)),
            bounds: Bounds::span(Duration::from_micros(1), Duration::from_millis(100)),
            doc: "Round-trip time below which the rate does not depend on the round-trip time.",
        },
        Param {
            name: "prague_rtt_transition",
            default: Value::Count(4),
            bounds: Bounds::Whole(0, u32::MAX as u64),
            doc: "Rounds after slow start before the rate becomes independent of the round-trip time.",
        },
        Param {
            name: "prague_alpha_mode",
            default: Value::Count(0),
            bounds: Bounds::Whole(0, 1),
            doc: "First estimate of the fraction of marked segments: 0 or 1. With 0 the first mark halves the window.",
        },
        Param {
            name: "prague_cwnd_mode",
            default: Value::Count(2),
            bounds: Bounds::Whole(0, 2),
            doc: "Controlled quantity: the window (0), the rate (1), or the rate at small windows and otherwise the window (2).",
        },
        Param {
            name: "prague_cwnd_transit",
            default: Value::Count(4),
            bounds: Bounds::Whole(1, 1_000),
            doc: "Largest window, in packets of 1500 B, at which `prague_cwnd_mode = 2` controls the rate.",
        },
        Param {
            name: "prague_burst_shift",
            default: Value::Count(12),
            bounds: Bounds::Whole(0, 31),
            doc: "Longest burst in seconds, as a negative power of two.",
        },
    ],
    build: |args| Box::new(Prague::new(Options::of(args))),
}];

/// The quantity that the controller adapts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CwndMode {
    Window,
    Rate,
    /// The rate at small windows, and otherwise the window.
    Switching,
}

/// The parameters of a `prague` controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Eight times `prague_rtt_target` in microseconds, the unit of `srtt_us`.
    pub(super) target8: u64,
    pub(super) transition: u64,
    /// Whether the first estimate of the fraction of marked segments is 1.
    pub(super) starts_at_one: bool,
    pub(super) cwnd_mode: CwndMode,
    pub(super) transit: u64,
    pub(super) burst_shift: u32,
}

impl Options {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            target8: args.duration("prague_rtt_target").as_micros() << 3,
            transition: args.count("prague_rtt_transition"),
            starts_at_one: args.count("prague_alpha_mode") == 1,
            cwnd_mode: match args.count("prague_cwnd_mode") {
                0 => CwndMode::Window,
                1 => CwndMode::Rate,
                _ => CwndMode::Switching,
            },
            transit: args.count("prague_cwnd_transit"),
            burst_shift: args.count("prague_burst_shift") as u32,
        }
    }

    /// Returns the target round-trip time in microseconds.
    pub(super) const fn target_micros(&self) -> u64 {
        self.target8 >> 3
    }
}
