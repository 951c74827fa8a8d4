//! Host profiles: the TCP of a host as data.
//!
//! Sources: Linux 6.1 `include/net/tcp.h` and `net/ipv4/sysctl_net_ipv4.c` with Debian's
//! `CONFIG_HZ=250`; FreeBSD 10.4 `sys/netinet/tcp_timer.h`, `tcp_subr.c`, `tcp_input.c`. The source
//! of Windows is not public. Its values come from the documentation of `Get-NetTCPSetting` of
//! Windows Server 2012 for the template *Internet*.

mod hosts;
mod settings;

use std::sync::LazyLock;

use aqmlab_core::{BadArgument, Bounds, Bytes, Duration, Param, Value};

pub use settings::{DelayedAckRule, RtoRule};
use settings::{bounds, field, from_value, profile, reader, to_value};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The TCP stack of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Linux's stack. It also models Windows, with other settings, because the source of Windows is
    /// not public.
    Linux,
    /// The stack of FreeBSD 10.
    FreeBsd,
}

/// The maximum memory of a FreeBSD socket buffer in bytes (`sb_max`).
pub(crate) const SB_MAX: u64 = 2 << 20;
/// The part of [`SB_MAX`] that clusters may take (`sb_max_adj`). Each cluster of 2048 bytes also
/// takes an mbuf of 256 bytes.
pub(crate) const SB_MAX_ADJUSTED: u64 = SB_MAX * 2_048 / (2_048 + 256);

/// The bounds of a timeout: from the shortest `tick` to one day.
const TIMEOUT: Bounds = Bounds::span(Duration::from_micros(1), Duration::from_secs(86_400));
/// The bounds of `tcp_retries2` and similar settings, which have eight bits (Linux
/// `sysctl_net_ipv4.c`).
const RETRIES: Bounds = Bounds::Whole(0, 255);
/// The bounds of a socket buffer's size, which is a signed 32-bit number in every kernel.
const BUFFER: Bounds = Bounds::Whole(1, i32::MAX as u64);

