//! Tests a connection that gets any header at any time. A connection must not panic, send
//! endlessly, or report an event after `Closed` or `Aborted`.

mod support;

use aqmlab_core::{Ecn, Instant, SackBlocks, TcpFlags, TcpHeader};
use aqmlab_tcp::{Connection, Event, Profile};
use proptest::prelude::*;
use proptest::sample::select;
use support::{config, controller, controllers};

/// Generates numbers near the numbers in use, and numbers far from them.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0..200_000_u64,
        2 => 0..3_u64,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

fn header() -> impl Strategy<Value = TcpHeader> {
    let numbers = (number(), number(), prop_oneof![Just(0), 0..1_461_u32, any::<u32>()]);
    let control = (any::<u8>(), prop_oneof![Just(0), 0..70_000_u32, any::<u32>()]);
    let clock = (any::<bool>(), 0..3_000_u32, any::<u32>());
    let syn = (any::<u16>(), any::<u8>(), any::<bool>());
    let sack = prop::collection::vec((number(), number()), 0..5);
    (numbers, control, clock, syn, sack).prop_map(
        |((seq, ack, payload), (flags, window), (timestamps, val, ecr), syn, blocks)| {
            let mut sack = SackBlocks::default();
            for (start, end) in blocks {
                sack.push(ack, start, end);
            }
            // Half of all segments have only the flag ACK, as in an established connection.
            let flags = if flags % 2 == 0 { TcpFlags::ACK } else { TcpFlags(u16::from(flags)) };
            TcpHeader {
                seq,
                ack,
                payload,
                window,
                ts_val: if timestamps { val } else { 0 },
                ts_ecr: if timestamps { ecr % 4_000 } else { 0 },
                sack,
                flags,
                options_len: 12,
                mss: syn.0,
                window_scale: syn.1,
                sack_permitted: syn.2,
                timestamps,
            }
        },
    )
}

#[derive(Clone, Debug)]
enum Operation {
    Segment(TcpHeader, u8),
    /// A plausible next segment of the peer: in order, with this payload and acknowledgement.
    Plausible {
        payload: u32,
        acked: u64,
        window: u32,
    },
    Wait(u32),
    Timeout,
    Write(u64),
    Pour,
    Close,
    Abort,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (header(), 0..4_u8).prop_map(|(header, ecn)| Operation::Segment(header, ecn)),
        8 => (0..3_000_u32, 0..20_000_u64, 0..100_000_u32).prop_map(
            |(payload, acked, window)| Operation::Plausible { payload, acked, window }
        ),
        4 => (0..400_000_000_u32).prop_map(Operation::Wait),
        4 => Just(Operation::Timeout),
        3 => (0..100_000_u64).prop_map(Operation::Write),
        1 => Just(Operation::Pour),
        1 => Just(Operation::Close),
        1 => Just(Operation::Abort),
    ]
}

/// Drives one connection, with the state of its peer.
struct Driver {
    connection: Connection,
    now: Instant,
    highest_sent: u64,
    expected: u64,
    over: bool,
}

impl Driver {
    fn handle(&mut self, operation: &Operation) {
        let connection = &mut self.connection;
        match operation {
            Operation::Segment(header, ecn) => {
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(*ecn)];
                connection.handle_segment(header, ecn, self.now);
            }
            Operation::Plausible { payload, acked, window } => {
                let header = TcpHeader {
                    seq: self.expected,
                    ack: self.highest_sent.min(*acked + 1),
                    payload: (*payload).min(1_460),
                    window: *window,
                    flags: TcpFlags::ACK,
                    ..TcpHeader::default()
                };
                connection.handle_segment(&header, Ecn::Ect0, self.now);
            }
            Operation::Wait(nanos) => {
                self.now += aqmlab_core::Duration::from_nanos(u64::from(*nanos));
                connection.handle_timeout(self.now);
            }
            Operation::Timeout => {
                if let Some(at) = connection.poll_timeout() {
                    self.now = self.now.max(at);
                    connection.handle_timeout(self.now);
                }
            }
            Operation::Write(bytes) => assert!(connection.write(self.now, *bytes) <= *bytes),
            Operation::Pour => connection.send_unlimited(),
            Operation::Close => connection.close(),
            Operation::Abort => connection.abort(),
        }
        self.drain();
    }

    fn drain(&mut self) {
        let mut sent = 0;
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            let header = &segment.header;
            if !header.flags.has(TcpFlags::RST) {
                self.highest_sent = self.highest_sent.max(header.end());
                self.expected = self.expected.max(header.ack);
            }
            assert!(40 + u32::from(header.options_len) + header.payload <= 1_500);
            sent += 1;
            assert!(sent < 100_000, "a segment storm");
        }
        while let Some(event) = self.connection.poll_event() {
            assert!(!self.over, "{event:?} after the end");
            self.over = matches!(event, Event::Closed | Event::Aborted);
        }
        assert!(self.connection.sender_state().cwnd_bytes > 0);
        assert!(self.connection.poll_timeout().is_none_or(|at| at > self.now));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_header_at_any_time_is_survived(
        which in 0..Profile::all().len(),
        cc in select(controllers()),
        active in any::<bool>(),
        ecn in any::<bool>(),
        handshake in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..120),
    ) {
        let mut config = config(Profile::all().swap_remove(which), cc);
        config.ecn = ecn;
        let connection = if active {
            Connection::active(config, Instant::ZERO)
        } else {
            Connection::passive(config)
        };
        let mut driver =
            Driver { connection, now: Instant::ZERO, highest_sent: 0, expected: 0, over: false };
        driver.drain();
        if handshake {
            let flags = if active { TcpFlags::SYN.with(TcpFlags::ACK) } else { TcpFlags::SYN };
            let syn = TcpHeader {
                ack: u64::from(active),
                window: 60_000,
                mss: 1_460,
                window_scale: 7,
                sack_permitted: true,
                flags,
                ..TcpHeader::default()
            };
            driver.now = Instant::from_millis(20);
            driver.handle(&Operation::Segment(syn, 0));
            driver.handle(&Operation::Plausible { payload: 0, acked: 0, window: 60_000 });
        }
        for operation in &operations {
            driver.handle(operation);
        }
    }
}

#[test]
fn every_controller_is_found_by_name() {
    for name in controllers() {
        assert!(
            controller(name).ssthresh(
                &aqmlab_tcp::cc::Window {
                    cwnd: 10,
                    ssthresh: u64::MAX,
                    segment: 1,
                    mss: 1_448,
                    clamp: 1 << 30,
                },
                &aqmlab_tcp::cc::Congestion {
                    now: Instant::ZERO,
                    in_flight: 10,
                    signal: aqmlab_tcp::cc::Signal::Loss,
                    srtt: None,
                },
            ) >= 2,
            "{name}"
        );
    }
}
