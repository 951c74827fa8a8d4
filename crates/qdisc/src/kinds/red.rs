//! `red`: random early detection as in Linux.
//!
//! Source: Linux 6.1 `net/sched/sch_red.c`; the law is [`crate::aqm::red`]. The queue is a FIFO of
//! `limit` bytes. With `ecn`, ECN-capable packets are marked and other packets are dropped. With
//! `harddrop`, all packets are dropped if the average queue length is `max` or more. With `ecn` and
//! `nodrop`, packets that are not ECN-capable are kept where ECN-capable packets are marked.

use aqmlab_core::{Args, Bounds, Bytes, Cx, Duration, Kind, Packet, Param, Reason, Value};

use super::codel::ecn;
use crate::aqm::red::{Action, Red, Settings};
use crate::aqm::timer::{Clock, Timer};
use crate::bounds;
use crate::{Backlog, PacketQueue, Parent, Qdisc};

/// Registers `red`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "red",
    summary: "Drops arrivals at random, by the average queue length, as in Linux",
    source: "Linux 6.1 net/sched/sch_red.c, include/net/red.h; iproute2 tc/tc_red.c; tc-red(8)",
    params: &[
        Param {
            name: "limit",
            default: Value::Bytes(Bytes(400_000)),
            bounds: bounds::ROOM,
            doc: "Queue limit in bytes; tc-red(8) recommends a value well above max.",
        },
        Param {
            name: "min",
            default: Value::Bytes(Bytes(0)),
            bounds: THRESHOLD,
            doc: "Average queue length from which arrivals are signalled at random; 0 for a \
                  third of max.",
        },
        Param {
            name: "max",
            default: Value::Bytes(Bytes(0)),
            bounds: THRESHOLD,
            doc: "Average queue length from which all arrivals are signalled; 0 for three times min, \
                  or for limit/4 if min is also 0.",
        },
        Param {
            name: "avpkt",
            default: Value::Bytes(Bytes(1_000)),
            bounds: bounds::PACKET_BYTES,
            doc: "Average packet size assumed for bursts and idle times.",
        },
        Param {
            name: "burst",
            default: Value::Count(0),
            bounds: bounds::ROOM_OR_NONE,
            doc: "Number of packets of a burst that passes without signals; 0 for \
                  (2 min + max) / (3 avpkt).",
        },
        Param {
            name: "probability",
            default: Value::Number(0.02),
            bounds: bounds::PROBABILITY,
            doc: "Probability of a signal when the average queue length is max.",
        },
        ecn(false),
        Param {
            name: "harddrop",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether packets are dropped rather than marked when the average queue \
                  length is max or more.",
        },
        Param {
            name: "nodrop",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether, with ecn, packets that cannot be marked are kept instead of dropped.",
        },
        Param {
            name: "adaptive",
            default: Value::Flag(false),
            bounds: Bounds::Any,
            doc: "Whether the probability adapts to keep the average queue length midway \
                  between min and max.",
        },
        Param {
            name: "idle_from",
            default: Value::Word("departure", &["departure", "request"]),
            bounds: Bounds::Any,
            doc: "Start of an idle period: the last packet's departure or the first empty dequeue.",
        },
        Param {
            name: "tick",
            default: Value::Duration(Duration::from_millis(4)),
            bounds: bounds::TICK_OR_IDEAL,
            doc: "Timer tick of the kernel, to which adaptation intervals are rounded up; 0 for an \
                  ideal timer.",
        },
    ],
    build: |args: &Args| {
        let adapts = args.flag("adaptive");
        let law = Red::new(&Settings {
            limit: args.bytes("limit"),
            min: args.bytes("min"),
            max: args.bytes("max"),
            avpkt: args.bytes("avpkt"),
            burst: args.count("burst"),
            probability: args.number("probability"),
            adaptive: adapts.then(|| Clock::wheel(args.duration("tick"))),
        });
        Box::new(RedQueue {
            law,
            limit: args.bytes("limit"),
            idle_from_request: args.word("idle_from") == "request",
            habits: Habits {
                ecn: args.flag("ecn"),
                harddrop: args.flag("harddrop"),
                nodrop: args.flag("nodrop"),
            },
            queue: PacketQueue::default(),
        })
    },
}];

