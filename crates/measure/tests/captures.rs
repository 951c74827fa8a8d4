//! Writes simulated packets to two captures and reads them back. The metrics must be the same as
//! during the run.

use aqmlab_core::{
    Direction, Duration, FiveTuple, Header, Instant, Packet, PacketFields, Rng, SackBlocks, Side,
    TcpFlags, TcpHeader, UdpHeader,
};
use aqmlab_measure::capture::{
    CaptureWriter, Endpoints, Options, SppReport, Translation, spp, write_captures,
};
use aqmlab_measure::{FlowReport, InOrder, Meter, PacketRecord, Records, Sent, Settings};
use proptest::prelude::*;

const STEP: Duration = Duration::from_millis(100);
const CONNS: u32 = 4;

/// The output of a run: the meter's report, and the records.
struct Run {
    reports: Vec<FlowReport>,
    records: Vec<PacketRecord>,
}

fn tuple(conn: u32) -> FiveTuple {
    let protocol = match conn % 4 {
        0 | 1 => 6,
        2 => 17,
        _ => 1,
    };
    let (source_port, destination_port) =
        if protocol == 1 { (0, 0) } else { (40_000 + conn as u16, 5_001) };
    FiveTuple {
        protocol,
        source: 0xc0a8_0102,
        destination: 0x0a09_0800 + conn,
        source_port,
        destination_port,
    }
}

/// Returns the addresses of a connection behind the gateway: its source is the gateway's address
/// and a port of the gateway's choice.
fn translated(conn: u32) -> FiveTuple {
    let tuple = tuple(conn);
    let source_port = if tuple.protocol == 1 { 0 } else { 61_000 - conn as u16 };
    FiveTuple { source: 0xcb00_7101, source_port, ..tuple }
}

fn packet(id: u64, conn: u32, direction: Direction) -> Packet {
    let (header, ip_len) = match (conn % 4, id) {
        (0 | 1, id) => {
            let mut sack = SackBlocks::default();
            if id % 7 == 0 {
                sack.push(id * 10, id * 10 + 5, id * 10 + 9);
            }
            let options_len = if sack.is_empty() { 12 } else { 24 };
            let payload = if direction == Direction::Down { 1_000 } else { 0 };
            let tcp = TcpHeader {
                seq: id,
                ack: id * 10,
                payload,
                sack,
                flags: TcpFlags::ACK,
                options_len,
                timestamps: true,
                ..TcpHeader::default()
            };
            (Header::Tcp(tcp), 40 + u32::from(options_len) + payload)
        }
        (2, id) => (Header::Udp(UdpHeader { tag: id }), 200),
        (_, id) => (Header::Icmp(UdpHeader { tag: id }), 84),
    };
    Packet::from(PacketFields {
        flow: conn,
        direction,
        header,
        ..PacketFields::plain(id, conn, ip_len)
    })
}

/// Sends random traffic in both directions over a path with a queue that keeps the order and loses
/// 2 % of the packets.
fn run(seed: u64, packets: u64) -> Run {
    let mut rng = Rng::stream(seed, "traffic");
    let mut draw = |below: u64| rng.below(below);
    let mut events = Vec::new();
    let (mut now, mut free) = (0, [0; 2]);
    for id in 0..packets {
        let conn = draw(u64::from(CONNS)) as u32;
        let direction = if draw(2) == 0 { Direction::Up } else { Direction::Down };
        events.push((now, true, id, conn, direction));
        let free = &mut free[direction.index()];
        *free = now.max(*free) + 700_000 + draw(400_000);
        if id < 40 || draw(50) > 0 {
            events.push((*free + 20_000_000, false, id, conn, direction));
        }
        now += draw(2_000_000) + 1;
    }
    events.sort_unstable();
    let settings = Settings {
        from: Instant::ZERO,
        to: Instant::NEVER,
        window: STEP,
        step: STEP,
        end: Instant::from_nanos(now) + Duration::from_secs(1),
        in_order: InOrder::Connection,
        series: Some(STEP),
    };
    let mut meter = Meter::new(settings, &vec![Instant::ZERO..settings.end; CONNS as usize]);
    let mut records = Records::default();
    for (at, leaves, id, conn, direction) in events {
        let (packet, at) = (packet(id, conn, direction), Instant::from_nanos(at));
        if leaves {
            meter.sent(Sent { flow: conn, conn, direction, id, ip_len: packet.ip_len }, at);
            records.sent(&packet, at);
        } else {
            meter.received(conn, direction, id, packet.ip_len, at);
            records.received(&packet, at);
        }
    }
    Run { reports: meter.finish(), records: records.finish() }
}

