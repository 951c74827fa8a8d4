//! Tests the conformance statements on accurate ECN and DCTCP, and on Prague without accurate ECN.

mod cc_path;
mod support;

use std::sync::Arc;

use aqmlab_core::{Duration, Ecn, Instant, TcpFlags, Value};
use aqmlab_tcp::Connection;
use aqmlab_tcp::cc::{Congestion, EcnMode, Signal, Start, Totals};
use support::ecn::{End, ace, host, sent};

const NO_BITS: TcpFlags = TcpFlags(0);

/// C-191: a SYN-ACK of accurate ECN echoes the ECN field of the SYN.
#[test]
fn a_syn_ack_reports_the_ecn_field_of_the_syn() {
    for (field, want) in
        [(Ecn::NotEct, 0b010), (Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)]
    {
        for tcp_ecn in 3..=5 {
            let (_, syn_ack) = End::passive(host(tcp_ecn, "reno"), ace(0b111), field);
            assert_eq!(syn_ack.header.flags.ace(), want, "{field:?}, tcp_ecn {tcp_ecn}");
            assert_eq!(syn_ack.ecn, Ecn::NotEct);
        }
    }
}

/// C-191: the modes of `tcp_ecn` accept different requests.
#[test]
fn a_host_accepts_what_its_setting_allows() {
    // Any bits except 000 and 011 request accurate ECN.
    for (tcp_ecn, request, field, want) in [
        (0, 0b011, Ecn::NotEct, 0b000),
        (0, 0b111, Ecn::NotEct, 0b000),
        (1, 0b011, Ecn::NotEct, 0b001),
        (1, 0b111, Ecn::NotEct, 0b001),
        (1, 0b000, Ecn::NotEct, 0b000),
        // A SYN without AE must not be ECN-capable, except for a host that needs ECN.
        (1, 0b011, Ecn::Ect0, 0b000),
        (1, 0b111, Ecn::Ect0, 0b001),
        (2, 0b011, Ecn::NotEct, 0b001),
        (3, 0b011, Ecn::NotEct, 0b001),
        (3, 0b000, Ecn::NotEct, 0b000),
        (3, 0b001, Ecn::NotEct, 0b010),
        (3, 0b101, Ecn::NotEct, 0b010),
        (4, 0b011, Ecn::NotEct, 0b001),
        (5, 0b111, Ecn::NotEct, 0b010),
    ] {
        let (_, syn_ack) = End::passive(host(tcp_ecn, "reno"), ace(request), field);
        assert_eq!(syn_ack.header.flags.ace(), want, "tcp_ecn {tcp_ecn}, {request:03b} {field:?}");
    }
    let (_, syn_ack) = End::passive(host(0, "dctcp"), ace(0b011), Ecn::Ect0);
    assert_eq!((syn_ack.header.flags.ace(), syn_ack.ecn), (0b001, Ecn::Ect0));
}

/// C-191: the setting and the controller determine the bits of a SYN.
#[test]
fn a_host_requests_what_its_setting_and_its_controller_want() {
    for (tcp_ecn, cc, want, field) in [
        (0, "reno", 0b000, Ecn::NotEct),
        (1, "reno", 0b011, Ecn::NotEct),
        (2, "reno", 0b000, Ecn::NotEct),
        (3, "reno", 0b111, Ecn::NotEct),
        (4, "reno", 0b011, Ecn::NotEct),
        (5, "reno", 0b000, Ecn::NotEct),
        (0, "dctcp", 0b011, Ecn::Ect0),
        (3, "dctcp", 0b111, Ecn::Ect0),
    ] {
        let (_, syn, _) = End::active(host(tcp_ecn, cc), NO_BITS, Ecn::NotEct);
        assert_eq!((syn.header.flags.ace(), syn.ecn), (want, field), "tcp_ecn {tcp_ecn} {cc}");
    }
}

