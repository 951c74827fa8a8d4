//! The state of TCPs and queues, sampled at regular times.

use aqmlab_apps::Transport;
use aqmlab_core::{Duration, Instant, Side};
use aqmlab_tcp::Metrics;

use crate::agenda::Slot;
use crate::observer::Observer;
use crate::world::World;

/// One TCP at one time.
#[derive(Clone, Debug)]
pub(crate) struct TcpSample {
    pub(crate) at: Instant,
    pub(crate) conn: u32,
    pub(crate) side: Side,
    pub(crate) cwnd_bytes: u64,
    pub(crate) ssthresh_bytes: Option<u64>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) in_flight_bytes: u64,
}

/// One link at one time.
#[derive(Clone, Debug)]
pub(crate) struct QueueSample {
    pub(crate) at: Instant,
    pub(crate) link: usize,
    pub(crate) backlog_packets: u64,
    pub(crate) backlog_bytes: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) gauges: Vec<(&'static str, f64)>,
}

/// Takes samples and keeps them.
pub(crate) struct Sampler {
    pub(crate) slot: Slot,
    pub(crate) every: Duration,
    pub(crate) tcp: Vec<TcpSample>,
    pub(crate) queues: Vec<QueueSample>,
}

impl Sampler {
    /// A sampler that takes its first sample after `every`.
    pub(crate) fn new(slot: Slot, every: Duration) -> Self {
        Self { slot, every, tcp: Vec::new(), queues: Vec::new() }
    }

    /// Takes one sample of everything and asks for the next.
    pub(crate) fn sample<O: Observer>(&mut self, world: &mut World<O>) {
        let now = world.network.now;
        for (index, conn) in world.conns.iter().enumerate() {
            let Some(ends) = conn.ends.as_ref().filter(|_| conn.transport == Transport::Tcp) else {
                continue;
            };
            for side in [Side::Home, Side::Wan] {
                let tcp = &ends[side.index()].tcp;
                if tcp.stats().data_segments_sent > 0 {
                    self.tcp.push(tcp_sample(now, index as u32, side, &tcp.metrics()));
                }
            }
        }
        for (index, link) in world.network.links.iter().enumerate() {
            let (backlog, log) = (link.port.backlog(), &link.port.log);
            self.queues.push(QueueSample {
                at: now,
                link: index,
                backlog_packets: backlog.packets as u64,
                backlog_bytes: backlog.bytes.0,
                drops: log.dropped(),
                marks: log.marks,
                gauges: link.port.gauges(),
            });
        }
        world.network.agenda.set(self.slot, now + self.every);
    }
}

fn tcp_sample(at: Instant, conn: u32, side: Side, metrics: &Metrics) -> TcpSample {
    TcpSample {
        at,
        conn,
        side,
        cwnd_bytes: metrics.cwnd_bytes,
        ssthresh_bytes: metrics.ssthresh_bytes,
        srtt: metrics.srtt,
        in_flight_bytes: metrics.in_flight_bytes,
    }
}
