//! The pacer of a sender. It sends video in small bursts, and probes at their own rate.
//!
//! Source: libwebrtc (2025-06) `pacing_controller.cc` and `bitrate_prober.cc`. Packets are sent at
//! once until the debt is 40 ms of the pacing rate (or 63 kB). Retransmissions precede new packets.
//! A queue that would take more than 2 s to send raises the rate. While a probe is active, packets
//! are sent at its rate, and padding replaces missing packets.
//!
//! Audio does not pass through the pacer. It is sent at once.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::gcc::Cluster;
use super::wire::VideoPacket;

const BURST_S: f64 = 0.04;
const BURST_BYTES: f64 = 63_000.0;
const MOST_DEBT_S: f64 = 0.5;
const QUEUE_LIMIT_S: f64 = 2.0;
const PROBE_SEND_S: f64 = 0.002;
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const MOST_PROBES: usize = 5;
/// The delay after which a late probe is given up.
const PROBE_LATE: Duration = Duration::from_millis(10);
/// The size of the packet that begins a probe, unless the probe's own sends are smaller.
const PROBE_PACKET: f64 = 200.0;

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Packet {
    /// Video for the first time.
    Video(VideoPacket),
    /// Retransmitted video.
    Again(VideoPacket),
    /// Padding of this many bytes.
    Padding(u32),
}

/// The largest packets and the headers of every packet, in bytes of IP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The maximum number of video bytes in a packet.
    pub(crate) payload: u32,
    /// The headers of IP, UDP, RTP and SRTP.
    pub(crate) headers: u32,
}

impl Sizes {
    /// Returns the size of `packet` on the path.
    pub(crate) fn of(self, packet: &Packet) -> u32 {
        self.headers
            + match packet {
                Packet::Video(video) => video.bytes,
                // The two bytes are the original number (RFC 4588 §4).
                Packet::Again(video) => video.bytes + 2,
                Packet::Padding(bytes) => *bytes,
            }
    }
}

#[derive(Debug)]
struct Probe {
    cluster: Cluster,
    requested: Instant,
    started: Option<Instant>,
    bytes: f64,
    sends: u32,
}

impl Probe {
    /// Returns the number of bytes in one send.
    fn send_bytes(&self) -> f64 {
        self.cluster.bps * PROBE_SEND_S / 8.0
    }
}

/// The pacer.
#[derive(Debug)]
pub(crate) struct Pacer {
    sizes: Sizes,
    bps: f64,
    debt: f64,
    last: Instant,
    again: VecDeque<(Instant, VideoPacket)>,
    video: VecDeque<(Instant, VideoPacket)>,
    queued_bytes: f64,
    /// The sum of the arrival times of the queued packets, in seconds.
    queued_since: f64,
    probes: VecDeque<Probe>,
    is_probing: bool,
    /// The time of the next send of a probe; `None` stands for at once.
    next_probe: Option<Instant>,
}

impl Pacer {
    pub(crate) fn new(sizes: Sizes, bps: f64, now: Instant) -> Self {
        Self {
            sizes,
            bps,
            debt: 0.0,
            last: now,
            again: VecDeque::new(),
            video: VecDeque::new(),
            queued_bytes: 0.0,
            queued_since: 0.0,
            probes: VecDeque::new(),
            is_probing: false,
            next_probe: None,
        }
    }

    /// Sets the pacing rate in bit/s.
    pub(crate) fn set_rate(&mut self, bps: f64, now: Instant) {
        self.advance(now);
        self.bps = bps;
    }

    /// Adds packets of video.
    pub(crate) fn push(&mut self, packet: Packet, now: Instant) {
        let (queue, video) = match packet {
            Packet::Video(video) => (&mut self.video, video),
            Packet::Again(video) => (&mut self.again, video),
            Packet::Padding(_) => return,
        };
        queue.push_back((now, video));
        let bytes = f64::from(self.sizes.of(&packet));
        self.queued_bytes += bytes;
        self.queued_since += now.as_secs_f64();
        self.activate(bytes);
    }

    /// Adds a probe.
    pub(crate) fn probe(&mut self, cluster: Cluster, now: Instant) {
        let is_old = |probe: &Probe| now.since(probe.requested) > PROBE_TIMEOUT;
        while self.probes.front().is_some_and(is_old) || self.probes.len() > MOST_PROBES {
            self.probes.pop_front();
        }
        self.probes.push_back(Probe {
            cluster,
            requested: now,
            started: None,
            bytes: 0.0,
            sends: 0,
        });
    }

    fn activate(&mut self, bytes: f64) {
        let Some(probe) = self.probes.front().filter(|_| !self.is_probing) else { return };
        if bytes >= probe.send_bytes().min(PROBE_PACKET) {
            self.is_probing = true;
            self.next_probe = None;
        }
    }

    /// Returns the time that the queued video takes at `bps`.
    pub(crate) fn queued(&self, bps: f64) -> Duration {
        Duration::from_secs_f64(8.0 * self.queued_bytes / bps)
    }

