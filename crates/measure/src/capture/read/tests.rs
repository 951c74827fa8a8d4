use super::*;

/// The time, link type, length and data of a packet.
type Packet = (u64, u32, u32, Vec<u8>);

fn packets(file: &[u8]) -> Result<Vec<Packet>, CaptureError> {
    let mut reader = CaptureReader::new(file, "x.pcap")?;
    let mut packets = Vec::new();
    while let Some(raw) = reader.next()? {
        packets.push((raw.at, raw.link, raw.length, raw.data.to_vec()));
    }
    Ok(packets)
}

fn classic(big: bool, magic: u32, records: &[[u32; 4]]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = word(magic).to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([0, 0, 65_535, 1].map(word).concat());
    for record in records {
        file.extend(record.map(word).concat());
        file.extend(std::iter::repeat_n(7, record[2].min(100) as usize));
    }
    file
}

fn blocks(big: bool, blocks: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = Vec::new();
    for (kind, body) in blocks {
        let length = word(body.len() as u32 + 12);
        file.extend([&word(*kind), &length, body.as_slice(), &length].concat());
    }
    file
}

/// Returns a section that has one interface, with nanoseconds and an offset of 10 s, and one packet
/// of 5 bytes.
fn section_with_packet(big: bool) -> Vec<(u32, Vec<u8>)> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let options = [&half(9)[..], &half(1), &[9, 0, 0, 0], &half(14), &half(8), &long(10)];
    let interface = [&half(101)[..], &[0; 6], &options.concat()].concat();
    let header = [0, 0, 7, 5, 60].map(word).concat();
    let packet = [&header[..], &[1, 2, 3, 4, 5, 0, 0, 0]].concat();
    vec![(SECTION, section), (INTERFACE, interface), (77, vec![0; 8]), (ENHANCED_PACKET, packet)]
}

#[test]
fn classic_captures_of_every_kind_are_read() {
    for (big, magic, nanos) in [
        (false, 0xa1b2_c3d4, 5_000),
        (true, 0xa1b2_c3d4, 5_000),
        (false, 0xa1b2_3c4d, 5),
        (true, 0xa1b2_3c4d, 5),
    ] {
        let file = classic(big, magic, &[[3, 5, 4, 60], [4, 0, 0, 0]]);
        let want = [(3_000_000_000 + nanos, 1, 60, vec![7; 4]), (4_000_000_000, 1, 0, vec![])];
        assert_eq!(packets(&file).unwrap(), want);
    }
}

#[test]
fn blocks_of_either_order_are_read_and_unknown_ones_passed_over() {
    for big in [false, true] {
        let file = blocks(big, &section_with_packet(big));
        let twice = [file.clone(), blocks(!big, &section_with_packet(!big))].concat();
        let packet = (10_000_000_007, 101, 60, vec![1, 2, 3, 4, 5]);
        let found = packets(&twice).unwrap();
        assert_eq!(packets(&file).unwrap(), found[..1]);
        assert_eq!(found, [packet.clone(), packet]);
    }
}

#[test]
fn an_error_says_where_and_what() {
    let good = classic(false, 0xa1b2_3c4d, &[[3, 5, 4, 60]]);
    let huge = classic(false, 0xa1b2_3c4d, &[[3, 5, 4, 60], [3, 5, u32::MAX, 60]]);
    let late = classic(false, 0xa1b2_c3d4, &[[3, 1_000_000, 4, 60]]);
    let mut lost = section_with_packet(false);
    lost.remove(1);
    let mut odd = blocks(false, &section_with_packet(false));
    let end = odd.len() - 1;
    odd[end] = 9;
    for (file, want) in [
        (&[][..], "x.pcap: byte 0: the file is empty"),
        (b"GET / HTTP", "x.pcap: byte 0: begins with [47, 45, 54, 20]: allowed are pcap and"),
        (&[0x1f, 0x8b, 8, 0], "x.pcap: byte 0: is compressed: unpack it with gunzip"),
        (
            &good[..30],
            "x.pcap: packet 1, byte 24: the file ends within the packet's header: 6 of its 16",
        ),
        (
            &good[..42],
            "x.pcap: packet 1, byte 24: the file ends within the packet: 2 of its 4 bytes",
        ),
        (
            &huge,
            "x.pcap: packet 2, byte 44: a packet of 4294967295 bytes: allowed are up to 262144",
        ),
        (&late, "packet 1, byte 24: a fraction of a second of 1000000: allowed are 0 to 999999"),
        (&blocks(false, &lost), "byte 48: interface 0: the section has described 0"),
        (&odd, "a block says 40 bytes at its start and 150994984 at its end"),
    ] {
        let error = packets(file).unwrap_err().to_string();
        assert!(error.contains(want), "{error}\nwant {want}");
    }
}

#[test]
fn a_capture_cut_anywhere_ends_early_or_says_so() {
    let classic = classic(false, 0xa1b2_3c4d, &[[3, 5, 4, 60], [4, 5, 40, 60]]);
    for file in [classic, blocks(true, &section_with_packet(true))] {
        let all = packets(&file).unwrap();
        for cut in 0..file.len() {
            match packets(&file[..cut]) {
                Ok(some) => assert!(all.starts_with(&some), "cut at {cut}"),
                Err(error) => assert!(error.offset <= cut as u64, "cut at {cut}: {error}"),
            }
        }
    }
}
