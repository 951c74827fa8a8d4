//! `fq_nocodel`: the scheduler of `fq_codel` without CoDel, to separate the effects of scheduler
//! and law.
//!
//! Sources: Høiland-Jørgensen, Hurtig and Brunstrom 2015, "The Good, the Bad and the WiFi: Modern
//! AQMs in a residential setting" (Computer Networks 89), which measures this variant. The
//! scheduler and the overflow rule are from Linux 6.1 `net/sched/sch_fq_codel.c`.

use aqmlab_core::{Args, Bytes, Cx, Kind, Packet};

use super::fq_codel::{
    DROP_BATCH, FLOWS, LIMIT, MEMORY_LIMIT, QUANTUM, SALT, flows, shed_as_linux,
};
use crate::flows::{Flows, Rules};
use crate::{Backlog, Qdisc};

/// Registers `fq_nocodel`.
pub const KINDS: &[Kind<dyn Qdisc>] = &[Kind {
    name: "fq_nocodel",
    summary: "A queue per flow, served round-robin as in fq_codel, but without CoDel",
    source: "Høiland-Jørgensen et al. 2015, The Good, the Bad and the WiFi; \
             Linux 6.1 net/sched/sch_fq_codel.c",
    params: &[LIMIT, FLOWS, QUANTUM, DROP_BATCH, MEMORY_LIMIT, SALT],
    build: |args: &Args| {
        Box::new(FqNoCodel {
            flows: flows(args, Rules::Linux),
            limit: args.count("limit"),
            batch: args.count("drop_batch"),
            memory_limit: args.bytes("memory_limit"),
        })
    },
}];

struct FqNoCodel {
    flows: Flows<()>,
    limit: u64,
    batch: u64,
    memory_limit: Bytes,
}

impl Qdisc for FqNoCodel {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let flow = self.flows.classify(&packet, cx.rng);
        self.flows.push(flow, packet, cx.now);
        let over_limit = self.flows.backlog().packets as u64 > self.limit;
        if over_limit || self.flows.memory() > self.memory_limit {
            shed_as_linux(self.batch, &mut self.flows, cx, |(), _| ());
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some(flow) = self.flows.next_flow() {
            if let Some((packet, _)) = self.flows.turn(flow).0.pop(cx.now) {
                self.flows.sent(flow, &packet);
                return Some(packet);
            }
            self.flows.emptied(flow);
        }
        None
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let (new, old) = self.flows.active();
        vec![("new_flows", new as f64), ("old_flows", old as f64)]
    }
}