    /// Returns whether the video packet `number` is queued for retransmission.
    pub(crate) fn is_queued_again(&self, number: u64) -> bool {
        self.again.iter().any(|(_, video)| video.number == number)
    }

    /// Returns the time of the next call of [`Pacer::process`], if there is anything to send.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        if self.is_probing {
            return Some(self.next_probe.unwrap_or(now).max(now));
        }
        if self.is_empty() {
            return None;
        }
        let bps = self.rate(now);
        let wait = 8.0 * self.debt / bps;
        let is_burst = self.debt < burst_bytes(bps);
        let at = self.last + Duration::from_secs_f64(if is_burst { 0.0 } else { wait });
        Some(at.max(now))
    }

    /// Removes and returns the packets to send at `now`, each with its probe, if it belongs to one.
    pub(crate) fn process(&mut self, now: Instant) -> Vec<(Packet, Option<Cluster>)> {
        self.advance(now);
        self.give_up_late(now);
        if self.is_probing {
            return self.process_probe(now);
        }
        let mut out = Vec::new();
        loop {
            // Removing a packet shortens the queue, which may lower the rate.
            let bps = self.rate(now);
            if self.debt >= burst_bytes(bps) {
                break;
            }
            let Some(packet) = self.pop() else { break };
            self.spend(&packet, bps);
            out.push((packet, None));
        }
        out
    }

    fn process_probe(&mut self, now: Instant) -> Vec<(Packet, Option<Cluster>)> {
        let mut out = Vec::new();
        let Some(probe) = self.probes.front() else { return out };
        if self.next_probe.is_some_and(|at| at > now) {
            return out;
        }
        let (cluster, wanted) = (probe.cluster, probe.send_bytes());
        let mut sent = 0.0;
        if probe.sends == 0 {
            // A small packet marks the start of the probe exactly.
            out.push((Packet::Padding(1), Some(cluster)));
            sent += f64::from(self.sizes.of(&Packet::Padding(1)));
        }
        while sent < wanted {
            let padding = ((wanted - sent) as u32).clamp(1, self.sizes.payload);
            let packet = self.pop().unwrap_or(Packet::Padding(padding));
            sent += f64::from(self.sizes.of(&packet));
            out.push((packet, Some(cluster)));
        }
        let bps = self.rate(now);
        for (packet, _) in &out {
            self.spend(packet, bps);
        }
        self.probe_sent(sent, now);
        out
    }

    fn probe_sent(&mut self, bytes: f64, now: Instant) {
        let Some(probe) = self.probes.front_mut() else { return };
        let started = *probe.started.get_or_insert(now);
        probe.bytes += bytes;
        probe.sends += 1;
        let span = Duration::from_secs_f64(8.0 * probe.bytes / probe.cluster.bps);
        self.next_probe = Some(started + span);
        if probe.bytes >= probe.cluster.bytes() && probe.sends >= Cluster::SENDS {
            self.probes.pop_front();
            self.is_probing = !self.probes.is_empty();
        }
    }

    fn give_up_late(&mut self, now: Instant) {
        if self.is_probing && self.next_probe.is_some_and(|at| now.since(at) > PROBE_LATE) {
            self.probes.pop_front();
            self.next_probe = None;
            self.is_probing = !self.probes.is_empty();
        }
    }

    fn is_empty(&self) -> bool {
        self.again.is_empty() && self.video.is_empty()
    }

    fn pop(&mut self) -> Option<Packet> {
        let again = self.again.pop_front().map(|(at, video)| (at, Packet::Again(video)));
        let next = || self.video.pop_front().map(|(at, video)| (at, Packet::Video(video)));
        let (at, packet) = again.or_else(next)?;
        self.queued_bytes -= f64::from(self.sizes.of(&packet));
        self.queued_since -= at.as_secs_f64();
        Some(packet)
    }

    fn spend(&mut self, packet: &Packet, bps: f64) {
        let debt = self.debt + f64::from(self.sizes.of(packet));
        self.debt = debt.min(bps / 8.0 * MOST_DEBT_S);
    }

    fn advance(&mut self, now: Instant) {
        let paid = self.rate(now) / 8.0 * now.since(self.last).as_secs_f64();
        self.debt = (self.debt - paid).max(0.0);
        self.last = self.last.max(now);
    }

    /// Returns the pacing rate, or a higher rate that empties the queue in time.
    fn rate(&self, now: Instant) -> f64 {
        let packets = (self.again.len() + self.video.len()) as f64;
        if packets == 0.0 {
            return self.bps;
        }
        let waited = now.as_secs_f64() - self.queued_since / packets;
        let left = (QUEUE_LIMIT_S - waited).max(0.001);
        self.bps.max(8.0 * self.queued_bytes / left)
    }
}

/// Returns the number of bytes that may be sent at once.
fn burst_bytes(bps: f64) -> f64 {
    (bps / 8.0 * BURST_S).min(BURST_BYTES)
}

#[cfg(test)]
mod tests;
