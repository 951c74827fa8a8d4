//! Captures with bytes changed, lost or duplicated are either measured or refused.

use aqmlab_core::{
    Direction, Duration, FiveTuple, Header, Instant, Packet, PacketFields, UdpHeader,
};
use aqmlab_measure::Records;
use aqmlab_measure::capture::{Endpoints, Options, Translation, spp, write_captures};
use proptest::prelude::*;
use proptest::sample::Index;

/// Returns a classic capture of each tap, with datagrams that both taps captured.
fn classic() -> [Vec<u8>; 2] {
    let endpoints = [Endpoints::plain(FiveTuple {
        protocol: 17,
        source: 0xac10_0a02,
        destination: 0xac10_0b02,
        source_port: 10_000,
        destination_port: 61_000,
    })];
    let mut records = Records::default();
    for id in 0..5 {
        let header = Header::Udp(UdpHeader { tag: id });
        let direction = Direction::Up;
        let packet =
            Packet::from(PacketFields { header, direction, ..PacketFields::plain(id, 0, 100) });
        records.sent(&packet, Instant::from_millis(10 * id));
        records.received(&packet, Instant::from_millis(10 * id + 5));
    }
    let epoch = Duration::from_secs(1);
    write_captures(&records.finish(), &endpoints, epoch, [Vec::new(), Vec::new()]).unwrap()
}

/// Converts a capture to pcapng: a section, an interface with nanoseconds, and packets.
fn blocks(classic: &[u8]) -> Vec<u8> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut made = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
    made.extend(words(&[1, 32, 101, 0, 1 << 16 | 9, 9, 0, 32]));
    let mut rest = &classic[24..];
    while let Some((head, behind)) = rest.split_at_checked(16) {
        let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let (kept, length) = (word(8), word(12));
        let ticks = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4));
        let (data, next) = behind.split_at(kept as usize);
        let size = 32 + kept.next_multiple_of(4);
        made.extend(words(&[6, size, 0, (ticks >> 32) as u32, ticks as u32, kept, length]));
        made.extend(data);
        made.resize(made.len().next_multiple_of(4), 0);
        made.extend(words(&[size]));
        rest = next;
    }
    made
}

#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Word(Index, u32),
    Lose(Index, Index),
    Double(Index, Index),
}

fn change() -> impl Strategy<Value = Change> {
    let word = prop_oneof![any::<u32>(), (0_u32..32).prop_map(|bits| 1 << bits), Just(u32::MAX)];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<Index>(), word).prop_map(|(at, word)| Change::Word(at, word)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Lose(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Double(from, to)),
    ]
}

fn apply(file: &mut Vec<u8>, change: &Change) {
    if file.is_empty() {
        return;
    }
    let span = |from: &Index, to: &Index, file: &[u8]| {
        let (from, to) = (from.index(file.len()), to.index(file.len()));
        from.min(to)..from.max(to)
    };
    match change {
        Change::Byte(at, byte) => {
            let at = at.index(file.len());
            file[at] = *byte;
        }
        Change::Word(at, word) => {
            // In both formats, fields are words at offsets that are multiples of four.
            let at = at.index(file.len()) & !3;
            for (place, byte) in file[at..].iter_mut().zip(word.to_le_bytes()) {
                *place = byte;
            }
        }
        Change::Lose(from, to) => drop(file.drain(span(from, to, file))),
        Change::Double(from, to) => {
            let again = file[span(from, to, file)].to_vec();
            file.extend(again);
        }
    }
}

fn options() -> impl Strategy<Value = Options> {
    let translations =
        vec![Translation::None, Translation::Addresses, Translation::AddressesAndPorts];
    (prop::sample::select(translations), any::<bool>(), any::<bool>()).prop_map(
        |(translation, synchronised, keep_samples)| Options {
            translation,
            synchronised,
            keep_samples,
            ..Options::default()
        },
    )
}

#[test]
fn both_formats_tell_the_same() {
    let [home, wan] = classic();
    let plain = spp(&home[..], &wan[..], &Options::default()).unwrap();
    let packed = spp(&blocks(&home)[..], &blocks(&wan)[..], &Options::default()).unwrap();
    for report in [plain, packed] {
        let up = &report.flows[0].report.directions[0];
        assert_eq!((up.packets_sent, up.packets_received, up.lost), (5, 5, 0));
        assert_eq!(report.captures[0].begins, Some(1_000_000_000));
    }
}

proptest! {
    #[test]
    fn a_spoiled_capture_is_measured_or_refused(
        options in options(),
        formats in any::<[bool; 2]>(),
        changes in prop::collection::vec((0_usize..2, change()), 1..5),
    ) {
        let mut files = classic();
        for (file, packed) in files.iter_mut().zip(formats) {
            if packed {
                *file = blocks(file);
            }
        }
        for (which, change) in &changes {
            apply(&mut files[*which], change);
        }
        let [first, second] = &files;
        match spp(&first[..], &second[..], &options) {
            Ok(report) => for way in report.flows.iter().flat_map(|flow| &flow.report.directions) {
                prop_assert!(way.lost + way.in_flight <= way.packets_sent);
                prop_assert!(way.packets_received <= 40);
            },
            Err(error) => prop_assert!(options.names.iter().any(|name| error.to_string().contains(name))),
        }
    }
}
