//! The removal of redundant acknowledgements.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_ack_filter`, `cake_tcph_may_drop` and
//! `cake_tcph_sack_compare`. The packet that has just joined a queue can make an older
//! acknowledgement of its connection redundant. The new packet must acknowledge all data that the
//! older packet acknowledges, and more data. [`redundant`] finds the acknowledgement, and
//! `filter_ack` in `arrivals.rs` drops it.

use std::cmp::Ordering;
use std::collections::VecDeque;

use aqmlab_core::{Header, PacketFields, TcpFlags, TcpHeader};

use super::settings::AckFilter;
use super::tin::Waiting;

/// Returns the index in `queue` of an acknowledgement to remove because the last packet of `queue`
/// makes it redundant; `None` if `filter` removes none.
pub(super) fn redundant(queue: &VecDeque<Waiting>, filter: AckFilter) -> Option<usize> {
    let last = queue.len().checked_sub(1).filter(|&last| last > 0 && filter != AckFilter::Off)?;
    let trigger = &queue[last].packet;
    let after = tcp(trigger)
        .filter(|header| header.flags.has(TcpFlags::ACK) && !header.flags.has(TcpFlags::SYN))?;
    let mut candidate: Option<(usize, u16)> = None;
    for (place, waiting) in queue.iter().enumerate().take(last) {
        let Some(header) = tcp(&waiting.packet).filter(|_| same_flow(&waiting.packet, trigger))
        else {
            continue;
        };
        // Without the candidate, a change of the ECN flags would be lost.
        candidate = candidate.filter(|(_, flags)| *flags == ecn_flags(header));
        if !is_pure_ack(header, after) || !is_covered(header, after) {
            continue;
        }
        match candidate {
            Some((place, _)) => return Some(place),
            None => candidate = Some((place, ecn_flags(header))),
        }
    }
    let alone = |(place, flags): &(usize, u16)| {
        filter == AckFilter::Aggressive && place + 1 == last && *flags == ecn_flags(after)
    };
    candidate.filter(alone).map(|(place, _)| place)
}

fn tcp(packet: &PacketFields) -> Option<&TcpHeader> {
    match &packet.header {
        Header::Tcp(header) => Some(header),
        Header::Udp(_) | Header::Quic(_) | Header::Icmp(_) => None,
    }
}

fn same_flow(one: &PacketFields, other: &PacketFields) -> bool {
    one.tuple_hash == other.tuple_hash
        && one.source == other.source
        && one.destination == other.destination
}

fn ecn_flags(header: &TcpHeader) -> u16 {
    header.flags.0 & TcpFlags::ECE.with(TcpFlags::CWR).0
}

/// Returns whether a segment only acknowledges, and has neither a newer `TSval` nor a newer `TSecr`
/// than `after`. The kernel does not know the flag AE, so a segment with AE is not a pure
/// acknowledgement.
fn is_pure_ack(header: &TcpHeader, after: &TcpHeader) -> bool {
    let flags = header.flags.0 & !TcpFlags::ECE.with(TcpFlags::CWR).0;
    let newer = |one: u32, other: u32| (1..1 << 31).contains(&one.wrapping_sub(other));
    let (value, echo) = if after.timestamps { (after.ts_val, after.ts_ecr) } else { (0, 0) };
    let is_newer = header.timestamps && (newer(header.ts_val, value) || newer(header.ts_ecr, echo));
    flags == TcpFlags::ACK.0 && header.payload == 0 && !is_newer
}

/// Returns whether `after` acknowledges all data that `header` acknowledges, and more data.
fn is_covered(header: &TcpHeader, after: &TcpHeader) -> bool {
    match (header.ack.cmp(&after.ack), compare_sacks(header, after)) {
        (Ordering::Greater, _) | (_, None) => false,
        (Ordering::Less, Some(_)) => true,
        (Ordering::Equal, Some(more)) => more,
    }
}

/// Returns whether `after` selectively acknowledges more bytes than `header`. Returns `None` if
/// `after` omits a byte that `header` selectively acknowledges, or if `header` has a duplicate
/// block.
fn compare_sacks(header: &TcpHeader, after: &TcpHeader) -> Option<bool> {
    let all: u64 = after.sack.iter(after.ack).map(|(start, end)| end - start).sum();
    let mut ours = 0;
    for (start, end) in header.sack.iter(header.ack) {
        let covers = |(from, to): (u64, u64)| from <= start && to >= end;
        if start < header.ack || !after.sack.iter(after.ack).any(covers) {
            return None;
        }
        ours += end - start;
    }
    Some(all > ours)
}
