use super::*;

const RAMP: Ramp =
    Ramp { min_th: Duration::from_micros(800), range: Duration::from_micros(400), th_len: 1 };

/// The gains that Appendix A.1 states for an interval of 16 ms.
const STATED: Control = Control { tupdate: Duration::from_millis(16), alpha: 0.16, beta: 3.2 };

fn law() -> Rfc9332 {
    let target = Duration::from_millis(15);
    Rfc9332::new(Settings { target, control: STATED, coupling_factor: 2.0, ramp: RAMP })
}

fn at(prob: f64) -> Rfc9332 {
    let mut law = law();
    law.vars.prob = prob;
    law
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-9, "{got} is not {want}");
}

/// Tests statement C-110: the probabilities of the controller in floating-point arithmetic.
#[test]
fn updates_give_the_probabilities_of_the_figure() {
    let mut law = law();
    for (ms, want) in [(20, 0.0648), (20, 0.0656), (10, 0.0328)] {
        law.vars.update(&law.settings, Duration::from_millis(ms));
        close(law.prob(), want);
        // Tests statements C-65 and C-113.
        close(law.p_c(), want * want);
        close(law.p_cl(), 2.0 * want);
        close(law.p_c(), (law.p_cl() / 2.0) * (law.p_cl() / 2.0));
    }
}

/// Tests statements C-111 and C-112.
#[test]
fn the_probability_is_constant_at_the_target_and_stays_between_zero_and_one() {
    let mut law = at(0.3);
    law.vars.last_delay = law.settings.target;
    for _ in 0..100 {
        law.vars.update(&law.settings, law.settings.target);
        close(law.prob(), 0.3);
    }
    law.vars.update(&law.settings, Duration::from_secs(2));
    close(law.prob(), 1.0);
    law.vars.update(&law.settings, Duration::ZERO);
    close(law.prob(), 0.0);
}

#[test]
fn constants_follow_from_the_target_and_the_largest_rtt() {
    let ms = Duration::from_millis;
    let control = Control::of(ms(15), ms(100));
    assert_eq!(control.tupdate, ms(15));
    close(control.alpha, 0.15);
    close(control.beta, 3.0);
    assert_eq!(Control::of(ms(15), ms(30)).tupdate, ms(10), "a third of the largest RTT");
}

/// Tests statement C-114.
#[test]
fn the_ramp_rises_from_zero_to_one() {
    for (us, want) in
        [(0, 0.0), (800, 0.0), (900, 0.25), (1_000, 0.5), (1_100, 0.75), (1_200, 1.0), (9_000, 1.0)]
    {
        close(RAMP.probability(Duration::from_micros(us), 2), want);
    }
}

/// Tests statements C-66, C-115 and C-116.
#[test]
fn the_ramp_needs_more_than_one_packet_behind() {
    let late = Duration::from_millis(5);
    for (behind, want) in [(0, 0.0), (1, 0.0), (2, 1.0)] {
        close(RAMP.probability(late, behind), want);
    }
    // The coupled signal still applies to a lone packet.
    let mut law = at(0.35);
    let signals = (0..9).filter(|_| law.judge_l4s(late, 0) == Verdict::Signal).count();
    assert_eq!(signals, 6, "0.7 of nine packets");
}

/// Tests statements C-68 and C-119.
#[test]
fn an_accumulator_spaces_signals_evenly() {
    let signals = |likelihood: f64, packets: u32| -> Vec<u32> {
        let mut recur = Recur::default();
        (1..=packets).filter(|_| recur.hits(likelihood)).collect()
    };
    assert_eq!(signals(0.3, 11), [4, 7, 11]);
    assert_eq!(signals(0.5, 5), [3, 5], "a sum of exactly 1 is no signal");
    for likelihood in [0.01, 0.123, 0.25, 0.77, 1.0] {
        let off = signals(likelihood, 10_000).len() as f64 - 10_000.0 * likelihood;
        assert!(off.abs() <= 1.0, "{likelihood}: {off}");
    }
}

/// Tests statement C-120.
#[test]
fn classic_packets_are_signalled_below_the_largest_probability_and_dropped_from_it() {
    for (prob, want) in [(0.499, Verdict::Signal), (0.5, Verdict::Drop), (1.0, Verdict::Drop)] {
        let mut law = at(prob);
        let verdicts: Vec<_> = (0..20).map(|_| law.judge_classic()).collect();
        assert!(verdicts.contains(&want), "{prob}: {verdicts:?}");
        assert!(verdicts.iter().all(|got| [want, Verdict::Keep].contains(got)), "{verdicts:?}");
    }
}

/// Tests statement C-121.
#[test]
fn l4s_packets_are_dropped_only_from_a_coupled_probability_of_one() {
    let late = Duration::from_millis(5);
    let verdicts = |prob| -> Vec<_> {
        let mut law = at(prob);
        (0..1_000).map(|_| law.judge_l4s(late, 9)).collect()
    };
    assert!(!verdicts(0.499).contains(&Verdict::Drop));
    let over = verdicts(0.6);
    let count = |what| over.iter().filter(|verdict| **verdict == what).count();
    // The packets dropped are 36 %, the square of 0.6. All other packets are signalled.
    assert!((359..=360).contains(&count(Verdict::Drop)), "{}", count(Verdict::Drop));
    assert_eq!(count(Verdict::Keep), 0);
}

/// Tests that signals return to the coupled probability at once after an overload.
#[test]
fn an_overload_leaves_no_signals_behind() {
    let mut law = at(1.0);
    for _ in 0..1_000 {
        law.judge_l4s(Duration::ZERO, 0);
    }
    law.vars.prob = 0.05;
    let signals = (0..100).filter(|_| law.judge_l4s(Duration::ZERO, 0) == Verdict::Signal).count();
    assert!(signals <= 12, "{signals}");
}

/// Tests statement C-128.
#[test]
fn updates_use_the_older_head() {
    let ms = Instant::from_millis;
    let mut law = law();
    law.catch_up(ms(20), Heads { classic: Some(ms(10)), l4s: Some(ms(4)) });
    close(law.prob(), (0.16 * -0.003 + 3.2 * 0.012_f64).max(0.0));
}
