//! Tests that a host runs its own stack and no part of the other stack.

mod support;

use aqmlab_core::{Duration, Instant};
use aqmlab_tcp::Profile;
use support::{Pair, Wire, config};

/// Tests that FreeBSD 10 has neither tail loss probes nor a reordering timer.
#[test]
fn a_freebsd_host_that_writes_and_then_sends_without_end_probes_no_tail() {
    let host = || config(Profile::freebsd(), "newreno");
    let mut pair = Pair::new(host(), host(), Wire { loss: 0.02, ..Wire::clean(20) }, 3);
    pair.run(Instant::from_millis(500));
    // The last write finds no space, so the application waits for space.
    for bytes in [1_000_000, 1] {
        pair.ends[0].write(pair.now, bytes);
    }
    pair.ends[0].send_unlimited();
    pair.run(Instant::ZERO + Duration::from_secs(20));
    assert!(pair.ends[0].stats().retransmitted_segments > 0, "the wire loses segments");
    assert_eq!(pair.ends[0].stats().tlps, 0);
}
