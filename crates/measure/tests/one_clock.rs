//! Captures with timestamps of one clock: a packet has the earlier time at the tap of its sender.

use aqmlab_core::{Direction, Duration, FiveTuple, Header, Instant, Packet, UdpHeader};
use aqmlab_measure::Records;
use aqmlab_measure::capture::{Endpoints, Options, spp, write_captures};

const MS: u64 = 1_000_000;

/// Returns captures of two flows of datagrams: a far flow in both directions (150 ms up, 5 ms
/// down), and a near flow upstream only (1 ms).
fn captures() -> [Vec<u8>; 2] {
    let endpoints = [1, 2].map(|host| {
        Endpoints::plain(FiveTuple {
            protocol: 17,
            source: 0xac10_0a00 + host,
            destination: 0xac10_0b00 + host,
            source_port: 10_000,
            destination_port: 61_000,
        })
    });
    // A tuple has the connection, the direction, the time of departure and the delay of a packet.
    let mut passages = Vec::new();
    for n in 0..50 {
        for (conn, direction, delay_ms) in
            [(0, Direction::Up, 150), (0, Direction::Down, 5), (1, Direction::Up, 1)]
        {
            passages.push((conn, direction, n * 20 * MS, delay_ms * MS));
        }
    }
    let mut events: Vec<_> = passages
        .iter()
        .enumerate()
        .flat_map(|(id, &(.., sent, delay))| [(sent, false, id), (sent + delay, true, id)])
        .collect();
    events.sort_unstable();
    let mut records = Records::default();
    for (at, arrives, id) in events {
        let (conn, direction, ..) = passages[id];
        let header = Header::Udp(UdpHeader { tag: id as u64 });
        let mut packet = Packet::plain(id as u64, conn, 100);
        (packet.direction, packet.header) = (direction, header);
        let at = Instant::from_nanos(at);
        if arrives { records.received(&packet, at) } else { records.sent(&packet, at) }
    }
    let epoch = Duration::from_secs(1);
    write_captures(&records.finish(), &endpoints, epoch, [Vec::new(), Vec::new()]).unwrap()
}

#[test]
fn a_flow_of_one_way_goes_from_where_it_was_seen_first() {
    let [home, wan] = captures();
    let options = Options { synchronised: true, ..Options::default() };
    let report = spp(&home[..], &wan[..], &options).unwrap();
    let near = &report.flows[1];
    assert_eq!(near.tuple.source.address.to_string(), "172.16.10.2");
    let [up, down] = &near.report.directions;
    assert_eq!((up.packets_sent, down.packets_sent), (50, 0));
    assert_eq!(up.owd.max().map(Duration::as_nanos), Some(MS));
}
