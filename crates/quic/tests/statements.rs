//! The statements about QUIC of docs/reference/conformance.md, on a path between two connections.

mod support;

use aqmlab_core::{Instant, QuicFrame, Rng};
use aqmlab_quic::{Event, MIN_INITIAL};
use support::{End, Fate, Path, Sent, is_short};

const fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns a path at 200 ms whose connection is established, with a round-trip time of 40 ms.
fn established() -> Path {
    let mut path = Path::new(|_| {});
    path.run_until(200);
    path
}

/// Makes the path lose the client's datagrams with stream data whose numbers are in `lost`. The
/// numbers are counted from 0, from now on.
fn losing(path: &mut Path, lost: &'static [u64]) {
    let mut count = 0;
    path.fate = Box::new(move |_, sent: &Sent| {
        if sent.from == End::Server || !sent.is_data() {
            return Fate::Arrives;
        }
        count += 1;
        if lost.contains(&(count - 1)) { Fate::Lost } else { Fate::Arrives }
    });
}

#[test]
fn c225_a_connection_begins_with_the_initial_window_of_its_mtu() {
    let path = Path::new(|config| config.mtu = 1_400);
    assert_eq!(path.ends[0].sender_state().cwnd_bytes, 10 * 1_372);
}

#[test]
fn c226_probes_of_an_unanswered_client_double_their_distance() {
    let mut path = Path::new(|_| {}).with_fate(|_, _| Fate::Lost);
    path.run_until(8_000);
    let mut times: Vec<_> = path.of(End::Client).map(|sent| sent.at).collect();
    times.dedup();
    assert_eq!(times, [ms(0), ms(999), ms(999 + 1_998), ms(999 + 1_998 + 3_996)]);
}

#[test]
fn c228_a_packet_is_lost_when_the_third_after_it_is_acknowledged() {
    for (packets, is_lost) in [(3, false), (4, true)] {
        let mut path = established();
        losing(&mut path, &[0]);
        let lost_before = path.client().stats().recovery.lost_packets;
        path.client().write(0, packets * 1_400);
        // The acknowledgement arrives after 40 ms, before the time threshold.
        path.run_until(200 + 44);
        let lost = path.client().stats().recovery.lost_packets - lost_before;
        assert_eq!(lost, u64::from(is_lost), "{packets} packets");
    }
}

#[test]
fn c229_a_probe_keeps_the_window_and_a_loss_reduces_it_once_per_period() {
    let mut path = established();
    let before = path.client().sender_state().cwnd_bytes;
    losing(&mut path, &[0]);
    path.client().write(0, 1_000);
    // The probe leaves after 145 ms, and its acknowledgement arrives after 185 ms.
    path.run_until(360);
    let stats = path.client().stats().recovery;
    assert_eq!((stats.ptos, stats.loss_periods), (1, 0), "the probe is not acknowledged yet");
    assert_eq!(path.client().sender_state().cwnd_bytes, before);
    path.run_until(400);
    let stats = path.client().stats().recovery;
    assert_eq!((stats.ptos, stats.loss_periods), (1, 1), "the probe shows the loss");
    let mut path = established();
    losing(&mut path, &[0, 1, 2]);
    path.client().write(0, 8 * 1_400);
    path.run_until(400);
    let stats = path.client().stats().recovery;
    assert_eq!((stats.lost_packets, stats.loss_periods), (3, 1));
    let window = path.client().sender_state().ssthresh_bytes.expect("there was a loss");
    assert_eq!(window, before / 2);
}

#[test]
fn a_flight_that_fills_the_window_lets_it_grow_after_the_last_data() {
    // With 5 of 11 datagrams, less than half of the window is in flight. With 8 and with 12
    // datagrams, more than half of the window is in flight at the first acknowledgements, each of
    // two datagrams.
    for (datagrams, grown) in [(5, 0), (8, 2), (12, 6)] {
        let mut path = Path::new(|_| {}).with_rate(10_000_000);
        path.run_until(200);
        let before = path.client().sender_state().cwnd_bytes;
        path.client().write(0, datagrams * 1_400);
        path.run_until(400);
        let after = path.client().sender_state().cwnd_bytes;
        assert_eq!((after - before) / 1_400, grown, "{datagrams} datagrams");
    }
}

