//! What distinguishes one host's TCP from another's, as data.
//!
//! Sources: Linux 6.1 `include/net/tcp.h` and `net/ipv4/sysctl_net_ipv4.c` with Debian's
//! `CONFIG_HZ=250`; FreeBSD 10.4 `sys/netinet/tcp_timer.h`, `tcp_subr.c`, `tcp_input.c`;
//! for Windows, whose source is not public, the values that `Get-NetTCPSetting` of Windows
//! Server 2012 documents for the template *Internet*.

use std::sync::LazyLock;

use aqmlab_core::{BadArgument, Bounds, Bytes, Duration, Param, Value};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Whose TCP a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Linux's; Windows', which nobody can read, is taken to be it with other numbers.
    Linux,
    /// FreeBSD 10's.
    FreeBsd,
}

const RTO_RULES: &[&str] = &["linux", "rfc6298"];
const DELAYED_ACK_RULES: &[&str] = &["adaptive", "fixed"];

/// The most memory of a FreeBSD buffer (`sb_max`), and what is left of it when the share of mbufs,
/// of 256 bytes beside a cluster of 2048, is taken off.
pub(crate) const SB_MAX: u64 = 2 << 20;
pub(crate) const SB_MAX_ADJUSTED: u64 = SB_MAX * 2_048 / (2_048 + 256);

/// A timeout: no shorter than a tick of the fastest clock, and at most a day.
const TIMEOUT: Bounds = Bounds::span(Duration::from_micros(1), Duration::from_secs(86_400));
/// `tcp_retries2` and its like are of eight bits (Linux `sysctl_net_ipv4.c`).
const RETRIES: Bounds = Bounds::Whole(0, 255);
/// A socket buffer that holds something; signed and of 32 bits in every kernel.
const BUFFER: Bounds = Bounds::Whole(1, i32::MAX as u64);

