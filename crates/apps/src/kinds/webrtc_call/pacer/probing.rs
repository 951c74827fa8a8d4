//! The probes of a pacer: bursts of packets at their own rate.
//!
//! Source: libwebrtc (2025-06) `bitrate_prober.cc`.

use std::collections::VecDeque;

use aqmlab_core::{Duration, Instant};

use super::super::gcc::Cluster;

const SEND_S: f64 = 0.002;
const TIMEOUT: Duration = Duration::from_secs(5);
const MOST: usize = 5;
/// The delay after which a late probe is given up.
const LATE: Duration = Duration::from_millis(10);
/// The minimum size in bytes of the packet that begins a probe, unless the probe's sends are
/// smaller.
const FIRST_PACKET: f64 = 200.0;

#[derive(Debug)]
struct Probe {
    cluster: Cluster,
    requested: Instant,
    started: Option<Instant>,
    bytes: f64,
    sends: u32,
}

impl Probe {
    fn send_bytes(&self) -> f64 {
        self.cluster.bps * SEND_S / 8.0
    }
}

/// The next send of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Send {
    pub(super) cluster: Cluster,
    /// The number of bytes to send.
    pub(super) bytes: f64,
    pub(super) is_first: bool,
}

/// The probes that are requested or active.
#[derive(Debug, Default)]
pub(super) struct Probing {
    probes: VecDeque<Probe>,
    is_active: bool,
    /// The time of the next send; `None` if it is due at once.
    next: Option<Instant>,
}

impl Probing {
    /// Adds a probe. Before this, removes the oldest probe as long as it is older than [`TIMEOUT`]
    /// or there are more than [`MOST`] probes.
    pub(super) fn add(&mut self, cluster: Cluster, now: Instant) {
        let is_old = |probe: &Probe| now.since(probe.requested) > TIMEOUT;
        while self.probes.front().is_some_and(is_old) || self.probes.len() > MOST {
            self.probes.pop_front();
        }
        let (started, bytes, sends) = (None, 0.0, 0);
        self.probes.push_back(Probe { cluster, requested: now, started, bytes, sends });
    }

    /// Begins the next probe if no probe is active and a packet of `bytes` is large enough.
    pub(super) fn activate(&mut self, bytes: f64) {
        let Some(probe) = self.probes.front().filter(|_| !self.is_active) else { return };
        if bytes >= probe.send_bytes().min(FIRST_PACKET) {
            self.is_active = true;
            self.next = None;
        }
    }

    /// Returns whether a probe is active.
    pub(super) const fn is_active(&self) -> bool {
        self.is_active
    }

    /// Returns the time of the next send, if a probe is active.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        self.is_active.then(|| self.next.unwrap_or(now).max(now))
    }

    /// Returns the send that is due, if any.
    pub(super) fn due(&self, now: Instant) -> Option<Send> {
        let probe = self.probes.front()?;
        let is_due = self.next.is_none_or(|at| at <= now);
        let (cluster, bytes) = (probe.cluster, probe.send_bytes());
        is_due.then_some(Send { cluster, bytes, is_first: probe.sends == 0 })
    }

    /// Records that `bytes` of the active probe were sent, and removes the probe if it is complete.
    pub(super) fn sent(&mut self, bytes: f64, now: Instant) {
        let Some(probe) = self.probes.front_mut() else { return };
        let started = *probe.started.get_or_insert(now);
        probe.bytes += bytes;
        probe.sends += 1;
        let span = Duration::from_secs_f64(8.0 * probe.bytes / probe.cluster.bps);
        self.next = Some(started + span);
        if probe.bytes >= probe.cluster.bytes() && probe.sends >= Cluster::SENDS {
            self.probes.pop_front();
            self.is_active = !self.probes.is_empty();
        }
    }

    /// Gives up the active probe if its next send is late.
    pub(super) fn give_up_late(&mut self, now: Instant) {
        if self.is_active && self.next.is_some_and(|at| now.since(at) > LATE) {
            self.probes.pop_front();
            self.next = None;
            self.is_active = !self.probes.is_empty();
        }
    }
}