/// Tests that a retransmitted SYN keeps its ECN field and loses only the flags of its request
/// (`tcp_ecn_clear_syn`). The socket of a controller that needs ECN still sends ECN-capable packets
/// (`tcp_ecn_send_syn`).
#[test]
fn a_retransmitted_syn_keeps_its_ecn_field_without_a_request() {
    for (cc, field) in [("reno", Ecn::NotEct), ("dctcp", Ecn::Ect0)] {
        let mut tcp = Connection::active(host(1, cc), Instant::ZERO);
        let first = sent(&mut tcp, Instant::ZERO).remove(0);
        let due = tcp.poll_timeout().expect("the timer of the SYN is set");
        tcp.handle_timeout(due);
        let again = sent(&mut tcp, due).remove(0);
        assert_eq!((first.header.flags.ace(), first.ecn), (0b011, field), "{cc}");
        assert_eq!((again.header.flags.ace(), again.ecn), (0b000, field), "{cc}");
        assert!(again.retransmission && again.header.flags.has(TcpFlags::SYN));
    }
}

/// C-191: the answer to a request for accurate ECN selects the form of ECN. The third segment of
/// the handshake echoes the ECN field of the SYN-ACK; data then carries the counter, which starts
/// at 5.
#[test]
fn the_answer_selects_the_form_of_ecn() {
    let accurate = |bits| (bits, Some(0b101), Ecn::Ect0);
    let (classic, off) = ((0b000, Some(0b000), Ecn::Ect0), (0b000, Some(0b000), Ecn::NotEct));
    for (answer, field, (third, data, capable)) in [
        (0b000, Ecn::NotEct, off),
        (0b111, Ecn::NotEct, off),
        (0b001, Ecn::NotEct, classic),
        (0b101, Ecn::NotEct, classic),
        (0b010, Ecn::NotEct, accurate(0b010)),
        (0b011, Ecn::Ect1, accurate(0b011)),
        (0b100, Ecn::Ect0, accurate(0b100)),
        (0b110, Ecn::NotEct, accurate(0b010)),
    ] {
        let (mut end, _, ack) = End::active(host(3, "reno"), ace(answer), field);
        assert_eq!(ack.header.flags.ace(), third, "third, {answer:03b}");
        let sent = end.write(1_000).remove(0);
        let bits = Some(sent.header.flags.ace());
        assert_eq!((bits, sent.ecn), (data, capable), "data, {answer:03b}");
    }
    // A mark of the SYN-ACK counts if the SYN was ECN-capable.
    let (mut end, _, ack) = End::active(host(3, "dctcp"), ace(0b100), Ecn::Ce);
    assert_eq!(ack.header.flags.ace(), 0b110);
    assert_eq!(end.write(1_000)[0].header.flags.ace(), 6);
}

/// C-191: after a third segment without counter, packets are not ECN-capable.
#[test]
fn cleared_feedback_ends_ecn() {
    for (third, want) in [(0b000, Ecn::NotEct), (0b010, Ecn::Ect0), (0b111, Ecn::Ect0)] {
        let (mut end, _) = End::passive(host(3, "reno"), ace(0b111), Ecn::NotEct);
        end.arrive(ace(third), 1, 0, Ecn::NotEct);
        let data = end.write(1_000).remove(0);
        assert_eq!(data.ecn, want, "{third:03b}");
        assert_eq!(data.header.flags.ace(), 5);
    }
    // An acknowledgement of the first data never has a counter of zero.
    let (mut end, _, _) = End::active(host(3, "reno"), ace(0b010), Ecn::NotEct);
    end.write(1_000);
    end.arrive(ace(0), 1_001, 0, Ecn::NotEct);
    assert_eq!(end.write(1_000)[0].ecn, Ecn::NotEct);
}

/// Returns a server with accurate ECN whose handshake is complete.
fn receiver() -> End {
    let (mut end, _) = End::passive(host(3, "reno"), ace(0b111), Ecn::NotEct);
    end.arrive(ace(0b010), 1, 0, Ecn::NotEct);
    end
}

/// C-190: ACE counts packets with CE from 5, modulo 8.
#[test]
fn the_counter_starts_at_five_and_wraps_at_eight() {
    let mut end = receiver();
    let mut acks = end.arrive(ace(5), 1, 1_000, Ecn::Ect0);
    assert_eq!(acks.remove(0).header.flags.ace(), 5);
    for count in 1..=11 {
        let last = end.arrive(ace(5), 1, 1_000, Ecn::Ce).pop().expect("the first are prompt");
        assert_eq!(u64::from(last.header.flags.ace()), (5 + count) % 8, "{count} marks");
    }
    assert_eq!(end.tcp.stats().ce_received, 11);
    // A pure acknowledgement with CE also counts.
    end.arrive(ace(5), 1, 0, Ecn::Ce);
    assert_eq!(end.write(1_000)[0].header.flags.ace(), 1);
}