fn endpoints(nat: bool) -> Vec<Endpoints> {
    let of = |conn| {
        let wan = if nat { translated(conn) } else { tuple(conn) };
        Endpoints { wan, ..Endpoints::plain(tuple(conn)) }
    };
    (0..CONNS).map(of).collect()
}

/// Returns the two captures. The clock of the capture on the internet is ahead by `offset`.
fn captures(run: &Run, nat: bool, offset: Duration) -> [Vec<u8>; 2] {
    let epoch = Duration::from_secs(1_600_000_000);
    let endpoints = endpoints(nat);
    let [home, mut wan] =
        write_captures(&run.records, &endpoints, epoch, [Vec::new(), Vec::new()]).unwrap();
    if offset > Duration::ZERO {
        [_, wan] =
            write_captures(&run.records, &endpoints, epoch + offset, Default::default()).unwrap();
    }
    [home, wan]
}

fn measured(files: &[Vec<u8>; 2], options: &Options) -> SppReport {
    spp(&files[0][..], &files[1][..], options).unwrap()
}

fn options() -> Options {
    Options { step: STEP, ..Options::default() }
}

/// Returns the flow of a connection in a report, found by the address of its far end.
fn flow(report: &SppReport, conn: u32) -> &FlowReport {
    let far = std::net::IpAddr::from(tuple(conn).destination.to_be_bytes());
    let found = report.flows.iter().find(|flow| flow.tuple.destination.address == far);
    &found.unwrap_or_else(|| panic!("connection {conn} in {:?}", report.flows)).report
}

#[test]
fn captures_give_the_round_trips_of_the_run() {
    for (seed, nat, hours) in [(1, false, 0), (2, false, 5), (3, true, 0), (4, true, 5)] {
        let run = run(seed, 4_000);
        let files = captures(&run, nat, Duration::from_secs(hours * 3_600));
        let translation = if nat { Translation::AddressesAndPorts } else { Translation::None };
        let report = measured(&files, &Options { translation, ..options() });
        assert_eq!(report.flows.len(), CONNS as usize);
        for conn in 0..CONNS {
            for direction in Direction::BOTH.map(Direction::index) {
                let want = &run.reports[conn as usize].directions[direction];
                let got = &flow(&report, conn).directions[direction];
                assert!(want.rtt.count() > 200 && want.lost > 2, "{}", want.rtt.count());
                assert!(got.rtt.slots().eq(want.rtt.slots()), "seed {seed}, connection {conn}");
                assert_eq!((got.rtt.min(), got.rtt.max()), (want.rtt.min(), want.rtt.max()));
                assert_eq!((got.packets_sent, got.lost), (want.packets_sent, want.lost));
                assert_eq!(got.bytes_received, want.bytes_received);
                assert_eq!(got.in_flight, want.in_flight);
                assert_eq!(got.jitter, want.jitter);
            }
        }
    }
}

