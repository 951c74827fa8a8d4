//! Conformance statements C-172 to C-175 of CAKE: the removal of redundant acknowledgements.

mod rig;

use aqmlab_core::{Header, Packet, PacketFields, Reason, SackBlocks, TcpFlags, TcpHeader};
use rig::Rig;
use rig::cake::{START, cake, flag, mbit, statistic, word};

/// Returns a segment with `id` as its sequence number, which acknowledges all bytes below `ack`.
fn ack(id: u64, ack: u64) -> TcpHeader {
    TcpHeader { seq: id, ack, flags: TcpFlags::ACK, ..TcpHeader::default() }
}

fn packet(id: u64, header: TcpHeader) -> Packet {
    let ip_len = 40 + u32::from(header.options_len) + header.payload;
    PacketFields { header: Header::Tcp(header), ..PacketFields::plain(id, 1, ip_len) }.into()
}

/// Queues segments of one flow. Returns the numbers of the removed segments.
fn removed(filter: &str, headers: impl IntoIterator<Item = TcpHeader>) -> Vec<u64> {
    rig_after(filter, headers).ledger.drops()
}

fn rig_after(filter: &str, headers: impl IntoIterator<Item = TcpHeader>) -> Rig {
    let mut rig = cake(&[mbit(1), word("ack_filter", filter)]);
    for (id, header) in headers.into_iter().enumerate() {
        rig.offer(START, packet(id as u64, header));
    }
    rig
}

fn with_flags(header: TcpHeader, more: TcpFlags) -> TcpHeader {
    TcpHeader { flags: header.flags.with(more), ..header }
}

fn with_sack(mut header: TcpHeader, blocks: &[(u64, u64)]) -> TcpHeader {
    header.sack = SackBlocks::default();
    for &(start, end) in blocks {
        header.sack.push(header.ack, start, end);
    }
    header.options_len = 12;
    header
}

#[test]
fn c172_the_oldest_of_three_acknowledgements_is_removed() {
    let three = || [ack(0, 1_000), ack(1, 2_000), ack(2, 3_000)];
    let rig = rig_after("on", three());
    assert_eq!(rig.ledger.dropped, [(0, Reason::Filtered)]);
    assert_eq!((rig.packets(), statistic(&rig, "best_effort_ack_drops")), (2, 1));
    assert_eq!(removed("off", three()), []);
    assert_eq!(removed("on", [ack(0, 1_000), ack(1, 2_000)]), []);
}

#[test]
fn c172_data_may_make_an_acknowledgement_redundant_but_is_never_removed() {
    let data = |id, at| TcpHeader { payload: 500, ..ack(id, at) };
    assert_eq!(removed("on", [ack(0, 1_000), ack(1, 2_000), data(2, 3_000)]), [0]);
    assert_eq!(removed("on", [data(0, 1_000), data(1, 2_000), ack(2, 3_000)]), []);
}

#[test]
fn c173_a_change_of_the_ecn_flags_protects_acknowledgements() {
    let echo = |header| with_flags(header, TcpFlags::ECE);
    let toggling = || [ack(0, 1_000), echo(ack(1, 2_000)), ack(2, 3_000)];
    assert_eq!(removed("on", toggling()), []);
    assert_eq!(removed("aggressive", toggling()), []);
    let steady = [echo(ack(0, 1_000)), echo(ack(1, 2_000)), echo(ack(2, 3_000))];
    assert_eq!(removed("on", steady), [0]);
    // With accurate ECN, an acknowledgement whose counter is 4 or more has the flag AE.
    let accurate = |header| with_flags(header, TcpFlags::AE);
    let counting = [accurate(ack(0, 1_000)), accurate(ack(1, 2_000)), accurate(ack(2, 3_000))];
    assert_eq!(removed("aggressive", counting), []);
}

#[test]
fn c174_the_aggressive_filter_removes_a_single_acknowledgement() {
    assert_eq!(removed("aggressive", [ack(0, 1_000), ack(1, 2_000)]), [0]);
    let between = TcpHeader { payload: 1, ..ack(1, 1_000) };
    let apart = [ack(0, 1_000), between, ack(2, 2_000)];
    assert_eq!(removed("aggressive", apart), [], "its successor must follow directly");
}

#[test]
fn c175_duplicate_acknowledgements_stay() {
    for filter in ["on", "aggressive"] {
        assert_eq!(removed(filter, (0..5).map(|id| ack(id, 1_000))), []);
        let selective = |id| with_sack(ack(id, 1_000), &[(2_000, 3_000)]);
        assert_eq!(removed(filter, (0..5).map(selective)), []);
    }
    // Each acknowledgement selectively acknowledges more than the preceding acknowledgement.
    let growing = |id: u64| with_sack(ack(id, 1_000), &[(2_000, 3_000 + 1_000 * id)]);
    assert_eq!(removed("on", (0..3).map(growing)), [0]);
    let lost = [growing(5), growing(1), growing(0)];
    assert_eq!(removed("aggressive", lost), [], "what is selected must not be lost");
    let duplicate = |id| with_sack(ack(id, 5_000 + id), &[(2_000, 3_000)]);
    assert_eq!(removed("aggressive", (0..3).map(duplicate)), [], "a duplicate block stays");
}

/// Tests statement C-64.
#[test]
fn other_segments_and_newer_timestamps_stay() {
    for flags in [TcpFlags::PSH, TcpFlags::FIN, TcpFlags::RST, TcpFlags::SYN] {
        let flagged = |id| with_flags(ack(id, 1_000 * id), flags);
        assert_eq!(removed("aggressive", (1..4).map(flagged)), []);
    }
    let timed = |id, at, value| {
        let header = ack(id, at);
        TcpHeader { timestamps: true, ts_val: value, ts_ecr: 1, options_len: 12, ..header }
    };
    assert_eq!(removed("aggressive", [timed(0, 1_000, 7), timed(1, 2_000, 7)]), [0]);
    assert_eq!(removed("aggressive", [timed(0, 1_000, 8), timed(1, 2_000, 7)]), []);
    // The clock of timestamps wraps.
    assert_eq!(removed("aggressive", [timed(0, 1_000, u32::MAX), timed(1, 2_000, 0)]), [0]);
}

#[test]
fn in_ingress_mode_a_removed_acknowledgement_costs_its_time() {
    let three = || [ack(0, 1_000), ack(1, 2_000), ack(2, 3_000)];
    let ready = |more: &[_]| {
        let mut all = vec![mbit(1), word("ack_filter", "on")];
        all.extend_from_slice(more);
        let mut rig = cake(&all);
        for (id, header) in three().into_iter().enumerate() {
            rig.offer(START, packet(id as u64, header));
        }
        rig.take(START);
        rig.qdisc.ready_at()
    };
    assert!(ready(&[]) < ready(&[flag("ingress")]));
}
