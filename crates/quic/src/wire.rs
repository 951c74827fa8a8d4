//! The lengths of packets and frames on the wire, in bytes.
//!
//! Source: RFC 9000 §16, §17 and §19; RFC 9001 §5.3 for the tag.

use aqmlab_core::{QuicAck, QuicFrame, QuicPacket, QuicSpace};

/// The length of a connection identifier, which RFC 9000 leaves open (§5.1).
const CID: u32 = 8;
/// The length of the tag that authenticates a packet.
const TAG: u32 = 16;
/// The exponent of the power of two that scales the delay of an ACK frame (`ack_delay_exponent`,
/// RFC 9000 §18.2).
const ACK_DELAY_EXPONENT: u32 = 3;

/// Returns the length of a variable-length integer (§16).
pub(crate) const fn varint(value: u64) -> u32 {
    match value {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// Returns the length of the packet number `number` (§17.1). `acked` is the largest acknowledged
/// number.
pub(crate) const fn number_len(number: u64, acked: Option<u64>) -> u32 {
    let range = match acked {
        Some(acked) => number - acked,
        None => number + 1,
    };
    // One bit more than the range needs.
    let bits = 64 - range.leading_zeros() + 1;
    let bytes = bits.div_ceil(8);
    if bytes > 4 { 4 } else { bytes }
}

/// Returns the length of a packet besides its frames.
pub(crate) const fn overhead(space: QuicSpace, zero_rtt: bool, number_len: u32) -> u32 {
    // First byte, version, two identifiers with their lengths, length of the packet.
    let long = 1 + 4 + 2 * (1 + CID) + 2;
    let header = match space {
        QuicSpace::Initial => long + 1,
        QuicSpace::Handshake => long,
        QuicSpace::Application if zero_rtt => long,
        QuicSpace::Application => 1 + CID,
    };
    header + number_len + TAG
}

/// Returns the length of a packet.
pub(crate) fn packet_len(packet: &QuicPacket, acked: Option<u64>) -> u32 {
    let frames: u32 = packet.frames.iter().map(frame_len).sum();
    overhead(packet.space, packet.zero_rtt, number_len(packet.number, acked)) + frames
}

/// Returns the length of a frame.
pub(crate) fn frame_len(frame: &QuicFrame) -> u32 {
    match frame {
        QuicFrame::Ping | QuicFrame::HandshakeDone => 1,
        QuicFrame::Ack(ack) => ack_len(ack),
        QuicFrame::Crypto { offset, len } => 1 + varint(*offset) + varint(u64::from(*len)) + len,
        &QuicFrame::Stream { stream, offset, len, .. } => stream_overhead(stream, offset) + len,
        // Type, error code, frame type and an empty reason.
        QuicFrame::Close => 4,
    }
}

/// Returns the length of a STREAM frame besides its data. The frame states a length of two bytes.
pub(crate) const fn stream_overhead(stream: u32, offset: u64) -> u32 {
    let offset_len = if offset > 0 { varint(offset) } else { 0 };
    1 + varint(4 * stream as u64) + offset_len + 2
}

fn ack_len(ack: &QuicAck) -> u32 {
    let Some(&(first, largest)) = ack.ranges.first() else { return 0 };
    let delay = ack.delay.as_micros() >> ACK_DELAY_EXPONENT;
    let mut len = 1 + varint(largest) + varint(delay) + varint(ack.ranges.len() as u64 - 1);
    len += varint(largest - first);
    for pair in ack.ranges.windows(2) {
        let [(before, _), (first, last)] = [pair[0], pair[1]];
        len += varint(before - last - 2) + varint(last - first);
    }
    len + ack.ecn.map_or(0, |ecn| varint(ecn.ect0) + varint(ecn.ect1) + varint(ecn.ce))
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Duration, EcnCounts};

    use super::*;

    #[test]
    fn a_packet_number_is_as_long_as_the_example_of_the_rfc() {
        // RFC 9000 §17.1 and Appendix A.2.
        assert_eq!(number_len(0x00ac_5c02, Some(0x00ab_e8b3)), 2);
        assert_eq!(number_len(0x00ac_e8fe, Some(0x00ab_e8b3)), 3);
        assert_eq!(number_len(0, None), 1);
    }

    #[test]
    fn frames_have_their_length() {
        let ack = QuicAck {
            ranges: vec![(90, 100), (50, 80)],
            delay: Duration::from_millis(1),
            ecn: None,
        };
        // Type 1, largest 2, delay 2, count 1, first range 1, gap 1, range 1.
        assert_eq!(frame_len(&QuicFrame::Ack(ack.clone())), 9);
        let ecn = Some(EcnCounts { ect0: 100, ect1: 0, ce: 1 });
        assert_eq!(frame_len(&QuicFrame::Ack(QuicAck { ecn, ..ack })), 13);
        let stream = QuicFrame::Stream { stream: 0, offset: 0, len: 100, fin: true };
        assert_eq!(frame_len(&stream), 104);
        assert_eq!(frame_len(&QuicFrame::Crypto { offset: 0, len: 100 }), 104);
    }

    #[test]
    fn a_full_packet_has_62_bytes_of_headers_with_ip_and_udp() {
        let frames = vec![QuicFrame::Stream { stream: 0, offset: 1 << 20, len: 1_000, fin: false }];
        let packet =
            QuicPacket { space: QuicSpace::Application, number: 1_000, zero_rtt: false, frames };
        let headers = 28 + packet_len(&packet, Some(990)) - 1_000;
        assert_eq!(headers, 28 + 9 + 1 + 16 + 8);
    }
}