/// Tests that captures hold the packets of one moment in the order in which they pass the taps. In
/// this run, a packet that must keep its order arrives with the packet before it, and each is
/// answered at once.
#[test]
fn what_happens_at_one_moment_stands_in_the_captures_in_the_order_in_which_it_happened() {
    let settings = Settings {
        from: Instant::ZERO,
        to: Instant::NEVER,
        window: STEP,
        step: STEP,
        end: Instant::from_millis(1_000),
        in_order: InOrder::Connection,
        series: None,
    };
    let mut meter = Meter::new(settings, &[Instant::ZERO..settings.end]);
    let mut records = Records::default();
    let (down, up) = (Direction::Down, Direction::Up);
    // The time, whether the packet passes its sender's tap, its number and its direction.
    for (ms, leaves, id, direction) in [
        (0, true, 0, down),
        (1, true, 1, down),
        (20, false, 0, down),
        (20, true, 2, up),
        (20, false, 1, down),
        (20, true, 3, up),
        (40, false, 2, up),
        (40, true, 4, down),
        (40, false, 3, up),
        (60, false, 4, down),
    ] {
        let (packet, at) = (packet(id, 0, direction), Instant::from_millis(ms));
        if leaves {
            meter.sent(Sent { flow: 0, conn: 0, direction, id, ip_len: packet.ip_len }, at);
            records.sent(&packet, at);
        } else {
            meter.received(0, direction, id, packet.ip_len, at);
            records.received(&packet, at);
        }
    }
    let run = Run { reports: meter.finish(), records: records.finish() };
    let report = measured(&captures(&run, false, Duration::ZERO), &options());
    for direction in Direction::BOTH.map(Direction::index) {
        let want = &run.reports[0].directions[direction].rtt;
        assert_eq!(want.count(), [1, 2][direction]);
        assert!(flow(&report, 0).directions[direction].rtt.slots().eq(want.slots()));
    }
}

#[test]
fn packets_that_were_lost_before_the_first_arrival_are_counted_as_sent() {
    for nat in [false, true] {
        let mut records = Records::default();
        for (ms, id, direction) in
            [(0, 0, Direction::Up), (1, 1, Direction::Down), (2, 2, Direction::Up)]
        {
            records.sent(&packet(id, 0, direction), Instant::from_millis(ms));
        }
        records.received(&packet(2, 0, Direction::Up), Instant::from_millis(22));
        let run = Run { reports: Vec::new(), records: records.finish() };
        let translation = if nat { Translation::AddressesAndPorts } else { Translation::None };
        let files = captures(&run, nat, Duration::ZERO);
        let report = measured(&files, &Options { translation, ..options() });
        let counts = Direction::BOTH.map(|direction| {
            let got = &flow(&report, 0).directions[direction.index()];
            (got.packets_sent, got.packets_received, got.lost, got.in_flight)
        });
        assert_eq!(counts, [(2, 1, 0, 1), (1, 0, 0, 1)], "with translation: {nat}");
    }
}

#[test]
fn captures_with_one_clock_give_the_series_of_the_run_too() {
    let run = run(9, 3_000);
    let files = captures(&run, false, Duration::ZERO);
    let options = Options { synchronised: true, keep_samples: true, ..options() };
    let report = measured(&files, &options);
    for conn in 0..CONNS {
        for direction in [0, 1] {
            let want = &run.reports[conn as usize].directions[direction];
            let got = &flow(&report, conn).directions[direction];
            assert_eq!(got.rtt_series, want.rtt_series);
            assert!(got.owd.slots().eq(want.owd.slots()));
            assert_eq!(got.steps[..], want.steps[..got.steps.len()]);
            assert!(want.steps[got.steps.len()..].iter().all(|bytes| *bytes == 0));
        }
    }
    for flow in &report.flows {
        let count = |direction: usize| flow.report.directions[direction].rtt.count() as usize;
        assert_eq!(flow.samples.each_ref().map(Vec::len), [count(0), count(1)]);
    }
}