/// C-194: a change of the ECN field is acknowledged at once, and other segments in pairs.
#[test]
fn each_change_of_the_ecn_field_is_acknowledged_at_once() {
    let mut end = receiver();
    let mut step = |field| {
        end.now += Duration::from_millis(1);
        end.arrive(ace(5), 1, 1_448, field).len()
    };
    // The first acknowledgements are prompt. An odd number of later segments leaves one
    // acknowledgement pending.
    let quiet = (0..30).map(|_| step(Ecn::Ect0)).collect::<Vec<_>>();
    assert!(quiet[16..].windows(2).all(|pair| pair[0] + pair[1] == 1), "{quiet:?}");
    if quiet[29] == 0 {
        step(Ecn::Ect0);
    }
    for field in [Ecn::Ce, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect0] {
        assert_eq!(step(field), 1, "{field:?}");
    }
    assert_eq!((step(Ecn::Ect0), step(Ecn::Ect0)), (0, 1), "no change");
}

/// Returns a sender with ten segments in flight, of 1460 bytes each.
fn sender(cc: &str) -> End {
    let (mut end, syn, _) = End::active(host(3, cc), ace(0b010), Ecn::NotEct);
    assert_eq!(syn.header.flags.ace(), 0b111);
    let sent = end.write(100_000);
    assert_eq!(sent.len(), 10);
    end.now += Duration::from_millis(40);
    end
}

/// C-222: an acknowledgement of at most seven segments reports the smallest number of marks that
/// the counter allows. An acknowledgement of more segments reports the largest number.
#[test]
fn a_counter_that_may_have_wrapped_counts_for_the_most() {
    for (segments, counter, want) in
        [(1, 5, 0), (1, 6, 1), (7, 1, 4), (7, 4, 7), (8, 5, 8), (8, 6, 1), (9, 5, 8), (10, 7, 10)]
    {
        let (mut end, _, _) = End::active(host(3, "dctcp"), ace(0b100), Ecn::NotEct);
        end.write(100_000);
        end.now += Duration::from_millis(40);
        end.arrive(ace(counter), 1 + segments * 1_460, 0, Ecn::NotEct);
        let got = end.tcp.metrics().gauges.iter().find(|(name, _)| *name == "marks").map(|g| g.1);
        assert_eq!(got, Some(want as f64), "{segments} segments, ACE {counter}");
    }
}

/// C-223: a report of marks reduces the window once per round trip.
#[test]
fn a_counter_that_rises_reduces_the_window() {
    let mut end = sender("reno");
    end.arrive(ace(6), 1_461, 0, Ecn::NotEct);
    assert_eq!((end.tcp.stats().ece_reductions, end.tcp.metrics().recovery), (1, "cwr"));
    end.arrive(ace(7), 2_921, 0, Ecn::NotEct);
    assert_eq!(end.tcp.stats().ece_reductions, 1);
    // CWR and ECE are bits of the counter and have no separate meaning.
    let mut end = sender("reno");
    end.arrive(ace(5), 1_461, 0, Ecn::NotEct);
    assert_eq!(end.tcp.stats().ece_reductions, 0);
}

/// C-224: data, acknowledgements and retransmissions of accurate ECN are ECN-capable.
#[test]
fn every_packet_of_accurate_ecn_is_capable() {
    let mut end = receiver();
    let ack = end.arrive(ace(5), 1, 1_000, Ecn::Ect0).remove(0);
    assert_eq!((ack.header.payload, ack.ecn), (0, Ecn::Ect0));
    let mut end = sender("reno");
    end.now += Duration::from_secs(2);
    let now = end.now;
    end.tcp.handle_timeout(now);
    end.tcp.handle_timeout(now + Duration::from_secs(1));
    let again = support::ecn::sent(&mut end.tcp, now + Duration::from_secs(1));
    assert!(again.iter().any(|segment| segment.retransmission), "{again:?}");
    assert!(again.iter().all(|segment| segment.ecn == Ecn::Ect0), "{again:?}");
}