#[test]
fn c230_acknowledgements_leave_although_the_window_is_full() {
    let mut path = established();
    path.fate = Box::new(|_, sent| {
        if sent.from == End::Client && sent.is_data() { Fate::Lost } else { Fate::Arrives }
    });
    path.client().write(0, 1_000_000);
    path.run_until(220);
    let full = path.client().sender_state();
    assert!(full.in_flight_bytes + 1_452 > full.cwnd_bytes, "{full:?}");
    let before = path.of(End::Client).count();
    path.ends[1].write(0, 3_000);
    path.run_until(245);
    let acks = |frame: &QuicFrame| matches!(frame, QuicFrame::Ack(_));
    let later: Vec<_> = path.of(End::Client).skip(before).collect();
    assert!(later.iter().any(|sent| sent.has(acks) && !sent.is_data()), "{later:?}");
    assert_eq!(path.client().sender_state().in_flight_bytes, full.in_flight_bytes);
}

#[test]
fn c232_the_servers_first_flight_is_at_most_three_times_the_clients() {
    let mut path = Path::new(|_| {});
    path.ends[1].write(0, 100_000);
    path.run_until(39);
    let client: u32 = path.of(End::Client).map(|sent| sent.bytes).sum();
    assert_eq!(client, MIN_INITIAL);
    path.ends[1].write(0, 100_000);
    let first: u32 = path.of(End::Server).filter(|sent| sent.at < ms(59)).map(|s| s.bytes).sum();
    assert!((2_600..=3 * MIN_INITIAL).contains(&first), "{first}");
    path.run_until(1_000);
    assert_eq!(path.read(End::Client, 0), 200_000, "the validated server sends on");
}

#[test]
fn c233_a_mark_begins_a_recovery_period() {
    let mut path = Path::new(|config| config.ecn = true);
    path.run_until(200);
    let before = path.client().sender_state().cwnd_bytes;
    let mut count = 0;
    path.fate = Box::new(move |_, sent| {
        count += u64::from(sent.from == End::Client && sent.is_data());
        if count == 2 || count == 3 { Fate::Marked } else { Fate::Arrives }
    });
    path.client().write(0, 8 * 1_400);
    path.run_until(400);
    let stats = path.client().stats().recovery;
    assert_eq!((stats.ecn_periods, stats.loss_periods, stats.lost_packets), (1, 0, 0));
    assert_eq!(path.client().sender_state().ssthresh_bytes, Some(before / 2));
}

#[test]
fn a_path_that_clears_ecn_ends_it() {
    // The receiver sees no codepoint, so its acknowledgements have no counts.
    let mut cleared = Path::new(|config| config.ecn = true);
    cleared.clear_ecn = true;
    cleared.run_until(200);
    cleared.client().write(0, 5_000);
    cleared.run_until(300);
    assert!(cleared.of(End::Client).next().is_some_and(|sent| sent.ecn.is_capable()));
    assert!(cleared.of(End::Client).last().is_some_and(|sent| !sent.ecn.is_capable()));
    assert_eq!(cleared.read(End::Server, 0), 5_000);
}

#[test]
fn c234_a_probe_repairs_a_lost_tail() {
    let mut path = established();
    losing(&mut path, &[0]);
    path.client().write(0, 1_000);
    path.client().finish(0);
    path.run_until(400);
    let data: Vec<_> = path.of(End::Client).filter(|sent| sent.is_data()).map(|s| s.at).collect();
    // The handshake gives one sample of 40 ms, so the variation is 20 ms.
    let (srtt, variation) = (40, 20);
    assert_eq!(data[1].since(data[0]).as_millis(), srtt + 4 * variation + 25, "{data:?}");
    assert_eq!(path.read(End::Server, 0), 1_000);
    assert_eq!(
        path.time_of(End::Server, |e| matches!(e, Event::Finished { .. })),
        Some(data[1] + path.one_way)
    );
}

#[test]
fn c235_a_hole_delays_its_stream_only() {
    let mut path = established();
    let other = path.client().open_stream();
    losing(&mut path, &[0]);
    path.client().write(0, 5 * 1_400);
    path.client().write(other, 5 * 1_400);
    path.client().finish(0);
    path.client().finish(other);
    path.run_until(1_000);
    let finished = |of| {
        path.time_of(End::Server, |e| *e == Event::Finished { stream: of }).expect("it finishes")
    };
    assert_eq!(finished(other), ms(220));
    assert_eq!(finished(0), ms(260), "the loss is known after a round trip");
}