profile! {
    /// Whether losses are detected by time (RACK, RFC 8985) rather than by counting (RFC 6675).
    @Linux rack (flag) = true;
    /// Whether tail loss probes are sent (RFC 8985).
    @Linux tlp (flag) = true;
    /// Whether spurious timeouts are detected by F-RTO (RFC 5682).
    @Linux frto (flag) = true;
    /// Whether reductions of the window are spread by PRR (RFC 6937) rather than made at once.
    @Linux prr (flag) = true;
    /// Whether a reduction is undone if timestamps or DSACKs prove that it was spurious.
    @Linux undo (flag) = true;
    /// Whether new data is sent at each of the first two duplicate acknowledgements (RFC 3042).
    @FreeBsd limited_transmit (flag) = true;
    /// Whether, with SACK, an acknowledgement without data counts as a duplicate if, and only if,
    /// it selectively acknowledges new data. Before 10.3, an acknowledgement was a duplicate if it
    /// carried no data and did not change the window.
    @FreeBsd sack_news (flag) = false;
    /// The initial reordering degree: the number of segments by which a segment may be displaced
    /// before it counts as lost.
    @Linux reordering (count) = 3, Bounds::Whole(1, 65_535);
    /// The maximum to which the reordering degree adapts.
    @Linux reordering_max (count) = 300, Bounds::Whole(1, 65_535);
    /// Whether SACK is offered.
    sack (flag) = true;
    /// Whether SACK reports duplicates (DSACK, RFC 2883).
    @Linux dsack (flag) = true;
    /// Whether timestamps are offered (RFC 7323).
    timestamps (flag) = true;
    /// Whether window scaling is offered (RFC 7323).
    window_scale (flag) = true;
    /// Whether a retransmitted SYN no longer requests ECN (RFC 3168 §6.1.1.1), and whether invalid
    /// AccECN feedback on the handshake ends the use of ECN-capable packets.
    ecn_fallback (flag) = true;
    /// The ECN that the host requests and accepts, in addition to `ecn`, as Linux's sysctl. With 0
    /// it requests and accepts no ECN, with 1 it requests and accepts ECN, with 2 it accepts ECN,
    /// with 3 it requests and accepts AccECN (RFC 9768), with 4 it requests ECN and accepts AccECN,
    /// and with 5 it accepts AccECN.
    @Linux tcp_ecn (count) = 0, Bounds::Whole(0, 5);
    /// The initial window in segments.
    initial_window (count) = 10, Bounds::Whole(1, 65_535);
    /// The maximum size in bytes of an initial window of more than two segments; zero for no limit.
    initial_window_bytes (bytes) = 0;
    /// The restart window in segments, which applies after an idle period.
    restart_window (count) = 10, Bounds::Whole(1, 65_535);
    /// The maximum size in bytes of a restart window of more than two segments; zero for no limit.
    @FreeBsd restart_window_bytes (bytes) = 0;
    /// Whether the congestion window shrinks after an idle period as long as the retransmission
    /// timeout. On Linux, a window that the application does not fully use for that time also
    /// shrinks.
    slow_start_after_idle (flag) = true;
    /// Whether the congestion window is counted in bytes rather than in segments.
    count_bytes (flag) = false;
    /// The rule that computes the retransmission timeout.
    @Linux rto_rule (word RtoRule) = RtoRule::Linux;
    /// The retransmission timeout before the first round-trip sample.
    rto_initial (duration) = ms(1_000), TIMEOUT;
    /// The retransmission timeout after a handshake without a round-trip sample.
    @Linux rto_fallback (duration) = ms(3_000), TIMEOUT;
    /// The minimum retransmission timeout. Linux's rule applies this minimum to the variation of
    /// the round-trip time.
    rto_min (duration) = ms(200), TIMEOUT;
    /// The maximum retransmission timeout.
    rto_max (duration) = ms(120_000), TIMEOUT;
    /// The time that FreeBSD adds to every computed timeout.
    @FreeBsd rto_slop (duration) = ms(0);
    /// The number of retransmissions of a SYN before the host gives up.
    syn_retries (count) = 6, RETRIES;
    /// The number of retransmissions of a SYN-ACK before the host gives up.
    synack_retries (count) = 5, RETRIES;
    /// The number of retransmissions of data before the host gives up. Linux converts this number
    /// into a time. It also gives up after this number of unanswered probes of a closed window.
    retries (count) = 15, RETRIES;
    /// The tick of the host's clock, which is the granularity of its timers.
    tick (duration) = ms(4), Bounds::span(Duration::from_micros(1), Duration::from_secs(1));
    /// Whether distant timers are coarser, as in Linux's timer wheel.
    @Linux timer_wheel (flag) = true;
    /// The rule for the delay of acknowledgements, which adapts to the peer or is fixed.
    @Linux delayed_ack_rule (word DelayedAckRule) = DelayedAckRule::Adaptive;
    /// The delay of an acknowledgement; the minimum delay if the delay adapts.
    delayed_ack (duration) = ms(40);
    /// The maximum delay of an acknowledgement, if the delay adapts.
    @Linux delayed_ack_max (duration) = ms(200);
    /// The maximum number of consecutive immediate acknowledgements, at the start and after events
    /// such as duplicate data or a long gap.
    @Linux quick_acks (count) = 16;
    /// Whether a full-sized segment with PSH counts as the end of a write, which is acknowledged as
    /// soon as the application has read it.
    @Linux push_acks (flag) = true;
    /// The maximum number of duplicate acknowledgements that are compressed into one; zero for no
    /// compression.
    @Linux ack_compression (count) = 44;
    /// The maximum delay of a compressed acknowledgement.
    @Linux ack_compression_delay (duration) = ms(1);
    /// The slack of the compression timer, which is added to the delay of a compressed
    /// acknowledgement.
    @Linux ack_compression_slack (duration) = Duration::from_micros(100);
    /// The time until the scheduler wakes an application that waits for data, for space in the send
    /// buffer or for the connection. It is zero for an application that acts at once.
    wakeup (duration) = Duration::from_micros(25);
    /// Whether the receive buffer grows automatically.
    receive_tuning (flag) = true;
    /// The initial size of the receive buffer (`tcp_rmem[1]`). Linux offers the part given by
    /// `adv_win_scale` as the window.
    receive_buffer (bytes) = 131_072, BUFFER;
    /// The maximum size of the receive buffer (`tcp_rmem[2]`).
    receive_buffer_max (bytes) = 6_291_456, BUFFER;
    /// The step by which FreeBSD's receive buffer grows.
    @FreeBsd receive_buffer_step (bytes) = 16_384;
    /// The window is B − B/2^n for a receive buffer of B bytes, with this value as n.
    @Linux adv_win_scale (count) = 1, Bounds::Whole(1, 31);
    /// Whether the send buffer grows automatically.
    send_tuning (flag) = true;
    /// The initial size of the send buffer (`tcp_wmem[1]`).
    send_buffer (bytes) = 16_384, BUFFER;
    /// The maximum size of the send buffer (`tcp_wmem[2]`).
    send_buffer_max (bytes) = 4_194_304, BUFFER;
    /// The step by which FreeBSD's send buffer grows.
    @FreeBsd send_buffer_step (bytes) = 8_192;
    /// The memory of a buffered segment beyond its payload.
    @Linux segment_overhead (bytes) = 1_280;
    /// The time over which the minimum round-trip time is taken.
    min_rtt_window (duration) = ms(300_000);
    /// The minimum interval between acknowledgements of unacceptable segments.
    challenge_interval (duration) = ms(500);
    /// The duration of TIME-WAIT.
    time_wait (duration) = ms(60_000);
    /// Whether new data leaves in bursts of several segments, as for segmentation offload.
    @Linux bursts (flag) = true;
    /// The maximum memory of a connection's segments in the host's own queue
    /// (`tcp_limit_output_bytes`), unless the connection paces; zero for no limit. On a host without
    /// such a queue, the limit only determines which segments RACK regards as sent at one time.
    @Linux small_queue (bytes) = 1_048_576;
    /// The memory of a connection's segments that the host's own queue always accepts, as in Linux
    /// 3.13 to 3.18. It replaces the limits of `small_queue` and of two bursts; zero for other
    /// hosts.
    @Linux small_queue_least (bytes) = 0;
}