#[test]
fn a_capture_that_begins_later_is_put_in_step() {
    let run = run(5, 6_000);
    let files = captures(&run, false, Duration::from_secs(77));
    let whole = measured(&files, &options());
    let later: Vec<_> = run.records[2_000..].to_vec();
    let endpoints = endpoints(false);
    let mut writer =
        CaptureWriter::new(Vec::new(), Side::Wan, &endpoints, Duration::from_secs(9)).unwrap();
    let mut seen: Vec<_> = later
        .iter()
        .filter_map(|record| match record.direction {
            Direction::Up => Some((record.received()?, record)),
            Direction::Down => Some((record.sent, record)),
        })
        .collect();
    seen.sort_by_key(|(at, _)| *at);
    for (at, record) in seen {
        writer.packet(record, at).unwrap();
    }
    let late = measured(&[files[0].clone(), writer.finish().unwrap()], &options());
    assert_eq!(late.captures[1].matched, late.captures[0].matched);
    for conn in 0..CONNS {
        for direction in [0, 1] {
            let [all, some] =
                [&whole, &late].map(|report| &flow(report, conn).directions[direction]);
            let share = some.rtt.count() as f64 / all.rtt.count() as f64;
            assert!((0.6..0.72).contains(&share), "{share}");
            assert!(some.lost <= all.lost);
        }
    }
}

#[test]
fn a_flow_of_one_direction_is_told_by_its_hosts_or_by_the_clocks() {
    let mut run = run(6, 2_000);
    run.records.retain(|record| record.conn == 0 || record.direction == Direction::Down);
    let files = captures(&run, false, Duration::from_secs(60));
    let report = measured(&files, &options());
    let one_way = flow(&report, 2);
    assert_eq!(one_way.directions[0].packets_sent, 0);
    assert!(one_way.directions[1].packets_received > 200);
    assert_eq!(one_way.directions[1].rtt.count(), 0);
}

#[test]
fn captures_of_different_traffic_share_nothing() {
    let [home, _] = captures(&run(7, 500), false, Duration::ZERO);
    let mut other = run(8, 500);
    other.records.iter_mut().for_each(|record| record.id += 30_000);
    let [_, wan] = captures(&other, false, Duration::ZERO);
    let report = measured(&[home, wan], &options());
    assert!(report.flows.is_empty(), "{:?}", report.captures);
    assert!(report.captures[0].ip_packets > 400);
}

#[test]
fn a_record_of_no_possible_packet_is_refused_by_name() {
    let record = PacketRecord::new(&packet(3, 9, Direction::Up), Instant::ZERO);
    let error =
        write_captures(&[record], &endpoints(false), Duration::ZERO, [vec![], vec![]]).unwrap_err();
    assert_eq!(error.to_string(), "packet 3 of connection 9: no endpoints; there are 4");
}

#[test]
fn a_capture_cut_anywhere_is_measured_or_refused() {
    let [home, wan] = captures(&run(10, 60), false, Duration::ZERO);
    for cut in 0..home.len() {
        match spp(&home[..cut], &wan[..], &options()) {
            Ok(report) => assert!(report.captures[0].packets <= 60),
            Err(error) => {
                assert_eq!(error.file, "first capture");
                assert!(
                    error.offset <= cut as u64 && error.problem.contains("ends within") || cut == 0
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn spoiled_captures_are_measured_or_refused(
        spoils in prop::collection::vec((24_usize..2_000, any::<u8>()), 1..30),
    ) {
        let [mut home, wan] = captures(&run(11, 60), false, Duration::ZERO);
        for (at, value) in spoils {
            if let Some(byte) = home.get_mut(at) {
                *byte = value;
            }
        }
        match spp(&home[..], &wan[..], &options()) {
            Ok(report) => prop_assert!(report.captures[0].matched <= report.captures[0].packets),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn random_bytes_are_measured_or_refused(
        magic in prop::sample::select(vec![
            [0x4d, 0x3c, 0xb2, 0xa1],
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ]),
        bytes in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..400),
    ) {
        let file = [&magic[..], &bytes].concat();
        if let Err(error) = spp(&file[..], &file[..], &options()) {
            prop_assert!(error.offset <= file.len() as u64);
        }
    }
}