/// Passes the totals of `windows` windows of 100 segments to DCTCP, with `marked` marked segments
/// in each window. Returns DCTCP's estimate in 1024ths.
fn estimate(initial: u64, windows: u64, marked: u64) -> u64 {
    let changes = [("dctcp_alpha_on_init", Value::Count(initial))];
    let mut cc = cc_path::controller("dctcp", &changes);
    cc.on_start(&Start { ecn: EcnMode::Classic, header: 52, totals: Totals::default() });
    for window in 1..=windows {
        cc.on_totals(&Totals {
            snd_una: window * 100,
            snd_nxt: (window + 1) * 100,
            delivered: window * 100,
            delivered_ce: window * marked,
        });
    }
    (cc_path::gauge(&*cc, "alpha") * 1_024.0) as u64
}

/// C-88, C-182: in n windows every segment is marked. The estimate of Linux then exceeds 1 −
/// (15/16)ⁿ by less than 1/64, because of its fixed point.
#[test]
fn dctcps_estimate_rises_by_a_sixteenth_of_the_rest() {
    for (windows, want) in [(1, 64), (5, 284), (16, 664), (50, 991)] {
        let got = estimate(0, windows, 100);
        assert_eq!(got, want, "{windows} windows");
        let law = 1_024.0 * (1.0 - (15.0_f64 / 16.0).powi(windows as i32));
        assert!((0.0..16.0).contains(&(got as f64 - law)), "{windows}: {got}, {law}");
    }
}

/// C-183: if a constant fraction of the segments is marked, the estimate becomes this fraction, and
/// the window is reduced by half of this fraction.
#[test]
fn dctcps_estimate_becomes_the_marked_fraction() {
    for marked in [5, 10, 25, 50, 80, 100] {
        let got = estimate(1_024, 400, marked);
        let share = 1_024 * marked / 100;
        assert!((share - 16..=share + 16).contains(&got), "{marked} %: {got}");
    }
    let mut window = cc_path::fresh_window(1);
    window.cwnd = 1_000;
    let mut cc = cc_path::controller("dctcp", &[("dctcp_alpha_on_init", Value::Count(256))]);
    cc.on_start(&Start { ecn: EcnMode::Classic, header: 52, totals: Totals::default() });
    let now = Instant::from_millis(1);
    let mut threshold = |signal| {
        let congestion = Congestion { now, in_flight: 1_000, signal, srtt: None };
        cc.ssthresh(&window, &congestion)
    };
    assert_eq!(threshold(Signal::EcnEcho), 875, "an eighth of the window");
    assert_eq!(threshold(Signal::Rto), 500);
}

/// Returns a sender with DCTCP and classic ECN, which has ten segments in flight.
fn dctcp() -> End {
    let (mut end, _, _) = End::active(host(0, "dctcp"), ace(0b001), Ecn::NotEct);
    assert!(end.write(100_000).iter().all(|segment| segment.ecn == Ecn::Ect0));
    end.now += Duration::from_millis(40);
    end
}

/// C-183: all segments that an acknowledgement with ECE delivers count as marked, before the
/// window is reduced. The first acknowledgement completes a round in which all four segments were
/// marked, so the estimate is 1 at the first reduction.
#[test]
fn dctcp_counts_the_segments_of_marked_acknowledgements() {
    let mut end = dctcp();
    end.arrive(ace(0b001), 1 + 4 * 1_460, 0, Ecn::NotEct);
    assert_eq!(end.tcp.sender_state().ssthresh_bytes, Some(5 * 1_460));
    assert_eq!(end.tcp.metrics().gauges, vec![("alpha", 1.0), ("marks", 4.0)]);
    end.arrive(ace(0), 1 + 10 * 1_460, 0, Ecn::NotEct);
    assert_eq!(end.tcp.metrics().gauges, vec![("alpha", 0.9375), ("marks", 4.0)]);
}

/// Without SACK, a duplicate acknowledgement with ECE reports a marked segment. A controller that
/// needs ECN learns of it with the next acknowledgement (`tcp_add_reno_sack`, `tcp_in_ack_event`).
#[test]
fn without_sack_a_duplicate_acknowledgement_with_ece_counts_a_marked_segment() {
    let mut host = host(0, "dctcp");
    Arc::make_mut(&mut host.profile).sack = false;
    let (mut end, _, _) = End::active(host, ace(0b001), Ecn::NotEct);
    end.write(100_000);
    end.now += Duration::from_millis(40);
    let mut marks_after = |bits| {
        end.arrive(ace(bits), 1, 0, Ecn::NotEct);
        end.tcp.metrics().gauges[1]
    };
    // The first acknowledgement updates the window, so it is no duplicate.
    let marks = [0b001, 0b001, 0b001, 0b000, 0b000].map(&mut marks_after);
    assert_eq!(marks, [0.0, 0.0, 1.0, 2.0, 2.0].map(|count| ("marks", count)));
}

