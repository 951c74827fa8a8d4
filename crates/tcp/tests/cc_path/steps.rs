//! Single steps of a controller: a loss, an acknowledgement, and a time without queues.

use aqmlab_core::{Duration, Instant};
use aqmlab_tcp::cc::{Ack, CcEvent, Congestion, CongestionControl, Signal, Window};

use super::MSS;

/// Loses a packet at a window of `at` segments. Leaves the window at the value from which growth
/// starts.
pub(crate) fn lose(cc: &mut dyn CongestionControl, window: &mut Window, at: u64, now: Instant) {
    window.cwnd = at * window.segment;
    let congestion = Congestion { now, in_flight: window.cwnd, signal: Signal::Loss, srtt: None };
    window.ssthresh = cc.ssthresh(window, &congestion);
    cc.on_event(window, CcEvent::RecoveryEntered, now);
    window.cwnd = window.ssthresh;
    cc.on_event(window, CcEvent::RecoveryLeft, now);
    let recovered = cc.post_recovery_cwnd(window);
    if recovered != window.ssthresh {
        window.cwnd = recovered;
    }
}

/// Returns an acknowledgement of the segment `number`, on a path with a constant delay of `rtt`.
pub(crate) fn plain_ack(window: &Window, number: u64, now: Instant, rtt: Duration) -> Ack {
    Ack {
        now,
        acked: window.segment,
        bytes: u64::from(MSS),
        in_flight: window.cwnd,
        rtt: Some(rtt),
        srtt: Some(rtt),
        min_rtt: Some(rtt),
        cwnd_limited: true,
        snd_una: number * u64::from(MSS),
        snd_nxt: (number + window.cwnd / window.segment) * u64::from(MSS),
        ..Ack::default()
    }
}

/// Passes a round-trip sample to `cc`, in the form of an acknowledgement.
pub(crate) fn sample(
    cc: &mut dyn CongestionControl,
    window: &mut Window,
    number: u64,
    (now, rtt): (Instant, Duration),
) {
    let ack = plain_ack(window, number, now, rtt);
    cc.on_sample(window, &ack);
}

/// Acknowledges a window every `rtt` for `span`, with evenly spaced acknowledgements. Passes each
/// acknowledgement to `cc`, and the state after it to `see`.
pub(crate) fn acknowledge_for(
    cc: &mut dyn CongestionControl,
    window: &mut Window,
    (from, span, rtt): (Instant, Duration, Duration),
    mut see: impl FnMut(&dyn CongestionControl, &Window, Instant),
) {
    let (mut now, mut number) = (from, 0);
    while now.since(from) < span {
        number += 1;
        let ack = plain_ack(window, number, now, rtt);
        cc.on_sample(window, &ack);
        cc.on_ack(window, &ack);
        see(cc, window, now);
        now += rtt / (window.cwnd / window.segment).max(1);
    }
}
