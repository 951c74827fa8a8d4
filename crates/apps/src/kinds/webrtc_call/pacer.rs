//! The pacer of a sender. It sends video in small bursts, and probes at their own rate.
//!
//! Source: libwebrtc (2025-06) `pacing_controller.cc`. The debt is the amount of data sent ahead of
//! the pacing rate. Packets are sent at once until the debt is 40 ms of the pacing rate (or 63 kB).
//! Retransmissions precede new packets. A queue that would take more than 2 s to send raises the
//! rate. While a probe is active, packets are sent at its rate, and padding is sent if no packet is
//! queued. While losses limit a rising rate, padding raises the sending rate to the target.
//!
//! Audio does not wait in the pacer. It is sent at once, and adds to the debt.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use self::probing::{Probing, Send};
use super::end::RTX;
use super::gcc::Cluster;
use super::wire::VideoPacket;

mod probing;

/// The debt below which packets are sent at once, as a time at the pacing rate in seconds.
const BURST_S: f64 = 0.04;
/// The upper limit of that debt in bytes.
const BURST_BYTES: f64 = 63_000.0;
/// The largest debt, as a time at its rate in seconds.
const MOST_DEBT_S: f64 = 0.5;
/// The time in seconds within which the queue must be sent. A longer queue raises the rate.
const QUEUE_LIMIT_S: f64 = 2.0;
/// The padding that is sent at once, as a time at the padding rate in seconds.
const PADDING_S: f64 = 0.005;
/// A retransmitted packet serves as padding if it is at most this many times as large as the
/// padding that is due (`rtp_sender.cc`).
const MOST_PADDING: f64 = 3.0;
/// The size in bytes of padding that is not a retransmitted packet (`rtp_rtcp_defines.h`).
const PLAIN_PADDING: u32 = 255;

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Packet {
    /// A packet of video that is sent for the first time.
    Video(VideoPacket),
    /// Retransmitted video.
    Rtx(VideoPacket),
    /// Padding of this many bytes.
    Padding(u32),
}

/// The sizes of packets, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The maximum number of video bytes in a packet.
    pub(crate) payload: u32,
    /// The length of the headers of IP, UDP, RTP and SRTP.
    pub(crate) headers: u32,
}

impl Sizes {
    /// Returns the size of `packet` in bytes, including the IP header.
    pub(crate) fn of(self, packet: &Packet) -> u32 {
        self.headers
            + match packet {
                Packet::Video(video) => video.bytes,
                Packet::Rtx(video) => video.bytes + RTX,
                Packet::Padding(bytes) => *bytes,
            }
    }
}

/// The pacer: its rates, its debts and its queues.
#[derive(Debug)]
pub(crate) struct Pacer {
    sizes: Sizes,
    /// The pacing rate in bit/s.
    bps: f64,
    /// The rate up to which padding is added, in bit/s.
    padding_bps: f64,
    /// The bytes sent ahead of the pacing rate.
    debt: f64,
    /// The bytes sent ahead of the padding rate.
    padding_debt: f64,
    /// The time for which the debts were last computed.
    last: Instant,
    /// The queued retransmissions, each with its arrival time.
    rtx: VecDeque<(Instant, VideoPacket)>,
    /// The queued new packets, each with its arrival time.
    video: VecDeque<(Instant, VideoPacket)>,
    /// The size of the queued packets in bytes, with their headers.
    queued_bytes: f64,
    /// The sum of the arrival times of the queued packets, in seconds.
    queued_since: f64,
    probing: Probing,
}

impl Pacer {
    pub(crate) fn new(sizes: Sizes, bps: f64, now: Instant) -> Self {
        Self {
            sizes,
            bps,
            padding_bps: 0.0,
            debt: 0.0,
            padding_debt: 0.0,
            last: now,
            rtx: VecDeque::new(),
            video: VecDeque::new(),
            queued_bytes: 0.0,
            queued_since: 0.0,
            probing: Probing::default(),
        }
    }

    /// Sets the pacing rate, and the rate up to which padding is added, in bit/s.
    pub(crate) fn set_rates(&mut self, bps: f64, padding_bps: f64, now: Instant) {
        self.advance(now);
        (self.bps, self.padding_bps) = (bps, padding_bps);
    }

    /// Records that `bytes` of audio were sent, which add to the debts.
    pub(crate) fn sent_audio(&mut self, bytes: u32, now: Instant) {
        self.advance(now);
        self.spend(bytes, self.rate(now));
    }

    /// Adds a packet of video that was not sent before.
    pub(crate) fn push(&mut self, video: VideoPacket, now: Instant) {
        self.video.push_back((now, video));
        self.pushed(&Packet::Video(video), now);
    }

    /// Adds a retransmission of a packet of video.
    pub(crate) fn push_rtx(&mut self, video: VideoPacket, now: Instant) {
        self.rtx.push_back((now, video));
        self.pushed(&Packet::Rtx(video), now);
    }

    fn pushed(&mut self, packet: &Packet, now: Instant) {
        let bytes = f64::from(self.sizes.of(packet));
        self.queued_bytes += bytes;
        self.queued_since += now.as_secs_f64();
        self.probing.activate(bytes);
    }