impl Profile {
    /// Returns the settings that a host of `stack` reads, with the defaults of Linux.
    pub fn settings(stack: Stack) -> &'static [Param] {
        static READ: LazyLock<[Vec<Param>; 2]> = LazyLock::new(|| {
            [Stack::Linux, Stack::FreeBsd].map(|stack| {
                let read = SETTINGS.iter().filter(|(only, _)| only.is_none_or(|one| one == stack));
                read.map(|(_, param)| *param).collect()
            })
        });
        &READ[stack as usize]
    }

    /// Returns a one-line summary of the host.
    pub fn summary(&self) -> &'static str {
        match self.name {
            "linux" => "Linux 6.1: SACK, RACK-TLP, PRR, F-RTO, autotuned windows",
            "linux-3.17" => "Linux 3.17: as linux, without RACK",
            "freebsd" => "FreeBSD 10.0 to 10.2: NewReno, SACK, byte counting, 100 ms delayed ACK",
            "freebsd-10.3" => "FreeBSD 10.3: as freebsd, but SACK blocks decide on duplicate ACKs",
            _ => "Windows Server 2012: Compound, fixed delayed ACK",
        }
    }

    /// Returns the documents that the profile follows.
    pub fn source(&self) -> &'static str {
        match self.name {
            "linux" | "linux-3.17" => "Linux include/net/tcp.h, net/ipv4/tcp_*.c",
            "freebsd" | "freebsd-10.3" => "FreeBSD 10.4 sys/netinet/tcp_*.c",
            _ => "Get-NetTCPSetting, template Internet",
        }
    }

    /// Returns the profile called `name`, if there is one.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|profile| profile.name == name)
    }

    /// Returns every profile, in the order in which lists show them.
    pub fn all() -> Vec<Self> {
        vec![
            Self::linux(),
            Self::linux_3_17(),
            Self::freebsd(),
            Self::freebsd_10_3(),
            Self::windows(),
        ]
    }
}

#[cfg(test)]
mod tests;