/// Tests the acknowledgements of DCTCP when marks begin or end. A pending acknowledgement is first
/// sent with the previous state, and the new state is then acknowledged at once (RFC 8257 §3.2).
#[test]
fn a_receiver_of_dctcp_echoes_each_mark() {
    let (mut end, _) = End::passive(host(0, "dctcp"), ace(0b011), Ecn::Ect0);
    end.arrive(NO_BITS, 1, 0, Ecn::Ect0);
    let mut step = |field| {
        end.now += Duration::from_millis(1);
        let acks = end.arrive(NO_BITS, 1, 1_460, field);
        assert!(acks.iter().all(|ack| ack.ecn == Ecn::Ect0));
        acks.iter()
            .map(|ack| (ack.header.ack, ack.header.flags.has(TcpFlags::ECE)))
            .collect::<Vec<_>>()
    };
    let mut count = 0;
    let mut until_pending = || loop {
        count += 1;
        if step(Ecn::Ect0).is_empty() && count > 50 {
            break count;
        }
    };
    let end_of = |segments: u64| 1 + segments * 1_460;
    let before = until_pending();
    assert_eq!(step(Ecn::Ce), [(end_of(before), false), (end_of(before + 1), true)]);
    let acks: Vec<_> = (0..2).map(|_| step(Ecn::Ce)).collect();
    assert_eq!(acks, [vec![], vec![(end_of(before + 3), true)]]);
    assert_eq!(step(Ecn::Ect0), [(end_of(before + 4), false)]);
}

/// C-192: Prague without accurate ECN is Reno, and its packets are not ECN-capable.
#[test]
fn prague_without_accurate_ecn_is_reno() {
    for answer in [0b000, 0b001, 0b101, 0b111] {
        let (mut end, syn, third) = End::active(host(0, "prague"), ace(answer), Ecn::NotEct);
        assert_eq!((syn.header.flags.ace(), syn.ecn, third.ecn), (0b111, Ecn::Ect1, Ecn::NotEct));
        let mut reno = End::active(host(0, "reno"), NO_BITS, Ecn::NotEct).0;
        for end in [&mut end, &mut reno] {
            assert!(end.write(100_000).iter().all(|segment| segment.ecn == Ecn::NotEct));
            end.now += Duration::from_millis(40);
            end.arrive(NO_BITS, 1 + 4 * 1_460, 0, Ecn::NotEct);
        }
        assert_eq!(
            end.tcp.sender_state().cwnd_bytes,
            reno.tcp.sender_state().cwnd_bytes,
            "{answer:03b}"
        );
        assert_eq!(end.tcp.sender_state().ssthresh_bytes, None);
    }
    let (mut end, _, third) = End::active(host(0, "prague"), ace(0b011), Ecn::Ect1);
    assert_eq!((third.header.flags.ace(), third.ecn), (0b011, Ecn::Ect1));
    assert!(end.write(100_000).iter().all(|segment| segment.ecn == Ecn::Ect1));
}

/// Tests that a DCTCP sender whose peer refuses ECN behaves as Reno, and that its packets are not
/// ECN-capable.
#[test]
fn dctcp_without_ecn_is_reno() {
    for answer in [0b000, 0b111] {
        let (mut end, _, third) = End::active(host(0, "dctcp"), ace(answer), Ecn::NotEct);
        let mut reno = End::active(host(0, "reno"), NO_BITS, Ecn::NotEct).0;
        assert_eq!(third.ecn, Ecn::NotEct);
        for end in [&mut end, &mut reno] {
            assert!(end.write(100_000).iter().all(|segment| segment.ecn == Ecn::NotEct));
            end.now += Duration::from_millis(40);
            end.arrive(ace(0b001), 1 + 4 * 1_460, 0, Ecn::NotEct);
        }
        assert_eq!(end.tcp.sender_state().cwnd_bytes, reno.tcp.sender_state().cwnd_bytes);
        assert_eq!(end.tcp.sender_state().ssthresh_bytes, None);
    }
}
