//! `fq_pie`: a queue for each flow, served round-robin, each under PIE.
//!
//! Sources: Linux 6.1 `net/sched/sch_fq_pie.c`; FreeBSD 10.4 `sys/netpfil/ipfw/dn_sched_fq_pie.c`
//! (CAIA). The scheduler is [`crate::flows`]; the laws are in [`crate::aqm::pie`]. The
//! implementations also differ in these points:
//!
//! | | Linux | FreeBSD |
//! |---|---|---|
//! | full queue | the arrival is dropped | the queue with most packets drops its head |
//! | an idle flow | keeps its state and its updates | is reset when it becomes active |
//! | a burst after an idle time | starts from the state after the last burst | is not dropped for `max_burst` |
//! | delay | timestamps, or departure rate | timestamps, or departure rate |
//! | ECN-capable packets by default | dropped | marked |
//!
//! Linux has one timer that visits all flows. The update of a flow depends on that flow alone, so
//! in this module each flow catches up on missed updates when it is next used. The result equals
//! the result with one timer, and idle flows cost no computing time.
//!
//! Differences, which have no effect with the default parameters: later kernels of the 6.1 series
//! visit 2048 flows at a time. In a larger table, they update the remaining flows at least one tick
//! later. This module updates all flows together, as in the first kernels of the series. The kernel
//! counts memory against a limit that it does not enforce; this module has no such limit.

use aqmlab_core::{Args, Bounds, Cx, Instant, Kind, Packet, Param, Reason, Value};

use super::codel::{TICK, ecn};
use super::fq_codel::{DUMMYNET_FLOWS, DUMMYNET_LIMIT, DUMMYNET_QUANTUM, FLOWS, QUANTUM, SALT};
use super::pie;
use super::pie::params::{ALPHA, BETA, BYTEMODE, CAPDROP, DERAND, DQ_RATE_ESTIMATOR, MAX_ECNTH};
use super::pie::params::{MTU, delay_from, dummynet, target, tick, tupdate};
use crate::aqm::pie::freebsd::{DelayFrom, FreeBsd, Switch};
use crate::aqm::pie::linux::{Linux, MAX_PROB};
use crate::aqm::pie::{Arrival, Departure, Law, Verdict};
use crate::aqm::timer::Timer;
use crate::bounds;
use crate::flows::{Flows, Rules, Settings};
use crate::{Backlog, Qdisc};

/// Registers `fq_pie` and `fq_pie_freebsd`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[
    Kind {
        name: "fq_pie",
        summary: "A queue per flow, served round-robin, each under PIE, as in Linux since 5.6",
        source: "Linux 6.1 net/sched/sch_fq_pie.c; tc-fq_pie(8); RFC 8033",
        params: &[
            limit("Limit in packets of all queues together; arrivals beyond it are dropped."),
            FLOWS,
            Param { bounds: LINUX_QUANTUM, ..QUANTUM },
            target(15),
            tupdate(15),
            ALPHA,
            BETA,
            ecn(false),
            ECN_PROB,
            BYTEMODE,
            DQ_RATE_ESTIMATOR,
            MTU,
            tick(4_000),
            SALT,
        ],
        build: |args: &Args| {
            let percent = args.count("ecn_prob");
            let mark_up_to = args.flag("ecn").then_some(MAX_PROB / 100 * percent);
            let law = Linux::new(&pie::linux(args, mark_up_to));
            Box::new(FqPie {
                flows: Flows::new(settings(args, Rules::Linux), || law),
                limit: args.count("limit"),
            })
        },
    },
    Kind {
        name: "fq_pie_freebsd",
        summary: "A queue per flow, served round-robin, each under PIE, as in FreeBSD's dummynet",
        source: "FreeBSD 10.4 sys/netpfil/ipfw/dn_sched_fq_pie.c, sbin/ipfw/dummynet.c",
        params: &[
            Param {
                bounds: DUMMYNET_LIMIT,
                ..limit(
                    "Limit in packets of all queues; beyond it the longest queue drops its head.",
                )
            },
            Param { bounds: DUMMYNET_FLOWS, ..FLOWS },
            Param { bounds: DUMMYNET_QUANTUM, ..QUANTUM },
            Param { bounds: bounds::FIVE_SECONDS, ..dummynet::TARGET },
            Param { bounds: bounds::FIVE_SECONDS, ..dummynet::TUPDATE },
            Param { bounds: bounds::FIVE_SECONDS_OR_NONE, ..dummynet::MAX_BURST },
            dummynet::ALPHA,
            dummynet::BETA,
            ecn(true), // `ipfw` sets the flag for `fq_pie` unless `noecn` is given
            MAX_ECNTH,
            CAPDROP,
            DERAND,
            delay_from("timestamps"),
            TICK,
            SALT,
        ],
        build: |args: &Args| {
            let delay_from = match args.word("delay_from") {
                "departures" => DelayFrom::Departures,
                _ => DelayFrom::Timestamps,
            };
            let law = FreeBsd::new(&pie::freebsd(args, delay_from, Switch::ByScheduler));
            Box::new(FqPie {
                flows: Flows::new(settings(args, Rules::FreeBsd), || law),
                limit: args.count("limit"),
            })
        },
    },
];

