use aqmlab_core::TcpFlags;

use super::*;
use crate::linux::testing;

fn connection(cc: &str, send_buffer: Option<u64>) -> (Linux, Tcb) {
    let (mut linux, mut tcb) = testing::with(Profile::linux(), cc, send_buffer);
    linux.init_sndbuf(&mut tcb);
    (linux, tcb)
}

/// The memory in bytes that `tcp_sndbuf_expand` counts for a segment of up to 1460 bytes. 1460, 256
/// and 320 bytes are rounded up to 2048, and the 256 bytes of `struct sk_buff` are added.
const EXPANSION: u64 = 2_048 + 256;

#[test]
fn there_is_space_for_two_windows_or_three_with_bbr() {
    for (cc, cwnd, want) in [
        ("reno", 10, 2 * 10 * EXPANSION),
        ("bbr", 10, 3 * 10 * EXPANSION),
        ("reno", 50, 100 * EXPANSION),
    ] {
        let (mut linux, mut tcb) = connection(cc, None);
        tcb.window.cwnd = cwnd;
        linux.sndbuf.expand(&tcb, 3);
        assert_eq!(linux.sndbuf.limit, want, "{cc} {cwnd}");
    }
    let (mut fixed, tcb) = connection("reno", Some(64_000));
    fixed.sndbuf.expand(&tcb, 3);
    assert_eq!(fixed.sndbuf.limit, 128_000);
}

/// Tests that the send buffer exceeds its limit by less than an `skb`. An `skb` holds 45 segments.
/// A second `skb` may begin because the memory is below the limit.
#[test]
fn the_limit_is_overstepped_by_less_than_an_skb() {
    let (mut linux, mut tcb) = connection("reno", Some(40_000));
    assert_eq!(linux.append(&mut tcb, 1_000_000), 2 * 65_160);
    assert_eq!(linux.sndbuf.memory(&tcb), 2 * (65_160 + 1_280));
    assert_eq!(linux.append(&mut tcb, 1), 0);
    assert_eq!(linux.sndbuf.head_end(), 65_161);
}

/// Tests that a writer wakes when the free memory is at least half of the memory in use
/// (`sk_stream_is_writeable`).
#[test]
fn a_writer_is_woken_when_a_third_is_free() {
    let (mut linux, mut tcb) = connection("reno", Some(48_000));
    for (bytes, want) in [(62_720, true), (1, false)] {
        linux.append(&mut tcb, bytes);
        let memory = linux.sndbuf.memory(&tcb);
        assert_eq!(linux.has_new_space(&tcb), want, "{memory} in use");
    }
}

/// Tests that an `skb` carries PSH where a write ended (`tcp_mark_push`), until the next write
/// continues the `skb` (`tcp_sendmsg_locked`).
#[test]
fn an_skb_carries_psh_where_a_write_ended_until_the_next_continues_it() {
    let (mut linux, mut tcb) = connection("reno", None);
    linux.append(&mut tcb, 3_000);
    assert!(linux.sndbuf.pushes_at(3_001));
    linux.lay_out(&mut tcb, 500, 65_160, Part::First);
    assert!(!linux.sndbuf.pushes_at(3_501));
}

/// Tests that the end of a burst carries PSH only in its first transmission. `__tcp_transmit_skb`
/// sets PSH only in the clone that is sent, so a retransmission lacks PSH.
#[test]
fn the_end_of_a_burst_carries_psh_only_once() {
    let (mut linux, mut tcb) = connection("reno", None);
    (tcb.window.cwnd, tcb.snd.wnd) = (10, 1 << 20);
    linux.append(&mut tcb, 4 * 1_448);
    linux.push_pending(&mut tcb);
    let push = |flags: TcpFlags| flags.has(TcpFlags::PSH);
    let sent: Vec<bool> = tcb.out.iter().map(|one| push(one.header.flags)).collect();
    let first = tcb.board.front_id().unwrap();
    let kept: Vec<bool> = (first..first + 4).map(|id| push(tcb.board.get(id).control())).collect();
    assert_eq!(sent, [false, true, false, true]);
    assert_eq!(kept, [false, false, false, true]);
}

/// Tests that the limit grows although the last burst fills the window. `tcp_event_new_data_sent`
/// checks the space after each burst, and only the last burst leaves the window full.
#[test]
fn the_limit_grows_with_a_window_that_its_last_burst_fills() {
    let (mut linux, mut tcb) = connection("reno", None);
    (tcb.window.cwnd, tcb.snd.wnd, tcb.writer.waits_for_space) = (20, 1 << 20, true);
    linux.append(&mut tcb, 20 * 1_448);
    linux.push_pending(&mut tcb);
    assert_eq!(u64::from(tcb.board.in_flight()), tcb.cwnd_segments());
    assert_eq!(linux.sndbuf.limit, 20 * 2 * EXPANSION);
}
