//! The profiles of the hosts other than Linux 6.1.

use aqmlab_core::Duration;

use super::{DelayedAckRule, Profile, RtoRule, SB_MAX_ADJUSTED, Stack, ms};

impl Profile {
    /// Returns Linux 3.17, as in testbeds of papers of 2014 to 2016. It has no RACK and no
    /// compression of acknowledgements, a smaller initial receive buffer, and another limit on
    /// small queues.
    ///
    /// With the interface's offloads off, as in the testbeds of these papers, this host sends
    /// segment by segment. Since 4.17, Linux builds bursts in any case.
    ///
    /// Its forward acknowledgement (FACK) is not modelled. Losses are detected by the rule of RFC
    /// 6675 instead.
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

    /// Returns FreeBSD 10.0 to 10.2.
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

    /// Returns FreeBSD 10.3, which counts duplicate acknowledgements by RFC 6675.
    pub fn freebsd_10_3() -> Self {
        Self { name: "freebsd-10.3", sack_news: true, ..Self::freebsd() }
    }

    /// Returns Windows Server 2012 with the template *Internet*: Compound TCP, no timestamps,
    /// acknowledgements delayed by 50 ms, and an initial window of four segments.
    ///
    /// Its loss recovery is modelled as in RFC 6675, with limited transmit. The model is Linux's
    /// stack without time-based detection. The source of Windows is not public, so this model
    /// cannot be verified.
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
            rto_rule: RtoRule::Rfc6298,
            rto_initial: ms(3_000),
            rto_min: ms(300),
            syn_retries: 2,
            synack_retries: 2,
            retries: 5,
            tick: ms(10),
            timer_wheel: false,
            delayed_ack_rule: DelayedAckRule::Fixed,
            delayed_ack: ms(50),
            quick_acks: 0,
            ack_compression: 0,
            receive_buffer_max: 16_777_215,
            send_buffer: 65_536,
            send_buffer_max: 16_777_216,
            ..Self::linux()
        }
    }
}
