use super::*;

#[test]
fn the_fields_of_a_packet_stay_small() {
    assert!(size_of::<PacketFields>() <= 112, "{} bytes", size_of::<PacketFields>());
}

#[test]
fn sack_blocks_survive_being_relative() {
    let mut sack = SackBlocks::default();
    let ack = 5_000_000_000;
    assert!(sack.is_empty());
    let blocks = [
        (ack + 10, ack + 20),
        (ack - 1_460, ack),
        (ack + 30, ack + 40),
        (ack + 50, ack + 60),
        (ack + 70, ack + 80),
    ];
    for (pushed, (start, end)) in blocks.into_iter().enumerate() {
        sack.push(ack, start, end);
        let kept = &blocks[..(pushed + 1).min(4)];
        assert!(sack.iter(ack).eq(kept.iter().copied()), "{sack:?}");
        assert_eq!((sack.len(), sack.is_empty()), (kept.len(), false));
    }
}

#[test]
fn a_segment_ends_after_its_syn_fin_and_data() {
    let mut header = TcpHeader { seq: 10, payload: 5, ..TcpHeader::default() };
    assert_eq!(header.end(), 15);
    header.flags = TcpFlags::FIN.with(TcpFlags::ACK);
    assert_eq!(header.end(), 16);
}

#[test]
fn tuples_hash_apart_and_the_way_back_is_another_tuple() {
    let hashes: std::collections::BTreeSet<_> =
        (0..10_000).map(|n| FiveTuple::nth(n).hash()).collect();
    assert_eq!(hashes.len(), 10_000);
    let tuple = FiveTuple::nth(3);
    assert_ne!(tuple.hash(), tuple.reversed().hash());
    assert_eq!(tuple.reversed().reversed(), tuple);
}