macro_rules! field {
    (duration) => { Duration };
    (count) => { u64 };
    (bytes) => { u64 };
    (flag) => { bool };
    (word $list:expr) => { &'static str };
}

macro_rules! to_value {
    ($value:expr, duration) => {
        Value::Duration($value)
    };
    ($value:expr, count) => {
        Value::Count($value)
    };
    ($value:expr, bytes) => {
        Value::Bytes(Bytes($value))
    };
    ($value:expr, flag) => {
        Value::Flag($value)
    };
    ($value:expr, word $list:expr) => {
        Value::Word($value, $list)
    };
}

macro_rules! from_value {
    ($value:expr, duration) => {
        if let Value::Duration(span) = $value { Some(span) } else { None }
    };
    ($value:expr, count) => {
        if let Value::Count(count) = $value { Some(count) } else { None }
    };
    ($value:expr, bytes) => {
        if let Value::Bytes(size) = $value { Some(size.0) } else { None }
    };
    ($value:expr, flag) => {
        if let Value::Flag(flag) = $value { Some(flag) } else { None }
    };
    ($value:expr, word $list:expr) => {
        if let Value::Word(word, _) = $value {
            $list.iter().copied().find(|w| *w == word)
        } else {
            None
        }
    };
}

/// What a setting may be unless its declaration says more.
macro_rules! bounds {
    ($kind:ident: $bounds:expr) => {
        $bounds
    };
    (duration:) => {
        Bounds::span(Duration::ZERO, Duration::from_secs(86_400))
    };
    (count:) => {
        Bounds::Whole(0, u32::MAX as u64)
    };
    // Socket buffers and windows are signed and of 32 bits in every kernel.
    (bytes:) => {
        Bounds::Whole(0, i32::MAX as u64)
    };
    ($kind:ident:) => {
        Bounds::Any
    };
}

/// Whose TCP reads a setting: one that is named, or every one.
macro_rules! reader {
    () => {
        None
    };
    ($stack:ident) => {
        Some(Stack::$stack)
    };
}

macro_rules! profile {
    ($($(#[doc = $doc:literal])+ $(@$stack:ident)? $name:ident
       ($kind:ident $($list:ident)?) = $linux:expr $(, $bounds:expr)?;)+) => {
        /// The constants and habits of a host.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Profile {
            /// The name users write.
            pub name: &'static str,
            /// The congestion control that such a host uses unless told otherwise.
            pub default_cc: &'static str,
            /// Whose TCP it runs.
            pub stack: Stack,
            $($(#[doc = $doc])+ pub $name: field!($kind $($list)?),)+
        }

        impl Profile {
            /// Linux 6.1 as Debian configures it.
            pub const fn linux() -> Self {
                Self {
                    name: "linux",
                    default_cc: "cubic",
                    stack: Stack::Linux,
                    $($name: $linux,)+
                }
            }

            /// The value of the setting called `name`.
            pub fn get(&self, name: &str) -> Option<Value> {
                match name {
                    $(stringify!($name) => Some(to_value!(self.$name, $kind $($list)?)),)+
                    _ => None,
                }
            }

            /// Changes one setting.
            ///
            /// # Errors
            ///
            /// If there is no such setting, or it is of another type, or the word is not one of
            /// its list.
            pub fn set(&mut self, name: &str, value: Value) -> Result<(), BadArgument> {
                let type_name = match name {
                    $(stringify!($name) => {
                        if let Some(value) = from_value!(value, $kind $($list)?) {
                            self.$name = value;
                            return Ok(());
                        }
                        to_value!(self.$name, $kind $($list)?).type_name()
                    })+
                    _ => return Err(BadArgument::Unknown(name.to_owned())),
                };
                Err(BadArgument::Type(name.to_owned(), type_name))
            }
        }

        /// Every setting, and whose TCP alone reads it, if not every one does.
        const SETTINGS: &[(Option<Stack>, Param)] = &[$((reader!($($stack)?), Param {
            name: stringify!($name),
            default: to_value!($linux, $kind $($list)?),
            bounds: bounds!($kind: $($bounds)?),
            doc: concat!($($doc),+).trim_ascii(),
        }),)+];
    };
}

profile! {
    /// Whether losses are detected by time (RFC 8985) rather than by counting.
    @Linux rack (flag) = true;
    /// Whether a tail loss probe is sent (RFC 8985).
    @Linux tlp (flag) = true;
    /// Whether a timeout is checked for being spurious (RFC 5682).
    @Linux frto (flag) = true;
    /// Whether reductions are spread by PRR (RFC 6937) rather than made at once.
    @Linux prr (flag) = true;
    /// Whether Linux undoes a reduction that timestamps or DSACKs prove spurious.
    @Linux undo (flag) = true;
    /// Whether the first two duplicate acknowledgements send new data (RFC 3042).
    @FreeBsd limited_transmit (flag) = true;
    /// Whether a duplicate, with SACK, is only what reports something new, whatever its window is;
    /// before 10.3 it was what carries no data and changes no window.
    @FreeBsd sack_news (flag) = false;
    /// Duplicates, or segments, that a segment may be overtaken by before it counts as lost.
    @Linux reordering (count) = 3, Bounds::Whole(1, 65_535);
    /// The most that `reordering` adapts to.
    @Linux reordering_max (count) = 300, Bounds::Whole(1, 65_535);
    /// Whether SACK is offered.
    sack (flag) = true;
    /// Whether duplicates are reported by SACK (RFC 2883).
    @Linux dsack (flag) = true;
    /// Whether timestamps are offered (RFC 7323).
    timestamps (flag) = true;
    /// Whether window scaling is offered (RFC 7323).
    window_scale (flag) = true;
    /// Whether a retransmitted SYN no longer asks for ECN (RFC 3168 §6.1.1.1).
    ecn_fallback (flag) = true;
    /// Segments of the initial window.
    initial_window (count) = 10, Bounds::Whole(1, 65_535);
    /// Bytes that the initial window may not exceed beyond two segments; zero for no such limit.
    initial_window_bytes (bytes) = 0;
    /// Segments of the window after an idle period.
    restart_window (count) = 10, Bounds::Whole(1, 65_535);
    /// Bytes that the restart window may not exceed beyond two segments; zero for no limit.
    @FreeBsd restart_window_bytes (bytes) = 0;
    /// Whether an idle period longer than the retransmission timeout shrinks the window.
    slow_start_after_idle (flag) = true;
    /// Whether the congestion window is counted in bytes.
    count_bytes (flag) = false;
    /// How the retransmission timeout is computed.
    @Linux rto_rule (word RTO_RULES) = "linux";
    /// The timeout before anything is measured.
    rto_initial (duration) = ms(1_000), TIMEOUT;
    /// The timeout after a handshake in which nothing could be measured.
    @Linux rto_fallback (duration) = ms(3_000), TIMEOUT;
    /// Its minimum; Linux applies it to the variance.
    rto_min (duration) = ms(200), TIMEOUT;
    /// Its maximum.
    rto_max (duration) = ms(120_000), TIMEOUT;
    /// What FreeBSD adds to every timeout.
    @FreeBsd rto_slop (duration) = ms(0);
    /// Retransmissions of a SYN before giving up.
    syn_retries (count) = 6, RETRIES;
    /// Retransmissions of a SYN-ACK before giving up.
    synack_retries (count) = 5, RETRIES;
    /// Retransmissions of data before giving up.
    retries (count) = 15, RETRIES;
    /// The granularity of timers.
    tick (duration) = ms(4), Bounds::span(Duration::from_micros(1), Duration::from_secs(1));
    /// Whether timers far in the future are coarser, as in Linux's timer wheel.
    timer_wheel (flag) = true;
    /// Whether the delay of acknowledgements adapts to the peer.
    @Linux delayed_ack_rule (word DELAYED_ACK_RULES) = "adaptive";
    /// How long an acknowledgement is delayed, at least if it adapts.
    delayed_ack (duration) = ms(40);
    /// How long an acknowledgement is delayed at most.
    @Linux delayed_ack_max (duration) = ms(200);
    /// Acknowledgements sent at once at the start and after disturbances, at most.
    @Linux quick_acks (count) = 16;
    /// Whether a full-sized segment that asks for a push is acknowledged as soon as it is read.
    @Linux push_acks (flag) = true;
    /// Duplicate acknowledgements that may be compressed into one; zero for none.
    @Linux ack_compression (count) = 44;
    /// The longest that a compressed acknowledgement waits.
    @Linux ack_compression_delay (duration) = ms(1);
    /// By how much that wait may be overstepped.
    @Linux ack_compression_slack (duration) = Duration::from_micros(100);
    /// How long an application that waits for data, for room or for the connection takes to be
    /// woken; zero for one that acts at once.
    wakeup (duration) = Duration::from_micros(25);
    /// Whether the receive buffer grows.
    receive_tuning (flag) = true;
    /// The receive buffer at the start; half of it is window on Linux (`tcp_rmem[1]`).
    receive_buffer (bytes) = 131_072, BUFFER;
    /// The most that it grows to (`tcp_rmem[2]`).
    receive_buffer_max (bytes) = 6_291_456, BUFFER;
    /// By how much FreeBSD's grows at a time.
    @FreeBsd receive_buffer_step (bytes) = 16_384;
    /// The share of the buffer that is window: all but one in two to this power.
    @Linux adv_win_scale (count) = 1, Bounds::Whole(1, 31);
    /// Whether the send buffer grows.
    send_tuning (flag) = true;
    /// The send buffer at the start (`tcp_wmem[1]`).
    send_buffer (bytes) = 16_384, BUFFER;
    /// The most that it grows to (`tcp_wmem[2]`).
    send_buffer_max (bytes) = 4_194_304, BUFFER;
    /// By how much FreeBSD's grows at a time.
    @FreeBsd send_buffer_step (bytes) = 8_192;
    /// Memory that a buffered segment costs beyond its payload.
    @Linux segment_overhead (bytes) = 1_280;
    /// How long a least round-trip time is believed.
    min_rtt_window (duration) = ms(300_000);
    /// How long acknowledgements of unacceptable segments are at least apart.
    challenge_interval (duration) = ms(500);
    /// How long a closed connection answers stray segments.
    time_wait (duration) = ms(60_000);
    /// Whether new data is handed down in bursts of several segments, as for offloads.
    @Linux bursts (flag) = true;
    /// The most that may wait in the host's own queue (`tcp_limit_output_bytes`); zero for a
    /// host that puts no bound on it.
    small_queue (bytes) = 1_048_576;
    /// What may always wait there, in place of that most and of two bursts: how Linux 3.13 to
    /// 3.18 understood `tcp_limit_output_bytes`; zero for hosts that do not.
    small_queue_least (bytes) = 0;
}

impl Profile {
    /// The settings that a host of `stack` reads; the defaults shown are Linux's.
    pub fn settings(stack: Stack) -> &'static [Param] {
        static READ: LazyLock<[Vec<Param>; 2]> = LazyLock::new(|| {
            [Stack::Linux, Stack::FreeBsd].map(|stack| {
                let read = SETTINGS.iter().filter(|(only, _)| only.is_none_or(|one| one == stack));
                read.map(|(_, param)| *param).collect()
            })
        });
        &READ[stack as usize]
    }

    /// Linux 3.17: no RACK, larger initial buffer share, as the papers of 2014 to 2016 used.
    ///
    /// Linux hands down bursts since 4.17 even where the interface's offloads are off, as they
    /// were in those testbeds; before, it then sent segment by segment.
    ///
    /// Of its forward acknowledgement (FACK) only the counting rule of RFC 6675 is modelled.
    pub fn linux_3_17() -> Self {
        Self {
            name: "linux-3.17",
            rack: false,
            ack_compression: 0,
            push_acks: false,
            bursts: false,
            receive_buffer: 87_380,
            small_queue_least: 131_072,
            ..Self::linux()
        }
    }

    /// FreeBSD 10.0 to 10.2.
    pub fn freebsd() -> Self {
        Self {
            name: "freebsd",
            wakeup: Duration::ZERO,
            small_queue: 0,
            default_cc: "newreno",
            stack: Stack::FreeBsd,
            initial_window_bytes: 14_600,
            restart_window: 4,
            restart_window_bytes: 4_380,
            count_bytes: true,
            rto_initial: ms(3_000),
            rto_min: ms(30),
            rto_max: ms(64_000),
            rto_slop: ms(200),
            syn_retries: 12,
            synack_retries: 3,
            retries: 12,
            tick: ms(1),
            timer_wheel: false,
            delayed_ack: ms(100),
            receive_buffer: 65_536,
            receive_buffer_max: SB_MAX_ADJUSTED,
            send_buffer: 32_768,
            send_buffer_max: SB_MAX_ADJUSTED,
            ..Self::linux()
        }
    }

    /// FreeBSD 10.3, which counts as RFC 6675 has it.
    pub fn freebsd_10_3() -> Self {
        Self { name: "freebsd-10.3", sack_news: true, ..Self::freebsd() }
    }

    /// Windows Server 2012, template *Internet*: Compound TCP, no timestamps, delayed
    /// acknowledgements of 50 ms, initial window of four segments.
    ///
    /// Its loss recovery is taken to be that of RFC 6675 with limited transmit, run by the
    /// Linux machine with time-based detection off; nobody outside can check that.
    pub fn windows() -> Self {
        Self {
            name: "windows",
            wakeup: Duration::ZERO,
            small_queue: 0,
            push_acks: false,
            bursts: false,
            default_cc: "compound",
            rack: false,
            tlp: false,
            frto: false,
            prr: false,
            undo: false,
            timestamps: false,
            initial_window: 4,
            restart_window: 4,
            slow_start_after_idle: false,
            count_bytes: true,
            rto_rule: "rfc6298",
            rto_initial: ms(3_000),
            rto_min: ms(300),
            syn_retries: 2,
            synack_retries: 2,
            retries: 5,
            tick: ms(10),
            timer_wheel: false,
            delayed_ack_rule: "fixed",
            delayed_ack: ms(50),
            quick_acks: 0,
            ack_compression: 0,
            receive_buffer_max: 16_777_215,
            send_buffer: 65_536,
            send_buffer_max: 16_777_216,
            ..Self::linux()
        }
    }

    /// One line for lists.
    pub fn summary(&self) -> &'static str {
        match self.name {
            "linux" => "Linux 6.1: SACK, RACK-TLP, PRR, F-RTO, autotuned windows",
            "linux-3.17" => "Linux 3.17: as linux, without RACK",
            "freebsd" => "FreeBSD 10.0 to 10.2: NewReno, SACK, byte counting, 100 ms delayed ACK",
            "freebsd-10.3" => "FreeBSD 10.3: as freebsd, duplicates counted by what SACK tells",
            _ => "Windows 7 to 2012: Compound, fixed delayed ACK",
        }
    }

    /// The documents it follows.
    pub fn source(&self) -> &'static str {
        match self.name {
            "linux" | "linux-3.17" => "Linux include/net/tcp.h, net/ipv4/tcp_*.c",
            "freebsd" | "freebsd-10.3" => "FreeBSD 10.4 sys/netinet/tcp_*.c",
            _ => "Get-NetTCPSetting, template Internet",
        }
    }

    /// The profile called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|profile| profile.name == name)
    }

    /// Every profile, in the order in which lists show them.
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