/// The bounds of a threshold. A threshold of 0 is computed from the other parameters; the kernel
/// scales a threshold to 32 bits.
const THRESHOLD: Bounds = Bounds::Whole(0, (1 << 30) - 1);

/// The options for signalling congestion.
struct Habits {
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

impl Habits {
    /// Applies the law's decision to `packet`; returns the packet unless it was dropped.
    fn apply(&self, action: Action, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        let (reason, may_mark) = match action {
            Action::Keep => return Some(packet),
            Action::Early => (Reason::Early, self.ecn),
            Action::Forced => (Reason::Forced, self.ecn && !self.harddrop),
        };
        if may_mark && packet.ecn.is_capable() {
            return Some(cx.mark(packet, reason));
        }
        if may_mark && self.nodrop {
            return Some(packet);
        }
        cx.drop(packet, reason);
        None
    }
}

struct RedQueue {
    law: Red,
    limit: Bytes,
    habits: Habits,
    idle_from_request: bool,
    queue: PacketQueue,
}

impl Qdisc for RedQueue {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.law.catch_up(cx.now);
        let waiting = self.queue.backlog().bytes;
        let action = self.law.arrive(cx.now, waiting, cx.rng);
        let Some(packet) = self.habits.apply(action, packet, cx) else { return };
        if waiting + packet.bytes() <= self.limit {
            self.queue.push(packet, cx.now);
        } else {
            cx.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.law.catch_up(cx.now);
        let taken = self.queue.pop(cx.now);
        if self.queue.is_empty() && !(self.idle_from_request && taken.is_some()) {
            self.law.emptied(cx.now);
        }
        taken.map(|(packet, _sojourn)| packet)
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Tunes the law to the rate of the link. Below HTB, also keeps the average queue length
    /// constant while the queue is idle: `red_dequeue` starts an idle period when it finds no
    /// packet, but `htb_dequeue` never polls a class without packets.
    fn attach(&mut self, to: Parent) {
        self.law.link_rate(to.rate);
        self.idle_from_request |= to.never_polls_empty;
    }

    fn visit_timers(&mut self, visit: &mut dyn FnMut(&mut Timer)) {
        visit(self.law.timer());
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("average_queue_bytes", self.law.average().0 as f64),
            ("max_probability", self.law.max_p()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{BitRate, Instant, NoLog, Rng};

    use super::*;

    /// Returns the average queue length after a busy time, ten idle seconds and one more packet.
    /// With `empty_poll`, the empty discipline is polled once during the idle time.
    fn average(idle_from: &str, empty_poll: bool, below_htb: bool) -> f64 {
        let mut args = Args::defaults(KINDS[0].params);
        let words = &["departure", "request"];
        let word = words.iter().find(|word| **word == idle_from).expect("it is one of the two");
        args.set("idle_from", Value::Word(word, words)).expect("red has it");
        let mut red = (KINDS[0].build)(&args);
        if below_htb {
            red.attach(Parent { rate: BitRate::new(10_000_000).unwrap(), never_polls_empty: true });
        }
        let mut rng = Rng::stream(1, "red");
        let mut at = |red: &mut Box<dyn Qdisc>, second: u64, packet: Option<Packet>| {
            let now = Instant::from_millis(second * 1_000);
            let mut cx = Cx { now, rng: &mut rng, log: &mut NoLog };
            match packet {
                Some(packet) => red.enqueue(packet, &mut cx),
                None => drop(red.dequeue(&mut cx)),
            }
        };
        for id in 0..40 {
            at(&mut red, 1, Some(Packet::plain(id, 0, 1_500)));
        }
        for _ in 0..40 + u32::from(empty_poll) {
            at(&mut red, 1, None);
        }
        at(&mut red, 11, Some(Packet::plain(40, 0, 1_500)));
        red.gauges()[0].1
    }

    #[test]
    fn without_an_empty_poll_idle_time_counts_or_not() {
        let lately = average("request", false, false);
        assert!(lately > 10_000.0, "HTB never asks, and the average stands still: {lately}");
        assert!((average("departure", false, true) - lately).abs() < 1.0);
        for (idle_from, empty_poll) in [("departure", false), ("request", true)] {
            let rested = average(idle_from, empty_poll, false);
            assert!(rested < lately / 1.9, "{idle_from}: {rested}, {lately}");
        }
    }
}