#[test]
fn the_handshake_takes_one_round_trip_and_0_rtt_none() {
    let request_arrives = |zero_rtt: bool| {
        let mut path = Path::new(|config| config.zero_rtt = zero_rtt);
        path.client().write(0, 400);
        path.client().finish(0);
        path.run_until(1_000);
        path.time_of(End::Server, |e| matches!(e, Event::Finished { .. })).expect("it arrives")
    };
    assert_eq!(request_arrives(false), ms(60), "a round trip, and the way of the request");
    assert_eq!(request_arrives(true), ms(20));
}

#[test]
fn the_first_messages_of_a_server_have_2623_bytes_and_273_if_the_connection_resumes() {
    for (zero_rtt, server) in [(false, 123 + 2_500), (true, 123 + 150)] {
        let mut path = Path::new(|config| config.zero_rtt = zero_rtt);
        path.run_until(1_000);
        let bytes = |end| -> u32 {
            let packets = path.of(end).flat_map(|sent| &sent.packets);
            let frames = packets.flat_map(|packet| &packet.frames);
            let lens = frames.map(|frame| match frame {
                QuicFrame::Crypto { len, .. } => *len,
                _ => 0,
            });
            lens.sum()
        };
        assert_eq!((bytes(End::Client), bytes(End::Server)), (517 + 36, server));
    }
}

#[test]
fn a_handshake_survives_the_loss_of_any_one_datagram() {
    for lost in 0..6 {
        for from in [End::Client, End::Server] {
            let mut path = Path::new(|_| {}).with_fate(move |number, sent| {
                if sent.from == from && number == lost { Fate::Lost } else { Fate::Arrives }
            });
            path.client().write(0, 50_000);
            path.client().finish(0);
            path.ends[1].write(0, 50_000);
            path.ends[1].finish(0);
            path.run_until(20_000);
            let read = (path.read(End::Server, 0), path.read(End::Client, 0));
            assert_eq!(read, (50_000, 50_000), "{from:?} {lost}");
            for end in [End::Client, End::Server] {
                assert!(path.time_of(end, |e| *e == Event::Closed).is_some(), "{from:?} {lost}");
            }
        }
    }
}

#[test]
fn new_and_resumed_connections_survive_random_losses() {
    for zero_rtt in [false, true] {
        for seed in 0..12 {
            let mut rng = Rng::stream(seed, "loss");
            let mut path = Path::new(|config| config.zero_rtt = zero_rtt)
                .with_rate(10_000_000)
                .with_fate(move |_, _| if rng.below(5) == 0 { Fate::Lost } else { Fate::Arrives });
            let streams = [(); 4].map(|()| path.client().open_stream());
            for stream in streams {
                path.client().write(stream, 400);
                path.client().finish(stream);
                path.ends[1].write(stream, 20_000);
                path.ends[1].finish(stream);
            }
            path.run_until(120_000);
            for stream in streams {
                let read = (path.read(End::Server, stream), path.read(End::Client, stream));
                assert_eq!(read, (400, 20_000), "seed {seed}, 0-RTT {zero_rtt}, stream {stream}");
            }
        }
    }
}

#[test]
fn every_byte_arrives_once_despite_heavy_losses() {
    for cc in ["reno", "cubic", "cubic_rfc", "bbr", "newreno", "compound"] {
        let mut path = Path::new(|config| config.cc = support::config(cc).cc)
            .with_rate(10_000_000)
            .with_fate(|number, _| if number % 11 == 5 { Fate::Lost } else { Fate::Arrives });
        path.client().write(0, 300_000);
        path.client().finish(0);
        path.ends[1].finish(0);
        path.run_until(120_000);
        assert_eq!(path.read(End::Server, 0), 300_000, "{cc}");
        assert!(path.time_of(End::Client, |e| *e == Event::Closed).is_some(), "{cc}");
        assert_eq!(path.client().sender_state().in_flight_bytes, 0, "{cc}");
    }
}

/// Runs a transfer whose client's datagrams are lost for 2 s. Returns the smallest window after the
/// start of the blackout.
fn blackout(path: &mut Path) -> u64 {
    path.client().send_unlimited(0);
    path.run_until(500);
    let (from, to) = (path.now, path.now + aqmlab_core::Duration::from_millis(2_000));
    path.fate = Box::new(move |_, sent| {
        let is_lost = sent.from == End::Client && (from..to).contains(&sent.at);
        if is_lost { Fate::Lost } else { Fate::Arrives }
    });
    let mut least = u64::MAX;
    for at in 500..6_000 {
        path.run_until(at);
        least = least.min(path.client().sender_state().cwnd_bytes);
    }
    least
}

