use super::*;
use crate::testing::{Call, Net, build, close, known};

#[test]
fn a_request_is_answered_in_a_round_trip() {
    let summary = Net::new(1).run_secs(&mut *build("coap", &[]), 30);
    assert!((30.0..=31.0).contains(&known(&summary, "requests_count")));
    close(known(&summary, "response_p50_ms"), 40.1, 0.1);
    close(known(&summary, "retransmissions_count"), 0.0, 0.0);
    close(known(&summary, "failed_count"), 0.0, 0.0);
}

#[test]
fn an_unanswered_request_is_sent_five_times_with_doubling_gaps() {
    for seed in 0..20 {
        let mut net = Net::new(seed).with_loss(1.0);
        let summary = net.run_secs(&mut *build("coap", &[]), 100);
        let sent: Vec<f64> = net
            .calls
            .iter()
            .filter(|(_, call)| matches!(call, Call::Send(..)))
            .map(|(at, _)| at.as_secs_f64())
            .collect();
        let gaps: Vec<f64> = sent.windows(2).take(5).map(|pair| pair[1] - pair[0]).collect();
        assert!((2.0..3.0).contains(&gaps[0]), "seed {seed}: {gaps:?}");
        for n in 1..4 {
            close(gaps[n], gaps[0] * f64::from(1 << n), 1e-6);
        }
        // After the last copy, the request waits for 16 times the first timeout. The next
        // request, which is overdue, follows at once.
        close(gaps[4], gaps[0] * 16.0, 1e-6);
        assert!(known(&summary, "failed_count") >= 1.0);
        // MAX_TRANSMIT_WAIT is 93 s.
        assert!(sent[5] - sent[0] <= 93.0);
    }
}

#[test]
fn a_round_trip_beyond_three_seconds_makes_spurious_retransmissions() {
    let mut net = Net::new(1).with_delay(Duration::from_millis(1_750));
    let summary = net.run_secs(&mut *build("coap", &[]), 100);
    let answered = known(&summary, "answered_count");
    assert!(answered > 20.0);
    close(known(&summary, "spurious_count"), known(&summary, "retransmissions_count"), 1.0);
    assert!(known(&summary, "retransmissions_count") >= answered);
    assert!(known(&summary, "nstart_wait_max_ms") > 10_000.0, "requests queue behind NSTART");
}
