//! TCP small queues: how much of a connection may wait in the host's own queue.
//!
//! Source: Linux 6.1 `net/ipv4/tcp_output.c` (`tcp_small_queue_check`) and `tcp_input.c`
//! (`tcp_update_pacing_rate`): two bursts or a millisecond of the rate at which the window is
//! being spread over the round trip, twice that rate in slow start and 1.2 times later, and
//! never more than `tcp_limit_output_bytes` unless the connection paces. Linux 3.13 to 3.18
//! (`tcp_write_xmit` of 3.14) let as much as that wait, or a millisecond of the rate if it is more.

use aqmlab_core::Bytes;

use crate::Connection;

/// Memory that a full-sized segment takes in Linux, header and bookkeeping included.
const SEGMENT_MEMORY: u64 = 2_304;

/// What waits below the connection, in the host's own queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tsq {
    /// Memory; `None` if nobody counts it, and so nothing is held back.
    memory: Option<u64>,
    /// Whether something was held back.
    held: bool,
    /// Whether what was held back may go.
    release: bool,
}

impl Tsq {
    /// One more segment goes down.
    #[inline]
    pub(crate) fn add(&mut self) {
        if let Some(memory) = &mut self.memory {
            *memory += SEGMENT_MEMORY;
        }
    }

    /// Whether something that was held back may go now; says so once.
    pub(crate) fn take_release(&mut self) -> bool {
        std::mem::take(&mut self.release)
    }
}

impl Connection {
    /// Tells the connection how much memory of its segments waits in its host's own queue;
    /// returns whether something that was held back may now be polled for. A driver that models
    /// such a queue says so once it has polled for all there is, and whenever something has
    /// left; others never do, and nothing is held back.
    pub fn note_waiting(&mut self, memory: Bytes) -> bool {
        self.tsq.memory = Some(memory.0 + self.out.len() as u64 * SEGMENT_MEMORY);
        let released = self.tsq.held && !self.is_held_back();
        if released {
            self.tsq.held = false;
            self.tsq.release = true;
            self.app_acted = true;
        }
        released
    }

    /// Whether the next segment must wait for its turn in time, or for room below.
    #[inline]
    pub(crate) fn must_wait(&mut self) -> bool {
        if self.tsq.memory.is_some() && self.is_held_back() {
            self.tsq.held = true;
            return true;
        }
        self.is_paced()
    }

    /// What is out alone, or nothing, never waits for what is out (6.1.60).
    fn is_held_back(&self) -> bool {
        let waiting = self.tsq.memory.unwrap_or(0);
        self.small_queue().is_some_and(|bound| waiting >= bound) && self.board.packets_out() > 1
    }

    /// Memory that may wait below, or `None` for a host that sets no bound.
    fn small_queue(&self) -> Option<u64> {
        let most = self.profile.small_queue;
        if most == 0 {
            return None;
        }
        let least = self.profile.small_queue_least;
        if least > 0 {
            return Some(least.max(self.rate_below() >> 10));
        }
        let burst = self.burst_goal(self.window.mss);
        let wanted = (2 * burst * SEGMENT_MEMORY).max(self.rate_below() >> 10);
        Some(if self.cc.pacing_rate().is_some() { wanted } else { wanted.min(most) })
    }

    /// Bytes a second at which the connection is taken to send (`sk_pacing_rate`).
    pub(crate) fn rate_below(&self) -> u64 {
        let paced = self.cc.pacing_rate().map(|rate| rate.as_bps() / 8);
        paced.unwrap_or_else(|| self.spreading_rate())
    }

    /// Bytes a second at which the window would be spread over a round trip.
    fn spreading_rate(&self) -> u64 {
        let Some(srtt) = self.rtt.srtt() else { return 0 };
        let segments = self.cwnd_segments().max(u64::from(self.board.packets_out()));
        let window = segments.saturating_mul(u64::from(self.window.mss));
        // Still in slow start by a margin: below half of the threshold (sk_pacing_ss_ratio).
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        // In 64 bits up to windows of 4 GB.
        window.saturating_mul(percent * 10_000_000) / srtt.as_nanos().max(1)
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, Duration, Instant};

    use crate::{Config, Connection, Profile};

    fn connection(profile: Profile) -> Connection {
        let cc = crate::cc::kinds::find("reno").expect("reno is registered");
        let config = Config::new(profile, (cc.build)(&Args::defaults(cc.params)));
        Connection::active(config, Instant::ZERO)
    }

    #[test]
    fn two_bursts_may_always_wait_and_a_millisecond_of_a_fast_flow() {
        let mut tcp = connection(Profile::linux());
        assert_eq!(tcp.small_queue(), Some(2 * 2 * 2_304));
        let clock = tcp.clock;
        tcp.rtt.sample(Duration::from_millis(10), 0, 1, &clock);
        tcp.window.mss = 1_448;
        tcp.window.segment = 1;
        tcp.window.cwnd = 1_000;
        tcp.window.ssthresh = 1_000;
        // 1.2 windows of 1.448 MB in 10 ms are 173.76 MB/s, of which a 1024th may wait, but two
        // bursts of 45 segments are more.
        assert_eq!(tcp.small_queue(), Some(2 * 45 * 2_304));
        tcp.window.ssthresh = u64::MAX;
        assert_eq!(tcp.small_queue(), Some(289_600_000 >> 10));
        tcp.window.cwnd = 1_000_000;
        assert_eq!(tcp.small_queue(), Some(1 << 20));
    }

    #[test]
    fn linux_3_17_lets_so_much_wait_and_not_so_little() {
        let mut tcp = connection(Profile::linux_3_17());
        assert_eq!(tcp.small_queue(), Some(131_072));
        let clock = tcp.clock;
        tcp.rtt.sample(Duration::from_millis(1), 0, 1, &clock);
        tcp.window.mss = 1_448;
        tcp.window.segment = 1;
        (tcp.window.cwnd, tcp.window.ssthresh) = (1_000, 1_000);
        // 1.2 windows of 1.448 MB in a millisecond are 1737.6 MB/s, of which a 1024th.
        assert_eq!(tcp.small_queue(), Some(1_737_600_000 >> 10));
    }

    #[test]
    fn other_hosts_set_no_bound() {
        assert_eq!(connection(Profile::freebsd()).small_queue(), None);
    }
}
