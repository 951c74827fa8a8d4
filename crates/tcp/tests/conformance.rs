//! Tests the conformance statements about TCP, each with the script that pins it.
//!
//! Unit tests pin C-78 and C-79 (the retransmission timeout; `src/linux/rtt.rs`,
//! `src/freebsd/rtt.rs`). For NewReno, a unit test also pins C-81 (`src/cc/kinds/newreno.rs`).

mod support;

use std::path::Path;

use support::script;

fn holds(scripts: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    for name in scripts {
        if let Err(what) = script::run(&root.join(name)) {
            panic!("{what}");
        }
    }
}

#[test]
fn c77_the_initial_window_is_ten_segments() {
    holds(&[
        "slow_start/initial_window.pkt",
        "slow_start/initial_window_timestamps.pkt",
        "slow_start/initial_window_freebsd.pkt",
    ]);
}

#[test]
fn c78_the_timeout_starts_at_a_second_and_follows_the_first_sample() {
    holds(&["handshake/syn_lost_thrice.pkt", "rto/backoff_and_karn.pkt", "rto/freebsd.pkt"]);
}

#[test]
fn c80_two_full_segments_are_acknowledged_at_once_and_one_after_a_delay() {
    holds(&["delack/quick_then_delayed.pkt", "delack/freebsd.pkt"]);
}

#[test]
fn c81_a_loss_halves_the_window() {
    holds(&["prr/one_loss.pkt", "recovery/freebsd_sack.pkt", "rto/freebsd.pkt"]);
}

#[test]
fn c84_prr_sends_in_proportion_to_what_is_delivered() {
    holds(&["prr/one_loss.pkt", "prr/below_threshold.pkt"]);
}

#[test]
fn c85_rack_marks_only_what_was_sent_sufficiently_before() {
    holds(&["rack/only_what_was_sent_before.pkt", "rack/after_reordering.pkt"]);
}

#[test]
fn c86_an_echo_reduces_once_a_round_trip_and_cwr_stops_it() {
    holds(&["ecn/sender.pkt", "ecn/receiver.pkt", "ecn/freebsd.pkt"]);
}
