//! Tests two connections over a wire that loses, reorders, repeats and marks segments. Every byte
//! must arrive once and in order, and both sides must close.

mod support;

use std::sync::Arc;

use aqmlab_core::{Duration, Instant};
use aqmlab_tcp::{Config, Profile};
use proptest::prelude::*;
use proptest::sample::select;
use support::{Pair, Wire, config, controllers};

const HOUR: Instant = Instant::from_millis(3_600_000);

/// Transfers `bytes` in each direction and closes both directions.
fn transfer(
    client: Profile,
    server: Profile,
    cc: (&str, &str),
    wire: Wire,
    bytes: [u64; 2],
) -> Pair {
    let mut pair = Pair::new(config(client, cc.0), config(server, cc.1), wire, 7);
    pair.to_write = bytes;
    pair.closes = [true; 2];
    pair.run(HOUR);
    pair
}

fn assert_complete(pair: &Pair, bytes: [u64; 2]) {
    for at in 0..2 {
        let seen = &pair.seen[at];
        assert!(seen.established, "end {at}: {seen:?} {:?}", pair.ends[at].metrics());
        assert_eq!(
            seen.read,
            bytes[1 - at],
            "end {at}: {seen:?} {:?}",
            pair.ends[1 - at].metrics()
        );
        assert!(seen.finished && seen.closed && !seen.aborted, "end {at}: {seen:?}");
    }
}

/// Tests that the application reads all data without an event if reads are not events. All other
/// events and all segments stay the same.
#[test]
fn reads_without_events_are_counted() {
    for profile in Profile::all() {
        let [with, without] = [true, false].map(|read_events| {
            let hosts = [(); 2].map(|()| Config { read_events, ..config(profile.clone(), "reno") });
            let [client, server] = hosts;
            let mut pair = Pair::new(client, server, Wire::clean(20), 7);
            (pair.to_write, pair.closes) = ([100_000, 3_000], [true; 2]);
            pair.reads_directly = !read_events;
            pair.run(HOUR);
            pair
        });
        assert_complete(&with, [100_000, 3_000]);
        assert_eq!(with.log, without.log, "{}", profile.name);
        for at in 0..2 {
            let (seen, read) = (&without.seen[at], with.seen[at].read);
            assert!(seen.finished && seen.closed, "{}: {seen:?}", profile.name);
            assert_eq!(seen.read, 0, "{}: no read is an event", profile.name);
            assert_eq!(without.ends[at].stats().bytes_delivered, read, "{}", profile.name);
        }
    }
}

#[test]
fn a_megabyte_over_a_clean_wire_is_sent_once() {
    for profile in Profile::all() {
        let pair = transfer(
            profile.clone(),
            profile.clone(),
            ("reno", "reno"),
            Wire::clean(20),
            [1 << 20, 0],
        );
        assert_complete(&pair, [1 << 20, 0]);
        let stats = pair.ends[0].stats();
        assert_eq!(stats.retransmitted_segments, 0, "{}", profile.name);
        assert!(pair.now < HOUR, "{}", profile.name);
    }
}

/// Returns a host by its index in the list. The switches disable options that peers may lack.
fn host((which, switch): (usize, [bool; 4])) -> Profile {
    let mut profile = Profile::all().swap_remove(which);
    profile.sack &= switch[0] || switch[1];
    profile.timestamps &= switch[1] || switch[2];
    profile.window_scale &= switch[2] || switch[3];
    profile
}

fn hosts() -> impl Strategy<Value = (usize, [bool; 4])> {
    (0..Profile::all().len(), any::<[bool; 4]>())
}

fn wire() -> impl Strategy<Value = Wire> {
    (1..60_u64, 0..30_u64, 0..12_u32, 0..5_u32, 0..20_u32).prop_map(
        |(delay, jitter, loss, duplication, marking)| Wire {
            delay: Duration::from_millis(delay),
            // Half of the wires do not reorder.
            jitter: Duration::from_millis(jitter.saturating_sub(15)),
            loss: f64::from(loss) / 100.0,
            duplication: f64::from(duplication) / 100.0,
            marking: f64::from(marking) / 100.0,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_both_sides_close(
        client in hosts(),
        server in hosts(),
        cc in (select(controllers()), select(controllers())),
        wire in wire(),
        bytes in [0..200_000_u64, 0..200_000_u64],
        switches in any::<[bool; 6]>(),
        seed in any::<u64>(),
    ) {
        let mut ends = [
            config(host(client), cc.0),
            config(host(server), cc.1),
        ];
        for (i, end) in ends.iter_mut().enumerate() {
            end.ecn = switches[0];
            end.nodelay = switches[1 + i];
            end.quickack = switches[3 + i];
            // There is no retry limit, because another test covers giving up on a bad path.
            let profile = Arc::make_mut(&mut end.profile);
            profile.retries = 60;
            profile.syn_retries = 60;
            profile.synack_retries = 60;
            // TIME-WAIT is long enough for a peer whose timeout has grown beyond a minute.
            profile.time_wait = Duration::from_millis(2 * 3_600_000);
            if switches[5] {
                end.receive_buffer = Some(6_000);
                end.send_buffer = Some(9_000);
            }
        }
        let [client, server] = ends;
        let mut pair = Pair::new(client, server, wire, seed);
        pair.to_write = bytes;
        pair.closes = [true; 2];
        pair.run(Instant::from_millis(40 * 3_600_000));
        for at in 0..2 {
            let seen = &pair.seen[at];
            let peer = pair.ends[1 - at].metrics();
            prop_assert_eq!(seen.read, bytes[1 - at], "end {}: {:?} {:?} {:?}", at, seen, peer, pair.ends[at].metrics());
            prop_assert!(seen.finished && seen.closed && !seen.aborted, "end {}: {:?} {:?} {:?}", at, seen, peer, pair.ends[at].metrics());
        }
    }
}
