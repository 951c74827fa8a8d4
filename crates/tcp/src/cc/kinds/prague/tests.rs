use aqmlab_core::{Args, Duration, Instant};

use super::KINDS;
use crate::cc::{Ack, CcEvent, EcnMode, Feedback, Start, Totals, Window};

#[test]
fn a_host_that_counts_bytes_keeps_the_size_of_its_segments() {
    for (segment, want) in [(1, 150), (1_448, 1_448)] {
        let mut cc = (KINDS[0].build)(&Args::defaults(KINDS[0].params));
        let mut window =
            Window { cwnd: 2 * segment, ssthresh: segment, segment, mss: 1_448, clamp: 1 << 40 };
        let totals = Totals { snd_una: 1, snd_nxt: 2, delivered: 1, delivered_ce: 1 };
        cc.on_start(&Start { ecn: EcnMode::Accurate, header: 52, totals });
        cc.on_established(&mut window, Instant::ZERO, Some(Duration::from_millis(10)));
        for round in 1..200 {
            let now = Instant::from_millis(round * 1_000);
            let totals = Totals {
                snd_una: 1 + round,
                snd_nxt: 2 + round,
                delivered: 1 + round,
                delivered_ce: 1 + round,
            };
            cc.on_feedback(&Feedback { totals, marks: 1, ..Feedback::default() });
            cc.on_event(&mut window, CcEvent::CwrEntered, now);
            let mut ack = ack(now);
            ack.rate.acked_sacked = segment;
            cc.control(&mut window, &ack, false);
            cc.on_event(&mut window, CcEvent::Opened, now);
        }
        assert_eq!(window.mss, want, "{segment} units per segment");
    }
}

fn ack(now: Instant) -> Ack {
    Ack { now, cwnd_limited: true, ..Ack::default() }
}