    /// Adds a probe.
    pub(crate) fn probe(&mut self, cluster: Cluster, now: Instant) {
        self.probing.add(cluster, now);
    }

    /// Returns the time that the queued video takes at `bps`.
    pub(crate) fn queued(&self, bps: f64) -> Duration {
        Duration::from_secs_f64(8.0 * self.queued_bytes / bps)
    }

    /// Returns whether the video packet `number` is queued for retransmission.
    pub(crate) fn is_rtx_queued(&self, number: u64) -> bool {
        self.rtx.iter().any(|(_, video)| video.number == number)
    }

    /// Returns the time at which [`Pacer::process`] must be called next, if there is anything to
    /// send.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        if let Some(at) = self.probing.next(now) {
            return Some(at);
        }
        let bps = self.rate(now);
        if self.is_empty() {
            return (self.padding_bps > 0.0).then(|| self.next_padding(bps).max(now));
        }
        let wait = 8.0 * self.debt / bps;
        let is_burst = self.debt < burst_bytes(bps);
        let at = self.last + Duration::from_secs_f64(if is_burst { 0.0 } else { wait });
        Some(at.max(now))
    }

    /// Returns the time at which both debts are paid.
    fn next_padding(&self, bps: f64) -> Instant {
        let seconds = (8.0 * self.padding_debt / self.padding_bps).max(8.0 * self.debt / bps);
        // A debt that would be paid in less than a nanosecond takes one nanosecond.
        let rest = Duration::from_nanos(u64::from(seconds > 0.0));
        self.last + Duration::from_secs_f64(seconds).max(rest)
    }

    /// Returns the packets to send at `now`: queued packets, which are removed from the queue, and
    /// padding. Each packet of a probe is paired with its probe.
    pub(crate) fn process(&mut self, now: Instant) -> Vec<(Packet, Option<Cluster>)> {
        self.advance(now);
        self.probing.give_up_late(now);
        if self.probing.is_active() {
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
            self.spend(self.sizes.of(&packet), bps);
            out.push((packet, None));
        }
        if out.is_empty() {
            self.pad(&mut out, now);
        }
        out
    }

    /// Adds padding if a padding rate is set, nothing is queued and both debts are paid.
    fn pad(&mut self, out: &mut Vec<(Packet, Option<Cluster>)>, now: Instant) {
        if !self.is_empty() || self.padding_bps <= 0.0 || self.debt.max(self.padding_debt) > 0.0 {
            return;
        }
        let mut left = self.padding_bps / 8.0 * PADDING_S;
        let large = f64::from(self.sizes.payload);
        let bytes = if large > MOST_PADDING * left { PLAIN_PADDING } else { self.sizes.payload };
        while left > 0.0 {
            let packet = Packet::Padding(bytes);
            self.spend(self.sizes.of(&packet), self.rate(now));
            out.push((packet, None));
            left -= f64::from(bytes);
        }
    }

    fn process_probe(&mut self, now: Instant) -> Vec<(Packet, Option<Cluster>)> {
        let mut out = Vec::new();
        let Some(Send { cluster, bytes: wanted, is_first }) = self.probing.due(now) else {
            return out;
        };
        let mut sent = 0.0;
        if is_first {
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
            self.spend(self.sizes.of(packet), bps);
        }
        self.probing.sent(sent, now);
        out
    }

    fn is_empty(&self) -> bool {
        self.rtx.is_empty() && self.video.is_empty()
    }

    fn pop(&mut self) -> Option<Packet> {
        let rtx = self.rtx.pop_front().map(|(at, video)| (at, Packet::Rtx(video)));
        let next = || self.video.pop_front().map(|(at, video)| (at, Packet::Video(video)));
        let (at, packet) = rtx.or_else(next)?;
        self.queued_bytes -= f64::from(self.sizes.of(&packet));
        self.queued_since -= at.as_secs_f64();
        Some(packet)
    }

    fn spend(&mut self, bytes: u32, bps: f64) {
        let limited = |debt: f64, bps: f64| (debt + f64::from(bytes)).min(bps / 8.0 * MOST_DEBT_S);
        self.debt = limited(self.debt, bps);
        self.padding_debt = limited(self.padding_debt, self.padding_bps);
    }

    fn advance(&mut self, now: Instant) {
        let span = now.since(self.last).as_secs_f64();
        self.debt = (self.debt - self.rate(now) / 8.0 * span).max(0.0);
        self.padding_debt = (self.padding_debt - self.padding_bps / 8.0 * span).max(0.0);
        self.last = self.last.max(now);
    }

    /// Returns the pacing rate in bit/s, or a higher rate that empties the queue in time.
    fn rate(&self, now: Instant) -> f64 {
        let packets = (self.rtx.len() + self.video.len()) as f64;
        if packets == 0.0 {
            return self.bps;
        }
        let waited = now.as_secs_f64() - self.queued_since / packets;
        let left = (QUEUE_LIMIT_S - waited).max(0.001);
        self.bps.max(8.0 * self.queued_bytes / left)
    }
}

/// Returns the debt in bytes below which packets are sent at once.
fn burst_bytes(bps: f64) -> f64 {
    (bps / 8.0 * BURST_S).min(BURST_BYTES)
}

#[cfg(test)]
mod tests;