const fn limit(doc: &'static str) -> Param {
    Param { name: "limit", default: Value::Count(10_240), bounds: bounds::ROOM, doc }
}

/// The bounds of the quantum in `sch_fq_pie.c` (`fq_pie_q_range`); the minimum is smaller than in
/// `fq_codel`.
const LINUX_QUANTUM: Bounds = Bounds::Whole(1, 1 << 20);

const ECN_PROB: Param = Param {
    name: "ecn_prob",
    default: Value::Count(10),
    bounds: Bounds::Whole(0, 100),
    doc: "Drop probability in per cent above which ECN-capable packets are dropped too.",
};

fn settings(args: &Args, rules: Rules) -> Settings {
    Settings {
        flows: args.count("flows"),
        quantum: args.bytes("quantum"),
        salt: args.count("salt"),
        rules,
    }
}

struct FqPie<L> {
    flows: Flows<L>,
    limit: u64,
}

/// The per-flow differences between the implementations.
trait Dialect: Law + Sized {
    /// Returns whether an arrival has room with `waiting` packets in all queues.
    fn fits(waiting: usize, limit: u64) -> bool;
    /// Records that an idle flow has a packet again.
    fn woken(&mut self, now: Instant);
    /// Records that a flow became idle.
    fn rested(&mut self);
    /// Records that a flow lost the packet at its head because all queues together had reached the
    /// limit.
    fn head_dropped(&mut self);
}

impl Dialect for Linux {
    #[inline]
    fn fits(waiting: usize, limit: u64) -> bool {
        (waiting as u64) < limit
    }

    fn woken(&mut self, _now: Instant) {}

    fn rested(&mut self) {}

    fn head_dropped(&mut self) {
        unreachable!("there is never more than the limit")
    }
}

impl Dialect for FreeBsd {
    #[inline]
    fn fits(_waiting: usize, _limit: u64) -> bool {
        true
    }

    fn woken(&mut self, now: Instant) {
        self.activate(now);
    }

    fn rested(&mut self) {
        self.deactivate();
    }

    fn head_dropped(&mut self) {
        Self::head_dropped(self);
    }
}

impl<L: Dialect> FqPie<L> {
    /// Judges `packet`; returns it unless it was dropped.
    fn judge(&mut self, index: usize, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        let total = self.flows.backlog().packets;
        let (turn, law) = self.flows.turn(index);
        let waiting = turn.own();
        law.catch_up(cx.now, waiting);
        let fits = L::fits(total, self.limit);
        let arrival = Arrival { now: cx.now, packet: &packet, waiting, fits };
        match law.arrive(&arrival, cx.rng) {
            Verdict::Keep => Some(packet),
            Verdict::Mark => Some(cx.mark(packet, Reason::Early)),
            Verdict::Drop(reason) => {
                cx.drop(packet, reason);
                None
            }
        }
    }

    /// Drops the packet at the head of the queue with the most packets.
    fn make_room(&mut self, cx: &mut Cx<'_>) {
        let Some(index) = self.flows.longest(|waiting| waiting.packets as u64) else { return };
        let (mut turn, law) = self.flows.turn(index);
        law.catch_up(cx.now, turn.own());
        if let Some((packet, _sojourn)) = turn.pop(cx.now) {
            law.head_dropped();
            cx.drop(packet, Reason::Overlimit);
        }
    }
}

impl<L: Dialect> Qdisc for FqPie<L> {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let index = self.flows.classify(&packet, cx.rng);
        let Some(packet) = self.judge(index, packet, cx) else { return };
        if self.flows.push(index, packet, cx.now) {
            self.flows.state(index).woken(cx.now);
        }
        if self.flows.backlog().packets as u64 > self.limit {
            self.make_room(cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        loop {
            let index = self.flows.next_flow()?;
            let (mut turn, law) = self.flows.turn(index);
            law.catch_up(cx.now, turn.own());
            if let Some((packet, _sojourn)) = turn.pop(cx.now) {
                law.depart(&Departure { now: cx.now, packet: &packet, left: turn.own() });
                self.flows.sent(index, &packet);
                return Some(packet);
            }
            if self.flows.emptied(index) {
                self.flows.state(index).rested();
            }
        }
    }

    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        self.flows.each().filter_map(|(_, law)| law.timer()).for_each(visit);
    }

    fn reset(&mut self) {
        self.flows.reset(L::reset);
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    /// Returns the numbers of new and of old flows, and the largest probability and the largest
    /// delay among them, each as of the flow's last packet.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let (new, old) = self.flows.active();
        let most = |of: fn(&L) -> f64| self.flows.active_states().map(of).fold(0.0, f64::max);
        vec![
            ("new_flows", new as f64),
            ("old_flows", old as f64),
            ("drop_probability", most(L::probability)),
            ("queue_delay_ms", most(|law| law.delay().as_secs_f64() * 1e3)),
        ]
    }
}