#[test]
fn a_blackout_is_persistent_congestion_and_leaves_two_datagrams() {
    let mut path = established();
    let least = blackout(&mut path);
    assert_eq!(path.client().stats().recovery.persistent, 1);
    // The acknowledgement of the two probes also lets the window grow by them.
    assert_eq!(least, (2 + 2) * 1_452);
}

#[test]
fn a_blackout_is_no_persistent_congestion_of_a_controller_that_always_sets_the_window() {
    let mut path = Path::new(|config| config.cc = support::config("bbr").cc).with_rate(10_000_000);
    blackout(&mut path);
    assert!(path.client().stats().recovery.lost_packets > 10);
    assert_eq!(path.client().stats().recovery.persistent, 0);
}

#[test]
fn a_packet_with_only_an_acknowledgement_ends_its_ranges_when_it_is_acknowledged() {
    let mut path = established();
    let mut count = 0;
    path.fate = Box::new(move |_, sent: &Sent| {
        count += u64::from(sent.from == End::Server && sent.is_data());
        let is_lost = sent.from == End::Server && sent.is_data() && [2, 5].contains(&count);
        if is_lost { Fate::Lost } else { Fate::Arrives }
    });
    let ranges = |path: &Path| {
        let frames = path.of(End::Client).flat_map(|sent| &sent.packets).flat_map(|p| &p.frames);
        let acks = frames.filter_map(|frame| match frame {
            QuicFrame::Ack(ack) => Some(ack.ranges.len()),
            _ => None,
        });
        acks.last().expect("the client has acknowledged")
    };
    path.ends[1].write(0, 10 * 1_400);
    path.run_until(400);
    assert_eq!(ranges(&path), 3, "two packets are missing");
    // No acknowledgement is due when these bytes leave.
    path.client().write(0, 100);
    path.run_until(500);
    path.ends[1].write(0, 1_000);
    path.run_until(600);
    assert_eq!(ranges(&path), 1, "the server has received the earlier ranges");
}

#[test]
fn packets_after_the_handshake_are_short_and_full() {
    let mut path = established();
    path.client().write(0, 100_000);
    path.run_until(1_000);
    let full = path.of(End::Client).filter(|sent| sent.bytes == 1_452).count();
    assert!(full > 60, "{full}");
    assert!(path.of(End::Client).filter(|sent| sent.at > ms(200)).all(is_short));
}

#[test]
fn the_threshold_after_a_loss_is_the_controllers() {
    for (cc, share) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut path = Path::new(|config| config.cc = support::config(cc).cc);
        path.run_until(200);
        let before = path.client().sender_state().cwnd_bytes as f64;
        losing(&mut path, &[0]);
        path.client().write(0, 8 * 1_400);
        path.run_until(400);
        let after = path.client().sender_state().ssthresh_bytes.expect("there was a loss") as f64;
        assert!((after / before - share).abs() < 0.04, "{cc}: {after} of {before}");
    }
}

#[test]
fn an_end_accepts_all_bytes_and_reads_them_at_once() {
    let mut path = established();
    assert_eq!(path.client().write(0, 1 << 30), 1 << 30);
    path.run_until(221);
    assert!(path.read(End::Server, 0) > 10_000, "20 ms after the transmission");
}

#[test]
fn the_acknowledgement_of_an_acknowledgement_gives_no_sample() {
    let mut path = established();
    path.ends[1].write(0, 30_000);
    path.run_until(400);
    let before = path.client().sender_state().srtt;
    // The client's acknowledgements are acknowledged together with the server's next data.
    path.one_way = aqmlab_core::Duration::from_millis(90);
    path.ends[1].write(0, 30_000);
    path.run_until(800);
    assert_eq!(path.client().sender_state().srtt, before);
}

#[test]
fn blackouts_with_an_acknowledged_packet_between_are_not_persistent_congestion() {
    let mut path = established();
    path.client().send_unlimited(0);
    path.run_until(500);
    path.fate = Box::new(|_, sent| {
        let ms = sent.at.as_nanos() / 1_000_000;
        let is_lost = sent.from == End::Client && (500..650).contains(&ms);
        if is_lost { Fate::Lost } else { Fate::Arrives }
    });
    path.run_until(3_000);
    assert!(path.client().stats().recovery.lost_packets > 0);
    assert_eq!(path.client().stats().recovery.persistent, 0);
}
